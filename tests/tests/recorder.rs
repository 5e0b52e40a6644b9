//! The recorder finds what is wrong with a watch and names it, and finds nothing where nothing is wrong.

use std::sync::Arc;

use bytes::Bytes;
use ringwatch_core::{
    revision::Revision,
    transition::EventKind::{self, Added, Deleted, Modified},
};
use ringwatch_tests::recorder::{
    Bridge, Demand, End, History, Property, Seen, Selection, Session, Start, Timeline, check,
};

fn at(number: u64) -> Revision {
    Revision::new(number)
}

fn value(mode: &str) -> Bytes {
    format!(r#"{{"metadata":{{"labels":{{"mode":"{mode}"}}}}}}"#).into()
}

/// A name, and the mode that it has from then on; `None` if it is gone.
type Written = (&'static str, Option<&'static str>);

/// 2: x heat. 3: y heat, z cool. 5: x cool. 6: x gone, y hot again (heat), z heat. 8: x heat.
const COMMITS: &[(u64, &[Written])] = &[
    (2, &[("x", Some("heat"))]),
    (3, &[("y", Some("heat")), ("z", Some("cool"))]),
    (5, &[("x", Some("cool"))]),
    (6, &[("x", None), ("y", Some("heat")), ("z", Some("heat"))]),
    (8, &[("x", Some("heat"))]),
];

fn key(name: &str) -> Arc<str> {
    format!("/devices/a/{name}").into()
}

fn history() -> History {
    let mut history = History::new(at(1));
    for (revision, changes) in COMMITS {
        let changes = changes
            .iter()
            .map(|(name, mode)| (key(name), mode.map(value)));
        assert!(history.push(at(*revision), changes));
    }
    history
}

fn timeline() -> Timeline {
    Timeline::new(&history(), &[], 100)
}

/// An event with the true content of the object's revision.
fn event(kind: EventKind, name: &str, object: u64, revision: u64) -> Seen {
    let written = COMMITS.iter().find(|(number, _)| *number == object);
    let written = written.and_then(|(_, changes)| changes.iter().find(|(key, _)| *key == name));
    let mode = written.and_then(|(_, mode)| *mode).unwrap_or("never");
    let json =
        format!(r#"{{"metadata":{{"resourceVersion":"{object}","labels":{{"mode":"{mode}"}}}}}}"#);
    Seen::Event {
        kind,
        key: key(name),
        object: at(object),
        content: json.into(),
        revision: at(revision),
    }
}

fn bookmark(revision: u64) -> Seen {
    Seen::Bookmark {
        revision: at(revision),
        initial_end: false,
    }
}

/// Everything that someone who wants heat is told after revision 1.
fn heat() -> Vec<Seen> {
    vec![
        event(Added, "x", 2, 2),
        event(Added, "y", 3, 3),
        event(Deleted, "x", 2, 5),
        event(Modified, "y", 6, 6),
        event(Added, "z", 6, 6),
        event(Added, "x", 8, 8),
    ]
}

fn session(seen: Vec<Seen>) -> Session {
    Session {
        watcher: 7,
        selection: Arc::new(Selection {
            labels: vec![("mode".to_owned(), Demand::Is("heat".to_owned()))],
            ..Selection::default()
        }),
        start: Start::After(at(1)),
        bookmarks: true,
        seen,
        end: End::Open,
    }
}

fn violated(timeline: &Timeline, sessions: &[Session]) -> Vec<Property> {
    let violations = check(timeline, sessions);
    assert!(violations.iter().all(|violation| violation.watcher == 7));
    let mut properties: Vec<_> = violations.iter().map(|found| found.property).collect();
    properties.sort();
    properties.dedup();
    properties
}

#[track_caller]
fn assert_violates(seen: Vec<Seen>, property: Property) {
    let found = violated(&timeline(), &[session(seen)]);
    assert!(found.contains(&property), "{property:?} not in {found:?}");
}

#[track_caller]
fn assert_sound(session: Session) {
    assert_eq!(check(&timeline(), &[session]), []);
}

#[test]
fn a_right_watch_is_right() {
    assert_sound(session(heat()));
    let mut seen = heat();
    seen.insert(0, bookmark(1));
    seen.insert(3, bookmark(4));
    seen.push(bookmark(9));
    assert_sound(session(seen));
}

#[test]
fn filter() {
    let mut seen = heat();
    seen.insert(2, event(Added, "z", 3, 3));
    assert_violates(seen, Property::Filter);
}

#[test]
fn ordered() {
    let mut seen = heat();
    seen.swap(0, 1);
    assert_violates(seen, Property::Ordered);
}

#[test]
fn unique() {
    let mut seen = heat();
    seen.insert(2, seen[1].clone());
    assert_violates(seen, Property::Unique);
}

#[test]
fn atomic() {
    let mut seen = heat();
    seen.insert(4, bookmark(5));
    assert_violates(seen, Property::Atomic);
    // The order inside a transaction is open.
    let mut swapped = heat();
    swapped.swap(3, 4);
    assert_sound(session(swapped));
    // To leave in the middle is fine, to be told to resume there is not.
    for (resume, sound) in [(5, true), (6, false)] {
        let mut left = session(heat());
        left.seen.truncate(4);
        left.end = End::Left {
            resume: Some(at(resume)),
        };
        let found = violated(&timeline(), &[left]);
        assert_eq!(!found.contains(&Property::Atomic), sound, "{found:?}");
        assert_eq!(found.is_empty(), sound, "{found:?}");
    }
}

#[test]
fn bookmarkable() {
    let mut early = heat();
    early.insert(2, bookmark(5));
    assert_violates(early, Property::Bookmarkable);
    let mut falling = heat();
    falling.extend([bookmark(9), bookmark(8)]);
    assert_violates(falling, Property::Bookmarkable);
    let mut unwanted = session(heat());
    unwanted.bookmarks = false;
    unwanted.seen.push(bookmark(9));
    assert_eq!(violated(&timeline(), &[unwanted]), [Property::Bookmarkable]);
}

#[test]
fn resumable() {
    for (revision, seen) in [(1, 0), (2, 1), (4, 2), (5, 3), (7, 5), (8, 6), (20, 6)] {
        let mut resumed = session(heat());
        resumed.start = Start::After(at(revision));
        resumed.seen.drain(..seen);
        assert_sound(resumed.clone());
        if seen > 0 {
            resumed.seen.insert(0, heat()[seen - 1].clone());
            let found = violated(&timeline(), &[resumed]);
            assert!(found.contains(&Property::Resumable), "{found:?}");
        }
    }
    assert_violates(heat().split_off(1), Property::Resumable);
    // Told to go on from before what was told, or from after what was not.
    for (told, resume, property) in [(3, 4, Property::Resumable), (2, 5, Property::Reliable)] {
        let mut left = session(heat());
        left.seen.truncate(told);
        left.end = End::Left {
            resume: Some(at(resume)),
        };
        assert_eq!(violated(&timeline(), &[left]), [property]);
    }
}

#[test]
fn expired_needs_a_reason() {
    let mut expired = session(Vec::new());
    expired.end = End::Expired {
        floor: at(3),
        newest: at(8),
    };
    let small = Timeline::new(&history(), &[], 4);
    assert_eq!(violated(&small, &[expired.clone()]), []);
    // All eight changes fit.
    let large = Timeline::new(&history(), &[], 8);
    assert_eq!(violated(&large, &[expired]), [Property::Resumable]);
}

#[test]
fn is_create() {
    let mut seen = heat();
    seen[3] = event(Added, "y", 6, 6);
    assert_violates(seen, Property::IsCreate);
    let mut seen = heat();
    seen[4] = event(Modified, "z", 6, 6);
    assert_violates(seen, Property::IsCreate);
}

#[test]
fn reliable() {
    let mut gap = heat();
    gap.remove(2);
    assert_violates(gap, Property::Reliable);
    let mut short = heat();
    short.pop();
    assert_violates(short, Property::Reliable);
    let mut invented = heat();
    invented.insert(1, event(Added, "y", 2, 2));
    assert_violates(invented, Property::Reliable);
    let mut other = heat();
    other[5] = event(Added, "x", 2, 8);
    assert_violates(other, Property::Reliable);
}

#[test]
fn prev_kv() {
    let mut own_revision = heat();
    own_revision[2] = event(Deleted, "x", 2, 2);
    assert_violates(own_revision, Property::PrevKv);
    let mut current = heat();
    current[2] = event(Deleted, "x", 5, 5);
    assert_violates(current, Property::PrevKv);
    let mut not_deleted = heat();
    not_deleted[2] = event(Modified, "x", 5, 5);
    assert_violates(not_deleted, Property::PrevKv);
}

#[test]
fn a_state_is_of_one_revision() {
    let synced = Seen::Bookmark {
        revision: at(6),
        initial_end: true,
    };
    let state = vec![event(Added, "y", 6, 6), event(Added, "z", 6, 6)];
    let mut from_state = session(state.clone());
    from_state.start = Start::State {
        from: at(4),
        to: at(6),
    };
    from_state
        .seen
        .extend([synced.clone(), event(Added, "x", 8, 8)]);
    assert_sound(from_state.clone());

    // Without bookmarks, the states that it can have been are tried.
    let mut silent = from_state.clone();
    silent.bookmarks = false;
    silent.seen.remove(2);
    assert_sound(silent.clone());
    silent.seen.remove(0);
    let found = violated(&timeline(), &[silent]);
    assert!(found.contains(&Property::InitialState), "{found:?}");

    // Objects of one state under the revision of a later one.
    let mut early = from_state.clone();
    early.seen[2] = Seen::Bookmark {
        revision: at(8),
        initial_end: true,
    };
    early.start = Start::State {
        from: at(4),
        to: at(8),
    };
    assert_eq!(violated(&timeline(), &[early]), [Property::Bookmarkable]);

    let mut incomplete = from_state.clone();
    incomplete.seen.remove(1);
    let found = violated(&timeline(), &[incomplete]);
    assert!(found.contains(&Property::InitialState), "{found:?}");
    let mut endless = from_state;
    endless.seen = state;
    let found = violated(&timeline(), &[endless]);
    assert!(found.contains(&Property::InitialState), "{found:?}");
}

#[test]
fn the_end_is_what_storage_has() {
    let mut first = session(heat());
    first.seen.truncate(2);
    first.end = End::Left {
        resume: Some(at(4)),
    };
    let mut second = session(heat().split_off(2));
    second.start = Start::After(at(4));
    let sessions = [first.clone(), second.clone()];
    assert_eq!(violated(&timeline(), &sessions), []);
    // One that goes on from after what it had: each watch is right, the whole is not.
    second.start = Start::After(at(5));
    second.seen.remove(0);
    assert_eq!(
        violated(&timeline(), &[first, second.clone()]),
        [],
        "x was deleted and created again, so that the views agree"
    );
    second.start = Start::After(at(7));
    second.seen.drain(..2);
    let mut first = session(heat());
    first.seen.truncate(2);
    first.end = End::Left {
        resume: Some(at(4)),
    };
    assert_eq!(
        violated(&timeline(), &[first, second]),
        [Property::FinalState]
    );
}

#[test]
fn a_bridge_merges_what_it_spans_and_nothing_else() {
    let bridge = Bridge {
        after: at(2),
        until: at(7),
    };
    let bridged = Timeline::new(&history(), &[bridge], 100);
    // From {x} to {y, z}: deletions first, at the revision before.
    let mut merged = vec![
        event(Added, "x", 2, 2),
        event(Deleted, "x", 2, 2),
        event(Added, "z", 6, 6),
        event(Added, "y", 6, 6),
        event(Added, "x", 8, 8),
    ];
    assert_eq!(violated(&bridged, &[session(merged.clone())]), []);
    // Change by change is wrong there, and merged is wrong elsewhere.
    assert!(!violated(&bridged, &[session(heat())]).is_empty());
    assert!(!violated(&timeline(), &[session(merged.clone())]).is_empty());

    let mut lost = merged.clone();
    lost.remove(1);
    let found = violated(&bridged, &[session(lost)]);
    assert!(found.contains(&Property::Reliable), "{found:?}");
    let mut marked = merged.clone();
    marked.insert(5, bookmark(6));
    let found = violated(&bridged, &[session(marked)]);
    assert!(found.contains(&Property::Bookmarkable), "{found:?}");
    let mut inside = session(merged.clone());
    inside.seen.truncate(2);
    inside.end = End::Left {
        resume: Some(at(4)),
    };
    assert_eq!(violated(&bridged, &[inside]), [Property::Atomic]);
    // Nobody knows what was told there and what not.
    let mut begun = session(merged.split_off(1));
    begun.start = Start::After(at(4));
    let found = violated(&bridged, &[begun]);
    assert!(found.contains(&Property::Resumable), "{found:?}");
}

#[test]
fn a_history_does_not_go_back() {
    let mut history = history();
    assert!(!history.push(at(8), [(key("x"), None)]));
    assert_eq!(history.revision_of(&key("x")), Some(at(8)));
    assert_eq!(history.len(), 8);
}
