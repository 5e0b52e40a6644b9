//! How fast the embedded store writes and opens. Run by `cargo xtask bench embedded`.
//!
//! Each writer has one key and changes it again and again, one write of 256 bytes per transaction. Without `--bench`
//! (as `cargo test --benches` calls it) everything is tiny, to see that it works.

#[path = "shared/report.rs"]
#[expect(dead_code, reason = "shared with other benchmarks")]
mod report;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::embedded::{Durability, Options};
use ringwatch_server::storage::{Embedded, Outcome, Storage, Write};

use report::{Target, at_least};

struct Scale {
    time: Duration,
    revisions: u64,
}

fn main() {
    let scale = if std::env::args().any(|argument| argument == "--bench") {
        Scale {
            time: Duration::from_secs(5),
            revisions: 1_000_000,
        }
    } else {
        Scale {
            time: Duration::from_millis(50),
            revisions: 1_000,
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(run(&scale));
}

async fn run(scale: &Scale) {
    // In the target folder, since a temporary folder of the system may not be a disk.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let open = |name: &str, durability| {
        let options = Options::default().durability(durability);
        Embedded::open(folder.path().join(name), options).expect("a store")
    };
    report::head();
    for writers in [1, 64, 512] {
        let store = open(&format!("fsync{writers}"), Durability::Fsync);
        let least = if writers == 1 { None } else { Some(20_000.0) };
        row("fsync", store, writers, scale.time, least).await;
    }
    for writers in [64, 512] {
        let store = open(&format!("none{writers}"), Durability::None);
        row("no fsync", store, writers, scale.time, Some(200_000.0)).await;
    }
    for writers in [64, 512] {
        let store = Embedded::in_memory();
        row("in memory", store, writers, scale.time, None).await;
    }
    opening(&folder.path().join("open"), scale.revisions).await;
    report::end();
}

async fn row(name: &str, store: Embedded, writers: u64, time: Duration, least: Option<f64>) {
    let (written, taken) = write(&store, writers, move |_, elapsed| elapsed < time).await;
    let rate = written as f64 / taken.as_secs_f64();
    let target: Vec<Target> = least
        .map(|least| at_least("", rate, least, "/s"))
        .into_iter()
        .collect();
    report::row(
        format!("{name}, {writers} writers"),
        format!("{rate:.0} writes/s"),
        &target,
    );
}

async fn opening(folder: &Path, revisions: u64) {
    let options = Options::default().durability(Durability::None);
    let store = Embedded::open(folder, options.clone()).expect("a store");
    write(&store, 512, move |written, _| written < revisions).await;
    let revision = store.revision().await.expect("a revision");
    drop(store);
    let began = Instant::now();
    let store = Embedded::open(folder, options).expect("the store again");
    let taken = began.elapsed().as_secs_f64();
    assert_eq!(store.revision().await, Ok(revision));
    let what = format!("opened with {revision} revisions");
    report::row(what, format!("{taken:.2} s"), &[]);
}

/// Writes until it is told to stop; how much, and how long it took.
async fn write(
    store: &Embedded,
    writers: u64,
    go_on: impl Fn(u64, Duration) -> bool + Send + Sync + 'static,
) -> (u64, Duration) {
    let began = Instant::now();
    let written = Arc::new(AtomicU64::new(0));
    let go_on = Arc::new(go_on);
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let (store, written, go_on) = (store.clone(), written.clone(), go_on.clone());
            tokio::spawn(async move {
                let key: Arc<str> = format!("/bench/{writer}").into();
                let value = bytes::Bytes::from(vec![b'x'; 256]);
                let mut expected = Revision::ZERO;
                while go_on(written.load(Ordering::Relaxed), began.elapsed()) {
                    let write = Write::update(key.clone(), expected, value.clone());
                    match store.commit(vec![write]).await {
                        Ok(Outcome::Committed(revision)) => expected = revision,
                        other => panic!("{other:?}"),
                    }
                    written.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a writer");
    }
    (written.load(Ordering::Relaxed), began.elapsed())
}
