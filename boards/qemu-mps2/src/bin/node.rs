//! The node on ARM's MPS2 board (Cortex-M3 or M4F), in QEMU: watches devices over the network, and prints a line for each setpoint.
//!
//! ```text
//! cargo xtask boards run qemu-mps2-an385 node --settings node.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use cortex_m_rt::entry;
use embassy_executor::Spawner;
use mps2::restart;
use ringwatch_app::flash::Simulated;
use ringwatch_app::{image, node::Memory};
use ringwatch_settings::Block;
use static_cell::StaticCell;

static SETTINGS: Block<1024> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Simulated>> = StaticCell::new();

#[entry]
fn main() -> ! {
    mps2::start(|spawner| spawner.spawn(node(spawner).expect("it is spawned once")))
}

#[embassy_executor::task]
async fn node(spawner: Spawner) {
    image::node(spawner, mps2::board(), &SETTINGS, &MEMORY).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
