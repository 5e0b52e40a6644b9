//! An object in the store, with what only the store needs to know of it: the last changes hold objects, too, and are many.

use super::object::Object;

/// An object of the store.
#[derive(Debug, Clone)]
pub struct Stored<B> {
    pub(super) object: Object<B>,
    /// Whether the list that is coming in has named it.
    pub(super) listed: bool,
    /// In which group of changes it came, counted round and round: whose number is another was not in this one.
    pub(super) group: u16,
}

impl<B> Stored<B> {
    /// An object that has been named, in this group.
    pub(super) const fn new(object: Object<B>, group: u16) -> Self {
        Self {
            object,
            listed: true,
            group,
        }
    }
}
