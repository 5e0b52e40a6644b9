//! The server: the core's store and history, which follow the world, and a session for each reader.

use std::time::Duration;

use ringwatch_core::digest::Digest;
use ringwatch_core::history::{self, History};
use ringwatch_core::link::frame::{Code, Origin};
use ringwatch_core::link::serve::{
    self, Begin, Local, LocalWatch, OpenError, Request, Selecting, Session, Source, Step,
};
use ringwatch_core::link::{Ended, Framing, Seed};
use ringwatch_core::object::Change;
use ringwatch_core::projection::ProjectError;
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::store::{Entry, Slot, Store, Update};
use ringwatch_core::time::Instant;

use super::findings::{Findings, Property};
use super::hop::{Clock, Guests, Hop, PACKET, SILENCE};
use super::wish::RESOURCE;
use super::world::{Edit, KEYS, Shared, World};
use crate::random::Random;

type Shelf = Vec<Slot<String, Shared>>;
type Places = Vec<Place<history::Entry<Change<Shared>>>>;
type Watch = LocalWatch<String, 32>;
type Serving = Session<Watch, Shared, 2, PACKET, 8>;

/// A server process.
pub struct Server {
    origin: Origin,
    store: Store<String, Shared, Shelf>,
    ring: History<Change<Shared>, Places>,
    /// Cut off from its storage.
    pub is_away: bool,
    /// When it last had everything, by its own clock.
    in_step: Instant,
    bridges: Vec<(Revision, Revision)>,
    guests: Guests,
    sessions: Vec<Option<Box<Serving>>>,
    /// Its clock.
    pub clock: Clock,
}

impl Server {
    /// A server that has listed the world.
    pub fn new(world: &World, guests: Guests, places: usize, ports: usize) -> Self {
        let mut server = Self {
            origin: world.origin,
            store: Store::new(KEYS.map(|_| Slot::FREE).into()),
            ring: History::new(slots(places)),
            is_away: false,
            in_step: Instant::from_millis(0),
            bridges: Vec::new(),
            guests,
            sessions: (0..ports).map(|_| None).collect(),
            clock: Clock::default(),
        };
        server.restart(world, 0);
        server
    }

    /// The process ends and begins again: it lists, and remembers no changes.
    pub fn restart(&mut self, world: &World, now: u64) {
        self.sessions.iter_mut().for_each(|session| *session = None);
        self.origin = world.origin;
        self.store = Store::new(KEYS.map(|_| Slot::FREE).into());
        self.list(world);
        self.ring.reset(world.newest());
        self.is_away = false;
        self.in_step = self.clock.read(now);
    }

    fn list(&mut self, world: &World) -> Vec<Edit> {
        let revision = world.newest();
        let list = world.at(revision).values().map(|thing| Entry {
            key: thing.0.key.to_owned(),
            revision: thing.0.revision,
            value: thing.clone(),
        });
        let mut found = Vec::new();
        let report = |difference: ringwatch_core::store::Difference<'_, String, Shared>| {
            use ringwatch_core::store::Difference::{Added, Changed, Removed};
            found.push(match difference {
                Removed(entry) => Edit {
                    before: Some(entry.value),
                    after: None,
                },
                Added(entry) => Edit {
                    before: None,
                    after: Some(entry.value.clone()),
                },
                Changed { previous, current } => Edit {
                    before: Some(previous.value),
                    after: Some(current.value.clone()),
                },
            });
        };
        self.store
            .replace(revision, list, report)
            .expect("sorted, and room for KEYS");
        found
    }

    /// Lists anew: its readers get the difference.
    pub fn relist(&mut self, world: &World, now: u64) {
        let (before, revision) = (self.ring.newest(), world.newest());
        if revision <= before {
            return;
        }
        let mut edits = self.list(world);
        // Deletions first, then by revision: see `History::bridge`.
        edits.sort_by_key(|edit| edit.after.as_ref().map(|thing| thing.0.revision));
        let changes = edits.into_iter().map(change);
        self.ring.bridge(revision, changes).expect("newer");
        self.bridges.push((before, revision));
        self.in_step = self.clock.read(now);
    }

    /// Gives the ring another size.
    pub fn resize(&mut self, places: usize) {
        self.ring.resize(slots(places));
    }

    fn with_source<T>(
        &mut self,
        port: usize,
        now: u64,
        call: impl FnOnce(&mut Serving, &Guarded<'_>, Instant) -> T,
    ) -> Option<T> {
        let at = self.clock.read(now);
        let source = Guarded {
            guests: &self.guests,
            inner: Local {
                resource: RESOURCE,
                origin: self.origin,
                store: &self.store,
                history: &self.ring,
                in_step: self.in_step,
            }
            .selecting(),
        };
        let session = self.sessions[port].as_mut()?;
        Some(call(session, &source, at))
    }
}

impl Hop for Server {
    fn accept(&mut self, port: usize, framing: Framing, now: u64, seed: [u8; 32]) {
        let config = serve::Config {
            framing,
            silence: SILENCE,
            ..serve::Config::default()
        };
        let session = Session::new(config, Seed::new(seed), self.clock.read(now));
        self.sessions[port] = Some(Box::new(session));
    }

    fn receive(&mut self, port: usize, bytes: &[u8], now: u64) {
        self.with_source(port, now, |session, source, at| {
            session.receive(bytes, source.guests, source, at);
        });
    }

    fn poll_output(&mut self, port: usize, now: u64, out: &mut [u8]) -> Option<usize> {
        self.with_source(port, now, |session, source, at| {
            session.poll_output(source, at, out).map(<[u8]>::len)
        })?
    }

