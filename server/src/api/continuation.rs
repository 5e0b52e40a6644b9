//! The token by which a list is continued: the same as kube-apiserver's, so that servers of both kinds may take turns.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use ringwatch_core::revision::Revision;
use serde_json::{Value, json};

const VERSION: &str = "meta.k8s.io/v1";

/// Where a list goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuation {
    /// The state that is listed; `None` for whatever it is by then.
    pub revision: Option<Revision>,
    /// The last key that was looked at, below the root of the list: `name` in a namespace, `namespace/name` otherwise.
    pub after: String,
}

impl Continuation {
    /// The token.
    pub fn encode(&self) -> String {
        let revision = self
            .revision
            .map_or(json!(-1), |revision| json!(revision.get()));
        // Written by hand for the order of the fields.
        let start = json!(format!("/{}\0", self.after));
        let text = format!(r#"{{"v":"{VERSION}","rv":{revision},"start":{start}}}"#);
        Base64UrlUnpadded::encode_string(text.as_bytes())
    }

    /// Reads a token. The error is the message of a 400.
    pub fn decode(token: &str) -> Result<Self, String> {
        let refuse =
            |why: &str| format!("invalid continue token: continue key is not valid: {why}");
        let bytes = Base64UrlUnpadded::decode_vec(token.trim_end_matches('=')).map_err(|_| {
            refuse(&format!(
                "illegal base64 data at input byte {}",
                flaw(token)
            ))
        })?;
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| refuse(&error.to_string()))?;
        let version = value.get("v").and_then(Value::as_str).unwrap_or("");
        if version != VERSION {
            let why = format!("server does not recognize this encoded version {version}");
            return Err(refuse(&why));
        }
        let revision = value.get("rv").and_then(Value::as_i64).unwrap_or(0);
        if revision == 0 {
            let why = "incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
            return Err(refuse(why));
        }
        let start = value.get("start").and_then(Value::as_str).unwrap_or("");
        if start.is_empty() {
            return Err(refuse("encoded start key empty (version meta.k8s.io/v1)"));
        }
        // The key that was looked at last, and a zero so that the next page begins behind it.
        let key = start.strip_prefix('/').unwrap_or(start);
        let clean = |segment: &str| !matches!(segment, "" | "." | "..");
        match key.strip_suffix('\0') {
            Some(after) if after.split('/').all(clean) => Ok(Self {
                revision: u64::try_from(revision).ok().map(Revision::new),
                after: after.to_owned(),
            }),
            _ => Err(refuse(start)),
        }
    }
}

/// The first byte of a text that makes it no base64; the last one if it is only too long by one.
fn flaw(text: &str) -> usize {
    let of_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let wrong = text.bytes().position(|byte| !of_alphabet(byte));
    wrong.unwrap_or(text.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_what_upstream_makes() {
        let continuation = Continuation {
            revision: Some(Revision::new(1241)),
            after: "template-0033".to_owned(),
        };
        let token = continuation.encode();
        let text = Base64UrlUnpadded::decode_vec(&token).expect("base64");
        let expected = br#"{"v":"meta.k8s.io/v1","rv":1241,"start":"/template-0033\u0000"}"#;
        assert_eq!(text, expected);
        assert_eq!(Continuation::decode(&token), Ok(continuation));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let encoded = |text: &str| Base64UrlUnpadded::encode_string(text.as_bytes());
        let refused = |token: &str| Continuation::decode(token).unwrap_err();
        assert!(refused("%%%").ends_with("illegal base64 data at input byte 0"));
        for (token, end) in [
            (
                r#"{"v":"v9","rv":1,"start":"/a\u0000"}"#,
                "encoded version v9",
            ),
            (
                r#"{"v":"meta.k8s.io/v1","rv":0,"start":"/a\u0000"}"#,
                "resourceVersion (version meta.k8s.io/v1)",
            ),
            (
                r#"{"v":"meta.k8s.io/v1","rv":3}"#,
                "start key empty (version meta.k8s.io/v1)",
            ),
            (
                r#"{"v":"meta.k8s.io/v1","rv":3,"start":"/../a\u0000"}"#,
                "/../a\0",
            ),
            (
                r#"{"v":"meta.k8s.io/v1","rv":3,"start":"a//b\u0000"}"#,
                "a//b\0",
            ),
        ] {
            let message = refused(&encoded(token));
            assert!(message.ends_with(end), "{message}");
        }
        let latest = encoded(r#"{"v":"meta.k8s.io/v1","rv":-1,"start":"a\u0000"}"#);
        assert_eq!(
            Continuation::decode(&latest).map(|at| at.revision),
            Ok(None)
        );
    }
}
