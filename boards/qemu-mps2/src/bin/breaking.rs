//! The node, with an output that breaks: one setpoint makes it panic, another one takes all the stack. For the tests, which want to see what becomes of that.
//!
//! Either happens once: who has just restarted for that reason holds the setpoint, as the node that it is.
#![no_std]
#![no_main]

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m_rt::entry;
use embassy_executor::Spawner;
use mps2::restart;
use ringwatch_app::flash::Simulated;
use ringwatch_app::restart::Cause;
use ringwatch_app::{image, node::Memory};
use ringwatch_settings::Block;
use static_cell::StaticCell;

const PANICS: f32 = 1001.0;
const TOO_DEEP: f32 = 1002.0;

static SETTINGS: Block<1024> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Simulated>> = StaticCell::new();
/// Why it has restarted, if it has.
static RESTARTED: AtomicU32 = AtomicU32::new(u32::MAX);

#[entry]
fn main() -> ! {
    mps2::start(|spawner| spawner.spawn(node(spawner).expect("it is spawned once")))
}

#[embassy_executor::task]
async fn node(spawner: Spawner) {
    let mut board = mps2::board();
    if let Some(restart) = board.restarted.restart(0) {
        RESTARTED.store(restart.cause as u32, Ordering::Relaxed);
    }
    board.drive = drive;
    image::node(spawner, board, &SETTINGS, &MEMORY).await;
}

fn drive(setpoint: f32) {
    let is_first = |cause: Cause| RESTARTED.load(Ordering::Relaxed) != cause as u32;
    if setpoint == PANICS && is_first(Cause::Panic) {
        panic!("on purpose");
    }
    if setpoint == TOO_DEEP && is_first(Cause::Stack) {
        restart::too_deep(1);
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
