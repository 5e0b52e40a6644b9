//! Opening storage as the settings say.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::{RunError, compaction};
use crate::config::{EtcdSettings, Settings, Store};
use crate::files;
use crate::serve::Shutdown;
use crate::storage::embedded::{Embedded, Options};
use crate::storage::etcd::{self, Compactor, Credentials, Etcd, Tls};
use crate::storage::transform::{Transformed, Transformer};
use crate::storage::{Storage, StorageError};

/// Opens it, and begins to keep its history short.
pub(super) async fn open(
    settings: &Settings,
    folder: &Path,
    shutdown: Shutdown,
) -> Result<Arc<dyn Storage>, RunError> {
    let keys = settings.encryption_keys.as_deref();
    let transformer = keys.map(Transformer::load).transpose();
    let transformer = transformer.map_err(RunError::because)?;
    match &settings.store {
        Store::InMemory => {
            let store = Embedded::in_memory();
            compact(settings, &store, shutdown);
            Ok(seal(store, transformer))
        }
        Store::Embedded => {
            let objects = folder.join("objects");
            let made = files::private_folder(&objects);
            made.map_err(|error| RunError::of(objects.display(), error))?;
            // It reads its log, which takes time.
            let open = move || Embedded::open(objects, Options::default());
            let opened = tokio::task::spawn_blocking(open).await;
            let store = opened
                .map_err(|error| RunError::of("cannot open the store", error))?
                .map_err(|error| RunError::because(Plainly(error)))?;
            compact(settings, &store, shutdown);
            Ok(seal(store, transformer))
        }
        Store::Etcd(etcd) => {
            let options = options(etcd)?;
            let connected = Etcd::connect(&options).await;
            let store = connected.map_err(|error| RunError::of("etcd", Plainly(error)))?;
            if let Some(every) = settings.compaction_interval {
                let mut shutdown = shutdown;
                let compactor = Compactor::new(store.clone());
                tokio::spawn(async move {
                    compactor.run(every, shutdown.begun()).await;
                });
            }
            Ok(seal(store, transformer))
        }
    }
}

fn compact(settings: &Settings, store: &Embedded, shutdown: Shutdown) {
    if let Some(every) = settings.compaction_interval {
        tokio::spawn(compaction::run(store.clone(), every, shutdown));
    }
}

fn seal(store: impl Storage, transformer: Option<Transformer>) -> Arc<dyn Storage> {
    match transformer {
        None => Arc::new(store),
        Some(transformer) => Arc::new(Transformed::new(store, transformer)),
    }
}

fn options(settings: &EtcdSettings) -> Result<etcd::Options, RunError> {
    let tls = match &settings.authority {
        None => None,
        Some(authority) => {
            let tls = Tls::new(read("etcd-ca", authority)?);
            Some(match &settings.identity {
                None => tls,
                Some((certificate, key)) => {
                    let certificate = read("etcd-cert", certificate)?;
                    tls.with_identity(certificate, read("etcd-key", key)?)
                }
            })
        }
    };
    let user = match &settings.user {
        None => None,
        Some((name, file)) => Some(Credentials::new(name, password(file)?.as_str())),
    };
    Ok(etcd::Options {
        prefix: settings.prefix.clone(),
        user,
        tls,
        ..etcd::Options::new(settings.endpoints.iter().cloned())
    })
}

fn read(setting: &str, file: &Path) -> Result<Vec<u8>, RunError> {
    let name = format_args!("{setting}: {}", file.display()).to_string();
    fs::read(file).map_err(|error| RunError::of(name, error))
}

fn password(file: &Path) -> Result<Zeroizing<String>, RunError> {
    let bytes = Zeroizing::new(read("etcd-password-file", file)?);
    let text = str::from_utf8(&bytes).ok();
    let line = text.and_then(|text| text.lines().next());
    match line {
        Some(line) if !line.is_empty() => Ok(Zeroizing::new(line.to_owned())),
        _ => {
            let name = format_args!("etcd-password-file: {}", file.display()).to_string();
            Err(RunError::of(name, "has no password in its first line"))
        }
    }
}

/// The reason alone, where the kind of the error says nothing that helps.
struct Plainly(StorageError);

impl std::fmt::Display for Plainly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            StorageError::Refused(why)
            | StorageError::Unavailable(why)
            | StorageError::Damaged(why) => f.write_str(why),
            other => other.fmt(f),
        }
    }
}
