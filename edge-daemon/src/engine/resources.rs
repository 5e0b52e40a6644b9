//! A relay and its links in one value, whose size is known when it is built: every byte that the relay will use.

use ringwatch_core::link::frame::Code;
use ringwatch_core::link::serve::{Access, Config, Session};
use ringwatch_core::link::{Ended, Seed};
use ringwatch_core::slots::{Place, Slots};
use ringwatch_core::time::Instant;

use super::nodes::KnownNode;
use super::object::Object;
use super::policy::Policy;
use super::relay::Relay;
use super::shape::Shape;
use super::source::Watch;
use super::track::Track;

/// The session with one node.
pub type Downlink<S, P, const SUBS: usize, const PACKET: usize, const KEYS: usize> = Session<
    Watch<S, P>,
    Object<<S as Shape>::Bytes>,
    SUBS,
    PACKET,
    KEYS,
    <S as Shape>::Room,
    <P as Access>::Name,
>;

/// A relay of `TRACKS` tracks that knows `NODES` nodes and has `LINKS` places for sessions with them.
///
/// The caller moves bytes, as for each [session](Session): after a link was [connected](Self::connect), what has come goes to
/// [`receive`](Self::receive), and what [`poll_output`](Self::poll_output) gives is to be sent, for every link, after anything has happened.
pub struct Resources<
    S: Shape,
    P: Policy,
    const TRACKS: usize,
    const NODES: usize,
    const LINKS: usize,
    const SUBS: usize,
    const PACKET: usize,
    const KEYS: usize,
> {
    relay: Relay<S, P, [Track<S>; TRACKS], [Place<KnownNode>; NODES]>,
    links: [Place<Downlink<S, P, SUBS, PACKET, KEYS>>; LINKS],
}

impl<
    S: Shape,
    P: Policy,
    const TRACKS: usize,
    const NODES: usize,
    const LINKS: usize,
    const SUBS: usize,
    const PACKET: usize,
    const KEYS: usize,
> Resources<S, P, TRACKS, NODES, LINKS, SUBS, PACKET, KEYS>
{
    /// A relay of these tracks, without links.
    pub const fn new(tracks: [Track<S>; TRACKS], policy: P) -> Self {
        Self {
            relay: Relay::new(tracks, policy, [Place::Free; NODES]),
            links: [const { Place::Free }; LINKS],
        }
    }

    /// What it relays.
    pub const fn relay(&self) -> &Relay<S, P, [Track<S>; TRACKS], [Place<KnownNode>; NODES]> {
        &self.relay
    }

    /// What it relays, to be fed and set up.
    pub const fn relay_mut(
        &mut self,
    ) -> &mut Relay<S, P, [Track<S>; TRACKS], [Place<KnownNode>; NODES]> {
        &mut self.relay
    }

    /// Somebody has come by a link: a session begins there, in the place of the one before. `false` if there is no such link.
    pub fn connect(&mut self, link: usize, config: Config, seed: Seed, now: Instant) -> bool {
        self.disconnect(link, now);
        let place = self.links.get_mut(link);
        let session = Session::begin(config, seed, now);
        place.map(|place| *place = Place::Taken(session)).is_some()
    }

    /// Nobody is there any more.
    pub fn disconnect(&mut self, link: usize, now: Instant) {
        let Some(place) = self.links.get_mut(link) else {
            return;
        };
        if let Some(session) = place.as_ref() {
            note(&mut self.relay, session, now);
        }
        *place = Place::Free;
    }

    /// Takes in bytes of a link.
    pub fn receive(&mut self, link: usize, bytes: &[u8], now: Instant) {
        if let Some(session) = self.links.get_mut(link).and_then(Place::as_mut) {
            session.receive(bytes, &self.relay, &self.relay, now);
        }
    }

    /// Writes the next bytes for a link into the front of `out`; `None` if there is nothing to send.
    pub fn poll_output<'o>(
        &mut self,
        link: usize,
        now: Instant,
        out: &'o mut [u8],
    ) -> Option<&'o [u8]> {
        let session = self.links.get_mut(link)?.as_mut()?;
        session.poll_output(&self.relay, now, out)
    }

    /// How the session on a link has ended, if it has.
    pub fn ended(&self, link: usize) -> Option<Ended> {
        self.links.get(link)?.as_ref()?.ended()
    }

    /// Says goodbye on a link.
    pub fn close(&mut self, link: usize, code: Code) {
        if let Some(session) = self.links.get_mut(link).and_then(Place::as_mut) {
            session.close(code);
        }
    }

    /// The session on a link.
    pub fn link(&self, link: usize) -> Option<&Downlink<S, P, SUBS, PACKET, KEYS>> {
        self.links.get(link)?.as_ref()
    }

    /// When to look at the links although nothing has happened.
    pub fn next_deadline(&self) -> Instant {
        let links = self.links.iter().filter_map(Place::as_ref);
        links
            .map(Session::next_deadline)
            .fold(Instant::NEVER, Instant::min)
    }
}

/// Remembers how far a node has come.
pub(super) fn note<S, P, T, N, const SUBS: usize, const PACKET: usize, const KEYS: usize>(
    relay: &mut Relay<S, P, T, N>,
    session: &Downlink<S, P, SUBS, PACKET, KEYS>,
    now: Instant,
) where
    S: Shape,
    P: Policy,
    T: Slots<Track<S>>,
    N: Slots<Place<KnownNode>>,
{
    let Some(node) = session.node() else { return };
    let watches = (0..=u8::MAX)
        .take(SUBS)
        .filter_map(|sub| session.watch(sub));
    let position = watches.filter_map(|watch| watch.position(relay)).min();
    if let Some(position) = position {
        relay.note(node, position, now);
    }
}
