//! The token by which a list is continued. It has the form that API servers give it, so that a page may be continued at the server that the relay
//! follows, or at another relay, and the reverse.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use ringwatch_core::revision::Revision;
use serde::{Deserialize, Serialize};

const VERSION: &str = "meta.k8s.io/v1";

/// Where a list goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Continuation {
    /// The state that is listed; `None` for whatever it is by then.
    pub(super) revision: Option<Revision>,
    /// The last key that was looked at, below the root of the list: `name` in a namespace, `namespace/name` otherwise.
    pub(super) after: String,
}

/// What is in a token.
#[derive(Serialize, Deserialize)]
struct Token {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl Continuation {
    /// The token.
    pub(super) fn encode(&self) -> String {
        let token = Token {
            v: VERSION.to_owned(),
            // Revisions are those of an API server, which counts no further.
            rv: self.revision.map_or(-1, |revision| revision.get() as i64),
            // A zero, so that the next page begins behind the key.
            start: format!("/{}\0", self.after),
        };
        // Text and numbers can be written.
        let json = serde_json::to_vec(&token).unwrap_or_default();
        Base64UrlUnpadded::encode_string(&json)
    }

    /// Reads a token. The error is the message of a refusal.
    pub(super) fn decode(token: &str) -> Result<Self, String> {
        let refuse =
            |why: &str| format!("invalid continue token: continue key is not valid: {why}");
        let bytes = Base64UrlUnpadded::decode_vec(token.trim_end_matches('='))
            .map_err(|_| refuse("illegal base64 data"))?;
        let Token { v, rv, start } =
            serde_json::from_slice(&bytes).map_err(|error| refuse(&error.to_string()))?;
        if v != VERSION {
            return Err(refuse(&format!(
                "server does not recognize this encoded version {v}"
            )));
        }
        if rv == 0 {
            let why = "incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
            return Err(refuse(why));
        }
        if start.is_empty() {
            return Err(refuse("encoded start key empty (version meta.k8s.io/v1)"));
        }
        let key = start.strip_prefix('/').unwrap_or(&start);
        let clean = |segment: &str| !matches!(segment, "" | "." | "..");
        match key.strip_suffix('\0') {
            Some(after) if after.split('/').all(clean) => Ok(Self {
                revision: u64::try_from(rv).ok().map(Revision::new),
                after: after.to_owned(),
            }),
            _ => Err(refuse(&start)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_what_api_servers_make() {
        let continuation = Continuation {
            revision: Some(Revision::new(1241)),
            after: "template-0033".to_owned(),
        };
        let token = continuation.encode();
        let text = Base64UrlUnpadded::decode_vec(&token).unwrap();
        let expected = br#"{"v":"meta.k8s.io/v1","rv":1241,"start":"/template-0033\u0000"}"#;
        assert_eq!(text, expected);
        assert_eq!(Continuation::decode(&token), Ok(continuation));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let encoded = |text: &str| Base64UrlUnpadded::encode_string(text.as_bytes());
        for (token, end) in [
            ("%%%".to_owned(), "illegal base64 data"),
            (
                encoded(r#"{"v":"v9","rv":1,"start":"/a\u0000"}"#),
                "encoded version v9",
            ),
            (
                encoded(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"/a\u0000"}"#),
                "resourceVersion (version meta.k8s.io/v1)",
            ),
            (
                encoded(r#"{"v":"meta.k8s.io/v1","rv":3}"#),
                "start key empty (version meta.k8s.io/v1)",
            ),
            (
                encoded(r#"{"v":"meta.k8s.io/v1","rv":3,"start":"/../a\u0000"}"#),
                "/../a\0",
            ),
        ] {
            let message = Continuation::decode(&token).unwrap_err();
            assert!(message.ends_with(end), "{message}");
        }
        let latest = encoded(r#"{"v":"meta.k8s.io/v1","rv":-1,"start":"a\u0000"}"#);
        let latest = Continuation::decode(&latest).unwrap();
        assert_eq!((latest.revision, latest.after.as_str()), (None, "a"));
    }
}
