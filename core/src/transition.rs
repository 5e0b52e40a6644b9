//! From a change to what one watcher must be told.
//!
//! A watcher sees the part of the world that it selects. So a change that moves an object into its
//! selection is an addition, one that moves it out is a deletion, and the rest is none of its business:
//!
//! | matched before | matches now | event | object | revision shown |
//! |---|---|---|---|---|
//! | no | no | none | | |
//! | no | yes | Added | new | the object's own |
//! | yes | yes | Modified | new | the object's own |
//! | yes | no | Deleted | **previous** | the change's |
//!
//! A deletion shows the last content that matched, under the revision of the change that took it
//! away: a client continues from there.

use serde::{Deserialize, Serialize};

use crate::object::{Change, Object};
use crate::revision::Revision;

/// What happened to an object, as one watcher sees it. Complete on purpose: it is part of wire formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum EventKind {
    /// The object came into the selection.
    Added,
    /// The object changed and stayed in the selection.
    Modified,
    /// The object left the selection, or ceased to exist.
    Deleted,
}

impl EventKind {
    /// The name that Kubernetes gives it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// An event for one watcher.
#[derive(Debug, PartialEq, Eq)]
pub struct Event<'a, O> {
    /// What happened.
    pub kind: EventKind,
    /// The object to show.
    pub object: &'a O,
    /// The revision to show with it.
    pub revision: Revision,
}

impl<O> Clone for Event<'_, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for Event<'_, O> {}

/// What a watcher that selects by `matches` must be told of a change at `revision`, if anything.
///
/// ```
/// use ringwatch_core::{key::Key, object::{Change, Object}, revision::Revision};
/// use ringwatch_core::transition::{EventKind, transition};
///
/// #[derive(Debug, PartialEq)]
/// struct Lamp { on: bool, revision: u64 }
/// impl Object for Lamp {
///     fn key(&self) -> Key<'_> { Key::parse("lamp").unwrap() }
///     fn revision(&self) -> Revision { Revision::new(self.revision) }
///     fn label(&self, _: &str) -> Option<&str> { None }
///     fn field(&self, _: &str) -> Option<&str> { None }
/// }
///
/// let previous = Some(Lamp { on: true, revision: 4 });
/// let change = Change::Put { previous, current: Lamp { on: false, revision: 7 } };
/// let event = transition(&change, Revision::new(7), |lamp| lamp.on).unwrap();
/// // Who watches lamps that are on sees it go, as it last was, at revision 7.
/// assert_eq!(event.kind, EventKind::Deleted);
/// assert_eq!(event.object, &Lamp { on: true, revision: 4 });
/// assert_eq!(event.revision, Revision::new(7));
/// ```
pub fn transition<O: Object>(
    change: &Change<O>,
    revision: Revision,
    matches: impl Fn(&O) -> bool,
) -> Option<Event<'_, O>> {
    let before = change.previous().filter(|object| matches(object));
    let now = change.current().filter(|object| matches(object));
    let (kind, object) = match (before, now) {
        (None, None) => return None,
        (None, Some(object)) => (EventKind::Added, object),
        (Some(_), Some(object)) => (EventKind::Modified, object),
        (Some(object), None) => (EventKind::Deleted, object),
    };
    let revision = match kind {
        EventKind::Added | EventKind::Modified => object.revision(),
        EventKind::Deleted => revision,
    };
    Some(Event {
        kind,
        object,
        revision,
    })
}
