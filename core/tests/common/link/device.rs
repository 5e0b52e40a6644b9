//! A node on a line to a hop.

use std::time::Duration;

use ringwatch_core::link::frame::Code;
use ringwatch_core::link::node::{self, Security, View};
use ringwatch_core::link::serve::{self, Admission, LocalWatch};
use ringwatch_core::link::{Ended, PresharedKey, Seed};
use ringwatch_core::time::Instant;

use super::copy::{Checked, Copy, is_part, selected};
use super::kinds::Kind;
use super::world::{Hop, Thing, World};

const KEY: PresharedKey = PresharedKey::new([9; 32]);

type NodeSession = node::Session<'static, 2, 164, 4, 4, Vec<u8>>;
/// The shortest packets that a serving end may take, to have all that nodes say in those.
type ServerSession = serve::Session<LocalWatch<String, 32>, Thing, 2, 132, 8>;

/// A node, the hop that it is connected to, and the bytes between them.
pub(crate) struct Device {
    pub(crate) kind: &'static Kind,
    copies: [Copy; 2],
    connection: Option<Connection>,
    seeds: u8,
}

struct Connection {
    hop: usize,
    node: NodeSession,
    server: ServerSession,
    up: Vec<u8>,
    down: Vec<u8>,
    tampered: bool,
}

/// As many bytes as a slow line holds.
const LINE: usize = 400;

impl Device {
    pub(crate) fn new(kind: &'static Kind) -> Self {
        Self {
            kind,
            copies: [
                Copy::new(&kind.selections[0]),
                Copy::new(&kind.selections[1]),
            ],
            connection: None,
            seeds: 1,
        }
    }

    pub(crate) fn connect(&mut self, hop: usize, now: Instant) {
        let security = match self.kind.sealed {
            true => Security::Sealed(&KEY),
            false => Security::PlainText,
        };
        let config = node::Config {
            framing: self.kind.framing,
            ..node::Config::new("a-node", security)
        };
        let serving = serve::Config {
            framing: self.kind.framing,
            ..serve::Config::default()
        };
        self.seeds = self.seeds.wrapping_add(2) | 1;
        let seed = |more: u8| Seed::new([self.seeds.wrapping_add(more) | 1; 32]);
        self.connection = Some(Connection {
            hop,
            node: NodeSession::new(config, &self.kind.wanted, vec![0; 520], seed(0), now),
            server: ServerSession::new(serving, seed(64), now),
            up: Vec::new(),
            down: Vec::new(),
            tampered: false,
        });
    }

    pub(crate) fn hop(&self) -> Option<usize> {
        self.connection.as_ref().map(|connection| connection.hop)
    }

    /// The connection is gone; the node keeps what it has.
    pub(crate) fn cut(&mut self) {
        self.connection = None;
    }

    /// The node's key is no longer good. How many bytes it is told after that.
    pub(crate) fn revoke(&mut self, hops: &[Hop], now: Instant) -> usize {
        let Some(connection) = &mut self.connection else {
            return 0;
        };
        connection.server.close(Code::Revoked);
        let source = hops[connection.hop].source();
        let mut out = [0; 700];
        let mut told = 0;
        while let Some(bytes) = connection.server.poll_output(&source, now, &mut out) {
            told += bytes.len();
            connection.down.extend(bytes);
        }
        told
    }

    /// The next event of a subscription gets lost in the node.
    pub(crate) fn lose_next(&mut self, sub: usize) {
        self.copies[sub].loses_next = true;
    }

    /// Something on the line changes a byte, upwards or (if `at` is odd) downwards. Whether there was one.
    pub(crate) fn tamper(&mut self, at: usize, bits: u8) -> bool {
        let Some(connection) = &mut self.connection else {
            return false;
        };
        let line = match at % 2 {
            0 => &mut connection.up,
            _ => &mut connection.down,
        };
        let len = line.len();
        if len == 0 || bits == 0 {
            return false;
        }
        line[at / 2 % len] ^= bits;
        connection.tampered = true;
        true
    }

