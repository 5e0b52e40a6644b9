//! The relay on ARM's MPS2 board (Cortex-M3 or M4F), in QEMU: follows a server or another relay, and serves up to six nodes at a time.
//!
//! ```text
//! cargo xtask boards run qemu-mps2-an385 relay --settings relay.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use cortex_m_rt::entry;
use mps2::restart;
use ringwatch_app::flash::Simulated;
use ringwatch_app::{image, relay::Memory};
use ringwatch_settings::Block;
use static_cell::StaticCell;

static SETTINGS: Block<4096> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Simulated>> = StaticCell::new();

#[entry]
fn main() -> ! {
    mps2::start(|spawner| spawner.spawn(relay().expect("it is spawned once")))
}

#[embassy_executor::task]
async fn relay() {
    image::relay(mps2::board(), &SETTINGS, &MEMORY).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
