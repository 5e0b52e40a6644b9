//! The node on an ESP32-C3: watches devices by Wi-Fi; the LED is as bright as the setpoint, from 0 to 100.
//!
//! ```text
//! cargo xtask flash esp32c3 node --settings node.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embassy_executor::Spawner;
use esp32c3_board::{Kept, restart};
use ringwatch_app::{image, node::Memory};
use ringwatch_settings::{Block, Settings};
use static_cell::StaticCell;

esp_bootloader_esp_idf::esp_app_desc!();

static SETTINGS: Block<1024> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Kept>> = StaticCell::new();

#[esp_rtos::main]
async fn main(spawner: Spawner) {
    // Without settings there is no network to join, and the node says so.
    let wifi = SETTINGS.read().map(|settings: Settings<'_>| settings.wifi);
    let board = esp32c3_board::start(spawner, wifi.unwrap_or_default());
    image::node(spawner, board, &SETTINGS, &MEMORY).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
