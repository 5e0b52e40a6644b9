//! Runs cases and says which failed, on what, and why.

use std::{
    any::Any,
    fmt,
    fmt::Write as _,
    process,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use ringwatch_server::storage::{List, Storage, Write};
use tokio::task::JoinHandle;

use super::{CASES, Case, Needs};

/// A storage and what has to live as long as it: a folder, a server process.
pub struct UnderTest {
    storage: Arc<dyn Storage>,
    _keep: Box<dyn Any + Send>,
}

impl From<Arc<dyn Storage>> for UnderTest {
    fn from(storage: Arc<dyn Storage>) -> Self {
        (storage, ()).into()
    }
}

impl<K: Send + 'static> From<(Arc<dyn Storage>, K)> for UnderTest {
    fn from((storage, keep): (Arc<dyn Storage>, K)) -> Self {
        Self {
            storage,
            _keep: Box::new(keep),
        }
    }
}

impl fmt::Debug for UnderTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnderTest").finish_non_exhaustive()
    }
}

/// Runs the case of this name and panics if it fails.
pub async fn run(backend: &str, name: &str, under_test: UnderTest) {
    let case = CASES
        .iter()
        .find(|case| case.name == name)
        .unwrap_or_else(|| panic!("there is no case `{name}`"));
    if let Err(why) = attempt(case, &under_test).await {
        panic!("{backend} fails {name}: {why}");
    }
}

/// Runs every case, then panics with all failures, if there are any.
///
/// `make` is called for each case; it decides whether they share a store. Those that wait for leases run side by
/// side, those that compact at the end.
pub async fn run_all<T: Into<UnderTest>>(backend: &str, make: impl AsyncFn() -> T) {
    let mut failures = Vec::new();
    for case in with(Needs::Nothing) {
        let end = attempt(case, &make().await.into()).await;
        failures.extend(end.err().map(|why| (case, why)));
    }
    let mut waiting = Vec::new();
    for case in with(Needs::Time) {
        let under_test = make().await.into();
        waiting.push((case, start(case, &under_test), under_test));
    }
    for (case, started, _under_test) in waiting {
        let end = ended(started).await;
        failures.extend(end.err().map(|why| (case, why)));
    }
    for case in with(Needs::Compaction) {
        let end = attempt(case, &make().await.into()).await;
        failures.extend(end.err().map(|why| (case, why)));
    }
    if failures.is_empty() {
        return;
    }
    let mut report = format!("{backend} fails {} of {}:", failures.len(), CASES.len());
    for (case, why) in failures {
        // Writing to a string does not fail.
        let _ = write!(report, "\n  {}: {why}", case.name);
    }
    panic!("{report}");
}

/// Runs a case in a new space. The error is what it said.
pub async fn attempt(case: &Case, under_test: &UnderTest) -> Result<(), String> {
    ended(start(case, under_test)).await
}

fn with(needs: Needs) -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(move |case| case.needs == needs)
}

/// A task of its own, so that a panic ends the case and not the run.
fn start(case: &Case, under_test: &UnderTest) -> JoinHandle<()> {
    let (run, storage, space) = (case.run, under_test.storage.clone(), new_space());
    let leaves_leases = case.needs == Needs::Time;
    tokio::spawn(async move {
        run(&*storage, &space).await;
        if leaves_leases {
            clear(&*storage, &space).await;
        }
    })
}

/// Deletes what a case left behind to expire. It would raise the store's revision while another case looks at it, and a watch
/// on an old etcd cannot tell that nothing of its own is to come.
async fn clear(storage: &dyn Storage, space: &str) {
    let list = List {
        prefix: space.to_owned(),
        ..List::default()
    };
    let Ok(page) = storage.list(&list).await else {
        return;
    };
    for item in page.items {
        // What has gone in this moment is gone as well.
        let _ = storage
            .commit(vec![Write::delete(item.key, item.mod_revision)])
            .await;
    }
}

async fn ended(started: JoinHandle<()>) -> Result<(), String> {
    let Err(error) = started.await else {
        return Ok(());
    };
    let Ok(panic) = error.try_into_panic() else {
        return Err("it was cancelled".into());
    };
    Err(match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => match panic.downcast::<&str>() {
            Ok(text) => (*text).into(),
            Err(_) => "it panicked without a text".into(),
        },
    })
}

/// A prefix that no other case uses, in this run or another one on the same server.
fn new_space() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |now| now.as_nanos());
    format!("/conformance/{nanos}-{}-{number}/", process::id())
}
