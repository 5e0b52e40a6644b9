//! The process around the API: from settings to an exit code.
//!
//! ```text
//!   settings ──► data folder (lock, authority, admin token) ──► storage ──► handler ──► serve
//!                                                                   └─► compaction
//!   signals ──► shutdown ──► serve returns ──► storage closes
//! ```
//!
//! Everything is opened before anything is served, so what is wrong is said at once and by its name. The first line on
//! the standard output says that the server takes connections.

mod admin;
mod compaction;
mod data_folder;
mod descriptors;
mod logs;
mod memory;
mod signals;
mod storage;

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::api::Api;
use crate::auth::{Authenticator, Users};
use crate::config::{Settings, Store};
use crate::files::Changes;
use crate::link::{self, keys::Keys};
use crate::serve::{InFlight, Listener, Shutdown, serve};
use crate::storage::Storage;
use crate::tls::{self, Authority, Certificate};

use self::admin::Admin;
use self::data_folder::DataFolder;

pub use self::memory::use_small_pages;

/// How long to wait for a storage that does not answer before serving what can be served without it.
const SETTLING: Duration = Duration::from_secs(2);

/// What the API is made of.
#[derive(Clone)]
pub struct Parts {
    /// What the server was told.
    pub settings: Arc<Settings>,
    /// Where objects are kept, encrypted if they are to be.
    pub storage: Arc<dyn Storage>,
    /// Who asks.
    pub authenticator: Arc<Authenticator>,
    /// How many requests there may be.
    pub in_flight: InFlight,
    /// When to end what does not end by itself: watches.
    pub shutdown: Shutdown,
    /// Where HTTPS is listened for: the port is known even if any was asked for.
    pub address: SocketAddr,
}

/// What answers requests. The one place where the process meets the API.
fn handler(parts: Parts) -> Arc<Api> {
    Api::start(parts)
}

/// Runs the server until it is told to stop.
pub fn run(settings: Settings) -> Result<(), RunError> {
    use_small_pages();
    logs::start(settings.log_format, settings.log_level.clone());
    let runtime = Runtime::new().map_err(|error| RunError::of("no threads", error))?;
    runtime.block_on(run_until_stopped(settings))
    // What is left of connections is dropped with the runtime, and with it the last handles to storage, which then closes.
}

async fn run_until_stopped(mut settings: Settings) -> Result<(), RunError> {
    let signals = signals::listen().map_err(|error| RunError::of("no signals", error))?;
    settings.limits.connections = descriptors::allow(settings.limits.connections);
    let folder = DataFolder::take(&settings.data_dir)?;
    let users = Changes::since_now(settings.token_file.clone());
    let admin = Admin::open(folder.path())?;
    let authenticator = Arc::new(authenticator(&settings, &admin)?);
    let (certificate, authority) = certificate(&settings, folder.path())?;
    let config = tls::server_config(certificate).map_err(RunError::because)?;
    let secure = listen(settings.listen, |address| {
        Listener::tls(address, Arc::new(config))
    })?;
    let plain = match settings.insecure_listen {
        None => None,
        Some(address) => Some(listen(address, Listener::plain)?),
    };
    let link = match &settings.link {
        None => None,
        Some((address, file)) => {
            let changes = Changes::since_now([file.clone()]);
            let keys = Keys::load(file).map_err(RunError::because)?;
            let listener = listen(*address, link::Listener::bind)?;
            Some((listener, keys, file.clone(), changes))
        }
    };
    let (stop, shutdown) = Shutdown::new();
    let storage = storage::open(&settings, folder.path(), shutdown.clone()).await?;
    if let Some(file) = settings.token_file.clone() {
        tokio::spawn(reload_users(file, users, authenticator.clone()));
    }
    let address = secure.address();
    let url = format!("https://{}", reachable(address));
    let kubeconfig = admin.write_kubeconfig(folder.path(), &url, authority.as_deref())?;
    let limits = settings.limits.clone();
    let settings = Arc::new(settings);
    let handler = handler(Parts {
        in_flight: InFlight::new(&limits),
        settings: settings.clone(),
        storage,
        authenticator,
        shutdown: shutdown.clone(),
        address,
    });
    // Who reads that the server is there may at once put something into a default namespace. Connections wait meanwhile.
    let _ = timeout(SETTLING, handler.settled()).await;
    announce(
        &settings,
        &url,
        address,
        plain.as_ref().map(Listener::address),
        link.as_ref().map(|(listener, ..)| listener.address()),
        &kubeconfig,
    );
    let listeners = [Some(secure), plain].into_iter().flatten().collect();
    let nodes = async {
        if let Some((listener, keys, file, changes)) = link {
            let (sender, keys) = watch::channel(Arc::new(keys));
            tokio::spawn(link::reload(file, changes, sender));
            let api = handler.clone();
            link::serve(listener, api, keys, limits.connections, shutdown.clone()).await;
        }
    };
    let clients = serve(listeners, handler.clone(), limits.clone(), shutdown.clone());
    let both = async {
        tokio::join!(clients, nodes);
    };
    stop_on_signal(signals, stop, both).await;
    tracing::info!("stopped");
    Ok(())
}

