//! Objects in etcd, laid out as Kubernetes does it, so that both can work on the same store.
//!
//! ```text
//!   Etcd ──► client ──► etcd       options: where, who, which prefix
//!    │  ▲       ▲                  keys: ours and etcd's
//!    │  └ lease │                  failure: what etcd's errors mean
//!    └─► watch ─┴► assemble        one task per watch; one revision, one item
//! Compactor ────► client           history ends somewhere, on all servers together
//! ```
//!
//! - Reads ask a quorum and are repeated until [`Options::request_timeout`] is up.
//! - A commit is one transaction. It is repeated only if it certainly was not done; an answer that got lost is
//!   [`StorageError::Unavailable`].
//! - A watch survives the loss of its connection, of its member and of the leader. It ends with [`StorageError::Compacted`]
//!   or [`StorageError::Refused`], not with `Unavailable`: while no member can be reached, it waits.
//! - Keys below the prefix that are not UTF-8 cannot be ours and are passed over.
//!
//! # Progress
//!
//! [`Changes::request_progress`] is answered at once by etcd 3.4.31, 3.5.13, 3.6 and later. Older versions may answer with a
//! revision whose events are yet to come, so they are not asked. With them, progress is reported when the watch is known to have reached the
//! revision that was newest at the time of the request: at once if it had, else with the next event below its prefix or with the
//! notification that etcd sends every ten minutes. [`Etcd::progress_is_safe`] tells which it is; where it is `false`, do not
//! wait for progress to serve a consistent read.
//!
//! The version that counts is that of the member which serves the watch. It is looked for among the endpoints; behind a load
//! balancer it may not be found, and then the member is not asked.
//!
//! # Limits
//!
//! What etcd is set to: 128 writes per commit and about 1.5 MiB per request by default. Each watch has a connection of its own, so
//! that a reader who does not read holds up nobody else. A store that was put back to an older state (a restored backup) is noticed
//! when a watch reconnects, and only if it is then still behind what the watch has heard of.

mod assemble;
mod client;
mod compaction;
mod failure;
mod keys;
mod lease;
mod options;
mod version;
mod watch;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ringwatch_core::revision::Revision;

use super::{Changes, Got, List, Outcome, Page, Storage, StorageError, Ttl, Write};
use assemble::Assembler;
use client::{Answer, Client, Committed, Expected, Lease, Operation, Read};
use failure::Failure;
use keys::{Keys, Range, successor};
use lease::Leases;

pub use compaction::Compactor;
pub use options::{Credentials, Options, Tls};

/// How many keys a list without a limit reads at a time.
const PAGE: usize = 10_000;
/// The longest life that etcd grants a lease.
const LONGEST_LIFE: Duration = Duration::from_secs(9_000_000_000);

/// A store in etcd. Clones share the connection.
#[derive(Clone)]
pub struct Etcd {
    client: Client,
    keys: Keys,
    /// Held only to look and to note, never while waiting for etcd.
    leases: Arc<Mutex<Leases>>,
    /// What is known to be compacted: by this server, by a peer, or because etcd said so.
    compacted: Arc<AtomicU64>,
}

impl Etcd {
    /// Connects. Without [`Options::user`] this does not wait for etcd to be there.
    pub async fn connect(options: &Options) -> Result<Self, StorageError> {
        Ok(Self {
            client: Client::connect(options).await?,
            keys: Keys::new(&options.prefix),
            leases: Arc::default(),
            compacted: Arc::default(),
        })
    }

    /// Whether all members that can be reached answer progress requests truthfully, and there is one.
    ///
    /// See [the module](self#progress). Asks them each time, since members are upgraded and downgraded.
    pub async fn progress_is_safe(&self) -> bool {
        let mut members = self.client.members();
        let mut any = false;
        while let Some(answer) = members.join_next().await {
            match answer {
                Ok(Some((_, version))) if version.answers_progress_safely() => any = true,
                Ok(Some(_)) => return false,
                _ => {}
            }
        }
        any
    }

    /// Notes that states before `revision` are gone, or about to go.
    fn set_compacted(&self, revision: Revision) {
        self.compacted.fetch_max(revision.get(), Ordering::Relaxed);
    }

    /// The lease for a key that is to live for `ttl` from `now`.
    async fn lease(&self, now: Instant, ttl: Duration) -> Result<i64, Failure> {
        let ttl = ttl.min(LONGEST_LIFE);
        if let Some(id) = self.leases().reuse(now, ttl, 1) {
            return Ok(id);
        }
        let id = self.client.grant(lease::seconds_to_ask(ttl)).await?;
        self.leases().granted(id, now, ttl, 1);
        Ok(id)
    }

