//! A view that is ahead of its sender: it was cut off within a transaction, and goes on at a hop that has not come so far.

use std::time::Duration;

use ringwatch_core::digest::Digest;
use ringwatch_core::informer::{Check, Handler, Informer};
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;

struct Nobody;

impl Handler<u8> for Nobody {
    fn on_add(&mut self, _: &str, _: &u8) {}
    fn on_update(&mut self, _: &str, _: Option<&u8>, _: &u8) {}
    fn on_delete(&mut self, _: &str, _: &u8) {}
}

fn digest(members: &[(&str, u64)]) -> Option<Digest> {
    let mut digest = Digest::EMPTY;
    for (key, revision) in members {
        digest.add(key, Revision::new(*revision));
    }
    Some(digest)
}

#[test]
fn a_sender_that_is_behind_is_not_compared_with() {
    let at = Revision::new;
    let now = Instant::from_millis(1);
    let mut informer = Informer::<heapless::String<8>, u8, [_; 4]>::array();
    let bookmark = |informer: &mut Informer<_, _, [_; 4]>, revision, members: &[_]| {
        informer.bookmark(at(revision), digest(members), Duration::ZERO, now)
    };
    informer.begin_snapshot();
    informer.put("a", at(10), 1, &mut Nobody).unwrap();
    informer.put("b", at(11), 1, &mut Nobody).unwrap();
    let members = [("a", 10), ("b", 11)];
    let synced = informer.end_snapshot(at(11), digest(&members), Duration::ZERO, now, &mut Nobody);
    assert_eq!(synced, Check::Agrees);

    // Half of the transaction 13, then the line is cut.
    informer.put("a", at(12), 2, &mut Nobody).unwrap();
    informer.delete("b", at(13), &mut Nobody);
    assert_eq!(informer.revision(), Some(at(11)));

    // Another hop is at 12, where `b` was still there. It repeats what came since 11.
    informer.put("a", at(12), 2, &mut Nobody).unwrap();
    let behind = [("a", 12), ("b", 11)];
    assert_eq!(bookmark(&mut informer, 12, &behind), Check::NotCompared);
    assert!(!informer.needs_repair());
    assert_eq!(informer.revision(), Some(at(12)));

    // It has caught up: what is missing now is missed.
    let caught_up = [("a", 12), ("c", 13)];
    assert_eq!(bookmark(&mut informer, 13, &caught_up), Check::Differs);
    informer.put("c", at(13), 3, &mut Nobody).unwrap();
    assert_eq!(bookmark(&mut informer, 13, &caught_up), Check::Agrees);

    // After a snapshot, be it of a sender that counts anew, it is compared again.
    informer.begin_snapshot();
    informer.put("a", at(2), 4, &mut Nobody).unwrap();
    let anew = [("a", 2)];
    informer.end_snapshot(at(2), digest(&anew), Duration::ZERO, now, &mut Nobody);
    assert_eq!(bookmark(&mut informer, 3, &[]), Check::Differs);
}
