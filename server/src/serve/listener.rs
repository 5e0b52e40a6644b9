//! Sockets that connections come from.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::connection::{Connection, Http, Transport};
use super::{Handler, Peer, Shutdown};

/// Connections that the system holds for us while we are busy. Many clients come back at once when a server is replaced.
const BACKLOG: i32 = 4096;
/// How long to wait when no connection can be taken for want of memory or files.
const PAUSE: Duration = Duration::from_millis(50);
/// A peer that is gone without a word is noticed after this long, plus four probes.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_PROBE: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 4;
/// For who is refused on a plain connection.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 42\r\n\
    Retry-After: 1\r\nConnection: close\r\n\r\nToo many connections, please try later on.";
/// For who is refused where TLS is spoken: the alert `internal_error`, which may come before a handshake.
const FULL_TLS: &[u8] = &[0x15, 3, 1, 0, 2, 2, 80];

/// A socket that is listened on, from now on.
#[derive(Debug)]
pub struct Listener {
    socket: StdListener,
    address: SocketAddr,
    tls: Option<Arc<ServerConfig>>,
}

impl Listener {
    /// Listens for plain HTTP. Whoever can connect can read along.
    pub fn plain(address: SocketAddr) -> io::Result<Self> {
        Self::bind(address, None)
    }

    /// Listens for HTTP over TLS.
    pub fn tls(address: SocketAddr, config: Arc<ServerConfig>) -> io::Result<Self> {
        Self::bind(address, Some(config))
    }

    /// Where: the port is known even if any was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn bind(address: SocketAddr, tls: Option<Arc<ServerConfig>>) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        // A restart need not wait for connections of the process before to be forgotten.
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        let socket = StdListener::from(socket);
        Ok(Self {
            address: socket.local_addr()?,
            socket,
            tls,
        })
    }

    /// Takes connections until the shutdown begins.
    pub(super) async fn accept<H: Handler>(
        self,
        http: Arc<Http>,
        handler: Arc<H>,
        places: Arc<Semaphore>,
        mut shutdown: Shutdown,
        ended: Shutdown,
    ) {
        let listener = match TcpListener::from_std(self.socket) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(address = %self.address, %error, "cannot listen");
                return;
            }
        };
        let transport = match self.tls {
            None => Transport::Plain,
            Some(config) => Transport::Tls(config.into()),
        };
        let mut full = false;
        loop {
            let accepted = tokio::select! {
                () = shutdown.begun() => return,
                accepted = listener.accept() => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) if is_peers(&error) => continue,
                Err(error) => {
                    tracing::warn!(address = %self.address, %error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let place = match places.clone().try_acquire_owned() {
                Ok(place) => place,
                Err(_) => {
                    if !full {
                        tracing::warn!(peer = %address, "too many connections; refusing more");
                    }
                    full = true;
                    refuse(&stream, &transport);
                    continue;
                }
            };
            full = false;
            prepare(&stream);
            let connection = Connection {
                http: http.clone(),
                handler: handler.clone(),
                peer: Peer {
                    address,
                    secure: matches!(transport, Transport::Tls(_)),
                },
                shutdown: shutdown.clone(),
                ended: ended.clone(),
                place,
            };
            tokio::spawn(connection.run(stream, transport.clone()));
        }
    }
}

/// Whether the connection failed, and not the accepting of it.
fn is_peers(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

/// Events are small and wanted at once, and a watch may be quiet for hours.
fn prepare(stream: &TcpStream) {
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE)
        .with_interval(KEEPALIVE_PROBE)
        .with_retries(KEEPALIVE_PROBES);
    // If the peer is gone already, reading will tell.
    let _ = stream.set_nodelay(true);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

/// Says why the connection ends, as far as that can be said without waiting.
fn refuse(stream: &TcpStream, transport: &Transport) {
    let words = match transport {
        Transport::Plain => FULL,
        Transport::Tls(_) => FULL_TLS,
    };
    // `send`, since tokio's streams want to be told by the system first that they can be written.
    let _ = SockRef::from(stream).send(words);
}
