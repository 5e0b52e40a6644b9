//! What the core must know of an object, and what can happen to one.
//!
//! The core never looks into an object by itself. Whoever stores objects (encoded bytes behind a shared
//! pointer in the server, a fixed buffer in firmware) implements [`Object`], so that selectors are
//! answered from attributes that were found once, when the object came in.

use crate::key::Key;
use crate::revision::Revision;

/// An object as filtering and ordering see it.
pub trait Object {
    /// Where it lives.
    fn key(&self) -> Key<'_>;

    /// The revision of the change that made it what it is.
    fn revision(&self) -> Revision;

    /// The value of a label, or `None` if the object does not carry it.
    fn label(&self, key: &str) -> Option<&str>;

    /// The value of a selectable field, as text. `metadata.name` and `metadata.namespace` are
    /// answered from the key and are not asked for here.
    fn field(&self, path: &str) -> Option<&str>;
}

impl<O: Object + ?Sized> Object for &O {
    fn key(&self) -> Key<'_> {
        (**self).key()
    }
    fn revision(&self) -> Revision {
        (**self).revision()
    }
    fn label(&self, key: &str) -> Option<&str> {
        (**self).label(key)
    }
    fn field(&self, path: &str) -> Option<&str> {
        (**self).field(path)
    }
}

/// One object's change, with what it was before: a watcher needs both to tell whether the object
/// entered or left its selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<O> {
    /// The object was created (`previous` is `None`) or changed.
    Put {
        /// The object before, if there was one.
        previous: Option<O>,
        /// The object now.
        current: O,
    },
    /// The object was deleted.
    Delete {
        /// The object's last content.
        previous: O,
    },
}

impl<O> Change<O> {
    /// The object before the change.
    pub const fn previous(&self) -> Option<&O> {
        match self {
            Self::Put { previous, .. } => previous.as_ref(),
            Self::Delete { previous } => Some(previous),
        }
    }

    /// The object after the change; `None` if it is gone.
    pub const fn current(&self) -> Option<&O> {
        match self {
            Self::Put { current, .. } => Some(current),
            Self::Delete { .. } => None,
        }
    }

    /// The object in its newest known form: what to take the key from.
    pub const fn subject(&self) -> &O {
        match self {
            Self::Put { current, .. } => current,
            Self::Delete { previous } => previous,
        }
    }
}