    /// Moves bytes: at most so many up and down. How many went down, or that none moved.
    pub(crate) fn pump(
        &mut self,
        hops: &[Hop],
        world: &World,
        up: usize,
        down: usize,
        now: Instant,
    ) -> Option<usize> {
        let Some(connection) = &mut self.connection else {
            return None;
        };
        let hop = &hops[connection.hop];
        let source = hop.source();
        let access = |name: &str, sealed: bool| match (name, sealed) {
            ("a-node", true) => Admission::Sealed(KEY),
            ("a-node", false) => Admission::Plain,
            _ => Admission::Refused,
        };
        let mut out = [0; 700];
        let mut moved = false;
        {
            let [first, second] = &mut self.copies;
            let mut first = first
                .mirror
                .feed(self.kind.selections[0].decode, &mut first.listener);
            let mut second = second
                .mirror
                .feed(self.kind.selections[1].decode, &mut second.listener);
            let views: [&mut dyn View; 2] = [&mut first, &mut second];
            while connection.up.len() < LINE
                && let Some(bytes) = connection.node.poll_output(&views, now, &mut out)
            {
                connection.up.extend(bytes);
                moved = true;
            }
        }
        let piece: Vec<u8> = connection.up.drain(..up.min(connection.up.len())).collect();
        moved |= !piece.is_empty();
        connection.server.receive(&piece, &access, &source, now);
        while connection.down.len() < LINE
            && let Some(bytes) = connection.server.poll_output(&source, now, &mut out)
        {
            connection.down.extend(bytes);
            moved = true;
        }
        let piece: Vec<u8> = connection
            .down
            .drain(..down.min(connection.down.len()))
            .collect();
        moved |= !piece.is_empty();
        let went_down = piece.len();
        let [first, second] = &mut self.copies;
        let checked = |copy, index: usize| Checked {
            copy,
            selection: &self.kind.selections[index],
            mode: self.kind.wanted[index].mode,
            world,
            hop,
        };
        let mut views: [&mut dyn View; 2] = [&mut checked(first, 0), &mut checked(second, 1)];
        connection.node.receive(&piece, &mut views, now);

        for ended in [connection.node.ended(), connection.server.ended()] {
            let honest = matches!(ended, None | Some(Ended::Here(_) | Ended::ByPeer(_)));
            assert!(honest || connection.tampered, "{ended:?} on an honest line");
        }
        if connection.node.ended().is_some() || connection.server.ended().is_some() {
            self.connection = None;
        }
        moved.then_some(went_down)
    }

    /// Whether each view is what the world is now, as far as the node has room for it.
    pub(crate) fn is_in_step(&self, world: &World) -> bool {
        (0..2).all(|sub| self.has(sub, world))
    }

    /// Whether one view is.
    pub(crate) fn has(&self, sub: usize, world: &World) -> bool {
        let copy = &self.copies[sub];
        let informer = copy.mirror.informer();
        let truth = selected(world, world.newest(), &self.kind.selections[sub]);
        let view = copy.view();
        assert_eq!(view, copy.listener.0, "the handler was told something else");
        let same = match copy.mirror.is_complete() {
            true => view == truth,
            false => is_part(&view, &truth),
        };
        same && informer.has_synced() && informer.revision() == Some(world.newest())
    }

    /// How many events a subscription has seen since it was last in step at a bookmark that began it.
    pub(crate) fn seen_live(&self, sub: usize) -> usize {
        self.copies[sub].live.map_or(0, |(_, count)| count)
    }

    /// Reconnects as often as needed, until the views are in step. The hop must have all of the world.
    pub(crate) fn settle(&mut self, hops: &[Hop], world: &World, hop: usize, now: &mut Instant) {
        for _ in 0..400 {
            if self.connection.is_none() {
                self.connect(hop, *now);
            }
            while self
                .pump(hops, world, usize::MAX, usize::MAX, *now)
                .is_some()
            {}
            if self.is_in_step(world) {
                return;
            }
            *now = *now + Duration::from_secs(1);
        }
        let node = self.connection.as_ref().map(|connection| &connection.node);
        for (sub, copy) in self.copies.iter().enumerate() {
            let standing = node.and_then(|node| node.standing(sub));
            let truth = selected(world, world.newest(), &self.kind.selections[sub]);
            let (informer, complete) = (copy.mirror.informer(), copy.mirror.is_complete());
            println!(
                "{sub}: {standing:?} at {:?}, complete: {complete}",
                informer.revision()
            );
            println!(
                "   has {:?}, should have {truth:?} at {}",
                copy.view(),
                world.newest()
            );
        }
        panic!("not in step");
    }
}
