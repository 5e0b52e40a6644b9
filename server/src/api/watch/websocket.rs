//! Watches over WebSocket: each event is a message of its own.
//!
//! Text for JSON, with the line end that it has over HTTP; binary for protobuf, without the length before it, since a
//! message knows its length. What the client sends is read, so that pings are answered and a close is heard, and
//! thrown away. A server that stops says so (1001), and the client watches again elsewhere.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use base64ct::{Base64, Encoding as _};
use futures_util::{Sink as _, SinkExt as _, Stream as _, StreamExt as _};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Version, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};

use super::events::{End, Events};
use crate::body::Body;
use crate::status::Failure;

/// The longest message that a client may send, to be thrown away.
const MESSAGE: usize = 64 * 1024;
/// Clients send little.
const READ_BUFFER: usize = 1024;
/// Bytes that are collected while more events are ready, before they are written.
const WRITE_BUFFER: usize = 16 * 1024;
/// How long the client may take to answer a close.
const GOODBYE: Duration = Duration::from_secs(5);
/// How long a key is once decoded.
const KEY: usize = 16;

/// A request to go on as WebSocket, not looked at yet beyond that.
#[derive(Debug)]
pub(in crate::api) struct Offer {
    headers: HeaderMap,
    upgrade: OnUpgrade,
}

/// A handshake that can be answered.
struct Accepted {
    key: HeaderValue,
    protocol: Option<HeaderValue>,
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

impl Offer {
    /// The offer of a request, if it makes one.
    pub(in crate::api) fn take(request: &mut Parts) -> Option<Self> {
        let headers = &request.headers;
        let offers = request.method == Method::GET
            && request.version == Version::HTTP_11
            && lists(headers, header::CONNECTION, "upgrade")
            && lists(headers, header::UPGRADE, "websocket");
        if !offers {
            return None;
        }
        let upgrade = request.extensions.remove::<OnUpgrade>()?;
        let mut kept = HeaderMap::new();
        for name in [
            header::SEC_WEBSOCKET_KEY,
            header::SEC_WEBSOCKET_VERSION,
            header::SEC_WEBSOCKET_PROTOCOL,
        ] {
            for value in headers.get_all(&name) {
                kept.append(name.clone(), value.clone());
            }
        }
        Some(Self {
            headers: kept,
            upgrade,
        })
    }

    /// Looks at the handshake, before anything is done for the watch.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.accept().map(drop)
    }

    /// Answers the handshake, and sends the events once the connection has been handed over.
    pub(super) fn answer(&self, events: Events) -> Result<Response<Body>, Failure> {
        let accepted = self.accept()?;
        let upgrade = self.upgrade.clone();
        tokio::spawn(async move {
            match upgrade.await {
                Ok(upgraded) => serve(upgraded, events).await,
                Err(error) => tracing::debug!(%error, "connection lost before its upgrade"),
            }
        });
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accepted.key);
        if let Some(protocol) = accepted.protocol {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        Ok(response)
    }

    fn accept(&self) -> Result<Accepted, Failure> {
        let version = self.headers.get(header::SEC_WEBSOCKET_VERSION);
        if version.is_none_or(|version| version != "13") {
            return Err(Failure::bad_request(
                "WebSocket is spoken in version 13: Sec-WebSocket-Version must say so",
            ));
        }
        let key = self.headers.get(header::SEC_WEBSOCKET_KEY);
        let key = key.map(HeaderValue::as_bytes).filter(|key| is_key(key));
        let key = key.ok_or_else(|| {
            Failure::bad_request("Sec-WebSocket-Key must be 16 bytes in Base64, once")
        })?;
        let key = HeaderValue::try_from(derive_accept_key(key)).map_err(Failure::internal)?;
        let mut protocols = words(&self.headers, header::SEC_WEBSOCKET_PROTOCOL);
        let protocol = match (protocols.next(), protocols.next()) {
            (None, _) => None,
            (Some(one), None) => Some(HeaderValue::from_str(one).map_err(|_| {
                Failure::bad_request("Sec-WebSocket-Protocol holds what is no name")
            })?),
            (Some(_), Some(_)) => {
                return Err(Failure::bad_request(
                    "a watch has one WebSocket subprotocol at most: offer one, or none",
                ));
            }
        };
        Ok(Accepted { key, protocol })
    }
}

