//! The program while it runs: one thread that moves bytes between links, disk and engine, and listens to signals.

use std::cell::RefCell;
use std::error::Error;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ringwatch_core::link::PresharedKey;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinSet, LocalSet};

use crate::config::{Config, Upstream, read_key};
use crate::disk::Disk;
use crate::downstream;
use crate::hub::Hub;
use crate::policy::Rules;
use crate::upstream;

/// Runs until it is told to stop.
pub fn run(file: &Path, config: Config) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(2)
        .thread_stack_size(256 * 1024)
        .build()?;
    LocalSet::new().block_on(&runtime, relay(file, config))
}

async fn relay(file: &Path, config: Config) -> Result<(), Box<dyn Error>> {
    let rules = match &config.nodes {
        Some(nodes) => Rules::load(nodes)?,
        None => Rules::default(),
    };
    let hub = Hub::new(&config.watches, rules, config.known);
    let mut tasks = JoinSet::new();
    if let Some(folder) = &config.state {
        let disk =
            Disk::open(folder, &hub).map_err(|error| format!("{}: {error}", folder.display()))?;
        tasks.spawn_local(disk.run(hub.clone(), config.flush));
    }
    let present = downstream::link::Present::default();
    if let Some(address) = config.link {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| format!("listen.link: {address}: {error}"))?;
        tracing::info!(address = %listener.local_addr()?, "listening for nodes");
        tasks.spawn_local(downstream::link::serve(
            hub.clone(),
            listener,
            config.connections,
            present.clone(),
        ));
    }
    for line in config.serial.clone() {
        tasks.spawn_local(downstream::serial::serve(
            hub.clone(),
            line,
            present.clone(),
        ));
    }
    if let Some(address) = config.http {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| format!("listen.http: {address}: {error}"))?;
        tracing::info!(address = %listener.local_addr()?, "listening for programs");
        let (watches, present) = (config.watches.clone(), present.clone());
        let serve =
            downstream::http::serve(hub.clone(), listener, config.connections, watches, present);
        tasks.spawn_local(serve);
    }
    let watches = config.watches.clone();
    match config.upstream.clone() {
        Upstream::Link {
            addresses,
            name,
            key_file,
        } => {
            let key = PresharedKey::new(read_key(&key_file)?);
            let hub = hub.clone();
            tasks.spawn_local(async move {
                upstream::link::follow(hub, &addresses, &name, key, &watches).await;
            });
        }
        Upstream::Kubeconfig { .. } | Upstream::Url { .. } => {
            if let Some(access) = upstream::kubernetes::Access::of(&config.upstream)? {
                let access = Rc::new(access);
                for (track, watch) in watches.into_iter().enumerate() {
                    let follow =
                        upstream::kubernetes::follow(hub.clone(), access.clone(), watch, track);
                    tasks.spawn_local(follow);
                }
            }
        }
    }
    let config = RefCell::new(config);
    let mut reload = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = reload.recv() => reload_nodes(file, &config, &hub),
            Some(_) = tasks.join_next() => {}
        }
    }
    tracing::info!("stopping");
    hub.stop();
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(Duration::from_secs(10), all)
        .await
        .is_err()
    {
        tracing::warn!("some were not finished in time");
    }
    Ok(())
}

/// Reads the settings again. Who may have what changes at once and without dropping anybody who may stay; what can only change with a new
/// start is said.
fn reload_nodes(file: &Path, config: &RefCell<Config>, hub: &Rc<Hub>) {
    let new = match Config::load(file) {
        Ok(new) => new,
        Err(error) => {
            tracing::error!(%error, "the settings cannot be read; the old ones stay");
            return;
        }
    };
    let rules = match &new.nodes {
        Some(nodes) => Rules::load(nodes),
        None => Ok(Rules::default()),
    };
    match rules {
        Ok(rules) => {
            tracing::info!(nodes = rules.len(), "nodes were read again");
            hub.relay.borrow_mut().policy_mut().replace(rules);
            hub.changed.notify_waiters();
        }
        Err(error) => {
            tracing::error!(%error, "the nodes cannot be read; the old ones stay");
            return;
        }
    }
    let mut old = config.borrow_mut();
    if (&new.upstream, &new.watches, new.link, &new.serial, new.http)
        != (&old.upstream, &old.watches, old.link, &old.serial, old.http)
    {
        tracing::warn!("upstream, watch or listen has changed, which needs a restart");
    }
    old.nodes = new.nodes;
}
