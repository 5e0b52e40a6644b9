//! The informer in fixed memory: snapshot, events, digest, and what happens when it is full.

use core::time::Duration;

use heapless::String;
use ringwatch_core::{
    digest::Digest,
    informer::{Check, Handler, Informer},
    revision::Revision,
    time::Instant,
};

use super::ensure;

#[derive(Default, PartialEq)]
struct Calls {
    added: u32,
    updated: u32,
    deleted: u32,
}

impl Handler<u32> for Calls {
    fn on_add(&mut self, _: &str, _: &u32) {
        self.added += 1;
    }
    fn on_update(&mut self, _: &str, _: Option<&u32>, _: &u32) {
        self.updated += 1;
    }
    fn on_delete(&mut self, _: &str, _: &u32) {
        self.deleted += 1;
    }
}

pub(crate) fn follows() -> Result<(), &'static str> {
    let mut informer = Informer::<String<16>, u32, [_; 4]>::array();
    let mut calls = Calls::default();
    let now = Instant::from_millis(0);
    let refused = "an object was refused";

    informer.begin_snapshot();
    for (key, revision) in [("hall", 3), ("attic", 5)] {
        informer
            .put(key, Revision::new(revision), 20, &mut calls)
            .map_err(|_| refused)?;
    }
    informer.end_snapshot(Revision::new(7), None, Duration::ZERO, now, &mut calls);
    ensure(informer.has_synced(), "not synced after a snapshot")?;

    informer
        .put("hall", Revision::new(8), 21, &mut calls)
        .map_err(|_| refused)?;
    informer.delete("attic", Revision::new(9), &mut calls);
    ensure(
        informer.get("hall") == Some(&21),
        "the value is not the latest",
    )?;
    ensure(
        informer.get("attic").is_none(),
        "a deleted object is in view",
    )?;
    let expected = Calls {
        added: 2,
        updated: 1,
        deleted: 1,
    };
    ensure(calls == expected, "the handler was called otherwise")?;

    let mut sender = Digest::EMPTY;
    sender.add("hall", Revision::new(8));
    let check = informer.bookmark(Revision::new(9), Some(sender), Duration::ZERO, now);
    ensure(check == Check::Agrees, "the digests differ")
}

pub(crate) fn refuses_when_full() -> Result<(), &'static str> {
    let mut informer = Informer::<String<16>, u32, [_; 2]>::array();
    for (key, revision) in [("a", 1), ("b", 2)] {
        informer
            .put(key, Revision::new(revision), 0, &mut ())
            .map_err(|_| "there was room")?;
    }
    ensure(
        informer.put("c", Revision::new(3), 0, &mut ()).is_err(),
        "a third object was taken into two places",
    )?;
    ensure(informer.len() == 2, "the refusal changed the view")
}
