//! The relay on QEMU's RISC-V board: follows a server or another relay, and serves nodes, also while that is gone.
//!
//! ```text
//! cargo xtask boards run qemu-riscv-virt relay --settings relay.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embassy_executor::Spawner;
use ringwatch_app::image;
use ringwatch_settings::Block;
use riscv_rt::entry;
use riscv_virt::restart;

static SETTINGS: Block<4096> = Block::EMPTY;

#[entry]
fn main() -> ! {
    riscv_virt::start(|spawner| spawner.spawn(relay(spawner).expect("it is spawned once")))
}

#[embassy_executor::task]
async fn relay(spawner: Spawner) {
    image::relay(spawner, riscv_virt::board(), &SETTINGS).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
