//! The wiring.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::Path;
use std::{env, process};

// Linked for what it implements.
use critical_section as _;
use embassy_executor::{Executor, Spawner};
use embassy_net::{Runner, StackResources};
use embassy_net_tuntap::TunTapDevice;
use ringwatch_app::flash::{PAGE, Simulated};
use ringwatch_app::node::{Buffers, Memory, wanted};
use ringwatch_app::restart::Note;
use ringwatch_app::{logger::Logger, network, random::Random};
use ringwatch_core::link::PresharedKey;
use ringwatch_settings::{Block, Settings, provision};
use static_cell::StaticCell;

static LOGGER: Logger = Logger::new(|line| print!("{line}"));

pub(crate) fn main() {
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [tap, settings] = arguments.as_slice() else {
        exit("usage: host-node TAP SETTINGS");
    };
    LOGGER.start();
    let settings = read(Path::new(settings)).unwrap_or_else(|why| exit(&why));
    let device = TunTapDevice::new(tap).unwrap_or_else(|why| exit(&format!("{tap}: {why}")));
    EXECUTOR.init(Executor::new()).run(|spawner| {
        spawner.spawn(node(spawner, settings, device).expect("it is spawned once"));
    })
}

/// The settings, by way of a block as it is in an image.
fn read(path: &Path) -> Result<&'static Settings<'static>, String> {
    let mut block = *Block::<1024>::EMPTY.bytes();
    // The hash of nothing, with keys that are random in each process.
    let word = || RandomState::new().hash_one(()).to_le_bytes();
    let mut seed = [0; 32];
    seed.chunks_exact_mut(8)
        .for_each(|place| place.copy_from_slice(&word()));
    provision::from_file(&mut block, path, seed).map_err(|failure| failure.to_string())?;
    let block = Box::leak(Box::new(Block::of(block)));
    let settings = block.read().map_err(|unset| unset.to_string())?;
    Ok(Box::leak(Box::new(settings)))
}

#[embassy_executor::task]
async fn node(spawner: Spawner, settings: &'static Settings<'static>, device: TunTapDevice) {
    let flash = Simulated::new(Box::leak(vec![0; 4 * PAGE].into_boxed_slice()));
    let mut memory = Box::new(Memory::new(flash));
    // A process that ends is not started again by itself.
    let boot = memory.start(settings, &Note::BLANK).await;
    let mut random = Random::new(settings.seed, boot, &[]);
    let sockets = Box::leak(Box::new(StackResources::<3>::new()));
    let config = network::config(settings);
    let (network, runner) = embassy_net::new(device, config, sockets, random.number());
    spawner.spawn(network_task(runner).expect("it is spawned once"));
    let key = Box::leak(Box::new(PresharedKey::new(settings.key)));
    let wanted = Box::leak(Box::new([wanted(settings)]));
    let mut buffers = Buffers::EMPTY;
    memory
        .run(network, settings, key, wanted, &mut random, &mut buffers)
        .await;
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, TunTapDevice>) -> ! {
    runner.run().await
}

fn exit(why: &str) -> ! {
    eprintln!("{why}");
    process::exit(1)
}
