//! Answers in one line.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use serde_json::Value;

use crate::http::Response;

/// A failure: `404 NotFound: pods "x" not found`, with what a client may do next.
pub(crate) fn failure(status: u16, body: &Value) -> String {
    let reason = text(body, "/reason");
    let message = text(body, "/message")
        .replace('\0', "\\0")
        .replace('\n', "\\n");
    let mut line = format!("{status} {reason}: {message}");
    if let Some(seconds) = body.pointer("/details/retryAfterSeconds") {
        line += &format!("; retry after {seconds}");
    }
    let token = text(body, "/metadata/continue");
    if !token.is_empty() {
        line += &format!("; more {}", continuation(token));
    }
    line
}

/// A list: its revision, the names in it, and how it goes on.
pub(crate) fn list(response: &Response) -> String {
    if response.status != 200 {
        return answer(response);
    }
    let body = response.json();
    let mut line = format!("200 at {}:", text(&body, "/metadata/resourceVersion"));
    let items = body.get("items").and_then(Value::as_array).expect("items");
    for item in items {
        line += &format!(" {}", text(item, "/metadata/name"));
    }
    let token = text(&body, "/metadata/continue");
    if !token.is_empty() {
        line += &format!("; more {}", continuation(token));
    }
    if let Some(left) = body.pointer("/metadata/remainingItemCount") {
        line += &format!("; {left} remain");
    }
    line
}

/// Any answer: the failure, the kind of the object, the text, or what the bytes are.
pub(crate) fn answer(response: &Response) -> String {
    let status = response.status;
    let encoding = response.header("content-encoding");
    if !encoding.is_empty() {
        return format!("{status} {encoding}");
    }
    let Ok(body) = serde_json::from_slice::<Value>(&response.body) else {
        let content_type = response.header("content-type");
        if !matches!(
            content_type,
            "" | "text/plain" | "text/plain; charset=utf-8"
        ) {
            return format!("{status} {content_type}");
        }
        let text = String::from_utf8_lossy(&response.body);
        let text = format!("{status} text: {}", text.trim_end().replace('\n', "\\n"));
        return text.trim_end().to_owned();
    };
    match text(&body, "/kind") {
        "Status" if text(&body, "/status") == "Failure" => failure(status, &body),
        kind => format!("{status} {kind}").trim_end().to_owned(),
    }
}

/// What a token says.
fn continuation(token: &str) -> String {
    let bytes = Base64UrlUnpadded::decode_vec(token).expect("base64 without padding");
    let value: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(text(&value, "/v"), "meta.k8s.io/v1");
    let start = text(&value, "/start")
        .strip_suffix('\0')
        .expect("a zero at the end");
    format!("after {start} at {}", value["rv"])
}

/// A token as a client may have been given.
pub(crate) fn token(after: &str, revision: i64) -> String {
    let start = serde_json::json!(format!("{after}\0"));
    encode(&format!(
        r#"{{"v":"meta.k8s.io/v1","rv":{revision},"start":{start}}}"#
    ))
}

/// Whatever is asked for, as a token.
pub(crate) fn encode(text: &str) -> String {
    Base64UrlUnpadded::encode_string(text.as_bytes())
}

/// The text at this place; empty without.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}
