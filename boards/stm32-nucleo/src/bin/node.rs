//! The node on a Nucleo-H743ZI or Nucleo-F767ZI: watches devices over Ethernet; the green LED is as bright as the setpoint, from 0 to 100.
//!
//! ```text
//! cargo xtask flash nucleo-h743zi node --settings node.toml
//! ```
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embassy_executor::Spawner;
use embassy_net::{Runner, StackResources};
use ringwatch_app::node::{Buffers, Memory, wanted};
use ringwatch_app::{light::Light, logger::Logger, network, random::Random};
use ringwatch_core::link::{PresharedKey, node::Wanted};
use ringwatch_cortex_m::{restart, stack};
use ringwatch_settings::{Block, Settings};
use static_cell::{ConstStaticCell, StaticCell};
use stm32_nucleo::{Board, Device, Kept, Led, Packets, UART, Watchdog, feed};

static SETTINGS: Block<1024> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Kept>> = StaticCell::new();
static LOGGER: Logger = Logger::new(|line| UART.print(line));
static BUFFERS: ConstStaticCell<Buffers> = ConstStaticCell::new(Buffers::EMPTY);
static LIGHT: Light = Light::new();

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    static READ: StaticCell<Settings<'static>> = StaticCell::new();
    static KEY: StaticCell<PresharedKey> = StaticCell::new();
    static WANTED: StaticCell<[Wanted<'static>; 1]> = StaticCell::new();
    static SOCKETS: StaticCell<StackResources<3>> = StaticCell::new();
    static PACKETS: StaticCell<Packets> = StaticCell::new();
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

    let packets = PACKETS.init_with(Packets::new);
    let device = board.ethernet.start(network::mac(settings.name), packets);
    let sockets = SOCKETS.init(StackResources::new());
    let config = network::config(settings);
    let (network, runner) = embassy_net::new(device, config, sockets, random.number());
    spawner.spawn(network_task(runner).expect("it is spawned once"));
    spawner.spawn(stack_task().expect("it is spawned once"));

    let key = KEY.init(PresharedKey::new(settings.key));
    let wanted = WANTED.init([wanted(settings)]);
    memory
        .run(network, settings, key, wanted, &mut random, BUFFERS.take())
        .await;
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, Device>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn led_task(led: Led) -> ! {
    LIGHT.shine(led).await
}

#[embassy_executor::task]
async fn watchdog_task(watchdog: Watchdog) -> ! {
    feed(watchdog).await
}

#[embassy_executor::task]
async fn stack_task() -> ! {
    stack::report().await
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
