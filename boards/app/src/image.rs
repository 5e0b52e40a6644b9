//! An image from its start on, on any board: settings, flash, network, and then a node or a relay for ever.

use core::convert::Infallible;

use embassy_futures::join::join;
use embassy_net::driver::Driver;
use embassy_net::{Runner, Stack, StackResources};
use embedded_storage_async::nor_flash::NorFlash;
use ringwatch_core::link::PresharedKey;
use ringwatch_core::link::node::Wanted;
use ringwatch_edge::engine::Kept;
use ringwatch_settings::{Block, RelaySettings, Settings};
use static_cell::{ConstStaticCell, StaticCell};

use crate::device::Drive;
use crate::random::Random;
use crate::restart::Note;
use crate::{network, node, relay};

/// What a board brings.
pub struct Board<F, D> {
    /// Why it has restarted, if it did so by itself.
    pub restarted: Note,
    /// At least two pages.
    pub flash: F,
    /// Its network.
    pub network: D,
    /// What setpoints drive, beside the line that is printed.
    pub drive: Drive,
    /// Whatever the hardware has of randomness.
    pub noise: [u8; 32],
}

/// A node. It comes back only if there are no settings, which it says.
pub async fn node<F: NorFlash, D: Driver, const N: usize>(
    board: Board<F, D>,
    block: &'static Block<N>,
    memory: &'static StaticCell<node::Memory<F>>,
) {
    static SETTINGS: StaticCell<Settings<'static>> = StaticCell::new();
    static KEY: StaticCell<PresharedKey> = StaticCell::new();
    static WANTED: StaticCell<[Wanted<'static>; 1]> = StaticCell::new();
    static SOCKETS: StaticCell<StackResources<3>> = StaticCell::new();
    static NOTE: StaticCell<Note> = StaticCell::new();
    static BUFFERS: ConstStaticCell<node::Buffers> = ConstStaticCell::new(node::Buffers::EMPTY);
    let settings = match block.read() {
        Ok(settings) => &*SETTINGS.init(settings),
        Err(unset) => return log::error!("{unset}"),
    };
    let restarted = NOTE.init(board.restarted);
    let memory = place(memory, || node::Memory::driving(board.flash, board.drive));
    let boot = memory.start(settings, restarted).await;
    let mut random = Random::new(settings.seed, boot, &board.noise);
    let sockets = SOCKETS.init(StackResources::new());
    let (stack, runner) = begin(board.network, settings, sockets, &mut random);
    let key = KEY.init(PresharedKey::new(settings.key));
    let wanted = WANTED.init([node::wanted(settings)]);
    let run = memory.run(stack, settings, key, wanted, &mut random, BUFFERS.take());
    forever(runner, run).await;
}

/// A relay. It comes back only if there are no settings, or none that it can work with, which it says.
pub async fn relay<F: NorFlash, D: Driver, const N: usize>(
    board: Board<F, D>,
    block: &'static Block<N>,
    memory: &'static StaticCell<relay::Memory<F>>,
) {
    static SETTINGS: StaticCell<RelaySettings<'static>> = StaticCell::new();
    static KEY: StaticCell<PresharedKey> = StaticCell::new();
    static WANTED: StaticCell<[Wanted<'static>; 1]> = StaticCell::new();
    // Upstream, DHCP, and one for each link.
    static SOCKETS: StaticCell<StackResources<{ relay::LINKS + 2 }>> = StaticCell::new();
    let settings = match block.read() {
        Ok(settings) => &*SETTINGS.init(settings),
        Err(unset) => return log::error!("{unset}"),
    };
    let kept = match Kept::parse(settings.board.watch.projection) {
        Ok(kept) => kept,
        Err(error) => return log::error!("watch.projection: {error}"),
    };
    let restarted = board.restarted;
    let memory = place(memory, || relay::Memory::new(board.flash, settings, kept));
    let boot = memory.start(&restarted).await;
    let mut random = Random::new(settings.board.seed, boot, &board.noise);
    let sockets = SOCKETS.init(StackResources::new());
    let (stack, runner) = begin(board.network, &settings.board, sockets, &mut random);
    let key = KEY.init(PresharedKey::new(settings.board.key));
    let wanted = WANTED.init([relay::wanted(settings)]);
    let run = memory.run(stack, key, wanted, random);
    forever(runner, run).await;
}

/// Fills a static. Apart, so that the stack that a large value takes on its way is not that of everything that runs later.
#[inline(never)]
fn place<T>(cell: &'static StaticCell<T>, make: impl FnOnce() -> T) -> &'static mut T {
    cell.init_with(make)
}

fn begin<D: Driver, const N: usize>(
    driver: D,
    settings: &Settings<'_>,
    sockets: &'static mut StackResources<N>,
    random: &mut Random,
) -> (Stack<'static>, Runner<'static, D>) {
    embassy_net::new(driver, network::config(settings), sockets, random.number())
}

async fn forever<D: Driver>(mut runner: Runner<'_, D>, run: impl Future<Output = Infallible>) {
    join(runner.run(), run).await;
}
