//! What the node has to say: requests, credit, and answers.

use super::state::{Phase, State};
use super::view::View;
use crate::digest::Digest;
use crate::link::ended::Ended;
use crate::link::frame::{Code, Control};
use crate::link::hello::MAX_HELLO;
use crate::link::liveness::Pulse;
use crate::slots::Slots;
use crate::time::Instant;

impl<const SUBS: usize, const KEYS: usize, const KEY: usize, O> State<'_, SUBS, KEYS, KEY, O>
where
    O: Slots<u8>,
{
    /// Writes the next packet to send; its length.
    pub(super) fn next_packet(
        &mut self,
        place: &mut [u8],
        views: &[&mut dyn View],
        now: Instant,
    ) -> Option<usize> {
        match self.phase {
            Phase::Wait(_) | Phase::Over(_) => None,
            Phase::Hello => {
                let limit = place.len().min(MAX_HELLO);
                let len = self.hello(place.get_mut(..limit)?, views, now);
                self.phase = match len {
                    Some(_) => Phase::Wait(now + self.config.patience),
                    None => Phase::Over(Ended::Here(Code::Unsupported)),
                };
                len
            }
            Phase::Open | Phase::Closing(_) => {
                let limit = self.room(place.len())?;
                match self.fill(place.get_mut(..limit)?, views, now) {
                    0 => None,
                    len => self.seal(place, len),
                }
            }
        }
    }

    /// Writes the requests that are due and fit; their length.
    pub(super) fn subscribe(
        &mut self,
        buffer: &mut [u8],
        views: &[&mut dyn View],
        now: Instant,
    ) -> usize {
        let mut len = 0;
        let subs = self.subs.iter_mut().zip(self.wanted).zip(views);
        for (sub, ((subscription, wanted), view)) in subs.enumerate() {
            if !subscription.is_to_be_asked(now) {
                continue;
            }
            let round = subscription.round.wrapping_add(1);
            let start = subscription.start(view.position());
            let asked = Control::Subscribe(wanted.subscribe(sub as u8, round, start));
            if let Some(rest) = buffer.get_mut(len..)
                && let Ok(used) = asked.encode(rest)
            {
                subscription.asked(round);
                len += used;
            }
        }
        len
    }

    /// Fills a packet; its length.
    pub(super) fn fill(
        &mut self,
        buffer: &mut [u8],
        views: &[&mut dyn View],
        now: Instant,
    ) -> usize {
        let mut len = 0;
        let mut write = |control: Control<'_>| {
            let used = buffer
                .get_mut(len..)
                .and_then(|rest| control.encode(rest).ok());
            len += used.unwrap_or(0);
            used.is_some()
        };
        if let Phase::Closing(code) = self.phase {
            write(Control::Goodbye { code });
            self.phase = Phase::Over(Ended::Here(code));
            return len;
        }
        if let Some(token) = self.pong
            && write(Control::Pong { token })
        {
            self.pong = None;
        }
        if self.liveness.pulse(now) == Pulse::Ping && write(Control::Ping { token: 0 }) {
            self.liveness.note_ping();
        }
        for (sub, (subscription, view)) in self.subs.iter_mut().zip(views).enumerate() {
            let sub = sub as u8;
            if let Some(buckets) = subscription.compare {
                let mut digests = [Digest::EMPTY; 64];
                let (digests, _) = digests.split_at_mut(usize::from(buckets).min(64));
                view.digests(digests);
                let mut bytes = [0; 64 * 8];
                for (place, digest) in bytes.chunks_exact_mut(8).zip(digests.iter()) {
                    place.copy_from_slice(&digest.to_bits().to_le_bytes());
                }
                let digests = bytes.get(..digests.len() * 8).unwrap_or_default();
                if write(Control::Buckets { sub, digests }) {
                    subscription.compare = None;
                }
            }
            let allowance = self
                .wanted
                .get(usize::from(sub))
                .map_or(u32::MAX, |w| w.credit);
            if let Some(bytes) = subscription.grant(allowance)
                && write(Control::Credit { sub, bytes })
            {
                subscription.granted();
            }
        }
        let begun = len;
        let rest = buffer.get_mut(len..).unwrap_or_default();
        let asked = self.subscribe(rest, views, now);
        if begun + asked == 0 {
            return self.what_fits_no_packet(buffer, now);
        }
        begun + asked
    }

    /// What did not fit an empty packet never will. But it may fit a first one, as it has: those may be longer.
    fn what_fits_no_packet(&mut self, buffer: &mut [u8], now: Instant) -> usize {
        let mut fitted = false;
        for (subscription, _) in self.subs.iter_mut().zip(self.wanted) {
            if subscription.is_to_be_asked(now) {
                fitted |= subscription.was_asked();
                subscription.failed(Code::Unsupported, 0, now);
            }
        }
        if !fitted {
            return 0;
        }
        let code = Code::Done;
        self.phase = Phase::Over(Ended::Here(code));
        Control::Goodbye { code }.encode(buffer).unwrap_or(0)
    }
}
