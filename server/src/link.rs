//! The node link's serving end: watches for microcontrollers and relays, on the same cursors as those over HTTP.
//!
//! ```text
//!   socket ◄──► connection ◄──► core's serve::Session ◄── CacheSource ◄── Surface: catalog, caches
//!                  │                    │
//!                timers              Access ◄── Keys (read again when the file changes)
//! ```
//!
//! All of the protocol is in `ringwatch_core::link`; see `docs/node-link.md` for the bytes. Here is what it needs from a server: sockets, time,
//! random bytes, who may have what, a place for what nodes report of themselves, and the objects. Nobody comes in without a key, and a key opens what its line in the file allows.

mod connection;
pub mod keys;
mod restarts;
mod source;

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::api::Api;
use crate::files::Changes;
use crate::serve::Shutdown;
use keys::Keys;
pub(crate) use restarts::NodeRestarts;

/// How long to wait when no connection can be taken for want of memory or files.
const PAUSE: Duration = Duration::from_millis(50);
/// How long sessions may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(5);

/// A socket that nodes connect to.
#[derive(Debug)]
pub struct Listener {
    socket: StdListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens from now on.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = StdListener::bind(address)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address })
    }

    /// Where: the port is known even if any was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves nodes until the shutdown begins and they have been told. At most `connections` at once; more are closed.
pub async fn serve(
    listener: Listener,
    api: Arc<Api>,
    keys: watch::Receiver<Arc<Keys>>,
    connections: u32,
    mut shutdown: Shutdown,
) {
    let address = listener.address;
    let listener = match TcpListener::from_std(listener.socket) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%address, %error, "cannot listen for nodes");
            return;
        }
    };
    let places = Arc::new(Semaphore::new(connections as usize));
    let mut sessions = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.begun() => break,
            // Their results are nothing; taken so that they do not pile up.
            Some(_) = sessions.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => match places.clone().try_acquire_owned() {
                Ok(place) => {
                    let session = connection::Connection {
                        api: api.clone(),
                        keys: keys.clone(),
                        shutdown: shutdown.clone(),
                        peer,
                        _place: place,
                    };
                    sessions.spawn(session.run(stream));
                }
                Err(_) => tracing::warn!(%peer, "too many nodes; refusing more"),
            },
            Err(error) => {
                tracing::warn!(%address, %error, "cannot accept a node");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    let all = async { while sessions.join_next().await.is_some() {} };
    if tokio::time::timeout(GOODBYE, all).await.is_err() {
        tracing::warn!("nodes cut off without a goodbye");
    }
}

/// Reads the keys again whenever their file changes.
pub async fn reload(file: PathBuf, mut changes: Changes, keys: watch::Sender<Arc<Keys>>) {
    loop {
        changes.next().await;
        match Keys::load(&file) {
            Ok(new) => {
                tracing::info!(file = %file.display(), nodes = new.len(), "keys of nodes were read again");
                keys.send_replace(Arc::new(new));
            }
            Err(error) => {
                tracing::error!(%error, "keys of nodes changed, but cannot be read; the old ones stay");
            }
        }
    }
}
