//! Both ends of the link joined in memory: in any pieces, cut at every byte, changed at every byte, they come to the same view.

#[path = "common/link.rs"]
mod link;

use std::time::Duration;

use link::{Device, Hop, KEYS, KINDS, World};
use ringwatch_core::informer::Informer;
use ringwatch_core::link::frame::{How, Origin};
use ringwatch_core::link::node::{Bookmark, Mirror, Position, View};
use ringwatch_core::revision::Revision;
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;

/// A world with some objects, and a hop that has all of it.
fn site(places: usize) -> (World, Vec<Hop>) {
    let mut world = World::new(1);
    for (number, key) in KEYS.iter().enumerate() {
        world.write([(*key, Some(number as u8 * 3 + 1))]);
    }
    let mut hop = Hop::new(&world, places);
    hop.follow(&world, u64::MAX);
    (world, vec![hop])
}

fn change(world: &mut World, hops: &mut [Hop]) {
    world.write([("a/x", Some(30)), ("b/x", None), ("c", Some(13))]);
    world.write([("a/y", Some(21)), ("b/x", Some(9))]);
    world.write([("a/x", Some(31))]);
    hops.iter_mut().for_each(|hop| hop.follow(world, u64::MAX));
}

/// So many bytes come down to the node; how many there were not.
fn bring_down(
    device: &mut Device,
    mut bytes: usize,
    hops: &[Hop],
    world: &World,
    now: Instant,
) -> usize {
    while bytes > 0
        && let Some(moved) = device.pump(hops, world, usize::MAX, bytes, now)
    {
        bytes -= moved;
    }
    bytes
}

#[test]
fn any_pieces_lead_to_the_same_view() {
    for kind in &KINDS {
        for piece in [1, 2, 3, 7, 64, 1000] {
            let (mut world, mut hops) = site(16);
            let mut device = Device::new(kind);
            let mut now = Instant::from_millis(0);
            device.connect(0, now);
            while device.pump(&hops, &world, piece, piece, now).is_some() {}
            change(&mut world, &mut hops);
            while device.pump(&hops, &world, piece, piece, now).is_some() {}
            device.settle(&hops, &world, 0, &mut now);
            assert_eq!(device.hop(), Some(0), "the connection held");
        }
    }
}

/// Cuts after each number of bytes that came down, with a history that remembers and one that does not.
#[test]
fn a_cut_at_any_byte_loses_nothing() {
    for kind in &KINDS {
        for places in [1, 16] {
            for cut in 0.. {
                let (mut world, mut hops) = site(places);
                let mut device = Device::new(kind);
                let mut now = Instant::from_millis(0);
                device.connect(0, now);
                let left = bring_down(&mut device, cut, &hops, &world, now);
                device.cut();
                change(&mut world, &mut hops);
                device.settle(&hops, &world, 0, &mut now);
                if left > 0 {
                    break;
                }
            }
        }
    }
}

/// Changes each byte that comes down, in turn. Not on the plain line, whose CRC is not against this.
#[test]
fn a_changed_byte_is_noticed() {
    for kind in [&KINDS[0], &KINDS[2]] {
        for at in 0.. {
            let (mut world, mut hops) = site(16);
            let mut device = Device::new(kind);
            let mut now = Instant::from_millis(0);
            device.connect(0, now);
            let left = bring_down(&mut device, at, &hops, &world, now);
            while !device.tamper(1, 0x20)
                && device.pump(&hops, &world, usize::MAX, 0, now).is_some()
            {}
            while device.pump(&hops, &world, usize::MAX, 1, now).is_some() {}
            change(&mut world, &mut hops);
            now = now + Duration::from_secs(1);
            device.settle(&hops, &world, 0, &mut now);
            if left > 0 {
                break;
            }
        }
    }
}

#[test]
fn a_node_goes_on_at_another_hop() {
    for kind in &KINDS {
        let (mut world, mut hops) = site(16);
        hops.push(Hop::new(&world, 16));
        let mut device = Device::new(kind);
        let mut now = Instant::from_millis(0);
        device.settle(&hops, &world, 0, &mut now);
        // The other hop is behind at first: nothing may go back.
        device.connect(1, now);
        hops[1].follow(&world, 2);
        while device.pump(&hops, &world, 9, 9, now).is_some() {}
        assert!(device.is_in_step(&world), "it went back");
        hops[1].follow(&world, u64::MAX);
        change(&mut world, &mut hops);
        device.settle(&hops, &world, 1, &mut now);
    }
}

#[test]
fn another_origin_is_noticed() {
    for kind in &KINDS {
        let (world, mut hops) = site(16);
        let mut device = Device::new(kind);
        let mut now = Instant::from_millis(0);
        device.settle(&hops, &world, 0, &mut now);
        device.cut();
        let mut other = World::new(2);
        other.write([("a/x", Some(3)), ("b/z", Some(4))]);
        hops[0].reset(&other);
        device.settle(&hops, &other, 0, &mut now);
    }
}

