//! An origin, two relays and devices at each of them: whatever happens in between, everybody ends up with what there is.

mod blocks;
mod stampede;
mod track;
mod world;

use std::time::Duration;

use ringwatch_core::predicate::Scope;
use world::{Device, World};

/// Each has a link of its own, wherever it is.
fn devices() -> Vec<Device> {
    vec![
        Device::new("", Scope::Resource, (0, 0)),
        Device::new("kind=light", Scope::Resource, (1, 1)),
        Device::new("kind!=light", Scope::Namespace("hall"), (1, 2)),
        Device::new("", Scope::Namespace("yard"), (2, 3)),
        Device::new("kind=light", Scope::Resource, (2, 4)),
        Device::new("", Scope::Object("hall/1"), (2, 5)),
    ]
}

#[test]
fn changes_reach_the_last_device() {
    let mut world = World::new(1, 3, devices());
    world.settle();
    for _ in 0..50 {
        world.write(false);
        while world.pump(100) {}
    }
    world.settle();
}

#[test]
fn a_list_upstream_is_a_difference_for_nodes() {
    let mut world = World::new(2, 3, devices());
    for _ in 0..20 {
        world.write(false);
    }
    world.settle();
    let before = world.hops[2].track().revision();
    // Two changes that nobody saw: few enough to be told one by one.
    world.write(true);
    world.write(true);
    world.list();
    world.settle();
    assert!(
        world.hops[2].track().floor() <= before,
        "readers from before stay"
    );
}

#[test]
fn whatever_happens_in_between() {
    let seeds = std::env::var("RINGWATCH_SEEDS").map_or(300, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        let run = std::panic::catch_unwind(|| random(seed));
        if let Err(panic) = run {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn random(seed: u64) {
    let mut world = World::new(seed, 3, devices());
    for _ in 0..120 {
        match world.dice.below(20) {
            0..=7 => world.write(false),
            8 => {
                for _ in 0..world.dice.below(12) {
                    world.write(true);
                }
                world.list();
            }
            9 => {
                let hop = 1 + world.dice.below(2) as usize;
                world.cut_hop(hop);
            }
            10 => {
                let device = world.dice.below(6) as usize;
                world.cut_device(device);
            }
            11 => {
                let device = world.dice.below(6) as usize;
                let hop = world.dice.below(3) as usize;
                world.move_device(device, hop);
            }
            12 => {
                let hop = world.dice.below(3) as usize;
                world.hops[hop].save();
            }
            13 => {
                let hop = 1 + world.dice.below(2) as usize;
                let torn = world.dice.below(200) as usize;
                world.crash(hop, torn);
            }
            14 => world.now = world.now + Duration::from_secs(world.dice.below(100)),
            15 => world.settle(),
            16 => world.connect(),
            _ => {
                let packets = world.dice.below(30) as usize;
                world.pump(packets);
            }
        }
    }
    world.settle();
}

#[test]
fn an_image_with_any_byte_changed_or_missing_is_an_earlier_state_or_none() {
    let mut world = World::new(3, 1, Vec::new());
    for _ in 0..4 {
        world.write(false);
    }
    world.hops[0].save();
    let mut states = vec![(
        world.hops[0].track().revision(),
        world.hops[0].track().digest(),
    )];
    let base = world.hops[0].disk.len();
    for round in 0..6 {
        world.write(round == 3);
        if round == 3 {
            world.list();
        }
        world.hops[0].save();
        states.push((
            world.hops[0].track().revision(),
            world.hops[0].track().digest(),
        ));
    }
    let disk = world.hops[0].disk.clone();
    assert!(disk.len() > base, "it was appended to");
    let restore = |disk: &[u8]| {
        let mut track = world::track();
        let found = ringwatch_edge::engine::image::read(&mut track, disk).ok()?;
        assert!(found.len <= disk.len());
        track
            .is_complete()
            .then(|| (track.revision(), track.digest()))
    };
    assert_eq!(restore(&disk).as_ref(), states.last());
    for len in 0..disk.len() {
        if let Some(state) = restore(&disk[..len]) {
            assert!(len < base || states.contains(&state), "cut to {len}");
        }
        let mut changed = disk.clone();
        changed[len] ^= 0x41;
        if let Some(state) = restore(&changed) {
            assert!(len < base || states.contains(&state), "changed at {len}");
        }
    }
}
