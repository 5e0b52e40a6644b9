//! What the cache's handles and its reflector share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use ringwatch_core::revision::Revision;
use tokio::sync::{Notify, watch};

use super::alarm::Alarms;
use super::decode::Decoder;
use super::error::CacheError;
use super::metrics::Metrics;
use super::quarantine::Quarantine;
use super::self_check::SelfCheck;
use super::state::{Aftermath, State};
use super::{Options, Resource};
use crate::clock::Clock;
use crate::storage::Storage;

/// How often a waiting reader asks storage again how far it is.
const ASK_AGAIN: Duration = Duration::from_millis(100);

pub(super) struct Shared {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) decoder: Decoder,
    pub(super) options: Options,
    /// One lock for everything that must agree. The reflector holds it for one change at a time, a reader
    /// while it takes a snapshot (pointers to chunks) or a batch of events (pointers to objects); nobody across an await.
    state: RwLock<State>,
    /// The newest revision, told after the state has it.
    revision: watch::Sender<Revision>,
    readiness: watch::Sender<Readiness>,
    /// Rung by readers that wait for a revision.
    progress_wanted: Notify,
    /// Rung when the state is not to be trusted any more.
    relist_wanted: Notify,
    pub(super) quarantine: Quarantine,
    pub(super) metrics: Metrics,
    /// The last comparison with storage. Held to copy it in or out.
    last_check: Mutex<Option<SelfCheck>>,
    /// Whether storage says how far its watch is; asked whenever one is opened.
    progress_reported: AtomicBool,
    pub(super) clock: Clock,
    pub(super) alarms: Alarms,
    /// Whether watches are to end when they have everything: the state's own word, to be read without its lock.
    closing: AtomicBool,
    /// Since when storage cannot be followed.
    away: Mutex<Option<std::time::Instant>>,
}

/// Whether there is a state to read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Readiness {
    Pending { why: Option<String> },
    Ready,
}

impl Shared {
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        resource: &Resource,
        decoder: Decoder,
        options: Options,
    ) -> Self {
        Self {
            storage,
            decoder,
            options,
            state: RwLock::new(State::new(resource.capacity)),
            revision: watch::Sender::new(Revision::ZERO),
            readiness: watch::Sender::new(Readiness::Pending { why: None }),
            progress_wanted: Notify::new(),
            relist_wanted: Notify::new(),
            quarantine: Quarantine::default(),
            metrics: Metrics::default(),
            last_check: Mutex::default(),
            progress_reported: AtomicBool::new(false),
            clock: Clock::start(),
            alarms: Alarms::default(),
            closing: AtomicBool::new(false),
            away: Mutex::default(),
        }
    }

    // A panic while the lock was held for writing is a bug; the state is made of whole steps, so it
    // is still better to go on with it than to end every watch.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn last_check(&self) -> Option<SelfCheck> {
        let last = self.last_check.lock();
        last.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_last_check(&self, check: SelfCheck) {
        let last = self.last_check.lock();
        *last.unwrap_or_else(PoisonError::into_inner) = Some(check);
    }

    /// Has everything read from storage again.
    pub(super) fn want_relist(&self) {
        self.relist_wanted.notify_one();
    }

    /// Waits until someone has reason to doubt the state.
    pub(super) async fn relist_wanted(&self) {
        self.relist_wanted.notified().await;
    }

    /// Notes whether storage can be followed.
    pub(super) fn set_away(&self, away: bool) {
        let since = &mut *self.away.lock().unwrap_or_else(PoisonError::into_inner);
        *since = match (*since, away) {
            (_, false) => None,
            (Some(since), true) => Some(since),
            (None, true) => Some(std::time::Instant::now()),
        };
    }

    /// How long storage has not been followed.
    pub(super) fn behind(&self) -> Duration {
        let since = *self.away.lock().unwrap_or_else(PoisonError::into_inner);
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Tells every watch to end when it has everything.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        let mut after = Aftermath::default();
        self.write().close(&mut after);
        after.settle();
    }

    pub(super) fn is_progress_reported(&self) -> bool {
        self.progress_reported.load(Ordering::Relaxed)
    }

    pub(super) fn set_progress_reported(&self, reported: bool) {
        self.progress_reported.store(reported, Ordering::Relaxed);
    }

    /// Tells those who wait that the state is at `revision`.
    pub(super) fn reached(&self, revision: Revision) {
        self.revision.send_if_modified(|newest| {
            let newer = revision > *newest;
            *newest = revision.max(*newest);
            newer
        });
    }

    /// The state is at `revision`, although it had been further: who waits for what comes after must wait for it anew.
    pub(super) fn went_back(&self, revision: Revision) {
        self.revision.send_replace(revision);
    }

    pub(super) fn set_readiness(&self, readiness: Readiness) {
        self.readiness.send_replace(readiness);
    }

    pub(super) fn is_ready(&self) -> bool {
        *self.readiness.borrow() == Readiness::Ready
    }

    pub(super) fn check_ready(&self) -> Result<(), CacheError> {
        match &*self.readiness.borrow() {
            Readiness::Ready => Ok(()),
            Readiness::Pending { why } => Err(CacheError::NotReady {
                why: why.clone(),
                // A state that is there once stays, so there has been none since the cache began.
                pending: Duration::from_millis(self.clock.now().as_millis()),
            }),
        }
    }

    /// Waits until there is a state.
    pub(super) async fn ready(&self) {
        let mut readiness = self.readiness.subscribe();
        // The sender is in `self`, so it cannot be gone.
        let _ = readiness
            .wait_for(|readiness| *readiness == Readiness::Ready)
            .await;
    }

    /// Waits until someone waits for a revision.
    pub(super) async fn progress_wanted(&self) {
        self.progress_wanted.notified().await;
    }

    /// Waits until the state is at `revision` or later, but not for ever. Ends with the caller.
    pub(super) async fn fresh(&self, revision: Revision) -> Result<(), CacheError> {
        let began = std::time::Instant::now();
        let mut newest = self.revision.subscribe();
        let wait = async {
            while *newest.borrow_and_update() < revision {
                self.progress_wanted.notify_one();
                // Whether it changed or the time is up, look again.
                let _ = tokio::time::timeout(ASK_AGAIN, newest.changed()).await;
            }
        };
        let waited = tokio::time::timeout(self.options.freshness_wait, wait).await;
        let durations = &self.metrics.durations;
        durations.read_wait.observe_time(began.elapsed());
        waited.map_err(|_| CacheError::TooLarge {
            requested: revision,
            newest: *self.revision.borrow(),
        })
    }
}
