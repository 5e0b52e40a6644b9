//! Starting the board: what every image with a network does first.

use core::fmt::Write;

use embassy_executor::Spawner;
use ringwatch_app::flash::Simulated;
use ringwatch_app::image::{Board, Runner};
use ringwatch_app::logger::Logger;
use static_cell::StaticCell;

use crate::executor::Executor;
use crate::lan9118::Lan9118;
use crate::uart::Uart;
use crate::{flash, restart, stack, time, watchdog};

// The UART cannot fail; `write!` has a result only because formatting in general may.
static LOGGER: Logger = Logger::new(|line| {
    let _ = Uart::start().write_fmt(line);
});

/// Guards the stack, starts clock, log and watchdog, and runs what `spawn` spawns, for ever.
pub fn start(spawn: impl FnOnce(Spawner)) -> ! {
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    restart::guard();
    time::start();
    LOGGER.start();
    EXECUTOR.init(Executor::new()).run(|spawner| {
        spawner.spawn(watchdog_task().expect("it is spawned once"));
        spawner.spawn(stack_task().expect("it is spawned once"));
        spawn(spawner);
    })
}

/// What an image is given of the board; once. Apart, so that the stack that it takes is not that of everything that runs later.
#[inline(never)]
pub fn board() -> Board<Simulated, &'static mut Lan9118> {
    // In a static, since tasks move what they are given more than once, and each move is a copy in their memory.
    static NETWORK: StaticCell<Lan9118> = StaticCell::new();
    Board {
        restarted: restart::note().placed(),
        flash: flash::take().expect("it is taken once"),
        network: NETWORK.init(Lan9118::start().expect("QEMU has it")),
        run_network: |spawner, runner| {
            spawner.spawn(network_task(runner).expect("it is spawned once"));
        },
        drive: |_| {},
        noise: [0; 32],
    }
}

#[embassy_executor::task]
async fn watchdog_task() -> ! {
    watchdog::feed().await
}

#[embassy_executor::task]
async fn stack_task() -> ! {
    stack::report().await
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, &'static mut Lan9118>) -> ! {
    runner.run().await
}
