//! What a node has of one subscription, compared with the world whenever something arrives.

use std::collections::BTreeMap;

use ringwatch_core::digest::Digest;
use ringwatch_core::informer::{Check, Handler, Held, Informer};
use ringwatch_core::link::frame::{How, Mode, Origin};
use ringwatch_core::link::node::{Bookmark, Mirror, Position, View};
use ringwatch_core::revision::Revision;
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;

use super::kinds::Selection;
use super::world::{Hop, Seen, Thing, World};

/// Believes what it is told, and objects to what makes no sense.
#[derive(Default)]
pub(crate) struct Listener(pub(crate) BTreeMap<String, u8>);

impl Handler<u8> for Listener {
    fn on_add(&mut self, key: &str, new: &u8) {
        assert_eq!(self.0.insert(key.to_owned(), *new), None, "added twice");
    }
    fn on_update(&mut self, key: &str, old: Option<&u8>, new: &u8) {
        assert_eq!(self.0.insert(key.to_owned(), *new).as_ref(), old);
    }
    fn on_delete(&mut self, key: &str, _: &u8) {
        assert!(self.0.remove(key).is_some(), "deleted before it was added");
    }
}

type Slots = Vec<Slot<String, Held<u8>>>;

/// What a node has of one subscription, and what it must see next.
pub(crate) struct Copy {
    pub(crate) mirror: Mirror<String, u8, Slots>,
    pub(crate) listener: Listener,
    /// While live: after this revision it has seen so many events.
    pub(crate) live: Option<(Revision, usize)>,
    pub(crate) loses_next: bool,
    pub(crate) has_lost: bool,
}

impl Copy {
    pub(crate) fn new(selection: &Selection) -> Self {
        let slots: Slots = (0..selection.places).map(|_| Slot::FREE).collect();
        let informer = Informer::new(slots, Default::default());
        Self {
            mirror: Mirror::new(informer),
            listener: Listener::default(),
            live: None,
            loses_next: false,
            has_lost: false,
        }
    }

    pub(crate) fn view(&self) -> BTreeMap<String, u8> {
        let objects = self.mirror.informer().iter();
        objects
            .map(|(key, level)| (key.to_owned(), *level))
            .collect()
    }
}

/// A copy that checks what it is told against the world and the hop.
pub(crate) struct Checked<'c> {
    pub(crate) copy: &'c mut Copy,
    pub(crate) selection: &'static Selection,
    pub(crate) mode: Mode,
    pub(crate) world: &'c World,
    pub(crate) hop: &'c Hop,
}

impl Checked<'_> {
    /// The next event must be the next that the hop was told, if every one is to come.
    fn expect(&mut self, seen: Seen) {
        let Some((after, count)) = &mut self.copy.live else {
            return;
        };
        if self.mode == Mode::Every {
            let wants = self.selection.wants;
            let told = self.hop.events(*after, self.hop.newest(), wants);
            assert_eq!(told.get(*count), Some(&seen), "event {count} after {after}");
        }
        *count += 1;
    }

    fn loses(&mut self) -> bool {
        let loses = std::mem::take(&mut self.copy.loses_next);
        self.copy.has_lost |= loses;
        loses
    }

    fn selected(&self, revision: Revision) -> BTreeMap<String, u8> {
        selected(self.world, revision, self.selection)
    }
}

pub(crate) fn selected(
    world: &World,
    revision: Revision,
    selection: &Selection,
) -> BTreeMap<String, u8> {
    let things = world
        .at(revision)
        .values()
        .filter(|thing| (selection.wants)(thing));
    things
        .map(|thing| (thing.key.clone(), thing.level))
        .collect()
}

pub(crate) fn is_part(view: &BTreeMap<String, u8>, truth: &BTreeMap<String, u8>) -> bool {
    view.iter()
        .all(|(key, level)| truth.get(key) == Some(level))
}

