//! What one watcher asked for and was told.

use std::sync::Arc;

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use ringwatch_core::transition::EventKind;

use super::selection::Selection;

/// One watch, from request to end.
#[derive(Debug, Clone)]
pub struct Session {
    /// Whose. One watcher may have many, one after the other.
    pub watcher: usize,
    /// What it wanted.
    pub selection: Arc<Selection>,
    /// Where it began.
    pub start: Start,
    /// Whether it asked for bookmarks.
    pub bookmarks: bool,
    /// What it was told, in order.
    pub seen: Vec<Seen>,
    /// How it ended.
    pub end: End,
}

/// Where a watch began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With a state between these two: the cache's newest before the request and after it.
    State {
        /// No older than this.
        from: Revision,
        /// No newer than this.
        to: Revision,
    },
    /// After a revision.
    After(Revision),
}

/// What a watch told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// An event.
    Event {
        /// Its kind.
        kind: EventKind,
        /// The key in storage.
        key: Arc<str>,
        /// The object's own revision.
        object: Revision,
        /// The object.
        content: Bytes,
        /// The revision shown.
        revision: Revision,
    },
    /// A bookmark.
    Bookmark {
        /// The revision shown.
        revision: Revision,
        /// Whether it ends the initial objects.
        initial_end: bool,
    },
}

/// How a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Not at all: it has had the time to tell everything.
    Open,
    /// The watcher left, and was told from where to go on.
    Left {
        /// From here; `None` if the initial objects were not complete.
        resume: Option<Revision>,
    },
    /// It was told that it lost something, at the start or later.
    Expired {
        /// From where watches may begin.
        floor: Revision,
        /// The cache's newest revision after that.
        newest: Revision,
    },
}
