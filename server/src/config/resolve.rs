//! From flags to settings: whether they fit together, and what those mean that were not given.

use std::env;
use std::path::PathBuf;

use super::flags::Flags;
use super::{EtcdSettings, Settings, Store};
use crate::cache::Sizes;
use crate::resources::Catalog;
use crate::serve::Limits;
use crate::tls::Given;

/// A setting that does not fit, and why.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) name: &'static str,
    pub(super) why: String,
}

fn problem<T>(name: &'static str, why: impl Into<String>) -> Result<T, Problem> {
    Err(Problem {
        name,
        why: why.into(),
    })
}

/// Settings that fit together.
pub(super) fn resolve(flags: Flags) -> Result<Settings, Problem> {
    if let Some(address) = flags.insecure_listen.filter(|at| !at.ip().is_loopback()) {
        let port = address.port();
        let why = format!(
            "{address} can be reached by others, and everyone there would be admin; \
             use 127.0.0.1:{port}, or --listen for HTTPS"
        );
        return problem("insecure-listen", why);
    }
    let link = match (flags.link_listen, flags.link_keys.clone()) {
        (None, None) => None,
        (Some(address), Some(keys)) => Some((address, keys)),
        (Some(_), None) => {
            return problem(
                "link-listen",
                "nobody could come in: name the nodes and their keys with --link-keys FILE",
            );
        }
        (None, Some(_)) => {
            return problem("link-keys", "is of no use without --link-listen IP:PORT");
        }
    };
    let certificate = match (flags.tls_cert.clone(), flags.tls_key.clone()) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(Given { certificate, key }),
        (Some(_), None) => return problem("tls-cert", "needs tls-key, the file with its key"),
        (None, Some(_)) => return problem("tls-key", "needs tls-cert, the certificate it is for"),
    };
    if certificate.is_some() && !flags.tls_san.is_empty() {
        let why = "has no effect with tls-cert: the names are those in the certificate";
        return problem("tls-san", why);
    }
    let watch_cache = match Sizes::parse(&flags.watch_cache_size.join(",")) {
        Err(error) => return problem("watch-cache-size", format!("{error}; write pods=2000")),
        Ok(_) if !flags.watch_cache && !flags.watch_cache_size.is_empty() => {
            return problem("watch-cache-size", "has no effect with watch-cache = false");
        }
        Ok(sizes) => {
            sizes.names().try_for_each(check_resource)?;
            flags.watch_cache.then_some(sizes)
        }
    };
    let limits = limits(&flags)?;
    let store = store(&flags)?;
    let keep = flags.compaction_interval.0;
    Ok(Settings {
        listen: flags.listen,
        insecure_listen: flags.insecure_listen,
        link,
        data_dir: data_dir(flags.data_dir)?,
        store,
        encryption_keys: flags.encryption_keys,
        watch_cache,
        certificate,
        names: flags.tls_san,
        token_file: flags.token_file,
        limits,
        request_timeout: flags.request_timeout.0,
        min_request_timeout: flags.min_request_timeout.0,
        event_ttl: flags.event_ttl.0,
        compaction_interval: (!keep.is_zero()).then_some(keep),
        log_format: flags.log_format,
        log_level: flags.log_level,
    })
}

/// Refuses the name of a resource that there cannot be. Kinds of one's own have a group with a dot, and may come later.
fn check_resource(name: &str) -> Result<(), Problem> {
    let may_come = name
        .split_once('.')
        .is_some_and(|(_, group)| group.contains('.'));
    let builtin = Catalog::builtin();
    let mut resources = builtin.resources().iter();
    if may_come || resources.clone().any(|row| row.qualified_plural() == name) {
        return Ok(());
    }
    let (plural, _) = name.split_once('.').unwrap_or((name, ""));
    let hint = match resources.find(|row| row.plural == plural) {
        Some(row) => format!("; write {}", row.qualified_plural()),
        None => "; write a resource as `kubectl api-resources --output=name` does".to_owned(),
    };
    problem(
        "watch-cache-size",
        format!("there is no resource `{name}`{hint}"),
    )
}

