//! The session with a server or another relay: a node that wants whole objects, or the fields that are [kept](super::Kept), into the tracks.

use ringwatch_core::link::frame::Code;
use ringwatch_core::link::node::{Config, Session, Standing, View, Wanted};
use ringwatch_core::link::serve::{Reported, Restarts};
use ringwatch_core::link::{Ended, Seed};
use ringwatch_core::slots::{Place, Slots};
use ringwatch_core::time::Instant;

use super::shape::Shape;
use super::track::Track;

/// One session with the upstream. `SUBS` is the most tracks, the rest as for a [node's session](Session).
///
/// When it has ended, the tracks are to be [interrupted](Track::interrupt), and another session goes on where they are.
pub struct Uplink<
    'a,
    const SUBS: usize,
    const PACKET: usize,
    const KEYS: usize,
    const KEY: usize,
    O,
> {
    session: Session<'a, SUBS, PACKET, KEYS, KEY, O>,
    /// The number of the restart that the upstream was told of and has not noted.
    telling: Option<u32>,
}

impl<'a, const SUBS: usize, const PACKET: usize, const KEYS: usize, const KEY: usize, O>
    Uplink<'a, SUBS, PACKET, KEYS, KEY, O>
where
    O: Slots<u8>,
{
    /// A session that is about to say hello. `wanted` is what each track is fed with, in their order: every event, of whole objects or with the list of fields that the track [keeps](Track::follow). `object` is the buffer
    /// for objects that are longer than a packet, with their keys.
    pub fn new(
        config: Config<'a>,
        wanted: &'a [Wanted<'a>],
        object: O,
        seed: Seed,
        now: Instant,
    ) -> Self {
        Self {
            session: Session::new(config, wanted, object, seed, now),
            telling: None,
        }
    }

    /// Takes in bytes, in whatever pieces they come.
    pub fn receive<S: Shape>(&mut self, tracks: &mut [Track<S>], bytes: &[u8], now: Instant) {
        self.session
            .receive(bytes, &mut views::<S, SUBS>(tracks), now);
    }

    /// Writes the next bytes to send into the front of `out`; `None` if there is nothing to send.
    pub fn poll_output<'o, S: Shape>(
        &mut self,
        tracks: &mut [Track<S>],
        now: Instant,
        out: &'o mut [u8],
    ) -> Option<&'o [u8]> {
        self.session
            .poll_output(&views::<S, SUBS>(tracks), now, out)
    }

    /// Writes a packet that passes a restart on into the front of `out`; `None` if there is none now. To be called when there is nothing else to
    /// send, after bytes have come and after a restart was noted.
    pub fn report<'o, R: Slots<Place<Reported>>>(
        &mut self,
        restarts: &mut Restarts<R>,
        out: &'o mut [u8],
    ) -> Option<&'o [u8]> {
        if self.session.noted()
            && let Some(number) = self.telling.take()
        {
            restarts.told(number);
        }
        let (number, restart) = restarts.next()?;
        let bytes = self.session.report(&restart, out)?;
        self.telling = Some(number);
        Some(bytes)
    }

    /// When to call [`poll_output`](Self::poll_output) although nothing has come.
    pub fn next_deadline(&self) -> Instant {
        self.session.next_deadline()
    }

    /// Says goodbye with the next output.
    pub fn close(&mut self, code: Code) {
        self.session.close(code);
    }

    /// How the session has ended, if it has.
    pub fn ended(&self) -> Option<Ended> {
        self.session.ended()
    }

    /// Whether the other end has proved who it is.
    pub fn is_open(&self) -> bool {
        self.session.is_open()
    }

    /// How the subscription of a track stands.
    pub fn standing(&self, track: usize) -> Option<Standing> {
        self.session.standing(track)
    }
}

fn views<S: Shape, const SUBS: usize>(
    tracks: &mut [Track<S>],
) -> heapless::Vec<&mut dyn View, SUBS> {
    let views = tracks.iter_mut().take(SUBS);
    views.map(|track| track as &mut dyn View).collect()
}
