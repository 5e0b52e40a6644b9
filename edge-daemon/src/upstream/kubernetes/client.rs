//! HTTP requests to an API server: one connection for each, bodies as they come, compressed or not.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::Write;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::Request;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, HOST, RETRY_AFTER, USER_AGENT,
};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::access::Access;

/// Why a request failed.
#[derive(Debug)]
pub(super) struct ClientError {
    why: String,
    timeout: bool,
}

impl ClientError {
    pub(super) fn new(why: impl fmt::Display) -> Self {
        Self {
            why: why.to_string(),
            timeout: false,
        }
    }

    fn silent() -> Self {
        Self {
            why: "upstream is silent".to_owned(),
            timeout: true,
        }
    }

    /// Whether nothing came for too long.
    pub(super) const fn is_timeout(&self) -> bool {
        self.timeout
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl Error for ClientError {}

/// An answer whose body is still coming.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Body,
}

/// A body as it comes.
pub(super) struct Body {
    incoming: Incoming,
    /// What moves its bytes: run here and not beside, so that all that has come can be taken at once.
    connection: Connection,
    decoder: Option<MultiGzDecoder<Vec<u8>>>,
    /// What has come and was not taken; the first `taken` bytes were.
    buffer: Vec<u8>,
    taken: usize,
}

/// Asks an API server, with what is known of it and of the caller now.
pub(super) struct Client {
    host: String,
    port: u16,
    tls: Option<Arc<ClientConfig>>,
    token: Option<String>,
}

impl Client {
    pub(super) fn new(access: &Access) -> Result<Self, ClientError> {
        let given = access.read().map_err(ClientError::new)?;
        Ok(Self {
            host: given.host,
            port: given.port,
            tls: given.tls.map(Arc::new),
            token: given.token,
        })
    }

    /// Asks for a path with its query.
    pub(super) async fn get(&self, path: &str, patience: Duration) -> Result<Answer, ClientError> {
        timeout(patience, self.try_get(path))
            .await
            .map_err(|_| ClientError::silent())?
    }

    async fn try_get(&self, path: &str) -> Result<Answer, ClientError> {
        let stream = TcpStream::connect((self.host.trim_matches(['[', ']']), self.port)).await;
        let stream = stream.map_err(ClientError::new)?;
        stream.set_nodelay(true).map_err(ClientError::new)?;
        match &self.tls {
            None => self.ask(stream, path).await,
            Some(tls) => {
                let name = self.host.trim_matches(['[', ']']).to_owned();
                let name = ServerName::try_from(name).map_err(ClientError::new)?;
                let stream = TlsConnector::from(tls.clone()).connect(name, stream).await;
                self.ask(stream.map_err(ClientError::new)?, path).await
            }
        }
    }

    async fn ask(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        path: &str,
    ) -> Result<Answer, ClientError> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(ClientError::new)?;
        let mut connection = Connection::new(connection);
        let mut request = Request::get(path)
            .header(HOST, format!("{}:{}", self.host, self.port))
            .header(ACCEPT, "application/json")
            .header(ACCEPT_ENCODING, "gzip")
            .header(
                USER_AGENT,
                concat!("ringwatch-edge/", env!("CARGO_PKG_VERSION")),
            );
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request
            .body(Empty::<Bytes>::new())
            .map_err(ClientError::new)?;
        let response = connection.run_for(sender.send_request(request)).await;
        let response = response.map_err(ClientError::new)?;
        let header = |name| response.headers().get(name)?.to_str().ok();
        let gzip = header(CONTENT_ENCODING) == Some("gzip");
        let retry_after = header(RETRY_AFTER).and_then(|text| text.parse().ok());
        Ok(Answer {
            status: response.status().as_u16(),
            retry_after: retry_after.map(|seconds: u64| Duration::from_secs(seconds.min(3600))),
            body: Body {
                incoming: response.into_body(),
                connection,
                decoder: gzip.then(|| MultiGzDecoder::new(Vec::new())),
                buffer: Vec::new(),
                taken: 0,
            },
        })
    }
}

/// The half of a request that moves bytes.
struct Connection(Option<Pin<Box<dyn Future<Output = ()>>>>);

impl Connection {
    fn new(connection: impl Future<Output = hyper::Result<()>> + 'static) -> Self {
        // How it ends is told to whoever waits for an answer.
        Self(Some(Box::pin(async move {
            let _ = connection.await;
        })))
    }

    /// Runs it for as long as something that needs it takes.
    async fn run_for<T>(&mut self, needs: impl Future<Output = T>) -> T {
        let mut needs = pin!(needs);
        poll_fn(|context| {
            loop {
                if let Poll::Ready(done) = needs.as_mut().poll(context) {
                    return Poll::Ready(done);
                }
                let Some(connection) = &mut self.0 else {
                    return Poll::Pending;
                };
                if connection.as_mut().poll(context).is_ready() {
                    // What it left is still to be taken.
                    self.0 = None;
                    continue;
                }
                return needs.as_mut().poll(context);
            }
        })
        .await
    }
}

impl Body {
    /// Waits for more; whether there is any.
    async fn more(&mut self, longest: usize, silence: Duration) -> Result<bool, ClientError> {
        let next = self.connection.run_for(self.incoming.frame());
        let frame = timeout(silence, next).await;
        let data = match frame.map_err(|_| ClientError::silent())? {
            None => return Ok(false),
            Some(frame) => frame
                .map_err(ClientError::new)?
                .into_data()
                .unwrap_or_default(),
        };
        self.buffer.drain(..self.taken);
        self.taken = 0;
        match &mut self.decoder {
            None => self.buffer.extend_from_slice(&data),
            Some(decoder) => {
                // In small steps, so that little bytes that become many are noticed in time.
                for part in data.chunks(1024) {
                    decoder.write_all(part).map_err(ClientError::new)?;
                    decoder.flush().map_err(ClientError::new)?;
                    self.buffer.append(decoder.get_mut());
                    if self.buffer.len() > longest.saturating_mul(2) {
                        return Err(ClientError::new("upstream sends more than can be taken"));
                    }
                }
            }
        }
        Ok(true)
    }

    /// The next line, without its end; `None` after the last.
    pub(super) async fn line(
        &mut self,
        longest: usize,
        silence: Duration,
    ) -> Result<Option<Vec<u8>>, ClientError> {
        let mut searched = self.taken;
        loop {
            let rest = self.buffer.get(searched..).unwrap_or_default();
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line = self
                    .buffer
                    .get(self.taken..searched + end)
                    .unwrap_or_default()
                    .to_vec();
                self.taken = searched + end + 1;
                if line.is_empty() {
                    searched = self.taken;
                    continue;
                }
                return Ok(Some(line));
            }
            searched = self.buffer.len() - self.taken;
            if searched > longest {
                return Err(ClientError::new("a line is longer than any object"));
            }
            if !self.more(longest, silence).await? {
                // A line without an end is not a line: the connection was cut in it.
                return Ok(None);
            }
        }
    }

    /// All of it.
    pub(super) async fn whole(
        mut self,
        longest: usize,
        silence: Duration,
    ) -> Result<Vec<u8>, ClientError> {
        while self.more(longest, silence).await? {
            if self.buffer.len() > longest {
                return Err(ClientError::new("an answer is longer than can be taken"));
            }
        }
        Ok(self.buffer)
    }
}
