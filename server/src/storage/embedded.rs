//! The store in the process: durable, without a server beside it, and with etcd's revisions.
//!
//! ```text
//!   commit ──► bounded queue ──► writer ──► log (one fsync per batch) ──► answers
//!   compact ─┘                     │                │
//!                                  ▼                ▼
//!                        index, recent changes   values of the past
//!                                  ▲                ▲
//!   get, list, watch ──────────────┴────────────────┘   nothing after the committed revision
//! ```
//!
//! What is acknowledged survives the end of the process at any moment, and with [`Durability::Fsync`] also the loss of power. A transaction is
//! there as a whole or not at all. Keys that were written [for a limited time](crate::storage::Write::with_ttl) are
//! deleted by the writer at a revision of their own; their deadlines survive a restart.
//!
//! ```
//! use ringwatch_server::storage::{Embedded, List, Storage, Write};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let store = Embedded::in_memory();
//! store.commit(vec![Write::create("/pods/a/x", "1")]).await.unwrap();
//! let page = store.list(&List { prefix: "/pods/".into(), ..List::default() }).await.unwrap();
//! assert_eq!(page.items[0].value, "1");
//! # }
//! ```
//!
//! # Why fjall
//!
//! Measured with this workload (records of 256 bytes in order of their revision) on two cores and a shared virtual disk, whose fsync took
//! between 0.5 and 3 ms from minute to minute; the three runs with fsync took turns.
//!
//! | | redb 4.4 | redb, quick repair | fjall 3.1 |
//! |---|---|---|---|
//! | writes/s, 64 per fsync | 87 k, 16 k, 22 k | 59 k, 11 k, 18 k | 102 k, 35 k, 28 k |
//! | writes/s without fsync, 64 per batch | 200 k | | 448 k |
//! | what kill -9 takes then | all since the last fsync (by its documentation) | | nothing |
//! | open after kill -9, 1 M records | 0.61 s | 0.001 s | 1.4 s |
//! | reading all of them | 0.38 s | 0.35 s | 0.77 s |
//! | random read | 8.3 µs | 6.5 µs | 7.8 µs |
//! | files: 1 M records, 900 k of them removed, 900 k added | 264, 264, 322 MB | | 262, 334, 371 MB |
//! | crates it brings | 1 | 1 | 43 |
//!
//! A log is what fjall's journal is made for, and redb's copying of tree pages is not: it leaves no room
//! for 200 000 writes per second, and loses what was acknowledged without fsync. That is worth a slower
//! opening and more crates.

mod database;
mod decide;
mod folder;
mod index;
mod leases;
mod log;
mod options;
mod read;
mod recent;
mod record;
mod recover;
mod shared;
mod sweep;
mod versions;
mod watch;
mod writer;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use async_trait::async_trait;
use ringwatch_core::revision::Revision;
use tokio::sync::{mpsc, oneshot};

use self::database::Database;
use self::log::{Log, Memory};
use self::recover::{Recovered, recover};
use self::shared::{Shared, closed};
use self::sweep::Sweep;
use self::watch::Watch;
use self::writer::{Request, WAITING_REQUESTS, Writer};
use super::{Changes, Got, List, MAX_WRITES, Outcome, Page, Storage, StorageError, Write};

pub use self::options::{Durability, Options};

/// The longest key that is taken.
const MAX_KEY_BYTES: usize = 64 * 1024;

/// A store in the process. Clones are handles to the same store.
///
/// The last handle that is dropped waits until what was asked for is stored, and releases the folder. Running watches
/// then end. Watches, and reads from the disk, need a tokio runtime around them.
#[derive(Clone)]
pub struct Embedded {
    owner: Arc<Owner>,
}

