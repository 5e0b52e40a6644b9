//! Everything between a change and a device, driven by operations that are read from the bytes.
//!
//! ```text
//!  World: every state there was
//!    └─ write, relist ─► Store + History ─► Watcher ─► projection, compact bytes ─► Informer ─► Listener
//!                                          └──────────────── a Link, one for each selection ──────────┘
//! ```
//!
//! What arrives at the far end must be the selected part of the world.

mod link;
mod listener;
mod world;

use core::time::Duration;

use ringwatch_core::time::Instant;

use crate::input::Input;
use link::Link;
use world::World;

/// More operations take longer and reach nothing new: the ring and the links are small.
const LONGEST: usize = 512;

/// Writes, relists, resizes the ring, and connects, moves, polls, delays and robs the links in an order that the bytes
/// choose. Views and digests equal the world's at every bookmark and whenever a link is idle; in the
/// end every link gets there.
pub fn run(data: &[u8]) {
    let mut input = Input::new(&data[..data.len().min(LONGEST)]);
    let mut world = World::new(input.below(9));
    let mut links: Vec<_> = link::SELECTIONS.iter().map(Link::new).collect();
    let mut now = Instant::from_millis(0);
    while let Some(operation) = input.byte() {
        now = now + Duration::from_millis(1);
        match operation % 16 {
            0..=4 => world.write(&mut input),
            5 => world.progress(),
            6 => world.relist(&mut input),
            7 => world.resize(input.below(9)),
            choice => {
                let which = usize::from(input.below(link::SELECTIONS.len() as u8));
                let link = &mut links[which];
                let how = input.below(8);
                match choice {
                    8 => link.connect(&world, now, how),
                    9 => link.listener.room = how.into(),
                    10 => link.lose_next(),
                    11 => link.roam(&world, now, how),
                    _ => link.poll_times(how, &world, now),
                }
            }
        }
    }
    for link in &mut links {
        link.finish(&world, now);
    }
}
