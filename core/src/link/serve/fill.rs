//! Filling a packet: what goes out next, and what has to wait.

use super::source::{Change, Content, Source, Step};
use super::subscription::{Stage, Subscription};
use crate::digest::{Digest, bucket};
use crate::link::dictionary::Sent;
use crate::link::frame::{Body, Code, Control, Event, HEAD_MAX, KeyRef};
use crate::object::Object;
use crate::projection::ProjectError;
use crate::revision::Revision;
use crate::time::Instant;
use crate::transition::EventKind;

/// Splitting an object is not worth while for fewer bytes than this.
const LEAST_PART: usize = 32;

/// A packet as it fills up.
pub(super) struct Packet<'b> {
    buffer: &'b mut [u8],
    len: usize,
}

/// The packet has no room for what comes next, which has to wait for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

impl<'b> Packet<'b> {
    pub(super) fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn control(&mut self, control: &Control<'_>) -> Result<usize, Full> {
        let len = control.encode(self.rest()).map_err(|_| Full)?;
        self.len += len;
        Ok(len)
    }

    fn rest(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.len..).unwrap_or_default()
    }

    fn room(&self) -> usize {
        self.buffer.len().saturating_sub(self.len)
    }
}

/// An event without its object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) sub: u8,
    pub(super) kind: EventKind,
    pub(super) revision: Revision,
    pub(super) settles: bool,
    pub(super) exact_at: Option<Revision>,
    /// Only that the node's object stays.
    pub(super) kept: bool,
}

/// An event that did not fit, or of which a part is out.
#[derive(Debug)]
pub(super) struct Held<H> {
    pub(super) item: Item,
    pub(super) object: H,
    /// How much of the object is out.
    pub(super) sent: usize,
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Whole,
    /// So much of the object; the rest goes into parts.
    Part(usize),
}

/// What filling needs beside the subscription.
pub(super) struct Context<'c, S, const KEYS: usize> {
    pub(super) source: &'c S,
    pub(super) dictionary: &'c mut Sent<KEYS>,
    /// The longest object that the node takes in parts.
    pub(super) object: usize,
    /// The most bytes of frames that the node may send in one packet.
    pub(super) answer: usize,
    pub(super) now: Instant,
}

