//! Passwords and certificates.

use std::fs;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use ringwatch_server::storage::etcd::{Credentials, Etcd, Options, Tls};
use ringwatch_server::storage::{Storage, StorageError, Write};
use ringwatch_tests::etcd::{Folder, Server, TlsFiles, Version};

use crate::{committed, next, next_changes, on_each_version, options};

on_each_version!(a_user_sees_what_is_granted, both_sides_show_certificates);

async fn a_user_sees_what_is_granted(version: Version) {
    let server = Server::start(version);
    server
        .gateway()
        .require_login("ringwatch", "secret", "/registry/", "/registry0");
    let login = |name: &str, password: &str| Options {
        user: Some(Credentials::new(name, password)),
        ..options(server.endpoint())
    };
    let etcd = Etcd::connect(&login("ringwatch", "secret")).await.unwrap();
    let start = etcd.revision().await.unwrap();
    let mut changes = etcd.watch("/pods/", start).await.unwrap();
    let written = committed(&etcd, vec![Write::create("/pods/a/x", "1")]).await;
    assert_eq!(next_changes(&mut changes).await.0, written);

    let wrong = Etcd::connect(&login("ringwatch", "guess")).await;
    assert!(matches!(wrong, Err(StorageError::Refused(_))), "{wrong:?}");
    let anonymous = Etcd::connect(&options(server.endpoint())).await.unwrap();
    let refused = anonymous.get("/pods/a/x").await;
    assert!(
        matches!(refused, Err(StorageError::Refused(_))),
        "{refused:?}"
    );
    let elsewhere = Options {
        prefix: "/other".to_owned(),
        ..login("ringwatch", "secret")
    };
    let elsewhere = Etcd::connect(&elsewhere).await.unwrap();
    let refused = elsewhere.get("/pods/a/x").await;
    assert!(
        matches!(refused, Err(StorageError::Refused(_))),
        "{refused:?}"
    );
    let mut changes = elsewhere.watch("/pods/", start).await.unwrap();
    let refused = next(&mut changes).await;
    assert!(
        matches!(refused, Some(Err(StorageError::Refused(_)))),
        "{refused:?}"
    );
    assert_eq!(next(&mut changes).await, None);
}

/// A certificate and its key, as PEM.
struct Pair {
    certificate: String,
    key: String,
}

struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self {
            certificate: params.self_signed(&key).unwrap().pem(),
            issuer: Issuer::new(params, key),
        }
    }

    fn sign(&self) -> Pair {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().unwrap();
        Pair {
            certificate: params.signed_by(&key, &self.issuer).unwrap().pem(),
            key: key.serialize_pem(),
        }
    }
}

async fn both_sides_show_certificates(version: Version) {
    let folder = Folder::new();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let authority = Authority::new();
    let served = authority.sign();
    let files = TlsFiles {
        authority: file("authority.pem", &authority.certificate),
        certificate: file("server.pem", &served.certificate),
        key: file("server.key", &served.key),
    };
    let server = Server::start_with(version, &[], Some(&files));
    let with = |tls: Tls| Options {
        tls: Some(tls),
        request_timeout: Duration::from_secs(2),
        ..options(server.endpoint())
    };
    let trusting = || Tls::new(authority.certificate.as_str());
    let own = authority.sign();
    let identity = trusting().with_identity(own.certificate, own.key);
    let etcd = Etcd::connect(&with(identity)).await.unwrap();
    let start = etcd.revision().await.unwrap();
    let mut changes = etcd.watch("/pods/", start).await.unwrap();
    let written = committed(&etcd, vec![Write::create("/pods/a/x", "1")]).await;
    assert_eq!(next_changes(&mut changes).await.0, written);

    let stranger = Authority::new();
    let signed = stranger.sign();
    for tls in [
        trusting(),
        trusting().with_identity(signed.certificate, signed.key),
        Tls::new(stranger.certificate.as_str()),
    ] {
        let etcd = Etcd::connect(&with(tls)).await.unwrap();
        let refused = etcd.get("/pods/a/x").await;
        assert!(
            matches!(refused, Err(StorageError::Unavailable(_))),
            "{refused:?}"
        );
    }
    let nonsense = trusting().with_identity("no certificate", "no key");
    let refused = Etcd::connect(&with(nonsense)).await;
    assert!(
        matches!(refused, Err(StorageError::Refused(_))),
        "{refused:?}"
    );
}