/// Serves until the first signal, and then until what is going on has ended. The second signal ends the process there and
/// then.
async fn stop_on_signal(
    mut signals: signals::Signals,
    stop: crate::serve::Stop,
    serving: impl Future<Output = ()>,
) {
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        () = &mut serving => return,
        signal = signals.next() => {
            tracing::info!(signal = signal.name(), "stopping; a second signal stops at once");
        }
    }
    stop.begin();
    tokio::select! {
        () = serving => {}
        signal = signals.next() => {
            tracing::warn!(signal = signal.name(), "stopped at once");
            signal.exit();
        }
    }
}

fn authenticator(settings: &Settings, admin: &Admin) -> Result<Authenticator, RunError> {
    let users = match &settings.token_file {
        None => Users::default(),
        Some(file) => Users::load(file).map_err(RunError::because)?,
    };
    Authenticator::new(admin.token(), users).map_err(RunError::because)
}

async fn reload_users(
    file: std::path::PathBuf,
    mut changes: Changes,
    authenticator: Arc<Authenticator>,
) {
    loop {
        changes.next().await;
        match Users::load(&file) {
            Ok(users) => {
                tracing::info!(file = %file.display(), ?users, "users were read again");
                authenticator.replace(users);
            }
            Err(error) => {
                tracing::error!(%error, "users changed, but cannot be read; the old ones stay");
            }
        }
    }
}

/// The certificate, and the authority for clients to trust if it is our own. It is replaced in time from now on.
fn certificate(
    settings: &Settings,
    folder: &Path,
) -> Result<(Certificate, Option<String>), RunError> {
    if let Some(given) = &settings.certificate {
        let changes = given.changes();
        let first = given.load().map_err(RunError::because)?;
        let certificate = Certificate::new(first);
        tokio::spawn(tls::reload(given.clone(), changes, certificate.clone()));
        return Ok((certificate, None));
    }
    let authority = Authority::open(&folder.join("tls")).map_err(RunError::because)?;
    let names = tls::of_this_server(settings.listen.ip(), &settings.names);
    let first = authority.sign(&names, SystemTime::now());
    let certificate = Certificate::new(first.map_err(RunError::because)?);
    let pem = authority.pem().to_owned();
    tokio::spawn(tls::renew(authority, names, certificate.clone()));
    Ok((certificate, Some(pem)))
}

fn listen<L>(
    address: SocketAddr,
    bind: impl FnOnce(SocketAddr) -> io::Result<L>,
) -> Result<L, RunError> {
    bind(address).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "; another program listens there: stop it, or choose another port"
            }
            io::ErrorKind::PermissionDenied => "; ports below 1024 need rights: choose one above",
            io::ErrorKind::AddrNotAvailable => "; this machine does not have that address",
            _ => "",
        };
        RunError::of(
            format_args!("cannot listen on {address}"),
            format_args!("{error}{hint}"),
        )
    })
}

/// An address to connect to for one that is listened on.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, address.port())
}

/// Says that the server is there, and how to reach it.
fn announce(
    settings: &Settings,
    url: &str,
    address: SocketAddr,
    plain: Option<SocketAddr>,
    link: Option<SocketAddr>,
    kubeconfig: &Path,
) {
    let mut out = io::stdout().lock();
    let objects = match &settings.store {
        Store::Embedded => format!("in {}", settings.data_dir.display()),
        Store::InMemory => "in memory only".to_owned(),
        Store::Etcd(etcd) => format!("in etcd at {}", etcd.endpoints.join(", ")),
    };
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("ringwatch-server {version} listens on {url}");
    if address.ip().is_unspecified() {
        text += " and on every other address of this machine";
    }
    if let Some(plain) = plain {
        text += &format!("\n  without authentication: http://{plain}");
    }
    if let Some(link) = link {
        text += &format!("\n  node link: {link}");
    }
    text += &format!("\n  objects: {objects}");
    text += &format!("\n  admin.kubeconfig: {}", kubeconfig.display());
    // Nobody may be listening to what we say, and still want what we serve.
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// Why the server cannot run, in a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunError(String);

impl RunError {
    fn of(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }

    fn because(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for RunError {}
