//! One subscription of one node, as the serving end keeps it.

use core::time::Duration;

use super::asked::{MAX_FIELDS, MAX_PROJECTION};
use super::fill::Item;
use super::source::{Begin, OpenError, Request, Source};
use crate::digest::Digest;
use crate::link::frame::{Code, How, Mode, Origin, Start, Subscribe};
use crate::projection::{Field, ParseError, Projection};
use crate::revision::Revision;
use crate::selector::{FieldSelector, LabelSelector};
use crate::time::Instant;

/// The most buckets in a comparison: as many as a mask has bits.
const MAX_BUCKETS: usize = 64;

#[derive(Debug)]
pub(super) struct Subscription<W> {
    pub(super) round: u8,
    pub(super) stage: Stage,
    /// `None` only if the stage is a failure.
    pub(super) watch: Option<W>,
    pub(super) origin: Origin,
    mode: Mode,
    /// Before a difference: the node has every object that has not changed since this revision.
    pub(super) exact_at: Revision,
    /// When what it begins with was true.
    as_of: Instant,
    /// The last revision that was named to the node.
    pub(super) base: Revision,
    /// What the node has seen already, perhaps elsewhere: no bookmark before that.
    pub(super) seen: Revision,
    /// May be overdrawn by one frame.
    pub(super) credit: i64,
    /// In milliseconds; 0 for never.
    every: u32,
    next_bookmark: Instant,
    /// Whether events have gone out that did not settle.
    pub(super) unsettled: bool,
    /// Whether the node is to be told as soon as it is in step: one that has just come back may want to sleep again.
    pub(super) owes_bookmark: bool,
    /// Left out since the last bookmark.
    pub(super) skipped: u32,
    /// Before that the node lacks states that a later one replaces.
    settles_at: Revision,
    /// Whether the next object of a snapshot is to be marked.
    pub(super) marks_next: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// To be told that it has begun.
    Announce(How),
    /// To be asked what it has.
    Ask,
    /// It was asked.
    Asked { buckets: u8 },
    /// Gets the objects in the buckets that differ, of the state at `at`.
    Walk {
        at: Revision,
        buckets: u8,
        differing: u64,
    },
    /// Gets what happened meanwhile, up to `until` at least: some of the objects were kept only because more was to come of them.
    Follow { until: Revision },
    /// Gets the objects that there were, or what happens.
    Stream,
    /// The objects that there were are complete, which it has yet to be told.
    Synced { at: Revision },
    /// To be told that it has failed.
    Failed { code: Code, detail: u32 },
}

impl<W> Subscription<W> {
    /// What a node asks for, before it is [opened](Self::open).
    pub(super) fn new(asked: &Subscribe<'_>, now: Instant) -> Self {
        let mut subscription = Self {
            round: asked.round,
            stage: Stage::Announce(How::Snapshot),
            watch: None,
            origin: Origin([0; 8]),
            mode: asked.mode,
            exact_at: Revision::ZERO,
            as_of: now,
            base: Revision::ZERO,
            seen: Revision::ZERO,
            credit: match asked.credit {
                u32::MAX => i64::MAX,
                credit => credit.into(),
            },
            every: asked.bookmark_every,
            next_bookmark: Instant::NEVER,
            unsettled: false,
            owes_bookmark: true,
            skipped: 0,
            settles_at: Revision::ZERO,
            marks_next: true,
        };
        subscription.schedule(now);
        subscription
    }

    /// Begins what a node asks for. What cannot be is a subscription that has failed.
    pub(super) fn open<S: Source<Watch = W>>(
        &mut self,
        asked: &Subscribe<'_>,
        node: &str,
        source: &S,
        now: Instant,
    ) {
        if let Err((code, detail)) = self.try_open(asked, node, source, now) {
            self.fail(code, detail);
        }
        self.note_age(source, now);
    }

