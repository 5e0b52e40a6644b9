//! Wakes watchers at a moment: to send a bookmark, or to end.
//!
//! One queue for all watchers of a cache, since a timer of the runtime for each of a hundred thousand would cost more memory
//! than all the rest of a watch, and setting it anew at every event more time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ringwatch_core::time::Instant;
use tokio::sync::Notify;

use super::index::Entry;
use super::shared::Shared;

/// No alarm is looked at later than this: the place of a watcher that is gone is freed by then.
const HORIZON: Duration = Duration::from_secs(60);

/// The alarms of all watchers of a cache.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    /// Held for a moment, without other locks inside.
    queue: Mutex<BinaryHeap<Reverse<Alarm>>>,
    /// Rung when something earlier than everything else has been set.
    earlier: Notify,
}

/// When a watcher is in the queue for; [`Instant::NEVER`] if it is not. Changed with the queue locked.
#[derive(Debug)]
pub(super) struct Queued(AtomicU64);

impl Queued {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(Instant::NEVER.as_millis()))
    }

    fn at(&self) -> Instant {
        Instant::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, at: Instant) {
        self.0.store(at.as_millis(), Ordering::Relaxed);
    }
}

impl Alarms {
    /// Makes sure that the watcher is woken at `at`. It may also be woken before.
    pub(super) fn set(&self, entry: &Arc<Entry>, at: Instant, now: Instant) {
        if entry.queued.at() <= at {
            return;
        }
        let at = at.min(now + HORIZON);
        let mut queue = self.lock();
        let first = queue.peek().is_none_or(|Reverse(first)| at < first.at);
        entry.queued.set(at);
        if queue.len() == queue.capacity() {
            // By an eighth, not by all of it: with many watchers the room that is not used counts.
            let more = queue.len() / 8 + 16;
            queue.reserve_exact(more);
        }
        queue.push(Reverse(Alarm {
            at,
            entry: Arc::downgrade(entry),
        }));
        drop(queue);
        if first {
            self.earlier.notify_one();
        }
    }

    /// Rings for all whose time has come, and says when the next is due.
    fn ring(&self, now: Instant) -> Option<Instant> {
        loop {
            let mut queue = self.lock();
            if let Some(Reverse(first)) = queue.peek().filter(|Reverse(first)| first.at > now) {
                return Some(first.at);
            }
            let Reverse(due) = queue.pop()?;
            let left = queue.len();
            if left * 4 < queue.capacity() {
                queue.shrink_to(left * 2);
            }
            if let Some(entry) = due.entry.upgrade() {
                // It may have been put in again for an earlier moment, which has come and gone; waking it
                // once too often does no harm.
                entry.queued.set(Instant::NEVER);
                drop(queue);
                entry.wake.ring();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BinaryHeap<Reverse<Alarm>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rings for ever.
pub(super) async fn run(shared: Arc<Shared>) {
    let (alarms, clock) = (&shared.alarms, shared.clock);
    loop {
        let next = alarms.ring(clock.now());
        let earlier = alarms.earlier.notified();
        match next {
            None => earlier.await,
            // Whether time is up or something earlier was set: look again.
            Some(at) => drop(tokio::time::timeout_at(clock.at(at), earlier).await),
        }
    }
}

#[derive(Debug)]
struct Alarm {
    at: Instant,
    entry: Weak<Entry>,
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Alarm {}

impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Alarm {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}