fn limits(flags: &Flags) -> Result<Limits, Problem> {
    let times = [
        ("handshake-timeout", flags.handshake_timeout),
        ("header-timeout", flags.header_timeout),
        ("idle-timeout", flags.idle_timeout),
        ("request-timeout", flags.request_timeout),
        ("min-request-timeout", flags.min_request_timeout),
        ("event-ttl", flags.event_ttl),
    ];
    if let Some((name, _)) = times.iter().find(|(_, time)| time.0.is_zero()) {
        return problem(name, "must be longer than nothing; write for example 10s");
    }
    let (header, url) = (flags.max_header_bytes, flags.max_url_bytes);
    if header.0 < 4096 {
        return problem(
            "max-header-bytes",
            "must be 4KiB or more, or no client gets in",
        );
    }
    if url.0 > header.0 {
        let why = format!("must not be more than max-header-bytes, which is {header}");
        return problem("max-url-bytes", why);
    }
    Ok(Limits {
        connections: flags.max_connections,
        header_bytes: header.0,
        url_bytes: url.0,
        body_bytes: flags.max_body_bytes.0,
        header_timeout: flags.header_timeout.0,
        handshake_timeout: flags.handshake_timeout.0,
        idle_timeout: flags.idle_timeout.0,
        shutdown_timeout: flags.shutdown_timeout.0,
        streams: flags.http2_max_streams_per_connection,
        resets: flags.http2_max_resets,
        buffer_bytes: flags.max_buffer_bytes.0,
        reading: flags.max_requests_inflight,
        writing: flags.max_mutating_requests_inflight,
    })
}

fn store(flags: &Flags) -> Result<Store, Problem> {
    if flags.etcd.is_empty() {
        let only_for_etcd = [
            ("etcd-ca", flags.etcd_ca.is_some()),
            ("etcd-cert", flags.etcd_cert.is_some()),
            ("etcd-key", flags.etcd_key.is_some()),
            ("etcd-user", flags.etcd_user.is_some()),
            ("etcd-password-file", flags.etcd_password_file.is_some()),
        ];
        if let Some((name, _)) = only_for_etcd.iter().find(|(_, given)| *given) {
            return problem(name, "needs etcd, the URL of a member");
        }
        return Ok(match flags.in_memory {
            true => Store::InMemory,
            false => Store::Embedded,
        });
    }
    if flags.in_memory {
        return problem(
            "in-memory",
            "contradicts etcd: objects are kept there or not at all",
        );
    }
    let is = |scheme: &str| flags.etcd.iter().any(|url| url.starts_with(scheme));
    let other = flags.etcd.iter().find(|url| {
        let rest = url.strip_prefix("https://").or(url.strip_prefix("http://"));
        rest.is_none_or(str::is_empty)
    });
    if let Some(url) = other {
        let why = format!("`{url}` is not a URL of etcd; write for example https://10.0.0.1:2379");
        return problem("etcd", why);
    }
    if is("https://") && flags.etcd_ca.is_none() {
        let why = "https:// needs etcd-ca, the authority that signed the members' certificates";
        return problem("etcd", why);
    }
    if !is("https://") && flags.etcd_ca.is_some() {
        return problem(
            "etcd-ca",
            "has no effect with http://; write https:// in etcd",
        );
    }
    let identity = match (&flags.etcd_cert, &flags.etcd_key) {
        (None, None) => None,
        (Some(_), Some(_)) if flags.etcd_ca.is_none() => {
            return problem(
                "etcd-cert",
                "has no effect with http://; write https:// in etcd",
            );
        }
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        (Some(_), None) => return problem("etcd-cert", "needs etcd-key, the file with its key"),
        (None, Some(_)) => return problem("etcd-key", "needs etcd-cert, which it is the key of"),
    };
    let user = match (&flags.etcd_user, &flags.etcd_password_file) {
        (None, None) => None,
        (Some(user), Some(file)) => Some((user.clone(), file.clone())),
        (Some(_), None) => return problem("etcd-user", "needs etcd-password-file"),
        (None, Some(_)) => return problem("etcd-password-file", "needs etcd-user"),
    };
    Ok(Store::Etcd(EtcdSettings {
        endpoints: flags.etcd.clone(),
        prefix: flags.etcd_prefix.clone(),
        authority: flags.etcd_ca.clone(),
        identity,
        user,
    }))
}

/// By the XDG Base Directory Specification, by which a path that is not absolute does not count.
fn data_dir(given: Option<PathBuf>) -> Result<PathBuf, Problem> {
    if let Some(given) = given {
        return Ok(given);
    }
    let data_home = env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data_home = data_home.filter(|folder| folder.is_absolute());
    let home = env::home_dir().filter(|folder| folder.is_absolute());
    match data_home.or_else(|| Some(home?.join(".local/share"))) {
        Some(folder) => Ok(folder.join("ringwatch")),
        None => problem("data-dir", "is needed, since you have no home folder"),
    }
}