    fn try_open<S: Source<Watch = W>>(
        &mut self,
        asked: &Subscribe<'_>,
        node: &str,
        source: &S,
        now: Instant,
    ) -> Result<(), (Code, u32)> {
        let selector = |error: crate::selector::SelectorError| {
            (
                Code::BadSelector,
                u32::try_from(error.offset).unwrap_or(u32::MAX),
            )
        };
        let mut request = Request {
            resource: asked.resource,
            scope: asked.scope,
            labels: LabelSelector::parse(asked.labels).map_err(selector)?,
            fields: FieldSelector::parse(asked.fields).map_err(selector)?,
            projection: None,
        };
        let projection = parse_projection(asked.projection)?;
        request.projection = projection.as_ref().map(Projection::view);
        self.origin = source
            .origin(node, asked.resource)
            .map_err(|code| (code, 0))?;
        let open = |begin| source.open(node, &request, begin, now);
        let failed = |error| match error {
            OpenError::Failed(code) => (code, 0),
            OpenError::Expired => (Code::Unavailable, 0),
        };
        // What another origin counted means nothing here.
        let start = match asked.start {
            Start::Continue { origin, .. }
            | Start::Resume { origin, .. }
            | Start::Repair { origin }
                if origin != self.origin =>
            {
                Start::Snapshot
            }
            start => start,
        };
        match start {
            Start::Snapshot => {}
            Start::Continue { revision, key, .. } => {
                match open(Begin::Within { key, revision }) {
                    // A source that is behind the node cannot go on where it was.
                    Ok(watch) if source.newest(&watch) >= revision => {
                        self.begin(watch, revision, How::Continued);
                        return Ok(());
                    }
                    Ok(_) | Err(OpenError::Expired) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            Start::Resume {
                revision, digest, ..
            } => {
                match open(Begin::After(revision)) {
                    Ok(watch) if agrees(source, &watch, revision, digest) => {
                        self.seen = revision;
                        self.begin(watch, revision, How::Resumed);
                        return Ok(());
                    }
                    // The node has something else than it thinks.
                    Ok(_) => {}
                    // Nobody can tell; the digest at the end will. A node that knows that something is missing gives none.
                    Err(OpenError::Expired) if digest.is_some() => self.exact_at = revision,
                    Err(OpenError::Expired) => {}
                    Err(error) => return Err(failed(error)),
                }
                self.watch = Some(open(Begin::Now).map_err(failed)?);
                self.stage = Stage::Ask;
                return Ok(());
            }
            Start::Repair { .. } => {
                self.watch = Some(open(Begin::Now).map_err(failed)?);
                self.stage = Stage::Ask;
                return Ok(());
            }
        }
        let watch = open(Begin::State).map_err(failed)?;
        let revision = source.newest(&watch);
        self.begin(watch, revision, How::Snapshot);
        Ok(())
    }

    fn begin(&mut self, watch: W, revision: Revision, how: How) {
        self.watch = Some(watch);
        self.base = revision;
        self.stage = Stage::Announce(how);
    }

    /// The node has said what it has.
    pub(super) fn compare<S: Source<Watch = W>>(
        &mut self,
        theirs: &[u8],
        source: &S,
        now: Instant,
    ) {
        let Stage::Asked { buckets } = self.stage else {
            // An answer to an earlier question.
            return;
        };
        let Some(watch) = &mut self.watch else { return };
        if theirs.len() != usize::from(buckets) * 8 {
            return self.fail(Code::Protocol, 0);
        }
        let mut ours = [Digest::EMPTY; MAX_BUCKETS];
        let (ours, _) = ours.split_at_mut(usize::from(buckets).min(MAX_BUCKETS));
        let at = source.catch_up(watch);
        source.digests(watch, ours);
        let mut differing = 0;
        for (index, (ours, theirs)) in ours.iter().zip(theirs.chunks_exact(8)).enumerate() {
            if ours.to_bits().to_le_bytes() != theirs {
                differing |= 1 << index;
            }
        }
        self.base = at;
        self.seen = at;
        self.stage = Stage::Announce(How::Difference { buckets, differing });
        self.note_age(source, now);
    }

    /// What it begins with is the source's knowledge now.
    fn note_age<S: Source<Watch = W>>(&mut self, source: &S, now: Instant) {
        if let Some(watch) = &self.watch {
            let age = source.age(watch, now);
            self.as_of = now.checked_sub(age).unwrap_or(Instant::from_millis(0));
        }
    }

    /// How old the knowledge is that a bookmark at this revision speaks of: the source's, or what it began with, if the source has
    /// gone on since.
    pub(super) fn age_at<S: Source<Watch = W>>(
        &self,
        revision: Revision,
        watch: &W,
        source: &S,
        now: Instant,
    ) -> Duration {
        let age = source.age(watch, now);
        if revision < source.newest(watch) {
            age.max(now.since(self.as_of))
        } else {
            age
        }
    }

    /// The node has been told how it begins.
    pub(super) fn announced(&mut self) {
        self.stage = match self.stage {
            Stage::Announce(How::Difference { buckets, differing }) => Stage::Walk {
                at: self.base,
                buckets,
                differing,
            },
            _ => Stage::Stream,
        };
    }

    /// An event is about to go out. It may be the one that completes a difference.
    pub(super) fn followed(&mut self, item: &Item) {
        if let Stage::Follow { until } = self.stage
            && item.settles
            && item.revision >= until
        {
            self.stage = Stage::Synced { at: item.revision };
        }
    }

    /// How many buckets to ask a node for, of which this much fits an answer.
    pub(super) fn buckets_for(packet: usize) -> u8 {
        // Kind, sub and length.
        let fit = packet.saturating_sub(4) / 8;
        fit.clamp(1, MAX_BUCKETS) as u8
    }

    pub(super) fn fail(&mut self, code: Code, detail: u32) {
        self.watch = None;
        self.stage = Stage::Failed { code, detail };
    }

    pub(super) fn is_latest(&self) -> bool {
        self.mode == Mode::Latest
    }

    /// A state was left out, of which a later one comes by `newest` at the latest.
    pub(super) fn skip(&mut self, newest: Revision) {
        self.skipped = self.skipped.saturating_add(1);
        self.settles_at = self.settles_at.max(newest);
        self.unsettled = true;
    }

    pub(super) fn settles(&self, settles: bool, revision: Revision) -> bool {
        settles && revision >= self.settles_at
    }

    pub(super) fn grant(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_add(bytes.into());
    }

    /// `i64::MAX` is no limit.
    pub(super) fn spend(&mut self, bytes: usize) {
        if self.credit != i64::MAX {
            self.credit = self.credit.saturating_sub(bytes as i64);
        }
    }

    pub(super) fn is_bookmark_due(&self, now: Instant) -> bool {
        self.unsettled || self.owes_bookmark || now >= self.next_bookmark
    }

    pub(super) fn bookmarked(&mut self, revision: Revision, now: Instant) {
        self.base = revision;
        self.unsettled = false;
        self.owes_bookmark = false;
        self.skipped = 0;
        self.schedule(now);
    }

    pub(super) fn schedule(&mut self, now: Instant) {
        self.next_bookmark = match self.every {
            0 => Instant::NEVER,
            every => now + Duration::from_millis(every.into()),
        };
    }

    /// When it has something to say although nothing happens.
    pub(super) fn deadline(&self) -> Instant {
        if self.stage == Stage::Stream && self.credit > 0 {
            self.next_bookmark
        } else {
            Instant::NEVER
        }
    }
}

/// Whether the node has what there was, as far as anybody can tell.
fn agrees<S: Source>(
    source: &S,
    watch: &S::Watch,
    revision: Revision,
    digest: Option<[u8; 8]>,
) -> bool {
    let (Some(theirs), Some(ours)) = (digest, source.digest_at(watch, revision)) else {
        return true;
    };
    ours.to_bits().to_le_bytes() == theirs
}

type Fields<'a> = Projection<&'a str, heapless::Vec<Field, MAX_FIELDS>>;

fn parse_projection(text: &str) -> Result<Option<Fields<'_>>, (Code, u32)> {
    if text.is_empty() {
        return Ok(None);
    }
    if text.len() > MAX_PROJECTION {
        return Err((Code::Unsupported, MAX_PROJECTION as u32));
    }
    Projection::parse(text).map(Some).map_err(|error| {
        let offset = match error {
            ParseError::Path(error) => error.offset(),
            ParseError::MissingType { offset }
            | ParseError::UnknownType { offset }
            | ParseError::BadMaximum { offset }
            | ParseError::Unexpected { offset }
            | ParseError::TooManyFields { offset }
            | ParseError::TooLong { offset } => offset,
        };
        (
            Code::BadProjection,
            u32::try_from(offset).unwrap_or(u32::MAX),
        )
    })
}
