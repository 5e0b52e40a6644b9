//! Many watchers, and whether each gets everything once and in order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::wire::{Access, Wire, quoted};

/// Longer than anything measured here should take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Watches that are begun at once.
const AT_ONCE: usize = 100;

/// Watchers that read. Dropping it ends them.
pub(crate) struct Crowd {
    records: Vec<Arc<Mutex<Record>>>,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

struct Shared {
    began: Instant,
    delivered: AtomicU64,
    /// Told at each read that had events.
    news: Notify,
}

/// What one watcher has seen.
#[derive(Default)]
struct Record {
    events: u64,
    revision: u64,
    /// Repeated, out of order, or not an event of an object.
    faults: u64,
    bytes: u64,
    chunks: u64,
    /// In microseconds.
    latencies: Vec<u32>,
}

/// What all have seen.
pub(crate) struct Verdict {
    pub(crate) faults: u64,
    pub(crate) lost: u64,
    pub(crate) bytes_per_event: u64,
    /// How many events came in one chunk. The bare loop writes one at a time, so compare with it only near 1.
    pub(crate) events_per_chunk: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Crowd {
    /// Starts a watch of each path; all run when this returns. `began` is where the times in the objects count from.
    pub(crate) async fn watch(access: &Access, paths: Vec<String>, began: Instant) -> Self {
        let shared = Arc::new(Shared {
            began,
            delivered: AtomicU64::new(0),
            news: Notify::new(),
        });
        let all = paths.len();
        let mut wires = Vec::with_capacity(all);
        let mut starting = JoinSet::new();
        for path in paths {
            let access = access.clone();
            starting.spawn(async move {
                let mut wire = Wire::connect(&access).await;
                wire.watch(&path).await;
                wire
            });
            // Not all at once: the handshakes of TLS would time each other out on a small machine.
            if starting.len() == AT_ONCE {
                wires.extend(starting.join_next().await);
            }
        }
        while let Some(wire) = starting.join_next().await {
            wires.push(wire);
        }
        assert_eq!(
            wires.len(),
            all,
            "a watcher that is not counted would not be missed"
        );
        let mut records = Vec::with_capacity(all);
        let mut tasks = JoinSet::new();
        for wire in wires {
            let record = Arc::new(Mutex::new(Record::default()));
            records.push(record.clone());
            tasks.spawn(follow(wire.expect("a watch"), record, shared.clone()));
        }
        Self {
            records,
            shared,
            _tasks: tasks,
        }
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.shared.delivered.load(Ordering::Relaxed)
    }

    /// Waits until so many events have been delivered in all. False if they do not come.
    pub(crate) async fn reach(&self, events: u64) -> bool {
        let reached = async {
            loop {
                let news = self.shared.news.notified();
                if self.delivered() >= events {
                    return;
                }
                news.await;
            }
        };
        let reached = tokio::time::timeout(PATIENCE, reached).await.is_ok();
        if !reached {
            let delivered = self.delivered();
            println!(
                "gave up waiting: {delivered} of {events} events; times in the next row mean nothing"
            );
        }
        reached
    }

    /// What was seen, if every watcher was to see `expected` events.
    pub(crate) fn verdict(&self, expected: u64) -> Verdict {
        let (mut faults, mut lost, mut bytes, mut events, mut chunks) = (0, 0, 0, 0, 0);
        let mut latencies = Vec::new();
        for record in &self.records {
            let record = record.lock().unwrap_or_else(PoisonError::into_inner);
            faults += record.faults + record.events.saturating_sub(expected);
            lost += expected.saturating_sub(record.events);
            bytes += record.bytes;
            events += record.events;
            chunks += record.chunks;
            latencies.extend_from_slice(&record.latencies);
        }
        latencies.sort_unstable();
        let at = |part: f64| {
            let place = (latencies.len() as f64 * part) as usize;
            Duration::from_micros(latencies.get(place).copied().unwrap_or(0).into())
        };
        Verdict {
            faults,
            lost,
            bytes_per_event: bytes / events.max(1),
            events_per_chunk: events as f64 / chunks.max(1) as f64,
            p50: at(0.5),
            p99: at(0.99),
        }
    }
}

async fn follow(mut wire: Wire, record: Arc<Mutex<Record>>, shared: Arc<Shared>) {
    loop {
        let mut count = 0;
        let open = wire
            .events(|line| {
                let now = shared.began.elapsed().as_micros() as u64;
                let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
                record.see(line, now);
                count += 1;
            })
            .await;
        if count > 0 {
            let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
            record.chunks = wire.chunks;
            drop(record);
            shared.delivered.fetch_add(count, Ordering::Relaxed);
            shared.news.notify_waiters();
        }
        if !open {
            return;
        }
    }
}

impl Record {
    fn see(&mut self, line: &[u8], now: u64) {
        let revision = number(line, b"\"resourceVersion\":\"");
        let at = number(line, b"\"at\":\"");
        let (Some(revision), Some(at)) = (revision, at) else {
            self.faults += 1;
            return;
        };
        if revision <= self.revision {
            self.faults += 1;
        }
        self.revision = revision;
        self.events += 1;
        self.bytes += line.len() as u64 + 1;
        self.latencies.push(now.saturating_sub(at) as u32);
    }
}

fn number(line: &[u8], name: &[u8]) -> Option<u64> {
    std::str::from_utf8(quoted(line, name)?).ok()?.parse().ok()
}
