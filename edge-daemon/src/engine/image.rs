//! What survives a crash: a track as records that are only ever appended.
//!
//! ```text
//!   record  = length u32 │ CRC-32 u32 │ payload
//!   image   = Head, Base…, then groups of changes: (Put│Delete)…, Commit; and now and then Progress
//! ```
//!
//! [`write()`] writes an image of a track: its objects as they were at the history's floor, and then the history. [`append`] adds what has
//! happened since; so the same bytes restore both the objects and the history, and nodes resume at a relay that was restarted as if nothing had
//! happened. [`read`] takes everything up to the last complete group, and says what is behind it: a record that was being written when
//! the power went is cut off, and anything else is damage.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use crc::{CRC_32_ISO_HDLC, Crc, Table};
use ringwatch_core::history::Cursor;
use ringwatch_core::link::frame::Origin;
use ringwatch_core::link::serve::Content;
use ringwatch_core::object::{Change, Object as _};
use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;
use ringwatch_core::watcher::State as _;
use serde::{Deserialize, Serialize};

use super::object::Object;
use super::shape::Shape;
use super::track::{Subject, Track};

/// By tables of 16 KB: with the small one, sums are most of the time that a start with a long history takes.
static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);
/// Length and checksum.
const FRAME: usize = 8;
/// The longest head of a record: its fixed fields, a key and two names.
const HEAD: usize = 1024;
/// How often it is written that nothing has happened.
const PROGRESS_EVERY: Duration = Duration::from_secs(60);
/// The format that is written and read.
const VERSION: u8 = 1;

/// Where bytes go.
pub trait Sink {
    /// Why they cannot.
    type Error;
    /// Takes more bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;
}

