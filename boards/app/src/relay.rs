//! The relay: one watch upstream, any of 32 nodes behind it, also while the upstream is gone.
//!
//! ```text
//!   server or relay ══ Uplink ──► Track (128 objects, 256 changes) ──► Downlink ══ nodes, LINKS at a time
//! ```
//!
//! It is the engine of the Linux program, over arrays. The upstream is asked for some fields of each object, and nodes for fields of
//! those: [`Kept`] says how. Nothing but the count of starts is written to flash, which 50 changes a second would wear
//! out in weeks. After a restart the relay takes a snapshot; nodes have their own cursors, which stay good, and get what differs.
//!
//! All memory is static and zero at start, so that it is neither in flash nor made on the stack. What is needed only while bytes come or go is on the stack, of
//! which starting the network takes more than anything later.

mod links;
pub mod permits;
mod pool;

use core::cell::RefCell;
use core::convert::Infallible;
use core::time::Duration;

use embassy_executor::Spawner;
use embassy_futures::select::{Either, select};
use embassy_net::Stack;
use embassy_net::tcp::TcpSocket;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::Timer;
use heapless::String;
use ringwatch_core::history;
use ringwatch_core::link::node::{Config, Security, Standing, Wanted};
use ringwatch_core::link::serve::{Reported, Texts};
use ringwatch_core::link::{PresharedKey, Seed};
use ringwatch_core::object::Change;
use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::Revision;
use ringwatch_core::room::InPlace;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Slot;
use ringwatch_edge::engine::{
    Backoff, Kept, Object, Resources, Shape, Stored, Subject, Track, Uplink,
};
use ringwatch_settings::{Endpoint, MAX_NODES, RelaySettings, Settings};
use static_cell::ConstStaticCell;

use crate::clock::{moment, now};
use crate::network;
use crate::random::Random;
use crate::restart::Note;
use crate::upstream::{self, Lost};
use links::{Line, Lines};
use permits::Permits;
use pool::{Name, Shared};

/// Nodes of which it is noted how far they had come: nobody could ask, since a relay on a board has no HTTP.
const NOTED: usize = 0;
/// Nodes that are connected at once: all that the settings can name.
pub const LINKS: usize = MAX_NODES;
/// Objects.
pub const OBJECTS: usize = 128;
/// The longest object, with its key and labels. Its length is kept in another byte, and both fill a block of 128.
pub const BYTES: usize = 127;
/// Changes that a node may be behind by without comparing.
pub const EVENTS: usize = 256;
/// Restarts of nodes, and its own, that are known and perhaps not yet passed on.
const RESTARTS: usize = 3;
/// Changes that may come in at once without nodes having to compare.
const PENDING: usize = 24;
/// The longest key that the upstream sends only once.
const KEY: usize = 48;
/// The longest name of what it watches.
const TEXT: usize = 48;
/// What the names, selectors and fields of a node's request may take together.
const ASKED: usize = 144;
/// The longest packet of a node, but for its first.
const PACKET_IN: usize = 160;
/// The longest packet from and to the upstream.
const PACKET: usize = 512;
/// A packet on the wire.
const ON_WIRE: usize = PACKET + 2;
/// Subscriptions of one node.
const SUBS: usize = 1;
/// Keys that are sent to a node only once.
const KEYS: usize = 8;
/// Keys that the upstream sends only once.
const KEYS_UP: usize = 8;
/// How often to be told by the upstream that all is well.
const BOOKMARKS: Duration = Duration::from_secs(5);
/// What TCP may have on its way from upstream, and to it: a packet, and some credit.
const WINDOW: usize = 1024;
const SEND_UP: usize = ON_WIRE + 64;

/// The storage, in arrays.
#[derive(Debug)]
pub struct Small;

impl Shape for Small {
    type Bytes = Shared;
    type Key = Name;
    type Asked = Texts<ASKED>;
    type Text = String<TEXT, u8>;
    type Room = InPlace;
    type Objects = [Slot<Name, Stored<Shared>>; OBJECTS];
    type Changes = [Place<history::Entry<Change<Object<Shared>>>>; EVENTS];
    type Pending = [Place<Change<Object<Shared>>>; PENDING];
    type Restarts = [Place<Reported>; RESTARTS];
    const NO_RESTARTS: Self::Restarts = [const { Place::Free }; RESTARTS];

    fn key(object: &Object<Shared>) -> Option<Name> {
        Some(Name::of(object))
    }
}

