//! Starting the board: what every image does first.

use core::fmt::Write;

use embassy_executor::{Executor, Spawner};
use ringwatch_app::flash::Simulated;
use ringwatch_app::image::{Board, Runner};
use ringwatch_app::logger::Logger;
use static_cell::StaticCell;

use crate::network::Ethernet;
use crate::uart::Uart;
use crate::{flash, interrupts, restart, stack, time};

// The UART cannot fail; `write!` has a result only because formatting in general may.
static LOGGER: Logger = Logger::new(|line| {
    let _ = Uart.write_fmt(line);
});

/// Guards the stack, starts clock, log and interrupts, and runs what `spawn` spawns, for ever.
pub fn start(spawn: impl FnOnce(Spawner)) -> ! {
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    stack::guard();
    time::start();
    LOGGER.start();
    interrupts::start();
    EXECUTOR.init(Executor::new()).run(|spawner| {
        spawner.spawn(stack_task().expect("it is spawned once"));
        spawn(spawner);
    })
}

/// What an image is given of the board; once.
pub fn board() -> Board<Simulated, &'static mut Ethernet> {
    // In a static, since tasks move what they are given more than once, and each move is a copy in their memory.
    static NETWORK: StaticCell<Ethernet> = StaticCell::new();
    Board {
        restarted: restart::note().placed(),
        flash: flash::take().expect("it is taken once"),
        network: NETWORK.init(Ethernet::start().expect("QEMU has it")),
        run_network: |spawner, runner| {
            spawner.spawn(network_task(runner).expect("it is spawned once"));
        },
        drive: |_| {},
        noise: [0; 32],
    }
}

#[embassy_executor::task]
async fn stack_task() -> ! {
    stack::report().await
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, &'static mut Ethernet>) -> ! {
    runner.run().await
}