fn is_key(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text);
    text.is_ok_and(|text| Base64::decode_vec(text).is_ok_and(|key| key.len() == KEY))
}

/// The words of a header that is a list, however many times it is there.
fn words(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

fn lists(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    words(headers, name).any(|listed| listed.eq_ignore_ascii_case(word))
}

/// What ends a watch over WebSocket.
enum Finish {
    /// We do, and say so.
    Ours(CloseCode),
    /// The client is gone, or going.
    Theirs,
}

async fn serve(upgraded: Upgraded, mut events: Events) {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(Some(MESSAGE))
        .max_frame_size(Some(MESSAGE));
    let io = TokioIo::new(upgraded);
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let finish = poll_fn(|context| poll_serve(&mut socket, &mut events, context)).await;
    // The watch ends here: whoever says goodbye slowly does not hold it.
    drop(events);
    if tokio::time::timeout(GOODBYE, close(socket, finish))
        .await
        .is_err()
    {
        tracing::debug!("no answer to the end of a WebSocket");
    }
}

/// Sends what is ready, as much as the client takes, and hears what it says.
fn poll_serve(socket: &mut Socket, events: &mut Events, context: &mut Context<'_>) -> Poll<Finish> {
    if let Poll::Ready(finish) = poll_hear(socket, context) {
        return Poll::Ready(finish);
    }
    let text = events.are_text();
    let mut budget = BURST;
    let mut socket = pin!(socket);
    loop {
        // Nothing is taken from the watch that cannot be sent: a client that does not read falls behind in the ring.
        match socket.as_mut().poll_ready(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(_)) => return Poll::Ready(Finish::Theirs),
            Poll::Ready(Ok(())) => {}
        }
        let mut event = Vec::new();
        match events.poll_next(context, &mut event) {
            Poll::Pending => break,
            Poll::Ready(Err(End::Over)) => return Poll::Ready(Finish::Ours(CloseCode::Normal)),
            Poll::Ready(Err(End::ShuttingDown)) => {
                return Poll::Ready(Finish::Ours(CloseCode::Away));
            }
            Poll::Ready(Ok(_)) => {}
        }
        let Some(message) = message(event, text) else {
            return Poll::Ready(Finish::Ours(CloseCode::Error));
        };
        if socket.as_mut().start_send(message).is_err() {
            return Poll::Ready(Finish::Theirs);
        }
        budget -= 1;
        if budget == 0 {
            // Others want to run too, and the client may have said something.
            context.waker().wake_by_ref();
            break;
        }
    }
    match socket.poll_flush(context) {
        Poll::Ready(Err(_)) => Poll::Ready(Finish::Theirs),
        _ => Poll::Pending,
    }
}

/// Messages that are sent, or thrown away, before others run.
const BURST: usize = 64;

/// Throws away what the client says. Ready when that was its last word.
fn poll_hear(socket: &mut Socket, context: &mut Context<'_>) -> Poll<Finish> {
    for _ in 0..BURST {
        match Pin::new(&mut *socket).poll_next(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(Ok(Message::Close(_))) | None) => return Poll::Ready(Finish::Theirs),
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(Some(Err(error))) => {
                return Poll::Ready(match error {
                    Error::Capacity(_) => Finish::Ours(CloseCode::Size),
                    Error::Protocol(_) => Finish::Ours(CloseCode::Protocol),
                    Error::Utf8(_) => Finish::Ours(CloseCode::Invalid),
                    _ => Finish::Theirs,
                });
            }
        }
    }
    context.waker().wake_by_ref();
    Poll::Pending
}

/// An event as a message; `None` if it is not what it should be.
fn message(mut event: Vec<u8>, text: bool) -> Option<Message> {
    if text {
        return String::from_utf8(event).ok().map(Message::text);
    }
    /// The length, which a message has by itself.
    const PREFIX: usize = 4;
    if event.len() < PREFIX {
        return None;
    }
    event.drain(..PREFIX);
    Some(Message::binary(event))
}

/// Ends the connection as the protocol wants it: both sides say so.
async fn close(mut socket: Socket, finish: Finish) {
    if let Finish::Ours(code) = finish {
        let frame = CloseFrame {
            code,
            reason: "".into(),
        };
        if socket.send(Message::Close(Some(frame))).await.is_err() {
            return;
        }
    }
    // Until the client has closed: what was written last would else be lost to it.
    while let Some(Ok(_)) = socket.next().await {}
}
