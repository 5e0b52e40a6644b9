//! An image from its start on, on any board: settings, flash, network, and then a node or a relay for ever.

use core::pin::pin;

use embassy_executor::Spawner;
use embassy_futures::block_on;
pub use embassy_net::Runner;
use embassy_net::StackResources;
use embassy_net::driver::Driver;
use embedded_storage_async::nor_flash::NorFlash;
use ringwatch_core::link::PresharedKey;
use ringwatch_core::link::node::Wanted;
use ringwatch_edge::engine::Kept;
use ringwatch_settings::{Block, RelaySettings, Settings, Unset};
use static_cell::{ConstStaticCell, StaticCell};

use crate::apart::apart;
use crate::device::Drive;
use crate::keep::Keep;
use crate::random::Random;
use crate::relay::Relay;
use crate::restart::Note;
use crate::{network, node, relay};

/// What a board brings.
pub struct Board<F, D: Driver> {
    /// Why it has restarted, if it did so by itself.
    pub restarted: &'static Note,
    /// At least two pages.
    pub flash: F,
    /// Its network.
    pub network: D,
    /// Spawns the task of the network stack. A task knows its types, so each board has its own.
    ///
    /// It is a task of its own because each use of a socket wakes it: with the application in one task that would wake itself without end, and the
    /// board would never sleep.
    pub run_network: fn(Spawner, Runner<'static, D>),
    /// What setpoints drive, beside the line that is printed.
    pub drive: Drive,
    /// Whatever the hardware has of randomness.
    pub noise: [u8; 32],
}

/// A node. It comes back only if there are no settings, which it says.
pub async fn node<F: NorFlash, D: Driver, const N: usize>(
    spawner: Spawner,
    board: Board<F, D>,
    block: &'static Block<N>,
    memory: &'static StaticCell<node::Memory<F>>,
) {
    static SETTINGS: StaticCell<Settings<'static>> = StaticCell::new();
    static KEY: StaticCell<PresharedKey> = StaticCell::new();
    static WANTED: StaticCell<[Wanted<'static>; 1]> = StaticCell::new();
    static SOCKETS: StaticCell<StackResources<3>> = StaticCell::new();
    static BUFFERS: ConstStaticCell<node::Buffers> = ConstStaticCell::new(node::Buffers::EMPTY);
    let settings = match block.read() {
        Ok(settings) => &*SETTINGS.init(settings),
        Err(unset) => return log::error!("{unset}"),
    };
    let memory = place(memory, || node::Memory::driving(board.flash, board.drive));
    let boot = memory.start(settings, board.restarted).await;
    let mut random = Random::new(settings.seed, boot, &board.noise);
    let sockets = place(&SOCKETS, StackResources::new);
    let (stack, runner) = network::start(board.network, settings, sockets, random.number());
    (board.run_network)(spawner, runner);
    let key = KEY.init(PresharedKey::new(settings.key));
    let wanted = WANTED.init([node::wanted(settings)]);
    let run = memory.run(stack, settings, key, wanted, &mut random, BUFFERS.take());
    apart(pin!(run)).await;
}

/// A relay. It comes back only if there are no settings, or none that it can work with, which it says.
pub async fn relay<F: NorFlash, D: Driver, const N: usize>(
    spawner: Spawner,
    board: Board<F, D>,
    block: &'static Block<N>,
) {
    static KEY: StaticCell<PresharedKey> = StaticCell::new();
    static WANTED: StaticCell<[Wanted<'static>; 1]> = StaticCell::new();
    // Upstream, DHCP, and one for each link.
    static SOCKETS: StaticCell<StackResources<{ relay::LINKS + 2 }>> = StaticCell::new();
    let prepared = prepare(board.flash, board.restarted, &board.noise, block);
    let Some((settings, mut relay)) = prepared else {
        return;
    };
    let sockets = place(&SOCKETS, StackResources::new);
    let (stack, runner) = network::start(board.network, &settings.board, sockets, relay.number());
    (board.run_network)(spawner, runner);
    let key = KEY.init(PresharedKey::new(settings.board.key));
    let wanted = WANTED.init([relay::wanted(settings)]);
    let run = pin!(relay.run(spawner, stack, key, wanted));
    apart(run).await;
}

/// A relay before there is a network. Apart, so that the network has the stack for itself when it starts: nothing takes more of it.
#[inline(never)]
fn prepare<F: NorFlash, const N: usize>(
    flash: F,
    restarted: &Note,
    noise: &[u8; 32],
    block: &'static Block<N>,
) -> Option<(&'static RelaySettings<'static>, Relay)> {
    let settings = match relay_settings(block) {
        Ok(settings) => settings,
        Err(unset) => {
            log::error!("{unset}");
            return None;
        }
    };
    let kept = match Kept::parse(settings.board.watch.projection) {
        Ok(kept) => kept,
        Err(error) => {
            log::error!("watch.projection: {error}");
            return None;
        }
    };
    // Waited for here, where there is nothing else to do: kept by a task while that waits, it would be the largest part of the task.
    let boot = block_on(Keep::<F, 0>::new(flash).count());
    let random = Random::new(settings.board.seed, boot, noise);
    let relay = Relay::start(settings, kept, boot, restarted, random);
    if relay.is_none() {
        log::error!("there is a relay already");
    }
    Some((settings, relay?))
}

/// Reads the settings to their place. Apart, as [`place`] is.
#[inline(never)]
fn relay_settings<const N: usize>(
    block: &'static Block<N>,
) -> Result<&'static RelaySettings<'static>, Unset> {
    static SETTINGS: StaticCell<RelaySettings<'static>> = StaticCell::new();
    Ok(SETTINGS.init(block.read()?))
}

/// Fills a static. Apart, so that the stack that a large value takes on its way is not that of everything that runs later.
#[inline(never)]
fn place<T>(cell: &'static StaticCell<T>, make: impl FnOnce() -> T) -> &'static mut T {
    cell.init_with(make)
}
