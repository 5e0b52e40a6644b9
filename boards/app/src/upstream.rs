//! Reaching a server or a relay: what a node and a relay do alike.

use core::fmt;
use core::time::Duration;

use embassy_net::Ipv4Address;
use embassy_net::tcp::TcpSocket;
use ringwatch_core::link::Ended;
use ringwatch_core::link::frame::Restart;
use ringwatch_core::link::node::Wanted;
use ringwatch_core::predicate::Scope;
use ringwatch_settings::{Endpoint, Watch};

/// How long the network may take to connect.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);

/// Connects; from then on the link itself watches for silence.
pub(crate) async fn dial(socket: &mut TcpSocket<'_>, endpoint: &Endpoint) -> Result<(), Lost> {
    socket.set_timeout(Some(ticks(CONNECT)));
    let address = Ipv4Address::from(endpoint.address);
    let connected = socket.connect((address, endpoint.port)).await;
    connected.map_err(|_| Lost::NoConnection)?;
    socket.set_timeout(None);
    Ok(())
}

/// How long the other end may take to hear the last words.
pub(crate) const GOODBYE: Duration = Duration::from_secs(2);

fn ticks(duration: Duration) -> embassy_time::Duration {
    embassy_time::Duration::from_millis(duration.as_millis() as u64)
}

/// Gives a connection up, so that the socket can be used again. A session that has ended by itself may have said why, which is sent first.
pub(crate) async fn hang_up(socket: &mut TcpSocket<'_>, lost: Lost) {
    if matches!(lost, Lost::Ended(_)) {
        socket.close();
        let _ = embassy_time::with_timeout(ticks(GOODBYE), socket.flush()).await;
    }
    socket.abort();
    // Whoever is still there is told, if there is a way.
    let _ = embassy_time::with_timeout(ticks(CONNECT), socket.flush()).await;
}

/// Says why the board has restarted, if it did so by itself.
pub(crate) fn say_why(restart: Option<Restart<'_>>) {
    if let Some(restart) = restart {
        log::warn!("restarted after {}", restart.detail);
    }
}

/// Says once that the other end has proved who it is.
pub(crate) fn say_open(endpoint: &Endpoint) {
    let address = Ipv4Address::from(endpoint.address);
    log::info!("link to {address}:{} is open", endpoint.port);
}

/// What the settings ask for; these fields, unless they name others.
pub(crate) fn wanted(watch: &Watch<'static>, fields: &'static str) -> Wanted<'static> {
    Wanted {
        scope: match watch.namespace {
            "" => Scope::Resource,
            namespace => Scope::Namespace(namespace),
        },
        labels: watch.labels,
        fields: watch.fields,
        projection: match watch.projection {
            "" => fields,
            projection => projection,
        },
        ..Wanted::all(watch.resource)
    }
}

/// Why there is no connection any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Nobody answered.
    NoConnection,
    /// It was closed, or nothing got through.
    Network,
    /// The session has ended.
    Ended(Ended),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConnection => f.write_str("nobody answers"),
            Self::Network => f.write_str("the connection was closed"),
            Self::Ended(ended) => ended.fmt(f),
        }
    }
}
