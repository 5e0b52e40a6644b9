//! What a peer may ask of the server, in bytes, numbers and seconds.

use std::time::Duration;

/// Limits of connections and requests. The defaults suit a server that strangers can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once, over all listeners. More are told so and closed.
    pub connections: u32,
    /// The head of a request, its URL included: 431 beyond it.
    pub header_bytes: u32,
    /// The path and query of a request: 414 beyond it.
    pub url_bytes: u32,
    /// The body of a request: 413 beyond it. The handler's to apply, since it reads the body.
    pub body_bytes: u32,
    /// From the first byte of a request's head to its last, and from a new connection to its first request.
    pub header_timeout: Duration,
    /// For the TLS handshake.
    pub handshake_timeout: Duration,
    /// How long a connection may be without a request.
    pub idle_timeout: Duration,
    /// How long to wait for requests to finish when the server stops.
    pub shutdown_timeout: Duration,
    /// HTTP/2: requests at once on one connection.
    pub streams: u32,
    /// HTTP/2: streams that the peer reset before they were looked at, or that were reset for its faults. The connection ends
    /// beyond it: this is how floods of resets begin.
    pub resets: u32,
    /// Bytes that may wait to be written, per connection (HTTP/1.1) or stream (HTTP/2), until the peer reads on.
    pub buffer_bytes: u32,
    /// Requests that read, at once; watches do not count.
    pub reading: u32,
    /// Requests that write, at once.
    pub writing: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16_000,
            header_bytes: 32 * 1024,
            url_bytes: 16 * 1024,
            body_bytes: 3 * 1024 * 1024,
            header_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
            // Longer than the 90 s after which Go's client closes: it is better placed to know that it sends nothing.
            idle_timeout: Duration::from_secs(120),
            shutdown_timeout: Duration::from_secs(20),
            streams: 250,
            resets: 100,
            buffer_bytes: 32 * 1024,
            reading: 400,
            writing: 200,
        }
    }
}
