//! The relay on ARM's MPS2 board (Cortex-M3 or M4F), in QEMU: follows a server or another relay, and serves nodes, also while that is gone.
//!
//! ```text
//! cargo xtask boards run qemu-mps2-an385 relay --settings relay.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use cortex_m_rt::entry;
use embassy_executor::Spawner;
use mps2::restart;
use ringwatch_app::image;
use ringwatch_settings::Block;

static SETTINGS: Block<4096> = Block::EMPTY;

#[entry]
fn main() -> ! {
    mps2::start(|spawner| spawner.spawn(relay(spawner).expect("it is spawned once")))
}

#[embassy_executor::task]
async fn relay(spawner: Spawner) {
    image::relay(spawner, mps2::board(), &SETTINGS).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