impl<S: Source, const KEYS: usize> Context<'_, S, KEYS> {
    /// Writes what a subscription has, for as long as there is room and credit. An event that found no room is handed back.
    pub(super) fn fill(
        &mut self,
        sub: u8,
        subscription: &mut Subscription<S::Watch>,
        packet: &mut Packet<'_>,
    ) -> Result<(), Option<Held<S::Held>>> {
        loop {
            let round = subscription.round;
            match subscription.stage {
                Stage::Announce(how) => {
                    let (origin, revision) = (subscription.origin, subscription.base);
                    let started = Control::Started {
                        sub,
                        round,
                        origin,
                        revision,
                        how,
                    };
                    packet.control(&started).map_err(|Full| None)?;
                    subscription.announced();
                }
                Stage::Ask => {
                    let longest = packet.buffer.len().min(self.answer);
                    let buckets = Subscription::<S::Watch>::buckets_for(longest);
                    let compare = Control::Compare {
                        sub,
                        round,
                        buckets,
                    };
                    packet.control(&compare).map_err(|Full| None)?;
                    subscription.stage = Stage::Asked { buckets };
                }
                Stage::Asked { .. } => return Ok(()),
                Stage::Synced { at } => {
                    self.bookmark(sub, subscription, at, true, packet)?;
                    subscription.stage = Stage::Stream;
                }
                Stage::Failed { code, detail } => {
                    let failed = Control::Failed {
                        sub,
                        round,
                        code,
                        detail,
                    };
                    packet.control(&failed).map_err(|Full| None)?;
                    return Ok(());
                }
                Stage::Walk { .. } | Stage::Follow { .. } | Stage::Stream
                    if subscription.credit <= 0 =>
                {
                    return Ok(());
                }
                Stage::Walk {
                    at,
                    buckets,
                    differing,
                } => self.walk(sub, subscription, at, (buckets, differing), packet)?,
                Stage::Follow { .. } | Stage::Stream => {
                    if !self.stream(sub, subscription, packet)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// One object of a difference.
    fn walk(
        &mut self,
        sub: u8,
        subscription: &mut Subscription<S::Watch>,
        at: Revision,
        (buckets, differing): (u8, u64),
        packet: &mut Packet<'_>,
    ) -> Result<(), Option<Held<S::Held>>> {
        let source = self.source;
        let Some(watch) = &mut subscription.watch else {
            return Ok(());
        };
        let Some(object) = source.walk(watch) else {
            let until = source.newest(watch);
            subscription.stage = Stage::Follow { until };
            return Ok(());
        };
        let bucket = bucket(object.key().as_str(), buckets);
        if differing.checked_shr(bucket as u32).unwrap_or(0) & 1 == 0 {
            return Ok(());
        }
        let revision = object.revision();
        let item = Item {
            sub,
            kind: EventKind::Added,
            revision,
            settles: false,
            exact_at: None,
            kept: revision <= subscription.exact_at || revision > at,
        };
        self.send(item, object, subscription, packet)
    }

    /// One step of the watch; whether there may be more.
    fn stream(
        &mut self,
        sub: u8,
        subscription: &mut Subscription<S::Watch>,
        packet: &mut Packet<'_>,
    ) -> Result<bool, Option<Held<S::Held>>> {
        let source = self.source;
        let latest = subscription.is_latest();
        let Some(watch) = &mut subscription.watch else {
            return Ok(false);
        };
        match source.poll(watch, self.now) {
            Step::Event(Change {
                kind,
                object,
                revision,
                settles,
                exact_at,
            }) => {
                if latest && kind != EventKind::Deleted && source.is_superseded(watch, &object) {
                    let newest = source.newest(watch);
                    subscription.skip(newest);
                    return Ok(true);
                }
                let marks = core::mem::replace(&mut subscription.marks_next, false);
                let item = Item {
                    sub,
                    kind,
                    revision,
                    settles: subscription.settles(settles, revision),
                    exact_at: exact_at.filter(|_| marks),
                    kept: false,
                };
                subscription.followed(&item);
                self.send(item, object, subscription, packet)?;
            }
            Step::Synced(at) => subscription.stage = Stage::Synced { at },
            Step::Idle => {
                let newest = source.newest(watch);
                if let Stage::Follow { .. } = subscription.stage {
                    // A source that is about to change cannot say what it has: then more comes.
                    let known = source.digests(watch, &mut [Digest::EMPTY]) == newest;
                    if known {
                        subscription.stage = Stage::Synced { at: newest };
                    }
                    return Ok(known);
                }
                if subscription.is_bookmark_due(self.now) {
                    if newest >= subscription.seen {
                        self.bookmark(sub, subscription, newest, false, packet)?;
                    } else {
                        // The node is ahead: nothing to say yet, and no reason to be woken for it at once.
                        subscription.schedule(self.now);
                    }
                }
                return Ok(false);
            }
            Step::Expired => subscription.fail(Code::Expired, 0),
            Step::Ended(code) => subscription.fail(code, 0),
        }
        Ok(true)
    }

    fn bookmark(
        &self,
        sub: u8,
        subscription: &mut Subscription<S::Watch>,
        revision: Revision,
        ends_snapshot: bool,
        packet: &mut Packet<'_>,
    ) -> Result<(), Option<Held<S::Held>>> {
        let Some(watch) = &subscription.watch else {
            return Ok(());
        };
        let mut digest = [Digest::EMPTY];
        let exact = self.source.digests(watch, &mut digest) == revision;
        let [digest] = digest;
        let age = subscription.age_at(revision, watch, self.source, self.now);
        let bookmark = Control::Bookmark {
            sub,
            revision,
            digest: exact.then(|| digest.to_bits().to_le_bytes()),
            age: u32::try_from(age.as_millis()).unwrap_or(u32::MAX),
            skipped: subscription.skipped,
            ends_snapshot,
        };
        packet.control(&bookmark).map_err(|Full| None)?;
        subscription.bookmarked(revision, self.now);
        // A snapshot of the past was not compared; the first bookmark after it is.
        subscription.owes_bookmark = !exact && ends_snapshot;
        Ok(())
    }

    /// Sends an event or holds it for the next packet.
    fn send(
        &mut self,
        item: Item,
        object: S::Object<'_>,
        subscription: &mut Subscription<S::Watch>,
        packet: &mut Packet<'_>,
    ) -> Result<(), Option<Held<S::Held>>> {
        match self.write(&item, &object, subscription, packet) {
            Ok(Written::Whole) => Ok(()),
            Ok(Written::Part(sent)) => Err(Some(self.held(item, object, sent))),
            Err(Full) => Err(Some(self.held(item, object, 0))),
        }
    }

    fn held(&self, item: Item, object: S::Object<'_>, sent: usize) -> Held<S::Held> {
        Held {
            item,
            object: self.source.hold(object),
            sent,
        }
    }

    /// Goes on with what was held; whether that is done. What the node has begun to get it gets to the end, even if the
    /// subscription is gone.
    pub(super) fn go_on(
        &mut self,
        held: &mut Held<S::Held>,
        subscription: Option<&mut Subscription<S::Watch>>,
        packet: &mut Packet<'_>,
    ) -> bool {
        if held.sent > 0 {
            // Kind and length.
            let room = packet.room().saturating_sub(4);
            let rest = held.object.json().get(held.sent..).unwrap_or_default();
            let bytes = rest.get(..room).unwrap_or(rest);
            let Ok(cost) = packet.control(&Control::Part { bytes }) else {
                return false;
            };
            if let Some(subscription) = subscription {
                subscription.spend(cost);
            }
            held.sent += bytes.len();
            return bytes.len() == rest.len();
        }
        // One that has failed gets nothing any more.
        let Some(subscription) = subscription.filter(|it| it.watch.is_some()) else {
            return true;
        };
        match self.write(&held.item, &held.object, subscription, packet) {
            Ok(Written::Whole) => true,
            Ok(Written::Part(sent)) => {
                held.sent = sent;
                false
            }
            // The packet was empty: there will never be more room.
            Err(Full) => {
                let len = held.object.key().as_str().len();
                subscription.fail(Code::Unsupported, len as u32);
                true
            }
        }
    }

    /// Writes an event, as much of it as fits, or that it is too large.
    fn write<C: Content>(
        &mut self,
        item: &Item,
        object: &C,
        subscription: &mut Subscription<S::Watch>,
        packet: &mut Packet<'_>,
    ) -> Result<Written, Full> {
        let key = object.key().as_str();
        if item.kept {
            let kept = Control::Kept { sub: item.sub, key };
            subscription.spend(packet.control(&kept)?);
            return Ok(Written::Whole);
        }
        let key = self.dictionary.name(key);
        let event = |body| Event {
            sub: item.sub,
            kind: item.kind,
            settles: item.settles,
            revision: delta(subscription.base, item.revision),
            key,
            mark: item.exact_at.map(|exact| delta(item.revision, exact)),
            body,
        };
        let json = object.json();
        let at = head_len(key);
        let first = packet.len == 0;
        let projected = match (item.kind, &subscription.watch) {
            (EventKind::Deleted, _) | (_, None) => None,
            (_, Some(watch)) => {
                let body = packet.rest().get_mut(at..).unwrap_or_default();
                self.source.project(watch, json, body)
            }
        };
        let (cost, written) = match projected {
            _ if item.kind == EventKind::Deleted => {
                let len = event(Body::None).encode(packet.rest()).map_err(|_| Full)?;
                (len, Written::Whole)
            }
            None => match write_whole(event, json, key, self.object, packet)? {
                Some(done) => done,
                None => return self.too_large(item, object, json.len(), subscription, packet),
            },
            Some(Ok(len)) => {
                let event = event(Body::Whole(&[]));
                let len = event.encode_around(packet.rest(), at, len);
                (len.map_err(|_| Full)?, Written::Whole)
            }
            Some(Err(ProjectError::BufferTooSmall { .. })) if !first => return Err(Full),
            Some(Err(error)) => {
                let size = match error {
                    ProjectError::BufferTooSmall { needed } => needed,
                    // Not JSON that this end can read: nothing to send either.
                    ProjectError::Scan(_) => json.len(),
                };
                return self.too_large(item, object, size, subscription, packet);
            }
        };
        packet.len += cost;
        self.dictionary.enter(key);
        subscription.spend(cost);
        subscription.base = item.revision;
        subscription.unsettled = !item.settles;
        Ok(written)
    }

    fn too_large<C: Content>(
        &self,
        item: &Item,
        object: &C,
        size: usize,
        subscription: &mut Subscription<S::Watch>,
        packet: &mut Packet<'_>,
    ) -> Result<Written, Full> {
        let key = object.key();
        let cost = packet.control(&Control::TooLarge {
            sub: item.sub,
            revision: item.revision,
            key: key.as_str(),
            size: u32::try_from(size).unwrap_or(u32::MAX),
        })?;
        subscription.spend(cost);
        subscription.unsettled = true;
        Ok(Written::Whole)
    }
}

/// Writes an event with a whole object, or with the beginning of one that fits no packet. `None`: the node cannot take it.
fn write_whole<'a>(
    event: impl Fn(Body<'a>) -> Event<'a>,
    json: &'a [u8],
    key: KeyRef<'a>,
    longest: usize,
    packet: &mut Packet<'_>,
) -> Result<Option<(usize, Written)>, Full> {
    if let Ok(len) = event(Body::Whole(json)).encode(packet.rest()) {
        return Ok(Some((len, Written::Whole)));
    }
    if packet.len > 0 && head_len(key) + json.len() <= packet.buffer.len() {
        return Err(Full);
    }
    let Some(total) = u32::try_from(json.len())
        .ok()
        .filter(|_| json.len() <= longest)
    else {
        return Ok(None);
    };
    let room = packet.room().saturating_sub(head_len(key));
    if room == 0 || (room < LEAST_PART && packet.len > 0) {
        return Err(Full);
    }
    // Never all of it: it did not fit.
    let bytes = json
        .get(..room.min(json.len().saturating_sub(1)))
        .unwrap_or_default();
    let len = event(Body::First { total, bytes })
        .encode(packet.rest())
        .map_err(|_| Full)?;
    Ok(Some((len, Written::Part(bytes.len()))))
}

/// What an event needs before its body, at most.
fn head_len(key: KeyRef<'_>) -> usize {
    HEAD_MAX
        + match key {
            KeyRef::Known(_) => 0,
            KeyRef::New { key, .. } => key.len(),
        }
}

fn delta(from: Revision, to: Revision) -> i64 {
    to.get().wrapping_sub(from.get()) as i64
}