macro_rules! feed {
    ($checked:expr) => {
        $checked
            .copy
            .mirror
            .feed($checked.selection.decode, &mut $checked.copy.listener)
    };
}

impl View for Checked<'_> {
    fn position(&self) -> Position<'_> {
        unreachable!("the session asks the mirror")
    }

    fn begin(&mut self, origin: Origin, how: How) {
        assert_eq!(origin, self.world.origin);
        let known = self.copy.mirror.informer().revision();
        self.copy.live = match how {
            How::Resumed => Some((known.expect("a place to resume from"), 0)),
            _ => None,
        };
        feed!(self).begin(origin, how);
    }

    fn put(&mut self, key: &str, revision: Revision, body: &[u8]) {
        self.expect((false, revision, key.to_owned()));
        let level = (self.selection.decode)(body).expect("an object");
        assert!((self.selection.wants)(&Thing::new(key, level, revision)));
        assert_eq!(self.world.at(revision)[key].level, level);
        if !self.loses() {
            feed!(self).put(key, revision, body);
        }
    }

    fn delete(&mut self, key: &str, revision: Revision) {
        self.expect((true, revision, key.to_owned()));
        if !self.loses() {
            feed!(self).delete(key, revision);
        }
    }

    fn keep(&mut self, key: &str) {
        feed!(self).keep(key);
    }

    fn too_large(&mut self, key: &str, revision: Revision, size: u32) {
        self.expect((false, revision, key.to_owned()));
        assert!(size > 500, "{size} bytes are not too large");
        feed!(self).too_large(key, revision, size);
    }

    fn mark(&mut self, key: &str, revision: Revision) {
        feed!(self).mark(key, revision);
    }

    fn settle(&mut self, revision: Revision) {
        let whole = self.copy.live.is_some() && self.copy.mirror.is_complete();
        if whole && !self.copy.has_lost {
            assert_eq!(self.copy.view(), self.selected(revision), "at {revision}");
        }
        feed!(self).settle(revision);
    }

    fn bookmark(&mut self, bookmark: Bookmark, now: Instant) -> Check {
        let Bookmark {
            revision,
            digest,
            ends_snapshot,
            ..
        } = bookmark;
        if let (Mode::Every, Some((after, count))) = (self.mode, self.copy.live) {
            let told = self.hop.events(after, revision, self.selection.wants);
            assert_eq!(told.len(), count, "events up to the bookmark at {revision}");
        }
        if let Some(digest) = digest {
            assert_eq!(digest, truth(self.world, revision, self.selection));
        }
        let complete = self.copy.mirror.is_complete();
        let check = feed!(self).bookmark(bookmark, now);
        match check {
            Check::Agrees => {
                let (view, truth) = (self.copy.view(), self.selected(revision));
                match self.copy.mirror.is_complete() {
                    true => assert_eq!(view, truth),
                    false => assert!(is_part(&view, &truth)),
                }
                self.copy.has_lost = false;
            }
            // One that was refused may have found a place.
            Check::Differs => assert!(
                self.copy.has_lost || !complete,
                "the view differs, but nothing was lost"
            ),
            // Not even by a digest, so all the more to be told the truth.
            Check::NotCompared if ends_snapshot && complete && !self.copy.has_lost => {
                assert_eq!(self.copy.view(), self.selected(revision), "at {revision}");
            }
            Check::NotCompared => {}
        }
        if ends_snapshot {
            self.copy.live = Some((revision, 0));
        }
        check
    }

    fn digests(&self, _: &mut [Digest]) {
        unreachable!("the session asks the mirror")
    }
}

fn truth(world: &World, revision: Revision, selection: &Selection) -> Digest {
    let mut digest = Digest::EMPTY;
    for thing in world
        .at(revision)
        .values()
        .filter(|thing| (selection.wants)(thing))
    {
        digest.add(&thing.key, thing.revision);
    }
    digest
}
