//! Whom a request is for.
//!
//! HTTP/1.1 wants a `Host` in every request, and just one: where two readers could take different ones for true, neither is
//! believed. In HTTP/2, and in a whole URL, the authority stands for it. Once a request has passed here, the header is
//! all there is to look at.

use http::header::HOST;
use http::{HeaderValue, Method, Request, Version};

use crate::status::Failure;

/// Checks whom a request is for, and writes it into its `Host`.
pub(super) fn settle<B>(request: &mut Request<B>) -> Result<(), Failure> {
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if request.version() == Version::HTTP_11 => {
            return Err(refusal("missing required Host header"));
        }
        (Some(_), Some(_)) => return Err(refusal("too many Host headers")),
        (Some(host), None) if !host.as_bytes().iter().all(is_allowed) => {
            return Err(malformed());
        }
        _ => {}
    }
    if let Some(authority) = request.uri().authority() {
        if request.uri().scheme().is_none() && request.method() != Method::CONNECT {
            return Err(refusal("invalid URI for request"));
        }
        let text = authority.as_str();
        if !text.bytes().all(|byte| is_allowed(&byte)) {
            return Err(malformed());
        }
        let host = HeaderValue::from_str(text).map_err(|_| malformed())?;
        request.headers_mut().insert(HOST, host);
    }
    Ok(())
}

/// What a name, an address or a port may consist of. A user before the name (`@`) is none of them.
fn is_allowed(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!$%&'()*+,-.:;=[]_~".contains(byte)
}

fn malformed() -> Failure {
    refusal("malformed Host header")
}

fn refusal(why: &str) -> Failure {
    Failure::bad_request(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host that the handler sees, or why there is none.
    fn settled(version: Version, url: &str, hosts: &[&str]) -> String {
        let mut request = Request::builder().version(version).uri(url);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let mut request = request.body(()).unwrap();
        match settle(&mut request) {
            Err(failure) => format!("{}: {}", failure.code, failure.message),
            Ok(()) => match request.headers().get(HOST) {
                None => "nobody".to_owned(),
                Some(host) => host.to_str().unwrap().to_owned(),
            },
        }
    }

    #[test]
    fn a_request_is_for_one() {
        let (old, usual, newer) = (Version::HTTP_10, Version::HTTP_11, Version::HTTP_2);
        for (version, url, hosts, expected) in [
            (usual, "/", &["a.example:80"][..], "a.example:80"),
            (usual, "/", &["[::1]:6443"], "[::1]:6443"),
            (usual, "/", &[""], ""),
            (usual, "/", &[], "400: missing required Host header"),
            (usual, "http://a/", &[], "400: missing required Host header"),
            (usual, "/", &["a", "a"], "400: too many Host headers"),
            (usual, "/", &["a b"], "400: malformed Host header"),
            (usual, "/", &["a@b"], "400: malformed Host header"),
            (usual, "/", &["a/b"], "400: malformed Host header"),
            (usual, "http://b/", &["a"], "b"),
            (usual, "b", &["a"], "400: invalid URI for request"),
            (old, "/", &[], "nobody"),
            (newer, "/", &[], "nobody"),
            (newer, "https://b:1/", &[], "b:1"),
            (newer, "https://b/", &["localhost"], "b"),
            (
                newer,
                "https://b/",
                &["a", "b"],
                "400: too many Host headers",
            ),
            (
                newer,
                "https://localhost@b/",
                &[],
                "400: malformed Host header",
            ),
        ] {
            let found = settled(version, url, hosts);
            assert_eq!(found, expected, "{version:?} {url} {hosts:?}");
        }
    }
}