type Relayed = Resources<Small, Permits, 1, NOTED, LINKS, SUBS, PACKET_IN, KEYS>;
type Up = Uplink<'static, 1, PACKET, KEYS_UP, KEY, [u8; 0]>;
/// Rings when nodes may have something to be sent.
type Changed = Signal<NoopRawMutex, ()>;

/// Everything that the relay needs, apart from the network stack and the [blocks](pool).
struct Memory {
    shared: Common,
    /// Free at first, which is all zeros.
    uplink: Place<Up>,
    line: Line<WINDOW, SEND_UP>,
    lines: Lines,
}

/// What all connections share.
struct Common {
    relayed: RefCell<Relayed>,
    changed: Changed,
    random: RefCell<Random>,
}

static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory {
    shared: Common {
        relayed: RefCell::new(Resources::new(
            [Track::array(Subject {
                resource: String::new(),
                scope: Scope::Resource,
            })],
            Permits::NOBODY,
        )),
        changed: Changed::new(),
        random: RefCell::new(Random::UNSET),
    },
    uplink: Place::Free,
    line: Line::EMPTY,
    lines: [const { Line::EMPTY }; LINKS],
});

/// The relay, before there is a network.
pub struct Relay {
    memory: &'static mut Memory,
    settings: &'static RelaySettings<'static>,
}

impl Relay {
    /// Takes the memory, and says who it is and why it has started; `None` if another relay has it. `boot` counts the starts.
    #[inline(never)]
    pub fn start(
        settings: &'static RelaySettings<'static>,
        kept: Kept,
        boot: u32,
        restarted: &Note,
        random: Random,
    ) -> Option<Self> {
        let memory = MEMORY.try_take()?;
        pool::fill();
        let (name, nodes) = (settings.board.name, settings.nodes.len());
        log::info!("relay {name}, boot {boot}: {nodes} nodes");
        let restart = restarted.restart(boot);
        upstream::say_why(restart);
        *memory.shared.random.get_mut() = random;
        let relay = memory.shared.relayed.get_mut().relay_mut();
        *relay.policy_mut() = Permits::of_nodes(&settings.nodes);
        relay
            .tracks_mut()
            .iter_mut()
            .for_each(|track| track.follow(subject(settings), kept.clone()));
        // Its own and those of its nodes go the same way.
        relay.restarts_mut().pass_on();
        if let Some(restart) = restart {
            relay.restarts_mut().note("", &restart);
        }
        Some(Self { memory, settings })
    }

    /// A number that nobody can foresee.
    pub fn number(&mut self) -> u64 {
        self.memory.shared.random.get_mut().number()
    }

    /// Relays for ever. Nodes are served by a task of their own.
    pub async fn run(
        self,
        spawner: Spawner,
        stack: Stack<'static>,
        key: &'static PresharedKey,
        wanted: &'static [Wanted<'static>; 1],
    ) -> Infallible {
        let Self { memory, settings } = self;
        let Memory {
            shared,
            uplink,
            line,
            lines,
        } = memory;
        let shared = &*shared;
        // There is one relay, so it is spawned once.
        if let Ok(task) = links::task(shared, stack, settings.port, lines) {
            spawner.spawn(task);
        }
        let follow = Follow { shared, settings };
        follow.run(uplink, line, stack, key, wanted).await
    }
}

/// What the relay is about.
fn subject(settings: &RelaySettings<'_>) -> Subject<String<TEXT, u8>> {
    // Texts that are too long match nothing; settings are checked where they are made.
    let text = |text| String::try_from(text).unwrap_or_default();
    let watch = &settings.board.watch;
    Subject {
        resource: text(watch.resource),
        scope: match watch.namespace {
            "" => Scope::Resource,
            namespace => Scope::Namespace(text(namespace)),
        },
    }
}

/// What following the upstream needs.
struct Follow {
    shared: &'static Common,
    settings: &'static RelaySettings<'static>,
}

