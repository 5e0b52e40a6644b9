//! The token of a request.

use base64ct::{Base64UrlUnpadded, Encoding};
use http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use http::{HeaderMap, HeaderValue};

/// What begins the subprotocol that carries a token, for browsers, which cannot set other headers.
const PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// The token of a request, if it has one. `Err` if it has something in the place of one that cannot be a token.
///
/// A token among the WebSocket subprotocols is removed from them: it is not to be chosen, logged or echoed.
pub(super) fn take(headers: &mut HeaderMap) -> Result<Option<String>, Malformed> {
    if let Some(header) = headers.get(AUTHORIZATION) {
        let text = header.to_str().map_err(|_| Malformed)?;
        let mut words = text.split_ascii_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(scheme), Some(token), None) if scheme.eq_ignore_ascii_case("bearer") => {
                Ok(Some(token.to_owned()))
            }
            _ => Err(Malformed),
        };
    }
    from_protocols(headers)
}

/// What stands in the place of a token is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

fn from_protocols(headers: &mut HeaderMap) -> Result<Option<String>, Malformed> {
    let mut token = None;
    let mut others = Vec::new();
    for header in headers.get_all(SEC_WEBSOCKET_PROTOCOL) {
        // Not for us, if it is no text.
        let Ok(text) = header.to_str() else {
            return Ok(None);
        };
        for protocol in text.split(',').map(str::trim) {
            match protocol.strip_prefix(PROTOCOL) {
                None => others.push(protocol),
                Some(_) if token.is_some() => return Err(Malformed),
                Some(encoded) => {
                    let bytes = Base64UrlUnpadded::decode_vec(encoded).map_err(|_| Malformed)?;
                    token = Some(String::from_utf8(bytes).map_err(|_| Malformed)?);
                }
            }
        }
    }
    if token.is_none() {
        return Ok(None);
    }
    // A client must offer something that can be chosen, or the handshake fails on its side.
    if others.is_empty() {
        return Err(Malformed);
    }
    let others = HeaderValue::from_str(&others.join(", ")).map_err(|_| Malformed)?;
    headers.insert(SEC_WEBSOCKET_PROTOCOL, others);
    Ok(token)
}
