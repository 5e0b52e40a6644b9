//! The node on WIZnet's W5500-EVB-Pico: watches devices over Ethernet; the LED is as bright as the setpoint, from 0 to 100.
//!
//! ```text
//! cargo xtask flash rp-w5500 node --settings node.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embassy_executor::Spawner;
use ringwatch_app::{image, node::Memory};
use ringwatch_cortex_m::restart;
use ringwatch_settings::Block;
use rp_w5500::Kept;
use static_cell::StaticCell;

static SETTINGS: Block<1024> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Kept>> = StaticCell::new();

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let board = rp_w5500::start(spawner).await;
    image::node(spawner, board, &SETTINGS, &MEMORY).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
