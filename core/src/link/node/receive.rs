//! What the serving end says, and whom it concerns.

use core::time::Duration;

use super::state::{Assembly, Guard, Phase, Report, State};
use super::subscription::{Subscription, plus};
use super::view::{Bookmark, View};
use crate::digest::Digest;
use crate::link::ended::Ended;
use crate::link::frame::{Body, Code, Control, Event, Frame};
use crate::link::hello::RESTARTS;
use crate::revision::Revision;
use crate::slots::Slots;
use crate::time::Instant;

impl<const SUBS: usize, const KEYS: usize, const KEY: usize, O> State<'_, SUBS, KEYS, KEY, O>
where
    O: Slots<u8>,
{
    pub(super) fn packet(&mut self, packet: &mut [u8], views: &mut [&mut dyn View], now: Instant) {
        let opened = match &mut self.guard {
            Guard::After(seal) => seal.open(packet),
            _ => return,
        };
        let Ok(frames) = opened else {
            self.phase = Phase::Over(Ended::Forged);
            return;
        };
        if let Err(code) = self.frames(frames, views, now) {
            self.close(code);
        }
    }

    /// Everything that the serving end may say.
    fn frames(
        &mut self,
        mut frames: &[u8],
        views: &mut [&mut dyn View],
        now: Instant,
    ) -> Result<(), Code> {
        while !frames.is_empty() {
            let (frame, rest) = Frame::decode(frames).map_err(|_| Code::Protocol)?;
            let cost = frames.len() - rest.len();
            frames = rest;
            match frame {
                Frame::Control(Control::Part { bytes }) => self.part(bytes, cost, views)?,
                // Whatever is left of an object is not for this node any more.
                Frame::Control(Control::Goodbye { code }) => {
                    self.phase = Phase::Over(Ended::ByPeer(code));
                    return Ok(());
                }
                _ if self.assembly.is_some() => return Err(Code::Protocol),
                Frame::Event(event) => self.event(&event, cost, views)?,
                Frame::Control(Control::Ping { token }) => self.pong = Some(token),
                Frame::Control(Control::Pong { .. }) => {}
                Frame::Control(Control::Noted { boot }) if self.version >= RESTARTS => {
                    if self.report == Report::Told(boot) {
                        self.report = Report::Noted;
                    }
                }
                Frame::Control(control) => self.control(&control, cost, views, now)?,
            }
        }
        Ok(())
    }

    /// What is about one subscription.
    fn control(
        &mut self,
        control: &Control<'_>,
        cost: usize,
        views: &mut [&mut dyn View],
        now: Instant,
    ) -> Result<(), Code> {
        let (Control::Started { sub, .. }
        | Control::Compare { sub, .. }
        | Control::Bookmark { sub, .. }
        | Control::Kept { sub, .. }
        | Control::TooLarge { sub, .. }
        | Control::Failed { sub, .. }) = *control
        else {
            return Err(Code::Protocol);
        };
        let (subscription, view) = at(&mut self.subs, views, sub)?;
        match *control {
            Control::Started {
                round,
                origin,
                revision,
                how,
                ..
            } if subscription.awaits(round) => {
                subscription.started(revision, how);
                view.begin(origin, how);
            }
            Control::Compare { round, buckets, .. } if subscription.awaits(round) => {
                if !(1..=64).contains(&buckets) {
                    return Err(Code::Protocol);
                }
                subscription.compare = Some(buckets);
            }
            Control::Failed {
                round,
                code,
                detail,
                ..
            } if subscription.concerns(round) => subscription.failed(code, detail, now),
            _ if !subscription.is_active() => {}
            Control::Bookmark {
                revision,
                digest,
                age,
                skipped,
                ends_snapshot,
                ..
            } => {
                let digest = digest.map(|bits| Digest::from_bits(u64::from_le_bytes(bits)));
                let bookmark = Bookmark {
                    revision,
                    digest,
                    age: Duration::from_millis(age.into()),
                    skipped,
                    ends_snapshot,
                };
                let check = view.bookmark(bookmark, now);
                subscription.bookmarked(revision, ends_snapshot, check, now);
                // Whoever had no room for a restart may have some now.
                if let Report::Told(_) = self.report {
                    self.report = Report::Idle;
                }
            }
            Control::Kept { key, .. } => {
                subscription.consume(cost);
                view.keep(key);
            }
            Control::TooLarge {
                revision,
                key,
                size,
                ..
            } => {
                subscription.consume(cost);
                view.too_large(key, revision, size);
            }
            _ => {}
        }
        Ok(())
    }

    fn event(
        &mut self,
        event: &Event<'_>,
        cost: usize,
        views: &mut [&mut dyn View],
    ) -> Result<(), Code> {
        // Also if the event is not wanted any more: the sender counts on it.
        let key = self.dictionary.resolve(event.key).ok_or(Code::Protocol)?;
        let (subscription, view) = at(&mut self.subs, views, event.sub)?;
        let active = subscription.is_active();
        let revision = match active {
            true => subscription.revision(event.revision),
            false => Revision::ZERO,
        };
        if active {
            subscription.consume(cost);
        }
        let mark = event.mark.map(|delta| plus(revision, delta));
        match event.body {
            Body::First { total, bytes } => {
                let total = total as usize;
                let assembly = Assembly {
                    sub: event.sub,
                    round: subscription.round,
                    revision,
                    settles: event.settles,
                    mark,
                    key_len: key.len(),
                    total,
                    got: 0,
                    stored: active && key.len().saturating_add(total) <= self.object.as_ref().len(),
                };
                if active && !assembly.stored {
                    view.too_large(key, revision, u32::try_from(total).unwrap_or(u32::MAX));
                }
                put_at(self.object.as_mut(), 0, key.as_bytes(), assembly.stored);
                put_at(self.object.as_mut(), key.len(), bytes, assembly.stored);
                self.assembly = Some(Assembly {
                    got: bytes.len(),
                    ..assembly
                });
            }
            _ if !active => {}
            Body::None => view.delete(key, revision),
            Body::Whole(body) => view.put(key, revision, body),
        }
        if active && self.assembly.is_none() {
            conclude(*view, key, mark, revision, event.settles);
        }
        Ok(())
    }

    fn part(&mut self, bytes: &[u8], cost: usize, views: &mut [&mut dyn View]) -> Result<(), Code> {
        let assembly = self.assembly.as_mut().ok_or(Code::Protocol)?;
        let (subscription, view) = at(&mut self.subs, views, assembly.sub)?;
        if bytes.is_empty() || bytes.len() > assembly.total.saturating_sub(assembly.got) {
            return Err(Code::Protocol);
        }
        let current = subscription.is_active() && subscription.round == assembly.round;
        if current {
            subscription.consume(cost);
        }
        let place = assembly.key_len + assembly.got;
        put_at(self.object.as_mut(), place, bytes, assembly.stored);
        assembly.got += bytes.len();
        if assembly.got < assembly.total {
            return Ok(());
        }
        let Assembly {
            revision,
            settles,
            mark,
            key_len,
            total,
            stored,
            ..
        } = *assembly;
        self.assembly = None;
        let buffer = self.object.as_ref();
        let split = buffer
            .get(..key_len + total)
            .and_then(|both| both.split_at_checked(key_len));
        if let (true, true, Some((key, body))) = (current, stored, split)
            && let Ok(key) = core::str::from_utf8(key)
        {
            view.put(key, revision, body);
            conclude(*view, key, mark, revision, settles);
        } else if current && settles {
            view.settle(revision);
        }
        Ok(())
    }
}

/// A subscription and its view. The other end may not name one that does not exist.
fn at<'s, 'v, 'd>(
    subs: &'s mut [Subscription],
    views: &'v mut [&'d mut dyn View],
    sub: u8,
) -> Result<(&'s mut Subscription, &'v mut &'d mut dyn View), Code> {
    let index = usize::from(sub);
    match (subs.get_mut(index), views.get_mut(index)) {
        (Some(subscription), Some(view)) => Ok((subscription, view)),
        _ => Err(Code::Protocol),
    }
}

/// What an event means beside its object.
fn conclude(
    view: &mut dyn View,
    key: &str,
    mark: Option<Revision>,
    revision: Revision,
    settles: bool,
) {
    if let Some(exact) = mark {
        view.mark(key, exact);
    }
    if settles {
        view.settle(revision);
    }
}

/// Copies into a buffer that was found to have room, if so.
fn put_at(buffer: &mut [u8], at: usize, bytes: &[u8], stored: bool) {
    if let Some(place) = buffer.get_mut(at..at + bytes.len()).filter(|_| stored) {
        place.copy_from_slice(bytes);
    }
}
