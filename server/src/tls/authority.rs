//! An authority of our own, which signs our own certificates.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use super::{Certificate, Name, TlsError, provider};
use crate::files;

const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";
/// Clocks may differ by this much.
const SLACK: Duration = Duration::from_secs(3600);
/// The life of a certificate that the authority signs. A year: some clients refuse more than 398 days.
const LIFE: Duration = Duration::from_secs(365 * 24 * 3600);
/// How much of it must be left. A process that runs for months replaces its certificate in time.
const LEFT: Duration = Duration::from_secs(90 * 24 * 3600);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(3600);

/// An authority, kept in a folder: `ca.crt`, for clients, and `ca.key`, for nobody else.
///
/// It has no end that would have to be planned for: who has its key has the data beside it as well, so a
/// date would protect nothing. To replace it, remove both files and start again.
pub struct Authority {
    certificate: CertificateDer<'static>,
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Takes the authority of the folder, and makes one if there is none.
    pub fn open(folder: &Path) -> Result<Self, TlsError> {
        let (certificate_file, key_file) = (folder.join(CERTIFICATE), folder.join(KEY));
        let key = match fs::read_to_string(&key_file) {
            Ok(pem) => KeyPair::from_pem(&pem).map_err(|error| {
                let hint = "remove it together with ca.crt to have new ones made";
                TlsError::of(key_file.display(), format!("{error}; {hint}"))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Self::make(folder);
            }
            Err(error) => return Err(TlsError::of(key_file.display(), error)),
        };
        let failed = |error: &dyn std::fmt::Display| {
            let hint = "remove it together with ca.key to have new ones made";
            TlsError::of(certificate_file.display(), format!("{error}; {hint}"))
        };
        let pem = fs::read_to_string(&certificate_file).map_err(|error| failed(&error))?;
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes());
        let certificate = certificate.map_err(|error| failed(&error))?;
        Ok(Self {
            certificate,
            pem,
            issuer: Issuer::new(params(), key),
        })
    }

    fn make(folder: &Path) -> Result<Self, TlsError> {
        let failed = |error: rcgen::Error| TlsError::of("cannot make an authority", error);
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params().self_signed(&key).map_err(failed)?;
        let pem = certificate.pem();
        let unwritten = |error: io::Error| TlsError::of(folder.display(), error);
        files::private_folder(folder).map_err(unwritten)?;
        // The key last: it is what tells that there is an authority.
        files::write_private(&folder.join(CERTIFICATE), pem.as_bytes()).map_err(unwritten)?;
        let secret = zeroize::Zeroizing::new(key.serialize_pem());
        files::write_private(&folder.join(KEY), secret.as_bytes()).map_err(unwritten)?;
        Ok(Self {
            certificate: certificate.der().clone(),
            pem,
            issuer: Issuer::new(params(), key),
        })
    }

    /// What clients need to trust what it signs.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Signs a certificate for these names, good from about `now` on for a year.
    pub fn sign(&self, names: &[Name], now: SystemTime) -> Result<CertifiedKey, TlsError> {
        let failed = |error: rcgen::Error| TlsError::of("cannot make a certificate", error);
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let common = DnType::CommonName;
        params.distinguished_name.push(common, "ringwatch-server");
        params.not_before = (now - SLACK).into();
        params.not_after = (now + LIFE).into();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        for name in names {
            params.subject_alt_names.push(match name {
                Name::Address(address) => SanType::IpAddress(*address),
                Name::Dns(name) => SanType::DnsName(name.as_str().try_into().map_err(failed)?),
            });
        }
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        let chain = vec![certificate.der().clone(), self.certificate.clone()];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        CertifiedKey::from_der(chain, key, &provider()).map_err(TlsError::rustls)
    }
}

/// The same at each start, so that a certificate names its issuer as the authority's certificate does.
fn params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    let common = DnType::CommonName;
    params.distinguished_name.push(common, "ringwatch-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    // By RFC 5280, 4.1.2.5: no well-defined end.
    params.not_after = rcgen::date_time_ymd(9999, 12, 31);
    params
}

/// Replaces the certificate whenever it nears its end. Runs for ever.
pub async fn renew(authority: Authority, names: Vec<Name>, certificate: Certificate) {
    let mut signed = SystemTime::now();
    loop {
        tokio::time::sleep(LOOK).await;
        let now = SystemTime::now();
        // A clock that was set back makes the age unknown: better one too many.
        let age = now.duration_since(signed).unwrap_or(LIFE);
        if age < LIFE - LEFT {
            continue;
        }
        match authority.sign(&names, now) {
            Ok(next) => {
                certificate.replace(next);
                signed = now;
                tracing::info!("the server's certificate was renewed");
            }
            Err(error) => tracing::error!(%error, "the server's certificate cannot be renewed"),
        }
    }
}