#[cfg(feature = "linux")]
impl Sink for Vec<u8> {
    type Error = core::convert::Infallible;
    fn write(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// The part of a record before the object's JSON, which takes the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Record<'a> {
    /// What the image is of.
    Head {
        version: u8,
        resource: &'a str,
        #[serde(borrow)]
        scope: ScopeRecord<'a>,
        origin: Origin,
        floor: Revision,
    },
    /// An object at the floor.
    Base { revision: Revision, key: &'a str },
    /// An object is like this from the next commit on.
    Put { revision: Revision, key: &'a str },
    /// An object is gone from the next commit on.
    Delete { key: &'a str },
    /// Everything at a revision; if it was seen as a difference only, since when.
    Commit {
        revision: Revision,
        after: Option<Revision>,
    },
    /// Nothing else up to a revision, and when that was known.
    Progress {
        revision: Revision,
        in_step: Option<u64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum ScopeRecord<'a> {
    Resource,
    Namespace(&'a str),
    Object(&'a str),
}

impl<'a> ScopeRecord<'a> {
    fn of<T: AsRef<str>>(subject: &'a Subject<T>) -> Self {
        match &subject.scope {
            Scope::Resource => Self::Resource,
            Scope::Namespace(namespace) => Self::Namespace(namespace.as_ref()),
            Scope::Object(key) => Self::Object(key.as_ref()),
        }
    }
}

/// Up to where a track is in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    cursor: Cursor,
    revision: Revision,
    in_step: Option<Instant>,
    epoch: u32,
}

/// Why nothing was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendError<E> {
    /// The track has changed by more than its history knows: a new image is to be [written](write()).
    Begin,
    /// The sink.
    Sink(E),
}

/// Writes an image of a track. `None` if there is nothing in it to keep.
pub fn write<S: Shape, K: Sink>(
    track: &Track<S>,
    sink: &mut K,
) -> Result<Option<Written>, K::Error> {
    let Some(origin) = track.origin() else {
        return Ok(None);
    };
    let history = track.history();
    let floor = history.floor();
    let head = Record::Head {
        version: VERSION,
        resource: track.subject().resource.as_ref(),
        scope: ScopeRecord::of(track.subject()),
        origin,
        floor,
    };
    emit(sink, &head, &[])?;
    // What is no newer than the floor was there at the floor; what gave way since is with the change. Half of the group that ended at the
    // floor may still be in the history: what gave way to that was gone by then.
    let base = |sink: &mut K, object: &Object<S::Bytes>| {
        let (key, revision) = (object.key().as_str(), object.revision());
        match revision <= floor {
            true => emit(sink, &Record::Base { revision, key }, object.json()),
            false => Ok(()),
        }
    };
    let since = history.iter().filter(|entry| entry.revision > floor);
    for object in since.filter_map(|entry| entry.change.previous()) {
        base(sink, object)?;
    }
    let mut shown = None;
    while let Some((key, object)) = track.next_after(shown.as_ref()) {
        base(sink, object)?;
        shown = Some(key);
    }
    let Ok(cursor) = history.since(floor) else {
        return Ok(None);
    };
    let mut written = Written {
        cursor,
        revision: floor,
        in_step: None,
        epoch: track.epoch(),
    };
    match append(track, &mut written, sink) {
        Ok(_) => Ok(Some(written)),
        Err(AppendError::Sink(error)) => Err(error),
        Err(AppendError::Begin) => Ok(None),
    }
}

/// Appends what has happened since; whether there was anything.
pub fn append<S: Shape, K: Sink>(
    track: &Track<S>,
    written: &mut Written,
    sink: &mut K,
) -> Result<bool, AppendError<K::Error>> {
    let history = track.history();
    if written.epoch != track.epoch() || !track.is_complete() {
        return Err(AppendError::Begin);
    }
    let mut cursor = written.cursor;
    let mut group = None;
    let commit = |sink: &mut K, revision| {
        let gap = history.gap().filter(|(_, until)| *until == revision);
        let after = gap.map(|(after, _)| after);
        emit(sink, &Record::Commit { revision, after }, &[])
    };
    let sunk = AppendError::Sink;
    // A difference that changed nothing is a gap all the same.
    let mut empty_gap = history
        .gap()
        .map(|(_, until)| until)
        .filter(|until| *until > written.revision);
    while let Some(entry) = history.next(&mut cursor).map_err(|_| AppendError::Begin)? {
        if let Some(before) = group.replace(entry.revision)
            && before != entry.revision
        {
            commit(sink, before).map_err(sunk)?;
        }
        if let Some(until) = empty_gap.filter(|until| *until <= entry.revision) {
            if until < entry.revision {
                commit(sink, until).map_err(sunk)?;
            }
            empty_gap = None;
        }
        match &entry.change {
            Change::Put { current, .. } => {
                let (key, revision) = (current.key().as_str(), current.revision());
                emit(sink, &Record::Put { revision, key }, current.json()).map_err(sunk)?;
            }
            Change::Delete { previous } => {
                let key = previous.key().as_str();
                emit(sink, &Record::Delete { key }, &[]).map_err(sunk)?;
            }
        }
    }
    if let Some(last) = group {
        commit(sink, last).map_err(sunk)?;
    }
    if let Some(until) = empty_gap {
        commit(sink, until).map_err(sunk)?;
    }
    let revision = track.revision();
    let in_step = track.in_step();
    let moved = group.is_some() || revision != written.revision;
    // How old it is need not be known to the second.
    let older = match (in_step, written.in_step) {
        (Some(now), Some(then)) => now.since(then) >= PROGRESS_EVERY,
        (now, _) => now.is_some(),
    };
    if moved || older {
        let progress = Record::Progress {
            revision,
            in_step: in_step.map(Instant::as_millis),
        };
        emit(sink, &progress, &[]).map_err(sunk)?;
        written.in_step = in_step;
    }
    written.cursor = cursor;
    written.revision = revision;
    Ok(moved || older)
}

/// What was found in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// How many bytes of it are whole: from there more may be appended.
    pub len: usize,
    /// What is behind them.
    pub end: End,
}

/// How an image ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As it was left.
    Clean,
    /// In the middle of something that was being written.
    Torn,
    /// With something that nobody wrote so.
    Damaged,
}

/// Why an image is not that of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError {
    /// It does not begin like one.
    NoImage,
    /// It is of another version.
    Version(u8),
    /// It is of something else.
    AnotherSubject,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoImage => f.write_str("it is damaged from its beginning on"),
            Self::Version(version) => write!(f, "it is of version {version}, not {VERSION}"),
            Self::AnotherSubject => f.write_str("it is of another resource or scope"),
        }
    }
}

impl Error for ReadError {}