impl Follow {
    async fn run(
        &self,
        uplink: &mut Place<Up>,
        line: &mut Line<WINDOW, SEND_UP>,
        stack: Stack<'static>,
        key: &'static PresharedKey,
        wanted: &'static [Wanted<'static>; 1],
    ) -> Infallible {
        let board = &self.settings.board;
        let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(10));
        for endpoint in board.upstream.iter().cycle() {
            let seed = self.shared.random.borrow_mut().seed();
            let Some(uplink) = begin(uplink, board, key, wanted, seed) else {
                continue;
            };
            network::up(stack).await;
            let mut socket = TcpSocket::new(stack, &mut line.receive, &mut line.send);
            let began = now();
            let lost = match upstream::dial(&mut socket, endpoint).await {
                Ok(()) => self.link(uplink, &mut socket, endpoint).await,
                Err(lost) => lost,
            };
            log::warn!("link lost: {lost}");
            upstream::hang_up(&mut socket, lost).await;
            self.shared.relayed.borrow_mut().relay_mut().interrupt();
            if uplink.standing(0) == Some(Standing::Live) {
                backoff.worked_for(now().since(began));
            }
            let wait = backoff.wait(self.shared.random.borrow_mut().number() as u32);
            Timer::after_millis(wait.as_millis() as u64).await;
        }
        // Settings name at least one address, so this is not reached.
        core::future::pending().await
    }

    /// One connection, from its beginning to its end.
    async fn link(&self, uplink: &mut Up, io: &mut TcpSocket<'_>, endpoint: &Endpoint) -> Lost {
        let mut open = false;
        let mut said = None;
        loop {
            // What did not fit a whole packet is taken to fit none, so there has to be room for one.
            while links::room(io) >= ON_WIRE {
                match self.send(uplink, io) {
                    Some(true) => {}
                    Some(false) => break,
                    None => return Lost::Network,
                }
            }
            if let Some(ended) = uplink.ended() {
                return Lost::Ended(ended);
            }
            if uplink.is_open() && !core::mem::replace(&mut open, true) {
                upstream::say_open(endpoint);
            }
            self.report(uplink, &mut said);
            let wait = Timer::at(moment(uplink.next_deadline()));
            let read = io.read_with(|bytes| {
                let mut relayed = self.shared.relayed.borrow_mut();
                uplink.receive(relayed.relay_mut().tracks_mut(), bytes, now());
                (bytes.len(), bytes.len())
            });
            match select(read, wait).await {
                Either::First(Ok(0) | Err(_)) => return Lost::Network,
                Either::First(Ok(_)) => self.shared.changed.signal(()),
                // The deadline may be that of a packet for which there was no room.
                Either::Second(()) if links::room(io) < ON_WIRE => {
                    if io.flush().await.is_err() {
                        return Lost::Network;
                    }
                }
                Either::Second(()) => {}
            }
        }
    }

    /// Hands the next packet to the network, in which there is room; whether there was one. `None` if the network is gone.
    fn send(&self, uplink: &mut Up, io: &mut TcpSocket<'_>) -> Option<bool> {
        let mut out = [0; ON_WIRE];
        let mut relayed = self.shared.relayed.borrow_mut();
        let relay = relayed.relay_mut();
        let bytes = uplink.poll_output(relay.tracks_mut(), now(), &mut out);
        let len = match bytes.map(<[u8]>::len) {
            None => uplink
                .report(relay.restarts_mut(), &mut out)
                .map(<[u8]>::len),
            len => len,
        };
        links::hand_over(io, out.get(..len.unwrap_or(0)).unwrap_or_default())
    }

    /// Says where the relay is, whenever that has changed.
    fn report(&self, uplink: &Up, said: &mut Option<Revision>) {
        let standing = uplink.standing(0);
        let relayed = self.shared.relayed.borrow();
        let Some(track) = relayed.relay().tracks().first() else {
            return;
        };
        let revision = track.revision();
        if standing == Some(Standing::Live) && said.replace(revision) != Some(revision) {
            let (objects, digest) = (track.len(), track.digest());
            let all = if track.has_all() {
                ""
            } else {
                ", some missing"
            };
            log::info!("in step at {revision}: {objects} objects, digest {digest}{all}");
        }
        if let Some(Standing::Failed { code, .. }) = standing {
            log::warn!("the watch has failed: {code}");
        }
    }
}

/// A session that is about to say hello, in the place of the one before. Apart, for the stack's sake: a session is long, and is moved there.
#[inline(never)]
fn begin<'u>(
    uplink: &'u mut Place<Up>,
    board: &'static Settings<'static>,
    key: &'static PresharedKey,
    wanted: &'static [Wanted<'static>; 1],
    seed: Seed,
) -> Option<&'u mut Up> {
    let config = Config {
        silence: Duration::from_millis(board.silence.into()),
        ..Config::new(board.name, Security::Sealed(key))
    };
    *uplink = Place::Taken(Uplink::new(config, wanted, [], seed, now()));
    uplink.as_mut()
}

/// What the settings ask of the upstream.
pub fn wanted(settings: &RelaySettings<'static>) -> Wanted<'static> {
    Wanted {
        bookmark_every: BOOKMARKS,
        ..upstream::wanted(&settings.board.watch, "")
    }
}
