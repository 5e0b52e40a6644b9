//! One track, told by hand: what only happens when a ring, a group of changes and a cut meet.

use std::time::Duration;

use ringwatch_core::digest::Digest;
use ringwatch_core::informer::Check;
use ringwatch_core::link::frame::How;
use ringwatch_core::link::node::{Bookmark, View};
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;
use ringwatch_edge::engine::{Track, image};

use crate::world::{Lamp, ORIGIN, Small, json, track};

fn put(track: &mut Track<Small>, key: &str, revision: u64) {
    let lamp = Lamp {
        revision,
        light: true,
        level: 1,
    };
    track.put(key, Revision::new(revision), json(key, &lamp).as_bytes());
}

/// The list is complete.
fn end(track: &mut Track<Small>, revision: u64, digest: Option<Digest>) -> Check {
    let bookmark = Bookmark {
        revision: Revision::new(revision),
        digest,
        age: Duration::ZERO,
        skipped: 0,
        ends_snapshot: true,
    };
    track.bookmark(bookmark, Instant::from_millis(1000))
}

#[test]
fn what_a_half_forgotten_group_deleted_is_not_in_the_image() {
    let mut track = track();
    track.begin(ORIGIN, How::Snapshot);
    put(&mut track, "hall/1", 1);
    put(&mut track, "hall/2", 1);
    end(&mut track, 1, None);
    // Three changes of one revision, and six more: the ring of eight forgets the first of the three.
    put(&mut track, "hall/3", 2);
    track.delete("hall/1", Revision::new(2));
    track.delete("hall/2", Revision::new(2));
    track.settle(Revision::new(2));
    for revision in 3..9 {
        put(&mut track, "hall/3", revision);
        track.settle(Revision::new(revision));
    }
    assert_eq!(track.floor(), Revision::new(2));

    let mut disk = Vec::new();
    let Ok(written) = image::write(&track, &mut disk);
    assert!(written.is_some());
    let mut restored = crate::world::track();
    image::read(&mut restored, &disk).unwrap();
    assert_eq!(restored.revision(), track.revision());
    assert_eq!(restored.len(), 1);
    assert_eq!(restored.digest(), track.digest());
}

#[test]
fn a_list_that_goes_on_remembers_what_was_missed_before_its_mark() {
    let mut track = track();
    track.begin(ORIGIN, How::Snapshot);
    put(&mut track, "hall/1", 1);
    put(&mut track, "hall/2", 1);
    track.mark("hall/2", Revision::new(1));
    // While the list goes on, the first of it grows too long.
    track.too_large("hall/1", Revision::new(2), 10_000);
    track.settle(Revision::new(2));

    track.begin(ORIGIN, How::Continued);
    put(&mut track, "hall/3", 1);
    let revisions = [("hall/1", 2), ("hall/2", 1), ("hall/3", 1)];
    let digest = revisions
        .map(|(key, revision)| Digest::of(key, Revision::new(revision)))
        .into_iter()
        .fold(Digest::EMPTY, Digest::plus);
    assert_eq!(end(&mut track, 2, Some(digest)), Check::Agrees);
    assert!(!track.has_all());
}
