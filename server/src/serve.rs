//! Listeners and connections: from a socket to a call of a [`Handler`], within limits.
//!
//! ```text
//!   accept ──► cap ──► TLS, ALPN ──────┬─► HTTP/1.1 ─┐
//!                  └─► plain, preface ─┴─► HTTP/2 ───┴─► host, URL ──► Handler ──► Body
//! ```
//!
//! hyper speaks HTTP; there is no router or middleware between it and the handler, because the paths of this API are data
//! (the catalog of resources), not routes that a framework could know. What is here is what a handler cannot do: who
//! may connect, how long a peer may take for what it has to send, and how all of it ends.
//!
//! A connection costs little while nothing happens on it, since most of them are watches: the future of a handler is freed
//! when its answer begins, write buffers are bounded by [`Limits::buffer_bytes`], and timers are looked at, not
//! reset, per request. `cargo xtask bench connections` measures it.
//!
//! ```
//! use std::sync::Arc;
//! use http::{Request, Response};
//! use ringwatch_server::body::Body;
//! use ringwatch_server::serve::{Handler, Incoming, Limits, Listener, Peer, Shutdown, serve};
//!
//! struct Hello;
//! impl Handler for Hello {
//!     async fn call(self: Arc<Self>, _: Request<Incoming>, peer: Peer) -> Response<Body> {
//!         Response::new(Body::from(format!("hello, {}", peer.address.ip())))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
//! let listener = Listener::plain("127.0.0.1:0".parse().unwrap())?;
//! let (stop, shutdown) = Shutdown::new();
//! let server = tokio::spawn(serve(vec![listener], Arc::new(Hello), Limits::default(), shutdown));
//! stop.begin();
//! server.await.unwrap();
//! # Ok(()) }
//! ```

mod activity;
mod chunk;
mod connection;
mod handler;
mod handshake;
mod host;
mod in_flight;
mod io;
mod limits;
mod listener;
mod shutdown;
mod socket;
mod streamed;

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::connection::Http;

pub use self::handler::{Handler, Peer};
pub use self::in_flight::{Admitted, Busy, InFlight, Kind};
pub use self::limits::Limits;
pub use self::listener::Listener;
pub use self::shutdown::{Shutdown, Stop};
pub use hyper::body::Incoming;

/// Serves until the shutdown has begun and either all connections have ended or [`Limits::shutdown_timeout`] is over.
///
/// When it begins, nobody is accepted any more; each connection answers the requests it has and closes. That streams
/// end is the handler's business: it has a [`Shutdown`] of its own. What is left at the end is cut off.
pub async fn serve<H: Handler>(
    listeners: Vec<Listener>,
    handler: Arc<H>,
    limits: Limits,
    shutdown: Shutdown,
) {
    let cap = limits.connections;
    let places = Arc::new(Semaphore::new(cap as usize));
    let http = Arc::new(Http::new(&limits));
    // Told when it is too late to wait any longer.
    let (end, ended) = Shutdown::new();
    let mut accepting = JoinSet::new();
    for listener in listeners {
        let (http, handler) = (http.clone(), handler.clone());
        let (places, shutdown, ended) = (places.clone(), shutdown.clone(), ended.clone());
        accepting.spawn(listener.accept(http, handler, places, shutdown, ended));
    }
    // They end, and close their sockets, when the shutdown begins.
    while accepting.join_next().await.is_some() {}
    let timeout = limits.shutdown_timeout;
    let all = places.acquire_many(cap);
    if tokio::time::timeout(timeout, all).await.is_err() {
        let left = (cap as usize).saturating_sub(places.available_permits());
        tracing::warn!(connections = left, ?timeout, "connections cut off");
        end.begin();
    }
}
