//! How to reach an API server and who to be there: read again for every connection, so that tokens and certificates may change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::kubeconfig;
use crate::config::Upstream;

/// How to reach an API server.
#[derive(Debug, Clone)]
pub struct Access {
    url: String,
    token: Option<Given>,
    authority: Option<Given>,
    certificate: Option<(Given, Given)>,
}

/// Something that is in a file, or here.
#[derive(Debug, Clone)]
pub(super) enum Given {
    File(PathBuf),
    Here(Vec<u8>),
}

impl Given {
    fn read(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::File(path) => {
                fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
            }
            Self::Here(bytes) => Ok(bytes.clone()),
        }
    }
}

/// What is needed for a connection.
pub(super) struct Read {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Option<ClientConfig>,
    pub(super) token: Option<String>,
}

impl Access {
    /// From the settings.
    pub fn of(upstream: &Upstream) -> Result<Option<Self>, String> {
        let access = match upstream {
            Upstream::Link { .. } => return Ok(None),
            Upstream::Kubeconfig { file, context } => {
                let text = fs::read_to_string(file)
                    .map_err(|error| format!("{}: {error}", file.display()))?;
                let base = file.parent().unwrap_or(Path::new(""));
                kubeconfig::read(&text, base, context.as_deref())
                    .map_err(|error| format!("{}: {error}", file.display()))?
            }
            Upstream::Url {
                url,
                token_file,
                ca_file,
                cert,
            } => Self {
                url: url.clone(),
                token: token_file.clone().map(Given::File),
                authority: ca_file.clone().map(Given::File),
                certificate: cert
                    .clone()
                    .map(|(cert, key)| (Given::File(cert), Given::File(key))),
            },
        };
        access.read()?;
        Ok(Some(access))
    }

    pub(super) const fn new(
        url: String,
        token: Option<Given>,
        authority: Option<Given>,
        certificate: Option<(Given, Given)>,
    ) -> Self {
        Self {
            url,
            token,
            authority,
            certificate,
        }
    }

    /// The API's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What is so now.
    pub(super) fn read(&self) -> Result<Read, String> {
        let (secure, rest) = match self.url.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(format!("{}: not http:// or https://", self.url)),
        };
        let authority = rest.trim_end_matches('/');
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                let port = port
                    .parse()
                    .map_err(|_| format!("{}: no such port", self.url))?;
                (host, port)
            }
            _ => (authority, if secure { 443 } else { 80 }),
        };
        let token = self.token.as_ref().map(Given::read).transpose()?;
        let token = token.map(|token| String::from_utf8_lossy(&token).trim().to_owned());
        Ok(Read {
            host: host.to_owned(),
            port,
            tls: secure.then(|| self.tls()).transpose()?,
            token,
        })
    }

    fn tls(&self) -> Result<ClientConfig, String> {
        let authority = self
            .authority
            .as_ref()
            .ok_or("https: say who signed the API's certificate (ca-file)")?;
        let authority = authority.read()?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&authority) {
            let certificate =
                certificate.map_err(|error| format!("the authority's certificate: {error}"))?;
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots);
        let Some((certificate, key)) = &self.certificate else {
            return Ok(builder.with_no_client_auth());
        };
        let (certificate, key) = (certificate.read()?, key.read()?);
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificate).collect();
        let chain = chain.map_err(|error| format!("the certificate to show: {error}"))?;
        let key =
            PrivateKeyDer::from_pem_slice(&key).map_err(|error| format!("its key: {error}"))?;
        builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| error.to_string())
    }
}
