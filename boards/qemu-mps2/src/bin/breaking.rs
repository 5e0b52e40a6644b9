//! The node, with an output that breaks: for the tests, which want to see what becomes of that.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use cortex_m_rt::entry;
use embassy_executor::Spawner;
use mps2::restart;
use ringwatch_app::flash::Simulated;
use ringwatch_app::{breaking, image, node::Memory};
use ringwatch_settings::Block;
use static_cell::StaticCell;

static SETTINGS: Block<1024> = Block::EMPTY;
static MEMORY: StaticCell<Memory<Simulated>> = StaticCell::new();

#[entry]
fn main() -> ! {
    mps2::start(|spawner| spawner.spawn(node(spawner).expect("it is spawned once")))
}

#[embassy_executor::task]
async fn node(spawner: Spawner) {
    let mut board = mps2::board();
    board.drive = breaking::output(board.restarted);
    image::node(spawner, board, &SETTINGS, &MEMORY).await;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