impl Embedded {
    /// Opens the store in a folder, which is made if it is missing. Blocks while the log is read.
    ///
    /// Fails with [`StorageError::Damaged`] if another process has the folder open, or if it was written by a version of this
    /// library that this one does not understand.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Self, StorageError> {
        let (database, floor) = Database::open(folder.as_ref(), options.durability)?;
        Self::start(Box::new(database), floor, options)
    }

    /// A store that ends with its last handle: the same engine without a disk.
    pub fn in_memory() -> Self {
        Self::in_memory_with(Options::default())
    }

    /// The same, with other limits. What the options say about memory has no effect: all of it is there.
    pub fn in_memory_with(options: Options) -> Self {
        let options = options.values_in_memory(usize::MAX);
        match Self::start(Box::new(Memory::default()), Revision::ZERO, options) {
            Ok(store) => store,
            // An empty map has no record that could be damaged.
            Err(error) => panic!("no store in memory: {error}"),
        }
    }

    fn start(log: Box<dyn Log>, floor: Revision, options: Options) -> Result<Self, StorageError> {
        let Recovered {
            state,
            leases,
            newest,
        } = recover(log.as_ref(), floor, &options)?;
        let (committed, watched) = tokio::sync::watch::channel(newest);
        let (requests, waiting) = mpsc::channel(WAITING_REQUESTS);
        let shared = Arc::new(Shared::new(state, log, watched));
        let mut sweep = Sweep::default();
        if floor > Revision::ZERO {
            // A sweep may have been cut off by the end of the process.
            sweep.start();
        }
        let writer = Writer {
            shared: shared.clone(),
            requests: waiting,
            committed,
            newest,
            leases,
            sweep,
        };
        let owner = Owner {
            requests: Some(requests),
            writer: Some(spawn(writer)?),
            shared,
            max_value_bytes: options.max_value_bytes,
        };
        Ok(Self {
            owner: Arc::new(owner),
        })
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, StorageError>>) -> Request,
    ) -> Result<T, StorageError> {
        let requests = self.owner.requests.as_ref().ok_or_else(closed)?;
        let (answer, answered) = oneshot::channel();
        let sent = requests.send(request(answer)).await;
        sent.map_err(|_| closed())?;
        answered.await.unwrap_or_else(|_| Err(closed()))
    }

    fn check(&self, writes: &[Write]) -> Result<(), StorageError> {
        if writes.len() > MAX_WRITES {
            let count = writes.len();
            return Err(StorageError::Refused(format!(
                "{count} writes in one transaction; at most {MAX_WRITES}"
            )));
        }
        let mut keys = HashSet::new();
        for write in writes {
            let key = &write.key;
            if key.len() > MAX_KEY_BYTES {
                let length = key.len();
                return Err(StorageError::Refused(format!(
                    "a key of {length} bytes; at most {MAX_KEY_BYTES}"
                )));
            }
            let (length, limit) = (
                write.value.as_ref().map_or(0, bytes::Bytes::len),
                self.owner.max_value_bytes,
            );
            if length > limit {
                return Err(StorageError::Refused(format!(
                    "the value of {key} has {length} bytes; at most {limit}"
                )));
            }
            if writes.len() > 1 && !keys.insert(&**key) {
                return Err(StorageError::Refused(format!("{key} is written twice")));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Storage for Embedded {
    async fn get(&self, key: &str) -> Result<Got, StorageError> {
        read::get(&self.owner.shared, key).await
    }

    async fn list(&self, list: &List) -> Result<Page, StorageError> {
        read::list(&self.owner.shared, list).await
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<Outcome, StorageError> {
        self.check(&writes)?;
        self.ask(|answer| Request::Commit { writes, answer }).await
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Changes, StorageError> {
        let shared = self.owner.shared.clone();
        shared.state().check(after)?;
        let (sender, changes) = Changes::channel();
        let committed = shared.subscribe();
        let watch = Watch {
            shared,
            prefix: prefix.into(),
            position: after,
            sender,
        };
        tokio::spawn(watch.run(committed));
        Ok(changes)
    }

    async fn revision(&self) -> Result<Revision, StorageError> {
        Ok(self.owner.shared.committed())
    }

    /// What is below a revision that is compacted already stays so; that is no error.
    async fn compact(&self, revision: Revision) -> Result<(), StorageError> {
        self.ask(|answer| Request::Compact { revision, answer })
            .await
    }

    fn compacted(&self) -> Revision {
        self.owner.shared.state().floor
    }

    fn is_writable(&self) -> bool {
        self.owner.shared.is_writable()
    }
}

/// What all handles have in common. Its end is the end of the store.
struct Owner {
    /// `None` only while it is dropped.
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    max_value_bytes: usize,
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Without a sender the writer finishes what waits and ends.
        self.requests = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has said so already.
            let _ = writer.join();
        }
        self.shared.close();
    }
}

/// A thread of its own, since it waits for the disk most of the time.
fn spawn(writer: Writer) -> Result<JoinHandle<()>, StorageError> {
    let failed = |error: std::io::Error| {
        StorageError::Unavailable(format!("the writer does not start: {error}"))
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(failed)?;
    std::thread::Builder::new()
        .name("storage-writer".into())
        .spawn(move || runtime.block_on(writer.run()))
        .map_err(failed)
}