/// Changes that the hop itself has only as a difference, and a history that shrinks under its readers.
#[test]
fn a_relist_and_a_smaller_ring_hurt_nobody() {
    for kind in &KINDS {
        for connected in [false, true] {
            let (mut world, mut hops) = site(16);
            let mut device = Device::new(kind);
            let mut now = Instant::from_millis(0);
            device.settle(&hops, &world, 0, &mut now);
            if !connected {
                device.cut();
            }
            world.write([("a/x", None), ("b/z", Some(40))]);
            world.write([("a/y", Some(41)), ("c", None)]);
            hops[0].relist(&world);
            device.settle(&hops, &world, 0, &mut now);
            change(&mut world, &mut hops);
            hops[0].resize(1);
            device.settle(&hops, &world, 0, &mut now);
        }
    }
}

#[test]
fn what_got_lost_is_repaired() {
    for kind in &KINDS {
        for sub in 0..2 {
            let (mut world, mut hops) = site(16);
            let mut device = Device::new(kind);
            let mut now = Instant::from_millis(0);
            device.settle(&hops, &world, 0, &mut now);
            device.lose_next(sub);
            change(&mut world, &mut hops);
            device.settle(&hops, &world, 0, &mut now);
        }
    }
}

/// A node that grants nothing more gets what it allowed, and one frame beyond; then the rest, once it does.
#[test]
fn credit_is_kept() {
    let mut world = World::new(1);
    let mut hops = vec![Hop::new(&world, 64)];
    let mut device = Device::new(&KINDS[1]);
    let mut now = Instant::from_millis(0);
    device.settle(&hops, &world, 0, &mut now);
    for level in 0..30 {
        world.write([("a/x", Some(level * 8)), ("b/x", Some(1))]);
    }
    hops[0].follow(&world, u64::MAX);
    // Nothing goes up. The first subscription allows 200 bytes, and its events have about 70; the second has no limit.
    while device.pump(&hops, &world, 0, usize::MAX, now).is_some() {}
    let given = device.seen_live(0);
    assert!((2..=4).contains(&given), "{given} events");
    assert!(device.has(1, &world));
    device.settle(&hops, &world, 0, &mut now);
}

/// An object that the node lacks changes while the difference is on its way: when that ends, the node has it.
#[test]
fn a_difference_is_exact_when_it_ends() {
    for kind in &KINDS {
        for at in 0.. {
            let (mut world, mut hops) = site(1);
            world.write([("c", None)]);
            hops[0].follow(&world, u64::MAX);
            let mut device = Device::new(kind);
            let mut now = Instant::from_millis(0);
            device.settle(&hops, &world, 0, &mut now);
            device.cut();
            world.write([("a/x", Some(12)), ("c", Some(10))]);
            world.write([("c", Some(13)), ("b/z", Some(1))]);
            hops[0].follow(&world, u64::MAX);
            device.connect(0, now);
            let left = bring_down(&mut device, at, &hops, &world, now);
            world.write([("c", Some(16)), ("b/z", Some(4))]);
            hops[0].follow(&world, u64::MAX);
            device.settle(&hops, &world, 0, &mut now);
            if left > 0 {
                break;
            }
        }
    }
}

/// Whatever is on its way then, also in the middle of an object.
#[test]
fn a_revoked_node_is_told_nothing_but_goodbye() {
    for kind in &KINDS {
        for at in 0.. {
            let (mut world, mut hops) = site(16);
            world.write([("a/x", Some(13)), ("a/y", Some(21)), ("b/x", Some(29))]);
            hops[0].follow(&world, u64::MAX);
            let mut device = Device::new(kind);
            let now = Instant::from_millis(0);
            device.connect(0, now);
            let left = bring_down(&mut device, at, &hops, &world, now);
            let told = device.revoke(&hops, now);
            assert!(told <= 32, "{told} bytes after {at}");
            while device.pump(&hops, &world, 0, usize::MAX, now).is_some() {}
            assert_eq!(device.hop(), None, "the node does not know");
            if left > 0 {
                break;
            }
        }
    }
}

/// What was watched before is no place to resume from.
#[test]
fn another_selection_is_compared_object_by_object() {
    let mut mirror = Mirror::<String, u8, _>::new(Informer::new(
        vec![Slot::FREE, Slot::FREE],
        Default::default(),
    ));
    let origin = Origin([1; 8]);
    let end = Bookmark {
        revision: Revision::new(7),
        digest: None,
        age: Duration::ZERO,
        skipped: 0,
        ends_snapshot: true,
    };
    let decode = |body: &[u8]| body.first().copied();
    {
        let mut handler = ();
        let mut feed = mirror.feed(decode, &mut handler);
        feed.begin(origin, How::Snapshot);
        feed.put("a/x", Revision::new(3), &[1]);
        feed.bookmark(end, Instant::from_millis(0));
        assert!(matches!(feed.position(), Position::At { .. }));
    }
    mirror.reselect();
    let mut handler = ();
    let feed = mirror.feed(decode, &mut handler);
    assert_eq!(feed.position(), Position::Doubtful { origin });
}
