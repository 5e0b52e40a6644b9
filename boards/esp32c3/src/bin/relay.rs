//! The relay on an ESP32-C3: follows a server or another relay by Wi-Fi, and serves nodes, also while that is gone.
//!
//! ```text
//! cargo xtask flash esp32c3 relay --settings relay.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embassy_executor::Spawner;
use esp32c3_board::restart;
use ringwatch_app::image;
use ringwatch_settings::{Block, RelaySettings};

esp_bootloader_esp_idf::esp_app_desc!();

static SETTINGS: Block<4096> = Block::EMPTY;

#[esp_rtos::main]
async fn main(spawner: Spawner) {
    // Without settings there is no network to join, and the relay says so.
    let wifi = SETTINGS.read();
    let wifi = wifi.map(|settings: RelaySettings<'_>| settings.board.wifi);
    let board = esp32c3_board::start(spawner, wifi.unwrap_or_default());
    image::relay(spawner, board, &SETTINGS).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
