//! What a reader is told of one subscription, judged by the truth whenever it is told something.
//!
//! While a watch is live, what it is told between two points at which it has everything must be exactly what happened between
//! them. At these points, and when a snapshot or a difference is complete, what it holds must be exactly what there was.

mod stretch;

use std::collections::{BTreeMap, BTreeSet};

use ringwatch_core::digest::Digest;
use ringwatch_core::informer::Check;
use ringwatch_core::link::frame::{How, Mode, Origin};
use ringwatch_core::link::node::{Bookmark, Position, View};
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;

use super::findings::Property;
use super::link::Telling;
use super::wish::{Policy, Selection};
use super::world::{KEYS, Thing, Told, World};
use stretch::Stretch;

/// What is judged: whoever holds what it was told.
pub trait Holding {
    /// Hands out the view that a session tells.
    fn with<T>(&mut self, call: impl FnOnce(&mut dyn View) -> T) -> T;

    /// Where it would resume.
    fn revision(&self) -> Option<Revision>;

    /// Whether it lacks nothing that it knows of.
    fn is_complete(&self) -> bool;

    /// Whether it has an object as it was, at a revision.
    fn has(&self, thing: &Thing) -> bool;

    /// How many objects it has.
    fn count(&self) -> usize;

    /// What it has, for reports.
    fn show(&self) -> String;

    /// What made no sense in what it was told.
    fn objection(&mut self) -> Option<(Property, String)>;

    /// Whether it holds what there was at a revision; a part of that, if it knows that it lacks something.
    fn agrees_with(&self, world: &World, revision: Revision, selection: &Selection) -> bool {
        let truth = || world.selected(revision, selection.wants);
        let right = truth().filter(|thing| self.has(thing)).count();
        right == self.count() && (!self.is_complete() || right == truth().count())
    }
}

/// What a judge remembers of a subscription from one call to the next.
#[derive(Debug, Default)]
pub struct Record {
    stretch: Option<Stretch>,
    /// The hop that it was last told something by.
    hop: usize,
    /// Whether the next event gets lost in the node, and whether one has.
    pub loses_next: bool,
    has_lost: bool,
    /// How long the bookmarks took to come, at most, and how wrong the senders may have been.
    pub lag: u64,
    /// Whose revisions it has.
    pub origin: Option<Origin>,
    /// Whether a list or a difference has come to its end.
    pub was_replaced: bool,
    /// When each object was as it was last told.
    last: BTreeMap<&'static str, Revision>,
    /// What it was told to keep since the subscription began, and whether it began inside a snapshot, which keeps the first part of it.
    kept: BTreeSet<&'static str>,
    continued: bool,
    /// Whether it goes on with events at another hop.
    moved: bool,
}

impl Record {
    /// The connection is gone.
    pub fn cut(&mut self) {
        self.stretch = None;
    }
}

/// A holder while bytes come in, and what is needed to judge them.
pub struct Judge<'j, H> {
    /// Whose.
    pub held: H,
    /// What was before.
    pub record: &'j mut Record,
    /// What it wants.
    pub selection: &'j Selection,
    /// How.
    pub mode: Mode,
    /// What it may have.
    pub policy: Policy,
    /// Since when it may have nothing.
    pub revoked: Option<u64>,
    /// By whom it is told, and when.
    pub telling: &'j Telling<'j>,
    /// Who it is, for reports.
    pub name: &'j str,
    /// Which of its subscriptions.
    pub sub: usize,
}

