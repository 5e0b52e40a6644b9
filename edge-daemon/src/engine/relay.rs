//! A relay: what it has of the upstream, who may read it, and who did.

use core::cell::{Cell, Ref, RefCell};

use ringwatch_core::link::frame::Restart;
use ringwatch_core::link::serve::{Begin, Request, Restarts};
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::{Place, Slots};
use ringwatch_core::time::Instant;

use super::begun::Begun;
use super::nodes::{KnownNode, Nodes};
use super::policy::Policy;
use super::shape::Shape;
use super::track::Track;

/// Tracks, a policy and a table of nodes. To sessions with nodes it is their source; an [`Uplink`](super::Uplink) or a Kubernetes watch
/// feeds it.
pub struct Relay<S: Shape, P, T, N> {
    tracks: T,
    policy: P,
    nodes: Nodes<N>,
    /// Entered by sessions, to which the relay is only lent.
    restarts: RefCell<Restarts<S::Restarts>>,
    /// Counted by sessions, too.
    begun: Cell<Begun>,
    _shape: core::marker::PhantomData<fn() -> S>,
}

impl<S, P, T, N> Relay<S, P, T, N>
where
    S: Shape,
    P: Policy,
    T: Slots<Track<S>>,
    N: Slots<Place<KnownNode>>,
{
    /// A relay of these tracks, and free places for nodes. The order is that of the upstream's subscriptions.
    pub const fn new(tracks: T, policy: P, nodes: N) -> Self {
        Self {
            tracks,
            policy,
            nodes: Nodes::new(nodes),
            restarts: RefCell::new(Restarts::new(S::NO_RESTARTS)),
            begun: Cell::new(Begun::NONE),
            _shape: core::marker::PhantomData,
        }
    }

    /// The tracks.
    pub fn tracks(&self) -> &[Track<S>] {
        self.tracks.as_ref()
    }

    /// The tracks, to be fed.
    pub fn tracks_mut(&mut self) -> &mut [Track<S>] {
        self.tracks.as_mut()
    }

    /// Who may have what.
    pub const fn policy(&self) -> &P {
        &self.policy
    }

    /// Who may have what, to be changed. Watches whose grant is no longer current begin anew by themselves.
    pub const fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }

    /// The nodes that were here.
    pub const fn nodes(&self) -> &Nodes<N> {
        &self.nodes
    }

    /// The nodes that were here, to be restored.
    pub const fn nodes_mut(&mut self) -> &mut Nodes<N> {
        &mut self.nodes
    }

    /// The last restarts of nodes.
    pub fn restarts(&self) -> Ref<'_, Restarts<S::Restarts>> {
        self.restarts.borrow()
    }

    /// The last restarts of nodes, to be passed on.
    pub fn restarts_mut(&mut self) -> &mut Restarts<S::Restarts> {
        self.restarts.get_mut()
    }

    /// A node tells of a restart; whether there is a place for it.
    pub(super) fn note_restart(&self, from: &str, restart: &Restart<'_>) -> bool {
        self.restarts.borrow_mut().note(from, restart)
    }

    /// How watches of nodes have begun.
    pub const fn begun(&self) -> Begun {
        self.begun.get()
    }

    pub(super) fn note_begun(&self, begin: &Begin<'_>) {
        let mut begun = self.begun.get();
        begun.by_node(begin);
        self.begun.set(begun);
    }

    /// A node was heard, and has everything up to a revision.
    pub fn note(&mut self, node: &str, revision: Revision, now: Instant) {
        self.nodes.note(node, revision, now);
    }

    /// The upstream is cut off: what it had not completed is undone.
    pub fn interrupt(&mut self) {
        self.tracks.as_mut().iter_mut().for_each(Track::interrupt);
    }

    /// The track that has what is asked for.
    pub(super) fn covering(&self, request: &Request<'_>) -> Option<(usize, &Track<S>)> {
        let mut tracks = self.tracks.as_ref().iter().enumerate();
        tracks.find(|(_, track)| track.subject().covers(request))
    }
}