/// Restores a track, which is new, from an image: everything up to the last complete group. It is then as it was, and as old as it is.
pub fn read<S: Shape>(track: &mut Track<S>, image: &[u8]) -> Result<Found, ReadError> {
    let mut records = Records { rest: image };
    let Some(Ok((
        Record::Head {
            version,
            resource,
            scope,
            origin,
            floor,
        },
        _,
    ))) = records.next()
    else {
        return Err(ReadError::NoImage);
    };
    if version != VERSION {
        return Err(ReadError::Version(version));
    }
    let subject = track.subject();
    if subject.resource.as_ref() != resource || ScopeRecord::of(subject) != scope {
        return Err(ReadError::AnotherSubject);
    }
    let (len, end) = whole(image);
    let whole = image.get(..len).unwrap_or_default();
    let mut records = Records { rest: whole };
    records.next();
    track.restore_begin(origin);
    let mut based = false;
    for (record, json) in records.map_while(Result::ok) {
        if !based && !matches!(record, Record::Base { .. }) {
            track.restore_base(floor);
            based = true;
        }
        match record {
            Record::Base { revision, key } | Record::Put { revision, key } => {
                track.restore_put(key, revision, json);
            }
            Record::Delete { key } => track.restore_delete(key),
            Record::Commit { revision, after } => track.restore_commit(revision, after),
            Record::Progress { revision, in_step } => {
                track.restore_progress(revision, in_step.map(Instant::from_millis));
            }
            Record::Head { .. } => {}
        }
    }
    Ok(Found { len, end })
}

impl Written {
    /// Up to where a track is in an image from which it was just restored.
    pub fn restored<S: Shape>(track: &Track<S>) -> Option<Self> {
        Some(Self {
            cursor: track.history().since(track.revision()).ok()?,
            revision: track.revision(),
            in_step: track.in_step(),
            epoch: track.epoch(),
        })
    }
}

/// How much of an image ends with a complete group, and what is behind.
fn whole(image: &[u8]) -> (usize, End) {
    let mut records = Records { rest: image };
    let mut len = 0;
    let mut end = End::Clean;
    while let Some(record) = records.next() {
        match record {
            Ok((Record::Commit { .. } | Record::Progress { .. }, _)) => {
                len = image.len() - records.rest.len();
            }
            Ok(_) => {}
            Err(how) => {
                end = how;
                break;
            }
        }
    }
    match end {
        End::Clean if len < image.len() => (len, End::Torn),
        end => (len, end),
    }
}

/// The records of an image, until one is not whole.
#[derive(Debug, Clone)]
struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(Record<'a>, &'a [u8]), End>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some((frame, rest)) = self.rest.split_at_checked(FRAME) else {
            self.rest = &[];
            return Some(Err(End::Torn));
        };
        let (len, crc) = frame.split_at_checked(4).unwrap_or_default();
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap_or_default());
        let Some((payload, rest)) = rest.split_at_checked(number(len) as usize) else {
            self.rest = &[];
            return Some(Err(End::Torn));
        };
        // What was not written to the end is zeros on some file systems.
        let blank = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        let wrong = match blank(frame) && blank(rest) {
            true => End::Torn,
            false => End::Damaged,
        };
        let record = match CRC.checksum(payload) == number(crc) {
            true => postcard::take_from_bytes::<Record<'a>>(payload).map_err(|_| wrong),
            false => Err(wrong),
        };
        self.rest = match record {
            Ok(_) => rest,
            Err(_) => &[],
        };
        Some(record)
    }
}

/// Writes one record.
fn emit<K: Sink>(sink: &mut K, record: &Record<'_>, json: &[u8]) -> Result<(), K::Error> {
    let mut buffer = [0; HEAD];
    // Keys and names are bounded, so it fits.
    let head = postcard::to_slice(record, &mut buffer).map_or(&[][..], |head| head);
    let mut crc = CRC.digest();
    crc.update(head);
    crc.update(json);
    let len = u32::try_from(head.len() + json.len()).unwrap_or(u32::MAX);
    sink.write(&len.to_le_bytes())?;
    sink.write(&crc.finalize().to_le_bytes())?;
    sink.write(head)?;
    sink.write(json)
}
