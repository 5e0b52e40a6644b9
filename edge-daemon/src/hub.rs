//! The relay that everything in the program shares, and how to hear that it has changed.
//!
//! The program is one thread, so the relay is borrowed for as long as a call takes and never across a wait.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ringwatch_core::predicate::Scope;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Slot;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::config::Watch;
use crate::definition::Definition;
use crate::engine::{self, Heap, KnownNode, Subject};
use crate::metrics::Metrics;
use crate::policy::Rules;

/// The relay of the program.
pub type Relay = engine::Relay<Heap, Rules, Box<[Track]>, Box<[Place<KnownNode>]>>;
/// One of its tracks.
pub type Track = engine::Track<Heap>;

/// What the tasks of the program share.
pub struct Hub {
    /// The relay.
    pub relay: RefCell<Relay>,
    /// Rung after every change of it.
    pub changed: Notify,
    /// What is known of the kind of each track.
    pub definitions: RefCell<Box<[Option<Definition>]>>,
    /// The time.
    pub clock: Clock,
    /// What has been counted.
    pub metrics: Metrics,
    /// How many connections with the upstream are working: one over the node link, one for each track of a Kubernetes API.
    pub online: Cell<usize>,
    /// Set and rung when it is time to stop.
    stopping: Cell<bool>,
    stop: Notify,
}

impl Hub {
    /// A relay of what is to be watched, for the nodes in the rules.
    pub fn new(watches: &[Watch], rules: Rules, known: usize) -> Rc<Self> {
        let tracks = watches.iter().map(track).collect();
        let nodes = vec![Place::Free; known].into_boxed_slice();
        Rc::new(Self {
            relay: RefCell::new(Relay::new(tracks, rules, nodes)),
            changed: Notify::new(),
            definitions: RefCell::new(watches.iter().map(|_| None).collect()),
            clock: Clock::start(),
            metrics: Metrics::new(watches.len()),
            online: Cell::new(0),
            stopping: Cell::new(false),
            stop: Notify::new(),
        })
    }

    /// Everybody is to finish.
    pub fn stop(&self) {
        self.stopping.set(true);
        self.stop.notify_waiters();
    }

    /// Whether everybody is to finish.
    pub fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Waits until everybody is to finish.
    pub async fn stopped(&self) {
        let stop = self.stop.notified();
        if !self.stopping.get() {
            stop.await;
        }
    }
}

/// An empty track for a watch.
pub fn track(watch: &Watch) -> Track {
    let subject = Subject {
        resource: watch.resource.as_str().into(),
        scope: match &watch.namespace {
            Some(namespace) => Scope::Namespace(namespace.as_str().into()),
            None => Scope::Resource,
        },
    };
    let objects = std::iter::repeat_with(|| Slot::FREE).take(watch.objects);
    let changes = std::iter::repeat_with(|| Place::Free).take(watch.changes);
    let pending = std::iter::repeat_with(|| Place::Free).take(watch.objects);
    let track = Track::new(
        subject,
        objects.collect(),
        changes.collect(),
        pending.collect(),
    );
    track.limited(watch.object_bytes)
}
