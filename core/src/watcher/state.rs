//! Where a watch gets its initial objects from.

use core::borrow::Borrow;

use crate::key::Key;
use crate::object::Object;
use crate::revision::Revision;
use crate::slots::Slots;
use crate::store::{Slot, Store};

/// Objects in key order, up to some revision: a live [`Store`], or a snapshot of one.
pub trait State {
    /// A place between objects, for going on later.
    type Key;
    /// The objects.
    type Object: Object;

    /// Up to which revision every change is contained. Constant in a snapshot.
    fn revision(&self) -> Revision;

    /// The first object after `key`, or the first of all, and its own key.
    fn next_after(&self, key: Option<&Self::Key>) -> Option<(Self::Key, &Self::Object)>;

    /// Whether an object with this key would have been shown by the time `shown` was.
    fn is_shown(&self, shown: &Self::Key, key: Key<'_>) -> bool;
}

impl<K, O, S> State for Store<K, O, S>
where
    K: Ord + Clone + Borrow<str>,
    O: Object,
    S: Slots<Slot<K, O>>,
{
    type Key = K;
    type Object = O;

    fn revision(&self) -> Revision {
        self.revision()
    }

    fn next_after(&self, key: Option<&K>) -> Option<(K, &O)> {
        let entry = self.after(key.map(K::borrow)).next()?;
        Some((entry.key.clone(), &entry.value))
    }

    fn is_shown(&self, shown: &K, key: Key<'_>) -> bool {
        key.as_str() <= shown.borrow()
    }
}
