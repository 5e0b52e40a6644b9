//! The relay: one watch upstream, any of 32 nodes behind it, also while the upstream is gone.
//!
//! ```text
//!   server or relay ══ Uplink ──► Track (128 objects, 256 changes) ──► Downlink ══ nodes, 6 at a time
//! ```
//!
//! It is the engine of the Linux program, over arrays. The upstream is asked for some fields of each object, and nodes for fields of
//! those: [`Kept`] says how. Nothing but the count of starts is written to flash, which 50 changes a second would wear
//! out in weeks. After a restart the relay takes a snapshot; nodes have their own cursors, which stay good, and get what differs.

mod links;
pub mod permits;
mod pool;

use core::cell::RefCell;
use core::convert::Infallible;
use core::time::Duration;

use embassy_futures::join::{join, join_array};
use embassy_futures::select::{Either, select};
use embassy_net::Stack;
use embassy_net::tcp::TcpSocket;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::watch::Watch as Bell;
use embassy_time::Timer;
use embedded_io_async::{Read, Write};
use embedded_storage_async::nor_flash::NorFlash;
use heapless::String;
use ringwatch_core::history;
use ringwatch_core::link::PresharedKey;
use ringwatch_core::link::node::{Config, Security, Standing, Wanted};
use ringwatch_core::link::serve::Reported;
use ringwatch_core::object::Change;
use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::Revision;
use ringwatch_core::room::InPlace;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Slot;
use ringwatch_edge::engine::{Backoff, Kept, Object, Resources, Shape, Subject, Track, Uplink};
use ringwatch_settings::{Endpoint, RelaySettings};

use crate::clock::{moment, now};
use crate::keep::Keep;
use crate::network;
use crate::random::Random;
use crate::restart::Note;
use crate::upstream::{self, Lost};
use links::Line;
use permits::Permits;
use pool::Shared;

/// Nodes that are known.
pub const NODES: usize = ringwatch_settings::MAX_NODES;
/// Nodes that are connected at once.
pub const LINKS: usize = 6;
/// Objects.
pub const OBJECTS: usize = 128;
/// The longest object, with its key and labels.
pub const BYTES: usize = 128;
/// Changes that a node may be behind by without comparing.
pub const EVENTS: usize = 256;
/// Restarts of nodes, and its own, that are known and perhaps not yet passed on.
const RESTARTS: usize = 4;
/// Changes that may come in at once without nodes having to compare.
const PENDING: usize = 24;
/// The longest key.
const KEY: usize = 48;
/// The longest name or selector of a node's request.
const TEXT: usize = 48;
/// The longest packet, in both directions.
const PACKET: usize = 512;
/// Subscriptions of one node.
const SUBS: usize = 1;
/// Keys that are sent to a node only once.
const KEYS: usize = 16;
/// Keys that the upstream sends only once.
const KEYS_UP: usize = 32;
/// How often to be told by the upstream that all is well.
const BOOKMARKS: Duration = Duration::from_secs(5);
/// What TCP may have on its way from upstream.
const WINDOW: usize = 2048;

/// The storage, in arrays.
#[derive(Debug)]
pub struct Small;

impl Shape for Small {
    type Bytes = Shared;
    type Key = String<KEY>;
    type Text = String<TEXT>;
    type Room = InPlace;
    type Objects = [Slot<Self::Key, Object<Shared>>; OBJECTS];
    type Changes = [Place<history::Entry<Change<Object<Shared>>>>; EVENTS];
    type Pending = [Place<Change<Object<Shared>>>; PENDING];
    type Restarts = [Place<Reported>; RESTARTS];
    const NO_RESTARTS: Self::Restarts = [const { Place::Free }; RESTARTS];
}

type Relayed = Resources<Small, Permits, 1, NODES, LINKS, SUBS, PACKET, KEYS>;
type Up = Uplink<'static, 1, PACKET, KEYS_UP, KEY, [u8; 0]>;
/// Rings when nodes may have something to be sent.
type Changed = Bell<NoopRawMutex, (), LINKS>;

/// Everything that the relay needs, apart from the network stack: a static of the board's.
pub struct Memory<F: NorFlash> {
    keep: Keep<F, 0>,
    relayed: RefCell<Relayed>,
    uplink: Option<Up>,
    line: Line<WINDOW, PACKET>,
    lines: [Line<PACKET, { PACKET + PACKET / 2 }>; LINKS],
    settings: &'static RelaySettings<'static>,
}

impl<F: NorFlash> Memory<F> {
    /// A relay that knows nothing yet, and this flash, of at least two pages.
    pub fn new(flash: F, settings: &'static RelaySettings<'static>, kept: Kept) -> Self {
        // Texts that are too long match nothing; settings are checked where they are made.
        let text = |text| String::try_from(text).unwrap_or_default();
        let watch = &settings.board.watch;
        let subject = Subject {
            resource: text(watch.resource),
            scope: match watch.namespace {
                "" => Scope::Resource,
                namespace => Scope::Namespace(text(namespace)),
            },
        };
        let track = Track::new(
            subject,
            [const { Slot::FREE }; OBJECTS],
            [const { Place::Free }; EVENTS],
            [const { Place::Free }; PENDING],
        );
        Self {
            keep: Keep::new(flash),
            relayed: RefCell::new(Resources::new(
                [track.keeping(kept)],
                Permits(&settings.nodes),
            )),
            uplink: None,
            line: Line::EMPTY,
            lines: [const { Line::EMPTY }; LINKS],
            settings,
        }
    }

