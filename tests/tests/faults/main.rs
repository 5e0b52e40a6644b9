//! Two hundred watchers of a cache while its storage fails: whatever happens, each keeps what promise 1 says, or is told.
//!
//! Servers are real. Writers and the true history use connections of their own; where a test cuts a wire, it is the cache's. The
//! recorder judges at the end. Each test also demands that there was enough load, and that the faults did happen.

mod compaction;
mod kill;
mod leader;
mod wire;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringwatch_server::storage::Storage;
use ringwatch_server::storage::etcd::{Etcd, Options};
use ringwatch_tests::workload::{Report, Site, Writer, Writers};
use tokio::sync::{Mutex, MutexGuard};

const WATCHERS: usize = 200;
const WRITERS: usize = 24;
const KEYS: usize = 12;
/// Changes that the ring holds: what happens in a few seconds, so that slow readers fall off.
const RING: usize = 3_000;
/// What must be written in a second while the storage can be written to.
const WRITES_PER_SECOND: f64 = 500.0;
/// How long to wait for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A way to the storage.
async fn connect(endpoints: impl IntoIterator<Item = String>) -> Arc<dyn Storage> {
    let options = Options {
        request_timeout: Duration::from_secs(3),
        ..Options::new(endpoints)
    };
    Arc::new(Etcd::connect(&options).await.expect("a client"))
}

/// One load at a time, or none would be what it says. Where tests are processes, `.config/nextest.toml` sees to it.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Writers and watchers at work.
struct Load {
    _alone: MutexGuard<'static, ()>,
    site: Site,
    storage: Arc<dyn Storage>,
    writers: Writers,
    /// What was written in the times that count, and how long those were.
    writes: u64,
    time: Duration,
}

impl Load {
    /// Begins. The cache reads from `cached`, which is another way to `storage`.
    async fn start(storage: Arc<dyn Storage>, cached: Arc<dyn Storage>) -> Self {
        let alone = ALONE.lock().await;
        let bookmarks = Duration::from_millis(250);
        let mut site = Site::open(storage.clone(), cached, RING, bookmarks).await;
        site.watch(0..WATCHERS);
        let writers = (0..WRITERS).map(|number| Writer::new(number, KEYS));
        Self {
            _alone: alone,
            writers: Writers::start(&storage, writers),
            site,
            storage,
            writes: 0,
            time: Duration::ZERO,
        }
    }

    /// Waits for so many writes, which count, and so does the time they take.
    async fn write(&mut self, count: u64) {
        let (before, start) = (self.writers.writes(), Instant::now());
        self.wait_for(before + count).await;
        self.writes += self.writers.writes() - before;
        self.time += start.elapsed();
    }

    /// Waits until the storage can be written to again. This time does not count.
    async fn recover(&mut self) {
        self.wait_for(self.writers.writes() + WRITERS as u64).await;
    }

    async fn wait_for(&self, writes: u64) {
        until("writes", || self.writers.writes() >= writes).await;
    }

    /// Waits until the cache has what was written before.
    async fn catch_up(&self) {
        let newest = self.site.follower.newest();
        until("a cache that catches up", || {
            self.site.cache.revision() >= newest
        })
        .await;
    }

    /// Ends everything and judges.
    async fn end(self) -> Report {
        let (_, acknowledged) = self.writers.stop().await;
        let report = self.site.close(&acknowledged, Vec::new()).await;
        let rate = self.writes as f64 / self.time.as_secs_f64();
        println!("{report}; {rate:.0} writes/s");
        report.assert_sound();
        assert!(rate >= WRITES_PER_SECOND, "only {rate:.0} writes/s");
        report
    }
}

/// Waits until something is so.
async fn until(what: &str, so: impl Fn() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < PATIENCE, "no {what} in {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
