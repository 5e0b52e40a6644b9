//! Objects that a node knows of but does not have.
//!
//! They count in the sender's digest, so what they add to it is remembered. Then a view can be compared and resumed although something is
//! missing from it. If there are more than have a place, it cannot.

use crate::digest::{Digest, bucket_of, hash_key};
use crate::link::frame::How;
use crate::revision::Revision;

/// How many can be remembered.
const PLACES: usize = 8;

/// Why an object is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// There is no place for it; there may be one later.
    Full,
    /// It will not fit, whatever else there is.
    Unfit,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    share: Digest,
    cause: Cause,
    /// Whether the snapshot or difference that is coming in has named it.
    named: bool,
    /// Whether it lies before the last mark of a snapshot.
    marked: bool,
}

/// The objects that a view lacks, and what they add to its digest.
#[derive(Debug, Default)]
pub struct Missing {
    entries: heapless::Vec<Entry, PLACES, u8>,
    overflowed: bool,
}

impl Missing {
    /// Nothing is missing.
    pub const fn new() -> Self {
        Self {
            entries: heapless::Vec::new(),
            overflowed: false,
        }
    }

    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && !self.overflowed
    }

    /// What they add to a digest; `None` if there are too many to know.
    pub fn share(&self) -> Option<Digest> {
        let shares = self.entries.iter().map(|entry| entry.share);
        (!self.overflowed).then(|| shares.fold(Digest::EMPTY, Digest::plus))
    }

    /// Adds what they add to each bucket.
    pub fn add_to(&self, buckets: &mut [Digest]) {
        let count = u8::try_from(buckets.len()).unwrap_or(u8::MAX);
        for entry in &self.entries {
            if let Some(digest) = buckets.get_mut(bucket_of(entry.hash, count)) {
                *digest = digest.plus(entry.share);
            }
        }
    }

    /// An object is missing as of this revision.
    pub fn insert(&mut self, key: &str, revision: Revision, cause: Cause) {
        self.remove(key);
        let entry = Entry {
            hash: hash_key(key),
            share: Digest::of(key, revision),
            cause,
            named: true,
            marked: false,
        };
        self.overflowed |= self.entries.push(entry).is_err();
    }

    /// An object is here, or gone.
    pub fn remove(&mut self, key: &str) {
        if !self.entries.is_empty() {
            let hash = hash_key(key);
            self.entries.retain(|entry| entry.hash != hash);
        }
    }

    /// A snapshot or difference names an object: if it is missing, it stays so.
    pub fn keep(&mut self, key: &str) {
        let hash = hash_key(key);
        let mut entries = self.entries.iter_mut();
        if let Some(entry) = entries.find(|entry| entry.hash == hash) {
            entry.named = true;
        }
    }

    /// A snapshot begins.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// A difference begins: those in buckets that differ are to be named again. Those without a place are in such buckets.
    pub fn begin_difference(&mut self, how: How) {
        self.overflowed = false;
        for entry in &mut self.entries {
            entry.named = !how.names_hash(entry.hash);
        }
    }

    /// A snapshot goes on after its last mark.
    pub fn continue_snapshot(&mut self) {
        self.entries.retain(|entry| entry.marked);
    }

    /// Everything that is missing lies before a mark of the snapshot that is coming in.
    pub fn mark(&mut self) {
        self.entries
            .iter_mut()
            .for_each(|entry| entry.marked = true);
    }

    /// One that is missing lies before the last mark: a change to what had come already.
    pub fn mark_one(&mut self, key: &str) {
        let hash = hash_key(key);
        let mut entries = self.entries.iter_mut();
        if let Some(entry) = entries.find(|entry| entry.hash == hash) {
            entry.marked = true;
        }
    }

    /// A snapshot or difference is complete.
    pub fn end(&mut self) {
        self.entries.retain(|entry| entry.named);
    }

    /// There is room again. What was refused for want of it is no longer accounted for, so that the view differs and is
    /// repaired.
    pub fn make_room(&mut self) {
        self.entries.retain(|entry| entry.cause != Cause::Full);
    }
}
