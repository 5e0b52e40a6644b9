//! A wire that can be cut.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What becomes of connections through a [`Proxy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// All passes.
    Whole,
    /// Nothing passes, and connections end.
    Cut,
    /// Nothing passes through the connections that there are, now or ever, and nobody is told. New ones are whole once the wire is.
    Frozen,
    /// What the client sends arrives. What the server answers does not.
    Deaf,
    /// All passes, each piece after a while.
    Slow(Duration),
    /// The server is told that the client has nothing more to send, and that stays so. What the server sends arrives.
    HalfClosed,
}

/// Passes connections on to a server.
#[derive(Debug)]
pub struct Proxy {
    address: String,
    wire: Arc<watch::Sender<Wire>>,
}

impl Proxy {
    /// Listens on a port of its own.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("a bound listener");
        let wire = Arc::new(watch::Sender::new(Wire::Whole));
        let shared = Arc::clone(&wire);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connection(client, server.clone(), shared.subscribe()));
            }
        });
        Self {
            address: address.to_string(),
            wire,
        }
    }

    /// Where clients connect.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on.
    pub fn set(&self, wire: Wire) {
        self.wire.send_replace(wire);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

/// The whole connection ends.
struct Broken;

async fn connection(client: TcpStream, server: String, wire: watch::Receiver<Wire>) {
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // One direction may end and leave the other open. If one breaks, both are dropped.
    let _ = tokio::try_join!(
        pump(from_client, to_server, Direction::ToServer, wire.clone()),
        pump(from_server, to_client, Direction::ToClient, wire),
    );
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    direction: Direction,
    mut wire: watch::Receiver<Wire>,
) -> Result<(), Broken> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let now = *wire.borrow_and_update();
        match now {
            Wire::Cut => return Err(Broken),
            Wire::Frozen => {
                // Err: the proxy is gone, and its connections with it.
                let _ = wire.wait_for(|wire| *wire == Wire::Cut).await;
                return Err(Broken);
            }
            Wire::Deaf if direction == Direction::ToClient => {
                wire.changed().await.map_err(|_| Broken)?;
                continue;
            }
            Wire::HalfClosed if direction == Direction::ToServer => {
                return to.shutdown().await.map_err(|_| Broken);
            }
            _ => {}
        }
        let length = tokio::select! {
            read = from.read(&mut buffer) => read.map_err(|_| Broken)?,
            changed = wire.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return Err(Broken),
            },
        };
        if length == 0 {
            return to.shutdown().await.map_err(|_| Broken);
        }
        if let Wire::Slow(delay) = now {
            tokio::time::sleep(delay).await;
        }
        to.write_all(&buffer[..length]).await.map_err(|_| Broken)?;
    }
}