    fn leases(&self) -> std::sync::MutexGuard<'_, Leases> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The transaction for `writes`, with a lease for each that asks for one.
    async fn operations(&self, writes: &[Write]) -> Result<Vec<Operation>, Failure> {
        // One moment for all, so that keys of one transaction share a lease however long it takes to get.
        let now = Instant::now();
        let mut operations = Vec::with_capacity(writes.len());
        for write in writes {
            let key = self.keys.stored(&write.key)?;
            let lease = match (write.ttl, &write.value) {
                (Ttl::After(ttl), Some(_)) => Lease::Id(self.lease(now, ttl).await?),
                // etcd refuses to keep what a new key does not have.
                (Ttl::Keep, Some(_)) if write.expected != Revision::ZERO => Lease::Keep,
                _ => Lease::None,
            };
            operations.push(Operation {
                key,
                // No key has a revision that etcd cannot express.
                expected: Expected::ModRevision(number(write.expected).unwrap_or(i64::MAX)),
                value: write.value.clone(),
                lease,
            });
        }
        Ok(operations)
    }

    /// Reads keys of ours from `range`, up to `limit` (0: all), `page` at a time (0: at once).
    async fn pages(
        &self,
        mut range: Range,
        at: Option<Revision>,
        limit: usize,
        page: usize,
    ) -> Result<Page, Failure> {
        let mut pinned = at;
        let mut items = Vec::new();
        loop {
            let wanted = match (limit, page) {
                (0, page) => page,
                (limit, _) => limit - items.len(),
            };
            let Answer {
                found,
                count,
                revision,
            } = self
                .client
                .read(&Read {
                    range: range.clone(),
                    limit: i64::try_from(wanted).unwrap_or(i64::MAX),
                    at: match pinned {
                        Some(revision) => number(revision).ok_or(Failure::Future)?,
                        None => 0,
                    },
                })
                .await?;
            let revision = *pinned.get_or_insert(revision);
            let remaining = count.saturating_sub(found.len() as u64);
            let last = found.last().map(|last| successor(&last.key));
            // Without those that are not ours; the rest of the page is then read below.
            items.extend(found.into_iter().filter_map(|key| key.into_own(&self.keys)));
            match last {
                Some(last) if remaining > 0 && (limit == 0 || items.len() < limit) => {
                    range.start = last;
                }
                _ => {
                    return Ok(Page {
                        items,
                        revision,
                        remaining,
                    });
                }
            }
        }
    }
}

#[async_trait]
impl Storage for Etcd {
    async fn get(&self, key: &str) -> Result<Got, StorageError> {
        let read = Read::key(self.keys.stored(key)?);
        let Answer {
            found, revision, ..
        } = self.client.read(&read).await?;
        let found = found.into_iter().next();
        Ok(Got {
            found: found.and_then(|key| key.into_own(&self.keys)),
            revision,
        })
    }

    async fn list(&self, list: &List) -> Result<Page, StorageError> {
        if list.at == Some(Revision::ZERO) {
            // To etcd, 0 means now; as a state, it was never there.
            return Err(StorageError::Compacted { floor: None });
        }
        let mut range = self.keys.beginning_with(&list.prefix)?;
        if let Some(after) = &list.after {
            range.start = range.start.max(successor(&self.keys.stored(after)?));
        }
        match self.pages(range.clone(), list.at, list.limit, PAGE).await {
            // The first page was new when it was read: it is the later ones that came too late.
            Err(Failure::Compacted(_)) if list.at.is_none() => {
                Ok(self.pages(range, None, list.limit, 0).await?)
            }
            page => Ok(page?),
        }
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<Outcome, StorageError> {
        let operations = self.operations(&writes).await?;
        let committed = match self.client.commit(&operations).await {
            // A shared lease can end early by another's hand. Nothing was written: new leases, once.
            Err(Failure::LeaseNotFound) => {
                for operation in &operations {
                    if let Lease::Id(id) = operation.lease {
                        self.leases().forget(id);
                    }
                }
                let operations = self.operations(&writes).await?;
                self.client.commit(&operations).await?
            }
            committed => committed?,
        };
        Ok(match committed {
            Committed::Yes(revision) => Outcome::Committed(revision),
            Committed::No(found, revision) => Outcome::Conflict {
                current: found
                    .into_iter()
                    .map(|found| found?.into_own(&self.keys))
                    .collect(),
                revision,
            },
        })
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Changes, StorageError> {
        let range = self.keys.beginning_with(prefix)?;
        let (sender, changes) = Changes::channel();
        let assembler = Assembler::new(self.keys.clone(), after);
        tokio::spawn(watch::run(self.client.clone(), range, assembler, sender));
        Ok(changes)
    }

    async fn revision(&self) -> Result<Revision, StorageError> {
        Ok(self.client.revision(&self.keys.beginning_with("")?).await?)
    }

    /// Succeeds if they are forgotten already.
    async fn compact(&self, revision: Revision) -> Result<(), StorageError> {
        let number = number(revision).ok_or(Failure::Future)?;
        match self.client.compact(number).await {
            Err(Failure::Compacted(_)) => {}
            done => done?,
        }
        self.set_compacted(revision);
        Ok(())
    }

    fn compacted(&self) -> Revision {
        Revision::new(self.compacted.load(Ordering::Relaxed))
    }

    async fn reports_progress(&self) -> bool {
        self.progress_is_safe().await
    }
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Etcd")
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

/// The revision as etcd counts; `None` if it cannot count so far.
fn number(revision: Revision) -> Option<i64> {
    i64::try_from(revision.get()).ok()
}
