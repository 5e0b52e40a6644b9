//! The node on a Nucleo-H743ZI or Nucleo-F767ZI: watches devices over Ethernet; the green LED is as bright as the setpoint, from 0 to 100.
//!
//! ```text
//! cargo xtask flash nucleo-h743zi node --settings node.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embassy_executor::Spawner;
use ringwatch_app::{image, node::Memory};
use ringwatch_cortex_m::restart;
use ringwatch_settings::Block;
use static_cell::StaticCell;
use stm32_nucleo::Kept;

static SETTINGS: Block<1024> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Kept>> = StaticCell::new();

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let board = stm32_nucleo::start(spawner);
    image::node(spawner, board, &SETTINGS, &MEMORY).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
