//! The one thread that writes.
//!
//! It takes everything that waits as one batch, decides the transactions in order, hands the log all
//! their records at once, and only then lets readers see them and answers. While the disk works, the next
//! batch gathers: the more writers, the more of them share one fsync. To wait a little for company
//! before an fsync was measured, and is slower.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use tokio::sync::{mpsc, oneshot, watch};

use super::decide::{Decider, Decision};
use super::leases::{self, Leases};
use super::shared::Shared;
use super::sweep::Sweep;
use super::versions::Position;
use crate::storage::{MAX_WRITES, Outcome, StorageError, Write};

/// How many requests may wait for the writer. Further ones wait for their turn to wait.
pub(super) const WAITING_REQUESTS: usize = 1024;

/// How many requests make one batch at most; bounds how long the writer holds the state.
const BATCH: usize = 512;

/// The longest sleep while some key has a deadline, so that a clock that was put forward is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);

/// What the writer is asked for. Answers to nobody are lost, and that is all: what was asked is done.
#[derive(Debug)]
pub(super) enum Request {
    Commit {
        writes: Vec<Write>,
        answer: oneshot::Sender<Result<Outcome, StorageError>>,
    },
    Compact {
        revision: Revision,
        answer: oneshot::Sender<Result<(), StorageError>>,
    },
}

/// The owner of the state.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) committed: watch::Sender<Revision>,
    /// The revision of the last transaction that was decided.
    pub(super) newest: Revision,
    pub(super) leases: Leases,
    pub(super) sweep: Sweep,
}

impl Writer {
    /// Works until nobody can ask any more, or the log fails.
    pub(super) async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        let ended = loop {
            if !self.gather(&mut batch).await {
                break Ok(());
            }
            let result = self.turn(&mut batch);
            if result.is_err() {
                break result;
            }
        };
        let ended = ended.and_then(|()| self.shared.with_log(|log| log.flush()));
        if let Err(error) = ended {
            self.shared.fail();
            tracing::error!(%error, "the store cannot be written; it takes no more writes until the server is started again");
            // Whether the last batch is on the disk is not known, so nothing may be decided on top of it.
            while let Some(request) = self.requests.recv().await {
                refuse(request, &error);
            }
        }
    }

    /// Waits for something to do. `false`: nobody is left to ask for anything.
    async fn gather(&mut self, batch: &mut Vec<Request>) -> bool {
        if self.sweep.is_running() && self.requests.is_empty() && !self.requests.is_closed() {
            return true;
        }
        let due = self.leases.next().map(|deadline| {
            let wait = deadline.saturating_sub(leases::now());
            Duration::from_millis(wait).min(LONGEST_SLEEP)
        });
        let received = match due {
            None => self.requests.recv_many(batch, BATCH).await,
            Some(wait) => tokio::select! {
                biased;
                received = self.requests.recv_many(batch, BATCH) => received,
                () = tokio::time::sleep(wait) => return true,
            },
        };
        received > 0
    }

    /// One batch: decide, store, show, answer.
    fn turn(&mut self, batch: &mut Vec<Request>) -> Result<(), StorageError> {
        let mut answers = Vec::with_capacity(batch.len());
        let mut compactions = Vec::new();
        let mut records = Vec::with_capacity(batch.len());
        let mut removed = Vec::new();
        {
            let mut state = self.shared.state_mut();
            self.sweep.step(&mut state, &mut removed);
            let mut decider = Decider {
                state: &mut state,
                leases: &mut self.leases,
                newest: &mut self.newest,
                records: &mut records,
                now: leases::now(),
            };
            let due = decider.leases.due(decider.now, MAX_WRITES);
            decider.expire(due);
            for request in batch.drain(..) {
                match request {
                    Request::Commit { writes, answer } => {
                        answers.push((decider.decide(writes), answer));
                    }
                    Request::Compact { revision, answer } => compactions.push((revision, answer)),
                }
            }
        }
        let stored = self.store(records, removed);
        for (decision, answer) in answers {
            let outcome = stored.clone().and_then(|()| self.outcome(decision));
            // Nobody waits any more: it is done all the same.
            let _ = answer.send(outcome);
        }
        for (revision, answer) in compactions {
            let done = stored.clone().and_then(|()| self.compact(revision));
            let _ = answer.send(done);
        }
        stored
    }

    fn store(
        &mut self,
        records: Vec<(Position, Bytes)>,
        removed: Vec<Position>,
    ) -> Result<(), StorageError> {
        if records.is_empty() && removed.is_empty() {
            return Ok(());
        }
        let changed = !records.is_empty();
        self.shared.with_log(|log| log.write(records, removed))?;
        if changed {
            self.committed.send_replace(self.newest);
        }
        Ok(())
    }

    /// The answer to a decision, now that the log has it.
    fn outcome(&self, decision: Decision) -> Result<Outcome, StorageError> {
        let (current, revision) = match decision {
            Decision::Committed(revision) => return Ok(Outcome::Committed(revision)),
            Decision::Conflict { current, revision } => (current, revision),
        };
        // Nothing is removed before the next turn, so each value is there.
        let current = current.into_iter().map(|found| {
            let Some((key, held)) = found else {
                return Ok(None);
            };
            let value = self.shared.value(&held, revision)?;
            Ok(Some(held.version.with(key, value)))
        });
        Ok(Outcome::Conflict {
            current: current.collect::<Result<_, StorageError>>()?,
            revision,
        })
    }

    fn compact(&mut self, revision: Revision) -> Result<(), StorageError> {
        if revision > self.newest {
            return Err(StorageError::Future {
                newest: Some(self.newest),
            });
        }
        if revision <= self.shared.state().floor {
            return Ok(());
        }
        // First the floor, then the removals: whoever finds something missing finds the reason, also after a crash.
        self.shared.with_log(|log| log.set_floor(revision))?;
        let mut state = self.shared.state_mut();
        state.floor = revision;
        state.recent.compact(revision);
        self.sweep.start();
        tracing::info!(%revision, "history compacted");
        Ok(())
    }
}

fn refuse(request: Request, error: &StorageError) {
    match request {
        Request::Commit { answer, .. } => {
            let _ = answer.send(Err(error.clone()));
        }
        Request::Compact { answer, .. } => {
            let _ = answer.send(Err(error.clone()));
        }
    }
}
