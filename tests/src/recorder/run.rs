//! A session laid beside the timeline: which event belongs to which change.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use ringwatch_core::transition::EventKind;
use serde_json::Value;

use super::history::{Change, Version};
use super::selection::Selection;
use super::session::{Seen, Session};
use super::timeline::Timeline;

/// Which contents were found genuine. Events share their bytes, so each is parsed once.
#[derive(Debug, Default)]
pub(super) struct Contents(HashMap<(usize, Revision), bool>);

impl Contents {
    /// Whether these bytes are the version with its revision put in.
    pub(super) fn are(&mut self, content: &Bytes, version: &Version) -> bool {
        let place = (content.as_ptr().addr(), version.revision);
        *self.0.entry(place).or_insert_with(|| {
            let mut wanted = version.json.clone();
            if let Some(metadata) = wanted.get_mut("metadata").and_then(Value::as_object_mut) {
                let revision = version.revision.to_string().into();
                metadata.insert("resourceVersion".to_owned(), revision);
            }
            serde_json::from_slice::<Value>(content).is_ok_and(|found| found == wanted)
        })
    }
}

/// What a selection must be told of a change.
pub(super) fn transition(selection: &Selection, change: &Change) -> Option<EventKind> {
    let wants = |version: &Arc<Version>| selection.wants(version);
    match (
        change.before.as_ref().is_some_and(wants),
        change.after.as_ref().is_some_and(wants),
    ) {
        (false, false) => None,
        (false, true) => Some(EventKind::Added),
        (true, true) => Some(EventKind::Modified),
        (true, false) => Some(EventKind::Deleted),
    }
}

/// An event that must be told.
pub(super) struct Expected<'a> {
    /// Its group's place in the timeline.
    pub(super) group: usize,
    pub(super) change: &'a Change,
    pub(super) kind: EventKind,
    /// Where it was first told, counted as [`Told::at`].
    pub(super) told: Option<usize>,
}

/// An event that was told, after the initial objects.
pub(super) struct Told<'a> {
    /// Its place in what was seen.
    pub(super) at: usize,
    pub(super) kind: EventKind,
    pub(super) key: &'a str,
    pub(super) object: Revision,
    pub(super) content: &'a Bytes,
    pub(super) revision: Revision,
    /// The group that it belongs to by its revision.
    pub(super) group: Option<usize>,
}

/// A session beside the part of the timeline that it covers.
pub(super) struct Run<'a> {
    pub(super) timeline: &'a Timeline,
    pub(super) session: &'a Session,
    /// It must be told what happened after this.
    pub(super) base: Revision,
    /// How many of the first events are initial objects.
    pub(super) initial: usize,
    pub(super) expected: Vec<Expected<'a>>,
    pub(super) told: Vec<Told<'a>>,
}

impl<'a> Run<'a> {
    /// `horizon`: up to where events are expected even if none was told.
    pub(super) fn new(
        timeline: &'a Timeline,
        session: &'a Session,
        (base, initial): (Revision, usize),
        horizon: Revision,
    ) -> Self {
        let seen = session.seen.iter().enumerate().skip(initial);
        let told: Vec<_> = seen
            .filter_map(|(at, seen)| told(timeline, &session.selection, at, seen))
            .collect();
        let furthest = told.iter().filter_map(|told| told.group).max();
        let furthest = furthest.map_or(0, |group| group + 1);
        let (first, end) = (timeline.first_after(base), timeline.first_after(horizon));
        let mut expected = Vec::new();
        let mut places = HashMap::new();
        for group in first..end.max(furthest) {
            for change in timeline.groups[group].changes.values() {
                if let Some(kind) = transition(&session.selection, change) {
                    places.insert((group, &*change.key), expected.len());
                    expected.push(Expected {
                        group,
                        change,
                        kind,
                        told: None,
                    });
                }
            }
        }
        for told in &told {
            let place = told.group.and_then(|group| places.get(&(group, told.key)));
            if let Some(place) = place {
                expected[*place].told.get_or_insert(told.at);
            }
        }
        Self {
            timeline,
            session,
            base,
            initial,
            expected,
            told,
        }
    }

    pub(super) fn revision(&self, group: usize) -> Revision {
        self.timeline.groups[group].revision
    }

    /// What must be told of one group.
    pub(super) fn expected_of(&self, group: usize) -> &[Expected<'a>] {
        let first = self.expected.partition_point(|e| e.group < group);
        let end = self.expected.partition_point(|e| e.group <= group);
        &self.expected[first..end]
    }

    /// The change that an event speaks of.
    pub(super) fn change_of(&self, told: &Told<'_>) -> Option<&'a Change> {
        self.timeline.groups[told.group?].changes.get(told.key)
    }
}

/// The place of the group that an event belongs to.
fn group_of(
    timeline: &Timeline,
    selection: &Selection,
    (kind, key, revision): (EventKind, &str, Revision),
) -> Option<usize> {
    let group = timeline.group_at(revision);
    let leaves = |group: &usize| {
        let change = timeline.groups[*group].changes.get(key);
        change.and_then(|change| transition(selection, change)) == Some(EventKind::Deleted)
    };
    if kind != EventKind::Deleted || group.as_ref().is_some_and(leaves) {
        return group;
    }
    timeline.bridged_deletion(key, revision).or(group)
}

fn told<'a>(
    timeline: &Timeline,
    selection: &Selection,
    at: usize,
    seen: &'a Seen,
) -> Option<Told<'a>> {
    match seen {
        Seen::Event {
            kind,
            key,
            object,
            content,
            revision,
        } => Some(Told {
            at,
            kind: *kind,
            key,
            object: *object,
            content,
            revision: *revision,
            group: group_of(timeline, selection, (*kind, key, *revision)),
        }),
        Seen::Bookmark { .. } => None,
    }
}
