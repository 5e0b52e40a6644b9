//! The relay on QEMU's RISC-V board: follows a server or another relay, and serves up to six nodes at a time.
//!
//! ```text
//! cargo xtask boards run qemu-riscv-virt relay --settings relay.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use ringwatch_app::flash::Simulated;
use ringwatch_app::{image, relay::Memory};
use ringwatch_settings::Block;
use riscv_rt::entry;
use riscv_virt::restart;
use static_cell::StaticCell;

static SETTINGS: Block<4096> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Simulated>> = StaticCell::new();

#[entry]
fn main() -> ! {
    riscv_virt::start(|spawner| spawner.spawn(relay().expect("it is spawned once")))
}

#[embassy_executor::task]
async fn relay() {
    image::relay(riscv_virt::board(), &SETTINGS, &MEMORY).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
