//! A world that remembers every state, hops that keep up with it, and nodes on lines to them. For the link's tests here and for its fuzz
//! harness.

#[path = "link/copy.rs"]
mod copy;
#[path = "link/device.rs"]
mod device;
#[path = "link/kinds.rs"]
mod kinds;
#[path = "link/world.rs"]
mod world;

pub(crate) use device::Device;
pub(crate) use kinds::KINDS;
pub(crate) use world::{Hop, KEYS, World};
