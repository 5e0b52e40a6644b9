//! The node on QEMU's RISC-V board: watches devices over the network, and prints a line for each setpoint.
//!
//! ```text
//! cargo xtask boards run qemu-riscv-virt node --settings node.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embassy_executor::Spawner;
use ringwatch_app::flash::Simulated;
use ringwatch_app::{image, node::Memory};
use ringwatch_settings::Block;
use riscv_rt::entry;
use riscv_virt::restart;
use static_cell::StaticCell;

static SETTINGS: Block<1024> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Simulated>> = StaticCell::new();

#[entry]
fn main() -> ! {
    riscv_virt::start(|spawner| spawner.spawn(node(spawner).expect("it is spawned once")))
}

#[embassy_executor::task]
async fn node(spawner: Spawner) {
    image::node(spawner, riscv_virt::board(), &SETTINGS, &MEMORY).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
