//! How the server proves who it is: with certificates of its own making, or with those it is given.
//!
//! ```text
//!   first start: authority (ca.crt, ca.key) ──► clients, by way of admin.kubeconfig
//!   each start, and in good time:  └──► a certificate for the names of this server, in memory only
//! ```
//!
//! A certificate of our own is never stored: making one takes a millisecond, so each start makes one for the
//! names it was given, and there is no old one to go stale. Given files are read again when they change. Either way, running
//! connections go on, and new ones get the new certificate.

mod authority;
mod given;
mod kubeconfig;
mod names;

use std::error::Error;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

pub use self::authority::{Authority, renew};
pub use self::given::{Given, reload};
pub use self::kubeconfig::kubeconfig;
pub use self::names::{BadName, Name, of_this_server};

/// The certificate in use. Clones share it.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// A lock, since it is held for a look or an exchange, once per handshake.
    current: Arc<RwLock<Arc<CertifiedKey>>>,
}

impl Certificate {
    /// Begins with this one.
    pub fn new(first: CertifiedKey) -> Self {
        Self {
            current: Arc::new(RwLock::new(Arc::new(first))),
        }
    }

    /// New connections are shown this one.
    pub fn replace(&self, next: CertifiedKey) {
        let mut current = self.current.write();
        *current
            .as_deref_mut()
            .unwrap_or_else(|error| error.get_mut()) = Arc::new(next);
    }

    fn current(&self) -> Arc<CertifiedKey> {
        let current = self.current.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

/// TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1 by ALPN.
pub fn server_config(certificate: Certificate) -> Result<ServerConfig, TlsError> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::rustls)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(certificate));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // A client that comes back need not shake hands in full, and nothing is kept here for it.
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(TlsError::rustls)?;
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// What is wrong with a certificate, a key or their files, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsError(String);

impl TlsError {
    fn rustls(error: rustls::Error) -> Self {
        Self(error.to_string())
    }

    fn of(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for TlsError {}
