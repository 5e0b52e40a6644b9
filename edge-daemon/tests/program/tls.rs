//! TLS before a [replay](crate::replay), as an API server has it: both ends show certificates, and it remembers which it was shown.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// Who signs the certificates of both ends.
pub(crate) struct Authority {
    pub(crate) certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
pub(crate) struct Pair {
    pub(crate) certificate: rcgen::Certificate,
    pub(crate) key: KeyPair,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self {
            certificate: params.self_signed(&key).unwrap(),
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for either end.
    pub(crate) fn sign(&self) -> Pair {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().unwrap();
        Pair {
            certificate: params.signed_by(&key, &self.issuer).unwrap(),
            key,
        }
    }
}

/// A request, and the certificate of who made it.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) path: String,
    pub(crate) certificate: CertificateDer<'static>,
}

#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) port: u16,
    shown: Arc<Mutex<Vec<Shown>>>,
    /// For the next connection.
    config: Arc<Mutex<Arc<ServerConfig>>>,
}

impl Front {
    /// Passes requests of those who show a certificate of this authority to a port behind it.
    pub(crate) fn start(authority: &Authority, behind: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let front = Self {
            port: listener.local_addr().unwrap().port(),
            shown: Arc::default(),
            config: Arc::new(Mutex::new(config(authority))),
        };
        let own = front.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let config = own.config.lock().unwrap().clone();
                let own = own.clone();
                std::thread::spawn(move || own.pass(stream, config, behind));
            }
        });
        front
    }

    /// From now on another authority is believed, and has signed the certificate that is shown.
    pub(crate) fn believe(&self, authority: &Authority) {
        *self.config.lock().unwrap() = config(authority);
    }

    /// What was asked for, and by whom.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        self.shown.lock().unwrap().clone()
    }

    /// Passes one request and its answer; nothing if the other end does not prove who it is, or goes away.
    fn pass(&self, stream: TcpStream, config: Arc<ServerConfig>, behind: u16) -> Option<()> {
        let session = ServerConnection::new(config).unwrap();
        let mut reader = BufReader::new(StreamOwned::new(session, stream));
        let mut request = String::new();
        while !request.ends_with("\r\n\r\n") {
            (reader.read_line(&mut request).ok()? > 0).then_some(())?;
        }
        let mut stream = reader.into_inner();
        let certificate = stream.conn.peer_certificates()?.first()?;
        self.shown.lock().unwrap().push(Shown {
            path: request.split(' ').nth(1)?.to_owned(),
            certificate: certificate.clone().into_owned(),
        });
        let mut behind = TcpStream::connect(("127.0.0.1", behind)).ok()?;
        behind.write_all(request.as_bytes()).ok()?;
        let mut buffer = [0; 4096];
        loop {
            let len = behind.read(&mut buffer).ok().filter(|len| *len > 0)?;
            stream.write_all(&buffer[..len]).ok()?;
            stream.flush().ok()?;
        }
    }
}

/// How to talk with those who show a certificate of this authority.
fn config(authority: &Authority) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate.der().clone()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let own = authority.sign();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(vec![own.certificate.der().clone()], own.key.into())
        .unwrap();
    Arc::new(config)
}
