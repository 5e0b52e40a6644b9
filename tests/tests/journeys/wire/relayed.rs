//! Reading from a relay what is written at its server. Whoever reads there what they have just written waits until it has come.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use http::header::{HOST, HeaderMap};
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::PATIENCE;

/// A relay, and what was written last of each of its resources.
#[derive(Debug, Clone)]
pub(super) struct Relayed {
    address: SocketAddr,
    written: Arc<Mutex<HashMap<String, u64>>>,
}

impl Relayed {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            written: Arc::default(),
        }
    }

    /// The server has made this of what was written at a path.
    pub(super) fn written(&self, path: &str, object: &Value) {
        let text = object["metadata"]["resourceVersion"].as_str();
        if let (Some(collection), Some(revision)) =
            (collection(path), text.and_then(|it| it.parse().ok()))
        {
            self.written
                .lock()
                .expect("no panic")
                .insert(collection, revision);
        }
    }

    /// The answer to a GET, of a state that has what was written.
    pub(super) async fn get(&self, path: &str, headers: &HeaderMap) -> Response<Incoming> {
        let collection = collection(path);
        let written = collection.as_ref().and_then(|collection| {
            self.written
                .lock()
                .expect("no panic")
                .get(collection)
                .copied()
        });
        if let (Some(collection), Some(revision)) = (collection, written) {
            let fresh = format!(
                "{collection}?limit=1&resourceVersion={revision}&resourceVersionMatch=NotOlderThan"
            );
            let begun = Instant::now();
            while self.ask(&fresh, &HeaderMap::new()).await.status() != StatusCode::OK {
                assert!(begun.elapsed() < PATIENCE, "{fresh} has not come");
            }
        }
        self.ask(path, headers).await
    }

    /// Each request has a connection of its own.
    async fn ask(&self, path: &str, headers: &HeaderMap) -> Response<Incoming> {
        let stream = TcpStream::connect(self.address)
            .await
            .expect("a connection");
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP/1.1");
        // It ends with the answer's body.
        tokio::spawn(connection);
        let mut request = Request::builder()
            .uri(path)
            .header(HOST, self.address.to_string())
            .body(Empty::<Bytes>::new())
            .expect("a request");
        request.headers_mut().extend(headers.clone());
        let answer = timeout(PATIENCE, sender.send_request(request)).await;
        answer.expect("an answer in time").expect("an answer")
    }
}

/// The path of all objects of the resource that a path is about: `/api/v1/configmaps`.
fn collection(path: &str) -> Option<String> {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (base, rest) = match *parts.as_slice() {
        ["api", version, ref rest @ ..] => (format!("/api/{version}"), rest),
        ["apis", group, version, ref rest @ ..] => (format!("/apis/{group}/{version}"), rest),
        _ => return None,
    };
    match *rest {
        ["namespaces", _, resource, ..] | [resource, ..] => Some(format!("{base}/{resource}")),
        [] => None,
    }
}
