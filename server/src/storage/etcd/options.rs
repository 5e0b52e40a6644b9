//! How to reach an etcd cluster, and which part of it is ours.

use std::fmt;
use std::time::Duration;

/// How to reach an etcd cluster.
///
/// ```
/// use ringwatch_server::storage::etcd::{Credentials, Options};
///
/// let options = Options {
///     user: Some(Credentials::new("ringwatch", "secret")),
///     ..Options::new(["http://10.0.0.1:2379", "http://10.0.0.2:2379"])
/// };
/// assert_eq!(options.prefix, "/registry");
/// assert!(!format!("{options:?}").contains("secret"));
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the members listen for clients. Each request goes to one that can be reached.
    pub endpoints: Vec<String>,
    /// What every key begins with. Keys outside it are neither seen nor touched, save the one that
    /// coordinates [compaction](super::Compactor).
    pub prefix: String,
    /// Who to log in as, where etcd asks for it.
    pub user: Option<Credentials>,
    /// For endpoints that begin with `https`.
    pub tls: Option<Tls>,
    /// How long to try to connect to one endpoint.
    pub connect_timeout: Duration,
    /// How long a request may take, repetitions and elections included. A running watch has no such limit: its connection
    /// is probed instead.
    pub request_timeout: Duration,
}

impl Options {
    /// The usual: Kubernetes' prefix, no login, no encryption.
    pub fn new<E: Into<String>>(endpoints: impl IntoIterator<Item = E>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            prefix: "/registry".to_owned(),
            user: None,
            tls: None,
            connect_timeout: Duration::from_secs(2),
            request_timeout: Duration::from_secs(10),
        }
    }
}

/// A name and a password. The password is not printed.
#[derive(Clone)]
pub struct Credentials {
    pub(super) name: String,
    pub(super) password: String,
}

impl Credentials {
    /// A user that etcd knows.
    pub fn new(name: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            password: password.into(),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:…", self.name)
    }
}

/// Whom to trust, and how to prove who we are; all of it PEM. Keys are not printed.
#[derive(Clone)]
pub struct Tls {
    pub(super) authority: Vec<u8>,
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Tls {
    /// Trusts members whose certificate this authority signed, and nobody else.
    pub fn new(authority: impl Into<Vec<u8>>) -> Self {
        Self {
            authority: authority.into(),
            identity: None,
        }
    }

    /// Shows this certificate to etcd.
    pub fn with_identity(self, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self {
            identity: Some((certificate.into(), key.into())),
            ..self
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("identity", &self.identity.is_some())
            .finish_non_exhaustive()
    }
}
