//! A certificate and a key that somebody else takes care of.

use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::{Certificate, TlsError, provider};
use crate::files::Changes;

/// Where they are, in PEM: the certificate with those between it and its authority after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The certificates.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

impl Given {
    /// Reads both.
    pub fn load(&self) -> Result<CertifiedKey, TlsError> {
        let failed =
            |file: &Path, error: &dyn std::fmt::Display| TlsError::of(file.display(), error);
        let certificates = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| failed(&self.certificate, &error))?;
        if certificates.is_empty() {
            let why = "has no certificate; it should begin with -----BEGIN CERTIFICATE-----";
            return Err(failed(&self.certificate, &why));
        }
        let key =
            PrivateKeyDer::from_pem_file(&self.key).map_err(|error| failed(&self.key, &error))?;
        CertifiedKey::from_der(certificates, key, &provider()).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                let why = format!("is not the key of {}", self.certificate.display());
                failed(&self.key, &why)
            }
            error => failed(&self.certificate, &error),
        })
    }

    /// Begins to look for changes.
    pub fn changes(&self) -> Changes {
        Changes::since_now([self.certificate.clone(), self.key.clone()])
    }
}

/// Replaces the certificate whenever its files change. One that cannot be used is reported, and the old one stays. Runs
/// for ever.
pub async fn reload(given: Given, mut changes: Changes, certificate: Certificate) {
    loop {
        changes.next().await;
        match given.load() {
            Ok(next) => {
                certificate.replace(next);
                tracing::info!(file = %given.certificate.display(), "the server's certificate was read again");
            }
            Err(error) => {
                tracing::error!(%error, "the server's certificate changed, but cannot be used; the old one stays");
            }
        }
    }
}