impl<H: Holding> Judge<'_, H> {
    fn find(&self, property: Property, detail: impl FnOnce() -> String) {
        let Self { name, sub, .. } = self;
        let detail = || format!("{name}/{sub}: {}", detail());
        self.telling.findings.add(property, detail);
    }

    fn say(&self, what: impl FnOnce() -> String) {
        let Self { name, sub, .. } = self;
        self.telling
            .findings
            .say(|| format!("    {name}/{sub}: {}", what()));
    }

    fn told(&mut self, key: &str, revision: Revision, deleted: bool) {
        self.say(|| {
            let what = if deleted { "gone" } else { "is" };
            format!("{what} {key} at {revision}")
        });
        if let Some(revoked) = self.revoked
            && self.telling.written > revoked
        {
            self.find(Property::Policy, || {
                format!("is told of {key} although its key was revoked")
            });
        }
        if !self.policy.allows(key) {
            self.find(Property::Policy, || format!("is told of {key}"));
        }
        let Some(known) = KEYS.iter().find(|known| **known == key) else {
            return self.find(Property::Reliable, || format!("{key} never was"));
        };
        self.record.last.insert(known, revision);
        if let Some(stretch) = &mut self.record.stretch {
            stretch.tell(Told {
                revision,
                key: known,
                deleted,
            });
        }
    }

    fn loses(&mut self) -> bool {
        let loses = std::mem::take(&mut self.record.loses_next);
        self.record.has_lost |= loses;
        loses
    }

    /// An object must be as it was at its revision, and selected.
    fn is_true(&self, key: &str, revision: Revision, level: Option<u8>) {
        let thing = self
            .telling
            .world
            .at(revision)
            .get(key)
            .map(|shared| &shared.0);
        match thing {
            Some(thing)
                if thing.revision == revision && level.is_none_or(|it| it == thing.level) =>
            {
                if !(self.selection.wants)(thing) {
                    self.find(Property::Filter, || {
                        format!("{key} at {revision} is not selected")
                    });
                }
            }
            _ => self.find(Property::Reliable, || {
                format!("{key} never was {level:?} at {revision}, but {thing:?}")
            }),
        }
    }

    /// Everything up to a revision has come: was that all, and is the view right?
    fn complete(&mut self, until: Revision, declared: Option<u32>) {
        let Some(mut stretch) = self.record.stretch.take() else {
            return;
        };
        if let Err((property, detail)) = stretch.close(
            self.telling.world,
            self.selection,
            self.mode,
            self.telling.bridges,
            until,
            declared,
        ) {
            self.find(property, || detail);
        }
        self.record.stretch = Some(stretch);
        // What it was told elsewhere of a transaction that it has only a part of, and that is not known here yet.
        let is_ahead = self.record.moved && self.record.last.values().any(|told| *told > until);
        let held = &self.held;
        if !self.record.has_lost
            && !is_ahead
            && !held.agrees_with(self.telling.world, until, self.selection)
        {
            self.find(Property::Reliable, || {
                let truth = self.telling.world.selected(until, self.selection.wants);
                let truth: BTreeMap<_, _> = truth.map(|thing| (thing.key, thing.level)).collect();
                format!("has {}, but at {until} there was {truth:?}", held.show())
            });
        }
    }

    /// Whether it was told to keep what it does not have: a hop that is behind does not know what the one before had told, and a view
    /// that is full gives up what a difference has not named yet.
    fn cannot_keep_all(&self, revision: Revision) -> bool {
        let Record {
            last,
            kept,
            continued,
            ..
        } = &*self.record;
        let newer = last
            .iter()
            .any(|(key, told)| *told > revision && (*continued || kept.contains(key)));
        let mut truth = self.telling.world.selected(revision, self.selection.wants);
        let given_up = self.selection.places < KEYS.len()
            && truth.any(|thing| kept.contains(thing.key) && !self.held.has(thing));
        newer || given_up
    }

    fn listen(&mut self) {
        if let Some((property, detail)) = self.held.objection() {
            self.find(property, || detail);
        }
    }
}

