//! Nodes, hops and the links between them, driven by operations that are read from the bytes.
//!
//! ```text
//!  World: every state there was
//!    └─ follow, relist ─► hops: store + history ─► serve::Session ═ bytes ═► node::Session ─► Mirror ─► Listener
//! ```
//!
//! Every event, bookmark and digest that arrives is compared with the world; in the end every node is in step.

#[path = "../../../core/tests/common/link.rs"]
#[expect(dead_code, reason = "the core's tests use more of it")]
mod link;

use core::time::Duration;

use ringwatch_core::time::Instant;

use crate::input::Input;
use link::{Device, Hop, KEYS, KINDS, World};

/// More operations take longer and reach nothing new: rings and lines are short.
const LONGEST: usize = 384;

/// Writes, follows, relists, resizes rings, replaces the origin, and connects, moves bytes on, cuts, delays and damages the links in an order
/// that the bytes choose.
pub fn run(data: &[u8]) {
    let mut input = Input::new(&data[..data.len().min(LONGEST)]);
    let mut world = World::new(1);
    let places = usize::from(input.below(9));
    let mut hops = vec![Hop::new(&world, places), Hop::new(&world, 9 - places)];
    let mut devices: Vec<_> = KINDS.iter().map(Device::new).collect();
    let mut now = Instant::from_millis(0);
    let mut origins = 1;
    while let Some(operation) = input.byte() {
        now = now + Duration::from_millis(10);
        let hop = usize::from(input.below(2));
        let device = usize::from(input.below(3));
        let amount = input.byte().unwrap_or(0);
        match operation % 16 {
            0..=3 => write(&mut world, &mut hops, &mut input),
            4 => hops[hop].follow(&world, amount.into()),
            5 => hops[hop].relist(&world),
            6 => hops[hop].resize(usize::from(amount % 9)),
            7 => devices[device].connect(hop, now),
            8 if amount < 128 => devices[device].cut(),
            8 => {
                devices[device].tamper(amount.into(), operation);
            }
            9 if amount < 64 => devices[device].lose_next(hop),
            9 => now = now + Duration::from_millis(u64::from(amount) * 100),
            10 if amount < 16 => {
                origins += 1;
                world = World::new(origins);
                devices.iter_mut().for_each(Device::cut);
                hops.iter_mut().for_each(|hop| hop.reset(&world));
            }
            _ => {
                let (up, down) = (usize::from(amount % 16) * 8, usize::from(amount) * 2);
                devices[device].pump(&hops, &world, up, down, now);
            }
        }
    }
    hops.iter_mut().for_each(|hop| hop.follow(&world, u64::MAX));
    for device in &mut devices {
        let hop = device.hop().unwrap_or(0);
        device.settle(&hops, &world, hop, &mut now);
    }
}

/// One transaction. The first hop is the origin's own and has it at once.
fn write(world: &mut World, hops: &mut [Hop], input: &mut Input<'_>) {
    let mut edits = Vec::new();
    for _ in 0..=input.below(3) {
        let key = *input.one_of(&KEYS);
        let level = input.byte().unwrap_or(0);
        edits.push((key, (level >= 64).then_some(level)));
    }
    world.write(edits);
    hops[0].follow(world, u64::MAX);
}
