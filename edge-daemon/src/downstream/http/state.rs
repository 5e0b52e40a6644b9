//! The objects of a track as they were at a revision.
//!
//! A relay keeps one state, the newest, and its last changes with what was there before each. So an older state is the newest one with the changes
//! since undone, for as long as the ring has them all. No state is kept for a client that lists by pages: its token says the revision, and
//! what the ring has forgotten is told as expired.

use std::collections::BTreeMap;

use ringwatch_core::object::Object as _;
use ringwatch_core::revision::Revision;
use ringwatch_core::watcher::State as _;

use super::Kept;
use crate::hub::Track;

/// The objects at a revision that is not in the future, after a key, in key order; `None` if they are not known.
pub(super) fn objects_at<'t>(
    track: &'t Track,
    revision: Revision,
    after: Option<&str>,
) -> Option<Vec<&'t Kept>> {
    // By key what there was before the first change since.
    let mut before: BTreeMap<&str, Option<&Kept>> = BTreeMap::new();
    for change in track.changes_since(revision)? {
        let key = change.subject().key().as_str();
        before.entry(key).or_insert_with(|| change.previous());
    }
    let mut objects = Vec::new();
    let mut at: Option<Box<str>> = after.map(Into::into);
    while let Some((key, object)) = track.next_after(at.as_ref()) {
        if !before.contains_key(&*key) {
            objects.push(object);
        }
        at = Some(key);
    }
    if !before.is_empty() {
        let undone = before.into_values().flatten();
        let behind = |object: &&Kept| after.is_none_or(|after| object.key().as_str() > after);
        objects.extend(undone.filter(behind));
        objects.sort_unstable_by(|one, other| one.key().cmp(&other.key()));
    }
    Some(objects)
}