impl<H: Holding> View for Judge<'_, H> {
    fn position(&self) -> Position<'_> {
        unreachable!("the session asks the view itself")
    }

    fn begin(&mut self, origin: Origin, how: How) {
        self.say(|| format!("begins: {how:?}"));
        if origin != self.telling.world.origin {
            self.find(Property::Resumable, || format!("{origin:?} is no origin"));
        }
        let other = self.record.origin.replace(origin) != Some(origin);
        if other {
            self.record.last.clear();
        }
        self.record.kept.clear();
        self.record.continued = how == How::Continued;
        self.record.moved = how == How::Resumed && self.record.hop != self.telling.hop;
        if other && how != How::Snapshot {
            self.find(Property::Resumable, || format!("{how:?} at another origin"));
        }
        let known = self.held.revision();
        self.record.stretch = match (how, known) {
            (How::Resumed, Some(after)) => {
                Some(Stretch::resumed(after, self.record.hop != self.telling.hop))
            }
            (How::Resumed, None) => {
                self.find(Property::Resumable, || "resumed from nowhere".to_owned());
                None
            }
            _ => None,
        };
        self.record.hop = self.telling.hop;
        self.held.with(|view| view.begin(origin, how));
    }

    fn put(&mut self, key: &str, revision: Revision, body: &[u8]) {
        self.told(key, revision, false);
        let level = (self.selection.decode)(body);
        if level.is_none() {
            self.find(Property::Reliable, || {
                format!("{key}: not an object: {body:?}")
            });
        }
        self.is_true(key, revision, level);
        if !self.loses() {
            self.held.with(|view| view.put(key, revision, body));
        }
        self.listen();
    }

    fn delete(&mut self, key: &str, revision: Revision) {
        self.told(key, revision, true);
        if !self.loses() {
            self.held.with(|view| view.delete(key, revision));
        }
        self.listen();
    }

    fn keep(&mut self, key: &str) {
        self.say(|| format!("keeps {key}"));
        let known = KEYS.iter().find(|known| **known == key);
        self.record.kept.extend(known);
        self.held.with(|view| view.keep(key));
    }

    fn too_large(&mut self, key: &str, revision: Revision, size: u32) {
        self.say(|| format!("{key} has {size} bytes"));
        self.told(key, revision, false);
        self.is_true(key, revision, None);
        if size < 500 || !self.selection.whole {
            self.find(Property::Reliable, || {
                format!("{key}: {size} bytes are not too large")
            });
        }
        self.held.with(|view| view.too_large(key, revision, size));
        self.listen();
    }

    fn mark(&mut self, key: &str, revision: Revision) {
        self.say(|| format!("up to {key} as of {revision}"));
        self.held.with(|view| view.mark(key, revision));
    }

    fn settle(&mut self, revision: Revision) {
        self.say(|| format!("has everything up to {revision}"));
        self.held.with(|view| view.settle(revision));
        self.complete(revision, None);
    }

    fn bookmark(&mut self, bookmark: Bookmark, now: Instant) -> Check {
        self.say(|| format!("{bookmark:?}"));
        let Bookmark {
            revision,
            digest,
            age,
            skipped,
            ends_snapshot,
        } = bookmark;
        if self.mode == Mode::Every && skipped > 0 {
            self.find(Property::DeclaredCoalescing, || {
                format!("{skipped} left out of every event")
            });
        }
        if revision > self.telling.world.newest() {
            self.find(Property::Bookmarkable, || {
                format!("{revision} is yet to come")
            });
        }
        let truth = self.telling.world.digest(revision, self.selection.wants);
        if digest.is_some_and(|digest| digest != truth) {
            self.find(Property::Digest, || {
                format!("that at {revision} is {truth:?}, not {digest:?}")
            });
        }
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let outdated = self
            .telling
            .world
            .outdated_at(revision)
            .unwrap_or(self.telling.now);
        if outdated.saturating_add(age) + self.telling.doubt < self.telling.written {
            let written = self.telling.written;
            self.find(Property::HonestStaleness, || {
                format!("at {written}, {revision} is said to be {age} ms old, but was outdated at {outdated}")
            });
        }
        let complete = self.held.is_complete();
        let check = self.held.with(|view| view.bookmark(bookmark, now));
        self.listen();
        self.record.lag = self
            .record
            .lag
            .max(self.telling.now - self.telling.written + self.telling.doubt);
        if ends_snapshot {
            self.record.was_replaced = true;
            self.record.stretch = Some(Stretch::after(revision));
        }
        // A view that knows that it is wrong is repaired next.
        if check == Check::Differs {
            self.record.stretch = None;
        }
        self.complete(revision, (!ends_snapshot).then_some(skipped));
        match check {
            Check::Agrees => self.record.has_lost = false,
            // One that was refused may have found a place.
            Check::Differs
                if !self.record.has_lost && complete && !self.cannot_keep_all(revision) =>
            {
                self.find(Property::Digest, || {
                    "differs, although nothing was lost".to_owned()
                });
            }
            Check::Differs | Check::NotCompared => {}
        }
        check
    }

    fn digests(&self, _: &mut [Digest]) {
        unreachable!("the session asks the view itself")
    }
}
