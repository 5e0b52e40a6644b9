//! A client that is HTTP/2 and TLS and nothing else: it knows what a watch's lines are, and no Kubernetes.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::PATIENCE;
use crate::program::Program;

/// A connection. Its clones use the same.
#[derive(Clone)]
pub(crate) struct Wire {
    sender: SendRequest<Full<Bytes>>,
    origin: String,
    token: String,
}

impl Wire {
    /// Connects as the kubeconfig of the server's admin says: its authority is trusted, no other is.
    pub(crate) async fn connect(program: &Program) -> Self {
        let mut roots = RootCertStore::empty();
        let authority =
            CertificateDer::from_pem_slice(&program.authority()).expect("a certificate");
        roots.add(authority).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let address = program.address();
        let stream = TcpStream::connect(address).await.expect("a connection");
        let name = ServerName::from(address.ip());
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector.connect(name, stream).await.expect("TLS");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("HTTP/2");
        // It ends with the server or with the last handle; whoever waits for an answer hears of it.
        tokio::spawn(connection);
        Self {
            sender,
            origin: format!("https://{address}"),
            token: program.token(),
        }
    }

    /// The answer to a request, which must succeed.
    #[track_caller]
    pub(crate) fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> impl Future<Output = Value> + use<> {
        let request = format!("{method} {path}");
        let answer = self.clone().answer(method, path.to_owned(), body);
        async move {
            let (status, answer) = answer.await;
            assert!(status.is_success(), "{request}: {status}: {answer}");
            answer
        }
    }

    /// The answer to a GET, which must succeed.
    pub(crate) async fn get(&self, path: &str) -> Value {
        self.ask(Method::GET, path, None).await
    }

    /// A watch. `None` if there is no longer a server to ask.
    pub(crate) async fn watch(&self, path: &str) -> Option<Events> {
        let answer = self.clone().send(Method::GET, path, None).await?;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        Some(Events {
            body: answer.into_body(),
            buffer: Vec::new(),
        })
    }

    async fn answer(
        self,
        method: Method,
        path: String,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let answer = self.send(method, &path, body).await.expect("an answer");
        let status = answer.status();
        let body = answer
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes();
        (status, serde_json::from_slice(&body).expect("JSON"))
    }

    async fn send(
        mut self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Option<http::Response<Incoming>> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.origin))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .expect("a request");
        self.sender.ready().await.ok()?;
        let answer = timeout(PATIENCE, self.sender.send_request(request)).await;
        answer.expect("an answer in time").ok()
    }
}

/// The events of a watch.
pub(crate) struct Events {
    body: Incoming,
    /// What has come of lines that were not asked for yet.
    buffer: Vec<u8>,
}

impl Events {
    /// The next one; `None` when the watch has ended, be it because the server has.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = self.buffer.drain(..=end).collect();
                let mut event: Value = serde_json::from_slice(&line).expect("JSON");
                return Some(Event {
                    kind: event["type"].as_str().expect("a type").to_owned(),
                    object: event["object"].take(),
                });
            }
            let frame = timeout(PATIENCE, self.body.frame()).await;
            let frame = frame.expect("an event in time")?.ok()?;
            if let Some(bytes) = frame.data_ref() {
                self.buffer.extend_from_slice(bytes);
            }
        }
    }
}

/// An event of a watch.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) object: Value,
}

impl Event {
    pub(crate) fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().expect("a name")
    }

    pub(crate) fn revision(&self) -> u64 {
        revision(&self.object)
    }
}

/// The revision of an object or a list.
pub(crate) fn revision(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("no revision: {object}"))
}
