//! The node on an ESP32-C3: watches devices by Wi-Fi; the LED is as bright as the setpoint, from 0 to 100.
//!
//! ```text
//! cargo xtask flash esp32c3 node --settings node.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embassy_executor::Spawner;
use embassy_net::{Runner, StackResources};
use esp_hal::rtc_cntl::Rwdt;
use esp_radio::wifi::{Interface, WifiController};
use esp32c3_board::{Board, Kept, Led, feed, join, restart};
use ringwatch_app::node::{Buffers, Memory, wanted};
use ringwatch_app::{light::Light, logger::Logger, network, random::Random};
use ringwatch_core::link::{PresharedKey, node::Wanted};
use ringwatch_settings::{Block, Settings, Wifi};
use static_cell::{ConstStaticCell, StaticCell};

esp_bootloader_esp_idf::esp_app_desc!();

static SETTINGS: Block<1024> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Kept>> = StaticCell::new();
static LOGGER: Logger = Logger::new(|line| esp_println::print!("{line}"));
static BUFFERS: ConstStaticCell<Buffers> = ConstStaticCell::new(Buffers::EMPTY);
static LIGHT: Light = Light::new();

#[esp_rtos::main]
async fn main(spawner: Spawner) {
    static READ: StaticCell<Settings<'static>> = StaticCell::new();
    static KEY: StaticCell<PresharedKey> = StaticCell::new();
    static WANTED: StaticCell<[Wanted<'static>; 1]> = StaticCell::new();
    static SOCKETS: StaticCell<StackResources<3>> = StaticCell::new();
    LOGGER.start();
    let board = Board::start();
    spawner.spawn(watchdog_task(board.watchdog).expect("it is spawned once"));
    spawner.spawn(led_task(board.led).expect("it is spawned once"));
    let settings = match SETTINGS.read() {
        Ok(settings) => READ.init(settings),
        Err(unset) => return log::error!("{unset}"),
    };
    if let Some(reason) = restart::note().reason() {
        log::warn!("restarted after {reason}");
    }
    let memory = MEMORY.init_with(|| Memory::driving(board.flash, |to| LIGHT.set(to)));
    let boot = memory.start(settings).await;
    let mut random = Random::new(settings.seed, boot, &board.noise);

    let sockets = SOCKETS.init(StackResources::new());
    let config = network::config(settings);
    let (network, runner) = embassy_net::new(board.device, config, sockets, random.number());
    spawner.spawn(radio_task(board.radio, settings.wifi).expect("it is spawned once"));
    spawner.spawn(network_task(runner).expect("it is spawned once"));

    let key = KEY.init(PresharedKey::new(settings.key));
    let wanted = WANTED.init([wanted(settings)]);
    memory
        .run(network, settings, key, wanted, &mut random, BUFFERS.take())
        .await;
}

#[embassy_executor::task]
async fn radio_task(radio: WifiController<'static>, to: Wifi<'static>) -> ! {
    join(radio, to).await
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, Interface<'static>>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn led_task(led: Led) -> ! {
    LIGHT.shine(led).await
}

#[embassy_executor::task]
async fn watchdog_task(watchdog: Rwdt) -> ! {
    feed(watchdog).await
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