    fn ended(&self, port: usize) -> Option<Ended> {
        let session = self.sessions[port].as_ref();
        session.map_or(Some(Ended::Here(Code::Done)), |session| session.ended())
    }

    fn hang_up(&mut self, port: usize) {
        self.sessions[port] = None;
    }

    fn revoke(&mut self, port: usize) {
        if let Some(session) = &mut self.sessions[port] {
            session.close(Code::Revoked);
        }
    }

    fn disturb(&mut self, world: &World, now: u64, random: &mut Random, findings: &Findings) {
        match random.below(6) {
            0 | 1 => {
                self.is_away = !self.is_away;
                findings.say(|| format!("    away from its storage: {}", self.is_away));
            }
            2 => {
                findings.say(|| "    lists anew".to_owned());
                self.relist(world, now);
            }
            3 => {
                let places = [0, 1, 4, 8, 16, 64][random.below(6)];
                findings.say(|| format!("    remembers {places} changes"));
                self.resize(places);
            }
            4 => {
                findings.say(|| "    crashes".to_owned());
                self.restart(world, now);
            }
            _ => {
                let (millis, back) = (random.below(30_000) as u64, random.below(3) == 0);
                findings.say(|| format!("    its clock jumps by {millis} ms, back: {back}"));
                self.clock.jump(millis, back);
            }
        }
    }

    fn repair(&mut self, _: u64) {
        self.is_away = false;
    }

    fn replace_origin(&mut self, world: &World, now: u64) {
        self.bridges.clear();
        self.restart(world, now);
    }

    fn follow(
        &mut self,
        world: &World,
        now: u64,
        _: Option<&mut dyn Hop>,
        _: &mut Random,
        _: &Findings,
    ) {
        if self.is_away {
            return;
        }
        for number in self.ring.newest().get() + 1..=world.newest().get() {
            let revision = Revision::new(number);
            let edits = world.edits(revision);
            for edit in edits {
                let key = edit.key().to_owned();
                let update = match &edit.after {
                    Some(thing) => Update::Put(key, thing.clone()),
                    None => Update::Delete(key),
                };
                self.store.apply(revision, update).expect("room for KEYS");
            }
            self.store.advance(revision);
            let changes = edits.iter().cloned().map(change);
            self.ring.push_all(revision, changes).expect("newer");
        }
        self.in_step = self.clock.read(now);
    }

    fn upstream(&self) -> Option<usize> {
        None
    }

    fn is_of(&self, world: &World) -> bool {
        self.origin == world.origin
    }

    fn is_in_step(&self, world: &World) -> bool {
        self.ring.newest() == world.newest()
    }

    fn newest(&self) -> Revision {
        self.ring.newest()
    }

    fn bridges(&self) -> &[(Revision, Revision)] {
        &self.bridges
    }

    fn doubt(&self) -> u64 {
        self.clock.lost
    }

    fn inspect(&self, findings: &Findings) {
        let bounded = self.ring.len() <= self.ring.capacity() && self.store.len() <= KEYS.len();
        findings.expect(bounded, Property::Memory, || {
            format!("{} changes, {} objects", self.ring.len(), self.store.len())
        });
    }
}

fn change(edit: Edit) -> Change<Shared> {
    match (edit.before, edit.after) {
        (previous, Some(current)) => Change::Put { previous, current },
        (Some(previous), None) => Change::Delete { previous },
        (None, None) => unreachable!("an edit of something"),
    }
}

fn slots(places: usize) -> Places {
    (0..places).map(|_| Place::Free).collect()
}

/// A source that gives each guest only what it may have, as the server's does.
struct Guarded<'s> {
    guests: &'s Guests,
    inner: Selecting<'s, Store<String, Shared, Shelf>, Places, 32>,
}

impl Source for Guarded<'_> {
    type Object<'a>
        = &'a Shared
    where
        Self: 'a;
    type Held = Shared;
    type Watch = Watch;

    fn origin(&self, node: &str, resource: &str) -> Result<Origin, Code> {
        self.inner.origin(node, resource)
    }
    fn open(
        &self,
        node: &str,
        request: &Request<'_>,
        begin: Begin<'_>,
        now: Instant,
    ) -> Result<Watch, OpenError> {
        let policy = self.guests.policy(node);
        if !policy.is_some_and(|policy| policy.permits(&request.scope)) {
            return Err(OpenError::Failed(Code::Forbidden));
        }
        self.inner.open(node, request, begin, now)
    }
    fn poll(&self, watch: &mut Watch, now: Instant) -> Step<&Shared> {
        self.inner.poll(watch, now)
    }
    fn walk(&self, watch: &mut Watch) -> Option<&Shared> {
        self.inner.walk(watch)
    }
    fn catch_up(&self, watch: &mut Watch) -> Revision {
        self.inner.catch_up(watch)
    }
    fn newest(&self, watch: &Watch) -> Revision {
        self.inner.newest(watch)
    }
    fn digests(&self, watch: &Watch, buckets: &mut [Digest]) -> Revision {
        self.inner.digests(watch, buckets)
    }
    fn digest_at(&self, watch: &Watch, revision: Revision) -> Option<Digest> {
        self.inner.digest_at(watch, revision)
    }
    fn project(
        &self,
        watch: &Watch,
        json: &[u8],
        out: &mut [u8],
    ) -> Option<Result<usize, ProjectError>> {
        self.inner.project(watch, json, out)
    }
    fn is_superseded(&self, watch: &Watch, object: &&Shared) -> bool {
        self.inner.is_superseded(watch, object)
    }
    fn age(&self, watch: &Watch, now: Instant) -> Duration {
        self.inner.age(watch, now)
    }
    fn hold(&self, object: &Shared) -> Shared {
        self.inner.hold(object)
    }
}
