//! A whole watch on the device: JSON objects in, packed events out and into an informer.

use core::time::Duration;

use heapless::String;
use ringwatch_core::{
    compact::CompactEvent,
    digest::Digest,
    history::{Entry, History},
    informer::{Check, Held, Informer},
    json::Limits,
    key::Key,
    object::{Change, Object},
    predicate::{Predicate, Scope},
    projection::{self, Projection},
    revision::Revision,
    selector::{FieldSelector, LabelSelector},
    slots::Place,
    store::{Slot, Store},
    time::Instant,
    transition::EventKind,
    watcher::{Options, Start, Step, Watcher},
};
use serde::Deserialize;

use super::ensure;

/// An object as a relay keeps it: its bytes, and what filtering asks for.
#[derive(Clone, Copy)]
struct Stored {
    key: &'static str,
    revision: u64,
    room: &'static str,
    json: &'static [u8],
}

impl Object for Stored {
    fn key(&self) -> Key<'_> {
        Key::parse(self.key).expect("the keys below are good ones")
    }
    fn revision(&self) -> Revision {
        Revision::new(self.revision)
    }
    fn label(&self, key: &str) -> Option<&str> {
        (key == "room").then_some(self.room)
    }
    fn field(&self, _: &str) -> Option<&str> {
        None
    }
}

const HALL: Stored = Stored {
    key: "home/hall",
    revision: 3,
    room: "hall",
    json: br#"{"spec":{"setpoint":19.5,"mode":"h\u0065at"},"status":{"seen":7}}"#,
};
const WARMER: Stored = Stored {
    revision: 5,
    json: br#"{"spec":{"setpoint":21,"mode":"a mode that is too long"},"status":{"seen":"no"}}"#,
    ..HALL
};
const ATTIC: Stored = Stored {
    key: "home/attic",
    revision: 4,
    room: "attic",
    json: br#"{"spec":{"setpoint":5}}"#,
};

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Heater {
    setpoint: Option<f32>,
    mode: Option<String<8>>,
    seen: Option<i64>,
}

const FIELDS: &str = "spec.setpoint:f32, spec.mode:text(8), status.seen:i64";

pub(crate) fn from_json_to_informer() -> Result<(), &'static str> {
    let mut store = Objects::array();
    let mut history = Changes::array();
    let mut heaters = Heaters::array();
    let now = Instant::from_millis(0);

    let hall_only = Predicate {
        scope: Scope::Namespace("home"),
        labels: LabelSelector::<&str>::parse("room=hall").map_err(|_| "selector refused")?,
        fields: FieldSelector::<&str>::parse("metadata.name!=attic")
            .map_err(|_| "fields refused")?,
    };
    let options = Options {
        initial_events_end: true,
        ..Options::default()
    };
    write(&mut store, &mut history, HALL)?;
    let mut watcher = Watcher::start(hall_only, Start::State, options, &store, &history, now)
        .map_err(|_| "a watch from the present state is expired")?;
    heaters.begin_snapshot();
    let mut frames = 0;
    loop {
        match watcher.poll(&store, &history, now) {
            Step::Event(event) => {
                frames += 1;
                let mut frame = [0; 96];
                let frame = pack(event.kind, event.object, event.revision, &mut frame)?;
                unpack(&mut heaters, frame)?;
            }
            Step::Bookmark { revision, .. } => {
                let mut digest = Digest::EMPTY;
                digest.add(HALL.key, Revision::new(HALL.revision));
                let check =
                    heaters.end_snapshot(revision, Some(digest), Duration::ZERO, now, &mut ());
                ensure(check == Check::Agrees, "the snapshot's digest differs")?;
                // The world goes on: one change that is none of ours, one that is.
                write(&mut store, &mut history, ATTIC)?;
                write(&mut store, &mut history, WARMER)?;
            }
            Step::Idle { .. } => break,
            Step::Finished | Step::Expired(_) => return Err("the watch has ended"),
        }
    }
    ensure(frames == 2, "not the two events that match")?;
    let expected = Heater {
        setpoint: Some(21.0),
        mode: None,
        seen: None,
    };
    ensure(
        heaters.get("home/hall") == Some(&expected),
        "not the fields that were sent",
    )?;
    let resume = watcher.resume_from(&history);
    ensure(
        resume == Ok(Some(Revision::new(5))),
        "resumes elsewhere than at the end",
    )
}

type Objects = Store<&'static str, Stored, [Slot<&'static str, Stored>; 4]>;
type Changes = History<Change<Stored>, [Place<Entry<Change<Stored>>>; 4]>;
type Heaters = Informer<String<16>, Heater, [Slot<String<16>, Held<Heater>>; 2]>;

fn write(store: &mut Objects, history: &mut Changes, current: Stored) -> Result<(), &'static str> {
    let put = store.put(current.key, current.revision(), current);
    let previous = put.map_err(|_| "the store is full")?.previous;
    store.advance(current.revision());
    let change = Change::Put {
        previous: previous.map(|entry| entry.value),
        current,
    };
    let pushed = history.push(current.revision(), change);
    pushed.map_err(|_| "a newer revision was refused")
}

fn pack<'a>(
    kind: EventKind,
    object: &Stored,
    revision: Revision,
    frame: &'a mut [u8],
) -> Result<&'a [u8], &'static str> {
    let fields = Projection::<_>::parse(FIELDS).map_err(|_| "a good field list was refused")?;
    let mut body = [0; 64];
    let projected = fields.project(object.json, &Limits::default(), &mut body);
    let projected = projected.map_err(|_| "a good object was refused")?;
    let issues = projected.issues;
    let spoiled = object.revision == WARMER.revision;
    ensure(issues.is_too_long(1) == spoiled, "a long text was not told")?;
    ensure(
        issues.is_mismatched(2) == spoiled,
        "a wrong type was not told",
    )?;
    let event = CompactEvent {
        kind,
        revision,
        key: object.key,
        body: projected.bytes,
    };
    event.encode(frame).map_err(|_| "the frame is too small")
}

fn unpack(heaters: &mut Heaters, frame: &[u8]) -> Result<(), &'static str> {
    let (event, rest) = CompactEvent::decode(frame).map_err(|_| "the frame is damaged")?;
    ensure(rest.is_empty(), "bytes behind the event")?;
    let (heater, _) = projection::read(event.body).map_err(|_| "the fields are damaged")?;
    let put = heaters.put(event.key, event.revision, heater, &mut ());
    put.map_err(|_| "the informer refused an object")
}
