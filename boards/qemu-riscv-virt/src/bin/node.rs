//! The node on QEMU's RISC-V board: watches devices over the network, and prints a line for each setpoint.
//!
//! ```text
//! cargo xtask boards run qemu-riscv-virt node --settings node.toml
//! ```
#![no_std]
#![no_main]

use core::fmt::Write;
use core::panic::PanicInfo;

use embassy_executor::{Executor, Spawner};
use embassy_net::{Runner, StackResources};
use ringwatch_app::flash::Simulated;
use ringwatch_app::node::{Buffers, Memory, wanted};
use ringwatch_app::{logger::Logger, network, random::Random};
use ringwatch_core::link::{PresharedKey, node::Wanted};
use ringwatch_settings::{Block, Settings};
use riscv_rt::entry;
use riscv_virt::network::Ethernet;
use riscv_virt::{flash, restart, start_interrupts, time, uart::Uart};
use static_cell::{ConstStaticCell, StaticCell};

static SETTINGS: Block<1024> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Simulated>> = StaticCell::new();
// The UART cannot fail; `write!` has a result only because formatting in general may.
static LOGGER: Logger = Logger::new(|line| {
    let _ = Uart.write_fmt(line);
});
static BUFFERS: ConstStaticCell<Buffers> = ConstStaticCell::new(Buffers::EMPTY);

#[entry]
fn main() -> ! {
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    time::start();
    LOGGER.start();
    start_interrupts();
    EXECUTOR.init(Executor::new()).run(|spawner| {
        spawner.spawn(node(spawner).expect("it is spawned once"));
    })
}

#[embassy_executor::task]
async fn node(spawner: Spawner) {
    static READ: StaticCell<Settings<'static>> = StaticCell::new();
    static KEY: StaticCell<PresharedKey> = StaticCell::new();
    static WANTED: StaticCell<[Wanted<'static>; 1]> = StaticCell::new();
    static SOCKETS: StaticCell<StackResources<3>> = StaticCell::new();
    let settings = match SETTINGS.read() {
        Ok(settings) => READ.init(settings),
        Err(unset) => return log::error!("{unset}"),
    };
    if let Some(reason) = restart::note().reason() {
        log::warn!("restarted after {reason}");
    }
    let flash = flash::take().expect("it is taken once");
    let memory = MEMORY.init_with(|| Memory::new(flash));
    let boot = memory.start(settings).await;
    let mut random = Random::new(settings.seed, boot, &[]);

    let ethernet = Ethernet::start().expect("QEMU has it");
    let sockets = SOCKETS.init(StackResources::new());
    let config = network::config(settings);
    let (stack, runner) = embassy_net::new(ethernet, config, sockets, random.number());
    spawner.spawn(ethernet_task(runner).expect("it is spawned once"));

    let key = KEY.init(PresharedKey::new(settings.key));
    let wanted = WANTED.init([wanted(settings)]);
    memory
        .run(stack, settings, key, wanted, &mut random, BUFFERS.take())
        .await;
}

#[embassy_executor::task]
async fn ethernet_task(mut runner: Runner<'static, Ethernet>) -> ! {
    runner.run().await
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
