//! What answers requests, and what it is told about who asks.

use std::net::SocketAddr;
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;

use crate::body::Body;

/// Answers requests. One value serves all connections.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request.
    ///
    /// The future is dropped if the connection ends first, and freed when it has returned; what a stream needs belongs into
    /// its body. Keep no part of the request there: the head of an HTTP/1.1 request shares the connection's read buffer.
    /// The time a request body may take is for the handler to bound.
    fn call(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// Who sits at the other end of a connection, as far as the connection tells. Certificates of clients are not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Where it connects from.
    pub address: SocketAddr,
    /// Whether the connection is encrypted. If not, it came through a listener that only the machine itself can reach.
    pub secure: bool,
}
