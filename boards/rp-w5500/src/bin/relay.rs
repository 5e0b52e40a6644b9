//! The relay on WIZnet's W5500-EVB-Pico: follows a server or another relay over Ethernet, and serves nodes, also while that is gone.
//!
//! ```text
//! cargo xtask flash rp-w5500 relay --settings relay.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embassy_executor::Spawner;
use ringwatch_app::image;
use ringwatch_cortex_m::restart;
use ringwatch_settings::Block;

static SETTINGS: Block<4096> = Block::EMPTY;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let board = rp_w5500::start(spawner).await;
    image::relay(spawner, board, &SETTINGS).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