    /// Counts the start; its number comes back.
    pub async fn start(&mut self, restarted: &Note) -> u32 {
        let boot = self.keep.count().await;
        let Self { settings, .. } = self;
        let (name, nodes) = (settings.board.name, settings.nodes.len());
        log::info!("relay {name}, boot {boot}: {nodes} nodes");
        let restart = restarted.restart(boot);
        upstream::say_why(restart);
        // Its own and those of its nodes go the same way.
        let restarts = self.relayed.get_mut().relay_mut().restarts_mut();
        restarts.pass_on();
        if let Some(restart) = restart {
            restarts.note("", &restart);
        }
        boot
    }

    /// Relays for ever.
    pub async fn run(
        &mut self,
        stack: Stack<'static>,
        key: &'static PresharedKey,
        wanted: &'static [Wanted<'static>; 1],
        random: Random,
    ) -> Infallible {
        let random = RefCell::new(random);
        let changed = Changed::new();
        let Self {
            relayed, settings, ..
        } = self;
        let relayed = &*relayed;
        let mut number = 0;
        let links = self.lines.each_mut().map(|line| {
            let link = number;
            number += 1;
            let port = settings.port;
            let (random, changed) = (&random, &changed);
            async move { links::serve(relayed, link, stack, port, line, random, changed).await }
        });
        let follow = Follow {
            relayed,
            settings,
            changed: &changed,
            random: &random,
        };
        let follow = follow.run(&mut self.uplink, &mut self.line, stack, key, wanted);
        let (never, _) = join(follow, join_array(links)).await;
        never
    }
}

/// What following the upstream needs.
struct Follow<'a> {
    relayed: &'a RefCell<Relayed>,
    settings: &'static RelaySettings<'static>,
    changed: &'a Changed,
    random: &'a RefCell<Random>,
}

impl Follow<'_> {
    async fn run(
        &self,
        uplink: &mut Option<Up>,
        line: &mut Line<WINDOW, PACKET>,
        stack: Stack<'static>,
        key: &'static PresharedKey,
        wanted: &'static [Wanted<'static>; 1],
    ) -> Infallible {
        let board = &self.settings.board;
        let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(10));
        for endpoint in board.upstream.iter().cycle() {
            let config = Config {
                silence: Duration::from_millis(board.silence.into()),
                ..Config::new(board.name, Security::Sealed(key))
            };
            let seed = self.random.borrow_mut().seed();
            let uplink = uplink.insert(Uplink::new(config, wanted, [], seed, now()));
            network::up(stack).await;
            let Line {
                receive,
                send,
                read,
                out,
            } = line;
            let mut socket = TcpSocket::new(stack, receive, send);
            let lost = match upstream::dial(&mut socket, endpoint).await {
                Ok(()) => self.link(uplink, &mut socket, endpoint, read, out).await,
                Err(lost) => lost,
            };
            log::warn!("link lost: {lost}");
            upstream::hang_up(&mut socket, lost).await;
            self.relayed.borrow_mut().relay_mut().interrupt();
            if uplink.standing(0) == Some(Standing::Live) {
                backoff.reset();
            }
            let wait = backoff.wait(self.random.borrow_mut().number() as u32);
            Timer::after_millis(wait.as_millis() as u64).await;
        }
        // Settings name at least one address, so this is not reached.
        core::future::pending().await
    }

    /// One connection, from its beginning to its end.
    async fn link(
        &self,
        uplink: &mut Up,
        io: &mut (impl Read + Write),
        endpoint: &Endpoint,
        read: &mut [u8],
        out: &mut [u8],
    ) -> Lost {
        let mut open = false;
        let mut said = None;
        loop {
            loop {
                let len = {
                    let mut relayed = self.relayed.borrow_mut();
                    let relay = relayed.relay_mut();
                    let bytes = uplink.poll_output(relay.tracks_mut(), now(), out);
                    match bytes.map(<[u8]>::len) {
                        None => uplink.report(relay.restarts_mut(), out).map(<[u8]>::len),
                        len => len,
                    }
                };
                let Some(bytes) = len.and_then(|len| out.get(..len)) else {
                    break;
                };
                if io.write_all(bytes).await.is_err() {
                    return Lost::Network;
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
            match select(io.read(read), wait).await {
                Either::First(Ok(0) | Err(_)) => return Lost::Network,
                Either::First(Ok(len)) => {
                    let bytes = read.get(..len).unwrap_or_default();
                    let mut relayed = self.relayed.borrow_mut();
                    uplink.receive(relayed.relay_mut().tracks_mut(), bytes, now());
                    self.changed.sender().send(());
                }
                Either::Second(()) => {}
            }
        }
    }

    /// Says where the relay is, whenever that has changed.
    fn report(&self, uplink: &Up, said: &mut Option<Revision>) {
        let standing = uplink.standing(0);
        let relayed = self.relayed.borrow();
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

/// What the settings ask of the upstream.
pub fn wanted(settings: &RelaySettings<'static>) -> Wanted<'static> {
    Wanted {
        bookmark_every: BOOKMARKS,
        ..upstream::wanted(&settings.board.watch, "")
    }
}
