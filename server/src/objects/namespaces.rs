//! The life of namespaces: who may be put into one, and what happens when it is deleted.
//!
//! A deleted namespace is only marked. Every server follows the namespaces and, for each that is marked, deletes what is in
//! it, resource by resource, until a whole pass finds nothing; then it takes away the finalizer that held the namespace.
//! Nothing is remembered outside storage and every step may be done twice, so any server can die at any moment and any number
//! can work at once.

mod sweep;

use ringwatch_core::revision::StartFrom;
use ringwatch_core::transition::EventKind;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

use super::agenda::Agenda;
use super::{Objects, meta};
use crate::backoff::Backoff;
use crate::cache::{WatchEnd, WatchEvent, WatchRequest, WatchStart, everything};
use crate::reader::{Reader, Watch};
use crate::resources::Catalog;
use crate::schema::pattern::at;
use crate::status::{Details, Failure};
use crate::storage::KeyValue;

/// The finalizer in a namespace's spec that holds it until it is empty.
const FINALIZER: &str = "kubernetes";

/// The key of a namespace in storage.
pub(super) fn key(namespace: &str) -> String {
    format!("/namespaces/{namespace}")
}

/// There is no such namespace, said of a request for another resource.
pub(super) fn not_found(namespace: &str) -> Failure {
    let message = format!("namespaces {namespace:?} not found");
    let details = Details {
        name: namespace.to_owned(),
        kind: "namespaces".to_owned(),
        ..Details::default()
    };
    Failure {
        details: Some(Box::new(details)),
        ..Failure::new(404, "NotFound", message)
    }
}

/// Whether a stored namespace is on its way out. One that cannot be read takes nothing new either.
pub(super) fn is_terminating(stored: &KeyValue) -> bool {
    let namespace: Result<Value, _> = serde_json::from_slice(&stored.value);
    namespace.map_or(true, |namespace| is_marked(&namespace))
}

fn is_marked(namespace: &Value) -> bool {
    let phase = at(namespace, "status.phase").and_then(Value::as_str);
    meta::get(namespace, "deletionTimestamp").is_some() || phase == Some("Terminating")
}

/// Whether a namespace waits to be emptied.
fn waits(namespace: &Value) -> bool {
    let finalizers = at(namespace, "spec.finalizers").and_then(Value::as_array);
    let held = finalizers.is_some_and(|list| list.contains(&FINALIZER.into()));
    meta::get(namespace, "deletionTimestamp").is_some() && held
}

/// Empties namespaces that are deleted, until the reader is shut down. `namespaces` reads the namespaces; `catalog` gives
/// what is served at the moment.
pub async fn run(objects: Objects, namespaces: Reader, catalog: impl Fn() -> Catalog + Send) {
    let mut agenda = Agenda::default();
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
    loop {
        let request = WatchRequest {
            predicate: everything(),
            start: WatchStart::State(StartFrom::Newest),
            bookmarks: false,
            timeout: None,
        };
        match namespaces.watch(request).await {
            Ok(watch) => match follow(&objects, watch, &catalog, &mut agenda).await {
                WatchEnd::ShuttingDown => return,
                end => tracing::debug!(?end, "the watch of namespaces begins anew"),
            },
            Err(error) => tracing::warn!(%error, "namespaces cannot be watched"),
        }
        tokio::time::sleep(backoff.delay()).await;
    }
}

async fn follow(
    objects: &Objects,
    mut watch: Watch,
    catalog: &(impl Fn() -> Catalog + Send),
    agenda: &mut Agenda,
) -> WatchEnd {
    loop {
        let due = agenda.due();
        let wait = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = watch.next() => match event {
                Ok(event) => note(agenda, &event),
                Err(end) => return end,
            },
            () = wait => {
                let Some(name) = agenda.next(Instant::now()) else { continue };
                let name = name.to_owned();
                match sweep::empty(objects, &catalog(), &name).await {
                    Ok(true) => agenda.done(&name),
                    Ok(false) => {}
                    Err(failure) => {
                        tracing::warn!(namespace = %name, %failure, "a namespace is not emptied yet");
                    }
                }
            }
        }
    }
}

fn note(agenda: &mut Agenda, event: &WatchEvent) {
    let WatchEvent::Object { kind, object, .. } = event else {
        return;
    };
    let name = object.key();
    let namespace: Value = serde_json::from_slice(object.bytes()).unwrap_or_default();
    if *kind != EventKind::Deleted && waits(&namespace) {
        agenda.add(name, Instant::now());
    } else {
        agenda.done(name);
    }
}
