//! A client that is HTTP/2 and TLS and nothing else: it knows what a watch's events are, and no Kubernetes. If there is a relay it reads from there.

mod events;
mod form;
mod relayed;

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap};
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

pub(crate) use events::{Event, Events};
pub(crate) use form::Form;

use crate::PATIENCE;
use crate::program::Program;
use crate::relay::Relay;
use relayed::Relayed;

/// A connection. Its clones use the same.
#[derive(Clone)]
pub(crate) struct Wire {
    sender: SendRequest<Full<Bytes>>,
    /// Where everything is read that is asked for by GET, if not at the server.
    relayed: Option<Relayed>,
    origin: String,
    token: String,
    /// How bodies are written.
    form: Form,
    headers: HeaderMap,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    /// The header of this name; empty without.
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().expect("text"))
    }
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
            relayed: None,
            origin: format!("https://{address}"),
            token: program.token(),
            form: Form::Json,
            headers: HeaderMap::new(),
        }
        .speaking(Form::Json)
    }

    /// The same connection, beside which a relay is asked for all that is only read.
    pub(crate) fn reading_from(&self, relay: &Relay) -> Self {
        Self {
            relayed: Some(Relayed::new(relay.address())),
            ..self.clone()
        }
    }

    /// Whether what is read comes from a relay.
    pub(crate) fn reads_from_a_relay(&self) -> bool {
        self.relayed.is_some()
    }

    /// The same connection, on which this form is sent and asked for.
    pub(crate) fn speaking(&self, form: Form) -> Self {
        let wire = Self {
            form,
            ..self.clone()
        };
        wire.with(ACCEPT.as_str(), form.accept())
    }

    /// The same connection, with this header in every request.
    pub(crate) fn with(&self, name: &'static str, value: &str) -> Self {
        let mut wire = self.clone();
        wire.headers
            .insert(name, value.parse().expect("the value of a header"));
        wire
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
        let (wire, path) = (self.clone(), path.to_owned());
        async move {
            let answer = wire.answer(method, &path, body).await;
            let (status, body) = (answer.status, answer.body);
            assert!(status.is_success(), "{request}: {status}: {body}");
            body
        }
    }

    /// The answer to a GET, which must succeed.
    pub(crate) async fn get(&self, path: &str) -> Value {
        self.ask(Method::GET, path, None).await
    }

    /// The text at a path, whatever the status.
    pub(crate) async fn text(&self, path: &str) -> String {
        let answer = self.send(Method::GET, path, None).await;
        let body = answer.expect("an answer").into_body();
        let bytes = body.collect().await.expect("a body").to_bytes();
        String::from_utf8(bytes.into()).expect("text")
    }

    /// A watch. `None` if there is no longer a server to ask.
    pub(crate) async fn watch(&self, path: &str) -> Option<Events> {
        let answer = self.send(Method::GET, path, None).await?;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        let form = Form::of(answer.headers());
        Some(Events::new(answer.into_body(), form))
    }

    /// The answer to a request, whatever it is.
    pub(crate) async fn answer(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let reads = method == Method::GET;
        let answer = self.send(method, path, body).await.expect("an answer");
        let (head, body) = answer.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let answer = Answer {
            status: head.status,
            body: Form::of(&head.headers).read(&body),
            headers: head.headers,
        };
        if let Some(relayed) = self.relayed.as_ref().filter(|_| !reads) {
            relayed.written(path, &answer.body);
        }
        answer
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Option<http::Response<Incoming>> {
        if let Some(relayed) = self.relayed.as_ref().filter(|_| method == Method::GET) {
            return Some(relayed.get(path, &self.headers).await);
        }
        let body = body.map(|body| self.form.write(&body)).unwrap_or_default();
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.origin))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, self.form.content_type())
            .body(Full::new(Bytes::from(body)))
            .expect("a request");
        request.headers_mut().extend(self.headers.clone());
        let mut sender = self.sender.clone();
        sender.ready().await.ok()?;
        let answer = timeout(PATIENCE, sender.send_request(request)).await;
        answer.expect("an answer in time").ok()
    }
}

/// The revision of an object or a list.
pub(crate) fn revision(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("no revision: {object}"))
}
