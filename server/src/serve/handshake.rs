//! The beginning of a connection with TLS.

use std::io;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::socket::Socket;

/// For who speaks HTTP without TLS, in words that people know from elsewhere.
const CLEAR: &[u8] = b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\
    Connection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
/// What is read of such a request, so that the answer is not lost with what nobody has read.
const REQUEST: usize = 64 * 1024;

/// Agrees on keys. Whoever did not mean to is told so.
pub(super) async fn handshake(
    acceptor: TlsAcceptor,
    mut stream: TcpStream,
) -> io::Result<TlsStream<Socket>> {
    let mut first = [0];
    // No record of TLS begins with a letter; every method does.
    if stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
        let mut request = vec![0; REQUEST];
        let _ = stream.try_read(&mut request);
        stream.write_all(CLEAR).await?;
        stream.shutdown().await?;
        return Err(io::Error::other("HTTP without TLS"));
    }
    acceptor.accept(Socket(stream)).await
}
