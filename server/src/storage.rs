//! Where objects live: a revisioned key-value store, whoever implements it.
//!
//! All implementations count revisions as etcd does: one number for the whole store, raised by one
//! with each committed transaction. A key's *mod revision* is that of its last change; a state in the past can be read,
//! and watched from, until it is compacted.
//!
//! Keys are paths without the store's own prefix: `/pods/default/web`. Values are bytes; what is in them is not looked at here.

mod changes;
pub mod embedded;
mod error;
pub mod etcd;
pub(crate) mod pager;
pub mod transform;
mod update;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use ringwatch_core::revision::Revision;

pub use changes::{ChangeSender, Changes, KeyChange, WatchItem};
pub use embedded::Embedded;
pub use error::StorageError;
pub use update::{
    Change, ChangeError, Changed, UpdateError, Updated, guaranteed_change, guaranteed_update,
};

/// A revisioned key-value store.
///
/// Every read is linearizable unless it names a revision: it sees each write that was acknowledged before it
/// began.
#[async_trait]
pub trait Storage: Send + Sync + 'static {
    /// One key, as it is now.
    async fn get(&self, key: &str) -> Result<Got, StorageError>;

    /// Keys in byte order, now or in the past.
    async fn list(&self, list: &List) -> Result<Page, StorageError>;

    /// Commits all writes at one revision, if each finds its key as it expects it, and none otherwise.
    ///
    /// A key must not occur twice. Implementations take at least [`MAX_WRITES`].
    async fn commit(&self, writes: Vec<Write>) -> Result<Outcome, StorageError>;

    /// Every change after `after` to keys that begin with `prefix`, in order, then the changes to come.
    ///
    /// Changes of one revision arrive in one item. Fails with [`StorageError::Compacted`], now or in the
    /// stream, if the history does not reach back to `after`.
    async fn watch(&self, prefix: &str, after: Revision) -> Result<Changes, StorageError>;

    /// The newest revision.
    async fn revision(&self) -> Result<Revision, StorageError>;

    /// Forgets the states before `revision`. That state itself stays readable.
    async fn compact(&self, revision: Revision) -> Result<(), StorageError>;

    /// The oldest revision that can still be read, as far as is known here without asking anyone: at least what was
    /// compacted to by this handle. Never falls. Another server's compaction may become known late.
    ///
    /// Who could answer from memory refuses what is older: whether a state can be read must not depend on which server
    /// is asked.
    fn compacted(&self) -> Revision;

    /// Whether it takes writes, as far as is known here without trying: a store that has failed may go on to be read.
    fn is_writable(&self) -> bool {
        true
    }

    /// Whether watches answer [requests for progress](Changes::request_progress). Without it, a watch
    /// of some keys cannot tell that it has everything up to a write to others.
    async fn reports_progress(&self) -> bool {
        true
    }
}

/// How many writes one [commit](Storage::commit) may have with every implementation; etcd's default.
pub const MAX_WRITES: usize = 128;

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyValue {
    /// The key.
    pub key: Arc<str>,
    /// The value; what was stored if its [condition](KeyValue::condition) is `Corrupt`.
    pub value: Bytes,
    /// The revision of its last change.
    pub mod_revision: Revision,
    /// The revision at which the key came into being (again).
    pub create_revision: Revision,
    /// Whether the value can be used as it is.
    pub condition: Condition,
}

/// What a [transformer](transform) said about a stored value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Condition {
    /// All is well.
    #[default]
    Sound,
    /// Readable, but stored in a way that is on its way out: write it again even if it is unchanged.
    Stale,
    /// Not readable. One such value must not stop the others from being served.
    Corrupt,
}

/// What [`Storage::get`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got {
    /// The key, if it exists.
    pub found: Option<KeyValue>,
    /// The revision of the state that was looked at.
    pub revision: Revision,
}

/// What to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    /// What the keys begin with. End it with `/`, or `/pods/a` finds `/pods/ab/x` too.
    pub prefix: String,
    /// Only keys after this one: where the page before ended.
    pub after: Option<String>,
    /// At most so many; 0 for all.
    pub limit: usize,
    /// The state at this revision; `None` for the newest.
    pub at: Option<Revision>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The items, in key order.
    pub items: Vec<KeyValue>,
    /// The revision of the state: pass it as [`List::at`] for the pages that follow.
    pub revision: Revision,
    /// How many keys of the range come after this page.
    pub remaining: u64,
}

/// A change to one key, on a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The key.
    pub key: Arc<str>,
    /// The mod revision that the key must have; [`Revision::ZERO`] if it must not exist.
    pub expected: Revision,
    /// The new value; `None` deletes the key.
    pub value: Option<Bytes>,
    /// When the key goes by itself.
    pub ttl: Ttl,
}

impl Write {
    /// A new key.
    pub fn create(key: impl Into<Arc<str>>, value: impl Into<Bytes>) -> Self {
        Self::update(key, Revision::ZERO, value)
    }

    /// A new value for a key that was last changed at `expected`.
    pub fn update(key: impl Into<Arc<str>>, expected: Revision, value: impl Into<Bytes>) -> Self {
        Self {
            key: key.into(),
            expected,
            value: Some(value.into()),
            ttl: Ttl::None,
        }
    }

    /// The end of a key that was last changed at `expected`.
    pub fn delete(key: impl Into<Arc<str>>, expected: Revision) -> Self {
        Self {
            key: key.into(),
            expected,
            value: None,
            ttl: Ttl::None,
        }
    }

    /// The same, for a limited time. Implementations may round up.
    pub fn with_ttl(self, ttl: Duration) -> Self {
        Self {
            ttl: Ttl::After(ttl),
            ..self
        }
    }

    /// The same, with what is left of the time that the key had.
    pub fn keeping_ttl(self) -> Self {
        Self {
            ttl: Ttl::Keep,
            ..self
        }
    }
}

/// When a key goes by itself. A deletion has no use for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ttl {
    /// Never, whatever was said before.
    #[default]
    None,
    /// After this time, counted from the write.
    After(Duration),
    /// When it would have gone without this write. A key that does not exist yet has no limit.
    Keep,
}

/// How a commit ended. A conflict is not an error: it is half of what compare-and-swap is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All writes were done, at this revision.
    Committed(Revision),
    /// No write was done, since some key was not as expected.
    Conflict {
        /// Each write's key as it is now, in the order of the writes.
        current: Vec<Option<KeyValue>>,
        /// The revision of the state that was compared with.
        revision: Revision,
    },
}
