//! The wiring.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::Path;
use std::{env, process};

// Linked for what it implements.
use critical_section as _;
use embassy_executor::{Executor, Spawner};
use embassy_net_tuntap::TunTapDevice;
use ringwatch_app::flash::{PAGE, Simulated};
use ringwatch_app::image::{self, Board, Runner};
use ringwatch_app::logger::Logger;
use ringwatch_app::node::Memory;
use ringwatch_app::restart::Note;
use ringwatch_settings::{Block, provision};
use static_cell::StaticCell;

static LOGGER: Logger = Logger::new(|line| print!("{line}"));

/// As much as an image of a relay has.
const SETTINGS: usize = 4096;

pub(crate) fn main() {
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (relays, tap, settings) = match arguments[..] {
        ["node", tap, settings] => (false, tap, settings),
        ["relay", tap, settings] => (true, tap, settings),
        _ => exit("usage: host node|relay TAP SETTINGS"),
    };
    LOGGER.start();
    let settings = read(Path::new(settings)).unwrap_or_else(|why| exit(&why));
    let device = TunTapDevice::new(tap).unwrap_or_else(|why| {
        exit(&format!(
            "{tap}: {why}. It takes a TAP device that this user may open: see the top of host/src/main.rs"
        ))
    });
    EXECUTOR.init(Executor::new()).run(|spawner| {
        let board = board(device);
        match relays {
            true => spawner.spawn(relay(spawner, board, settings).expect("it is spawned once")),
            false => spawner.spawn(node(spawner, board, settings).expect("it is spawned once")),
        }
    })
}

/// Flash is memory, and the operating system knows why the program was started.
fn board(network: TunTapDevice) -> Board<Simulated, TunTapDevice> {
    Board {
        restarted: &Note::BLANK,
        flash: Simulated::new(Box::leak(vec![0; 4 * PAGE].into_boxed_slice())),
        network,
        run_network: |spawner, runner| {
            spawner.spawn(network_task(runner).expect("it is spawned once"));
        },
        drive: |_| {},
        noise: random(),
    }
}

/// The settings, in a block as it is in an image.
fn read(path: &Path) -> Result<&'static Block<SETTINGS>, String> {
    let mut block = *Block::<SETTINGS>::EMPTY.bytes();
    provision::from_file(&mut block, path, random()).map_err(|failure| failure.to_string())?;
    Ok(Box::leak(Box::new(Block::of(block))))
}

/// The hash of nothing, with keys that are random in each process.
fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    let word = || RandomState::new().hash_one(()).to_le_bytes();
    let places = bytes.chunks_exact_mut(8);
    places.for_each(|place| place.copy_from_slice(&word()));
    bytes
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, TunTapDevice>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn node(
    spawner: Spawner,
    board: Board<Simulated, TunTapDevice>,
    settings: &'static Block<SETTINGS>,
) {
    static MEMORY: StaticCell<Memory<Simulated>> = StaticCell::new();
    image::node(spawner, board, settings, &MEMORY).await;
}

#[embassy_executor::task]
async fn relay(
    spawner: Spawner,
    board: Board<Simulated, TunTapDevice>,
    settings: &'static Block<SETTINGS>,
) {
    image::relay(spawner, board, settings).await;
}

fn exit(why: &str) -> ! {
    eprintln!("{why}");
    process::exit(1)
}
