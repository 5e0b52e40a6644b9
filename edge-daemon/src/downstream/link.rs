//! Nodes: a listener, and a session on each connection; or a session after the other on a [serial line](super::serial).
//!
//! What a node costs while nothing happens is its session, its subscriptions and a socket: bytes are read into and written from buffers that all share, a
//! packet takes memory only while it comes or goes, and only what a slow node does not take is kept for it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use ringwatch_core::link::frame::{Code, Restart};
use ringwatch_core::link::serve::{Config, Reported, Session};
use ringwatch_core::link::{Ended, Framing, Seed};
use ringwatch_core::revision::Revision;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use super::serial::Resync;
use crate::engine::{Downlink, Heap, Object, Shape, Watch};
use crate::hub::Hub;
use crate::metrics::{add, take};
use crate::policy::Rules;
use crate::wire::Wire;

/// Subscriptions of one node.
const SUBSCRIPTIONS: usize = 4;
/// The longest packet, in both directions.
const PACKET: usize = 1024;
/// Keys that are sent only once.
const KEYS: usize = 32;
/// How long a node may be silent; after half of that it is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(20);
/// How long a node may take none of what is written to it.
const STUCK: Duration = Duration::from_secs(60);
/// Bytes that are written in one go; of a node that takes none of them so many are kept.
pub const OUT: usize = 4096;
/// How often that is done before others run.
const BURST: usize = 16;
/// How long sessions may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(3);

/// The session with a node.
pub type NodeSession = Downlink<Heap, Rules, SUBSCRIPTIONS, PACKET, KEYS>;

/// The same in one value, with all that it may ever have.
pub type WholeSession =
    Session<Watch<Heap, Rules>, Object<<Heap as Shape>::Bytes>, SUBSCRIPTIONS, PACKET, KEYS>;

/// A node that is connected, as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    /// Its name.
    pub node: String,
    /// Up to where it was given everything.
    pub revision: Option<Revision>,
}

/// Who is connected, for whoever asks.
pub type Present = Rc<RefCell<Vec<Rc<RefCell<Connected>>>>>;

/// Who has connected and not yet proved who it is, the oldest first.
#[derive(Default)]
struct Strangers(VecDeque<(Rc<Cell<bool>>, AbortHandle)>);

impl Strangers {
    fn add(&mut self, known: Rc<Cell<bool>>, task: AbortHandle) {
        self.0
            .retain(|(known, task)| !known.get() && !task.is_finished());
        self.0.push_back((known, task));
    }

    /// Sends the oldest away, if there is one: a node needs a moment to prove itself, and whoever needs longer makes room.
    fn evict(&mut self) -> bool {
        while let Some((known, task)) = self.0.pop_front() {
            if !known.get() && !task.is_finished() {
                task.abort();
                return true;
            }
        }
        false
    }
}

/// Serves nodes until it is time to stop and they have been told. At most `connections` at once: then the stranger that has been here longest
/// has to go, or, if all are nodes, who comes.
pub async fn serve(hub: Rc<Hub>, listener: TcpListener, connections: usize, present: Present) {
    let mut sessions = JoinSet::new();
    let mut strangers = Strangers::default();
    loop {
        let accepted = tokio::select! {
            () = hub.stopped() => break,
            // Their results are nothing; taken so that they do not pile up.
            Some(_) = sessions.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                while sessions.try_join_next().is_some() {}
                if sessions.len() >= connections {
                    hub.metrics.closed("link", "limit");
                    if !strangers.evict() {
                        tracing::warn!(%peer, "too many nodes; refusing more");
                        continue;
                    }
                }
                let known = Rc::new(Cell::new(false));
                let (hub, present, own) = (hub.clone(), present.clone(), known.clone());
                let line = async move {
                    // Events are small and wanted at once. If the peer is gone already, reading will tell.
                    let _ = stream.set_nodelay(true);
                    let wire = Wire::Tcp(stream);
                    // How it ended is counted.
                    let _ = session(&hub, &wire, &peer, &present, own, Resync::default()).await;
                };
                strangers.add(known, sessions.spawn_local(line));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a node");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    let all = async { while sessions.join_next().await.is_some() {} };
    if tokio::time::timeout(GOODBYE, all).await.is_err() {
        tracing::warn!("nodes cut off without a goodbye");
    }
}

/// One session on a wire, to its end. On a serial line, what has come there already is `heard`, and what is left for the next one is returned.
pub(super) async fn session(
    hub: &Rc<Hub>,
    wire: &Wire,
    peer: &dyn fmt::Display,
    present: &Present,
    known: Rc<Cell<bool>>,
    heard: Resync,
) -> (io::Result<Ended>, Resync) {
    let mut seed = [0; 32];
    if let Err(error) = getrandom::fill(&mut seed) {
        tracing::error!(%error, "no random bytes; a node is turned away");
        return (Err(io::ErrorKind::Other.into()), heard);
    }
    add(&hub.metrics.sessions, 1);
    let config = Config {
        silence: SILENCE,
        framing: wire.framing(),
        ..Config::default()
    };
    let mut line = Line {
        hub,
        wire,
        session: Box::new(Session::begin(config, Seed::new(seed), hub.clock.now())),
        left: Vec::new(),
        key: None,
        here: None,
        known,
        present,
        heard,
    };
    let finish = line.run().await;
    line.leave();
    let listener = match wire.framing() {
        Framing::Stream => "link",
        Framing::Serial => "serial",
    };
    hub.metrics
        .closed(listener, reason(&finish, line.known.get()));
    let node = line.session.node().unwrap_or("?");
    match &finish {
        Ok(ended) => tracing::debug!(%peer, node, ?ended, "node link ended"),
        Err(error) => tracing::debug!(%peer, node, %error, "node link cut"),
    }
    (finish, line.heard)
}

fn say_restarted(reported: &Reported) {
    let Restart {
        node,
        boot,
        cause,
        detail,
    } = reported.restart();
    tracing::warn!(node, boot, %cause, detail, "a node has restarted");
}

/// Why a session is over, in a word.
fn reason(finish: &io::Result<Ended>, known: bool) -> &'static str {
    match finish {
        Ok(Ended::Wire(_) | Ended::Here(Code::Protocol)) => "malformed",
        Ok(Ended::Forged) => "forged",
        Ok(Ended::Refused(_) | Ended::Here(Code::Refused | Code::Version)) => "refused",
        Ok(Ended::ByPeer(_)) => "goodbye",
        Ok(Ended::Here(_)) if !known => "no-handshake",
        Ok(Ended::Here(_)) => "ended-here",
        Err(error) if error.kind() == io::ErrorKind::TimedOut => "stuck",
        Err(_) => "cut",
    }
}

/// A session and the wire it is on.
struct Line<'a> {
    hub: &'a Rc<Hub>,
    wire: &'a Wire,
    session: Box<NodeSession>,
    /// What a slow node has not taken yet.
    left: Vec<u8>,
    /// With which key it came in.
    key: Option<[u8; 32]>,
    here: Option<Rc<RefCell<Connected>>>,
    /// Whether it has proved who it is.
    known: Rc<Cell<bool>>,
    present: &'a Present,
    /// On a serial line: what has come.
    heard: Resync,
}

impl Line<'_> {
    /// Moves bytes both ways until the session has ended.
    async fn run(&mut self) -> io::Result<Ended> {
        let hub = self.hub;
        self.receive(&[]);
        let mut told = false;
        loop {
            let changed = hub.changed.notified();
            if hub.is_stopping() && !told {
                told = true;
                self.session.close(Code::ShuttingDown);
            }
            self.check_key();
            while self.write()? {
                tokio::task::yield_now().await;
            }
            if !self.left.is_empty() {
                match tokio::time::timeout(STUCK, self.wire.writable()).await {
                    Ok(writable) => writable?,
                    Err(_) => return Err(io::ErrorKind::TimedOut.into()),
                }
                continue;
            }
            if let Some(ended) = self.session.ended() {
                return Ok(ended);
            }
            self.note();
            let deadline = hub.clock.at(self.session.next_deadline());
            tokio::select! {
                readable = self.wire.readable() => {
                    readable?;
                    self.read()?;
                }
                () = changed => {}
                () = hub.stopped(), if !told => {}
                () = tokio::time::sleep_until(deadline) => {}
            }
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 2048];
        match self.wire.try_read(&mut buffer) {
            Ok(len) => {
                self.receive(buffer.get(..len).unwrap_or_default());
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        let relay = self.hub.relay.borrow();
        let now = self.hub.clock.now();
        let before = relay.restarts().count();
        match self.wire.framing() {
            Framing::Stream => self.session.receive(bytes, &*relay, &*relay, now),
            Framing::Serial => {
                let session = &mut self.session;
                self.heard.each(bytes, |packet| {
                    session.receive(packet, &*relay, &*relay, now);
                    session.ended()
                });
            }
        }
        let restarts = relay.restarts();
        if restarts.count() != before {
            restarts.since(before).for_each(say_restarted);
            // They are to be passed on and saved.
            self.hub.changed.notify_waiters();
        }
    }

    /// Writes what there is; whether there is more than it is this one's turn to write.
    fn write(&mut self) -> io::Result<bool> {
        if !self.left.is_empty() {
            let written = match self.wire.try_write(&self.left) {
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            };
            self.left.drain(..written);
            if !self.left.is_empty() {
                return Ok(false);
            }
            self.left = Vec::new();
        }
        let relay = self.hub.relay.borrow();
        let metrics = &self.hub.metrics;
        let mut out = [0; OUT];
        for _ in 0..BURST {
            // Packets that are ready leave together.
            let (mut len, mut more) = (0, true);
            while more && OUT - len >= PACKET + 16 {
                let room = out.get_mut(len..).unwrap_or_default();
                let packet = self
                    .session
                    .poll_output(&*relay, self.hub.clock.now(), room);
                more = packet.is_some();
                len += packet.map_or(0, <[u8]>::len);
                add(&metrics.packets, u64::from(more));
            }
            let bytes = out.get(..len).unwrap_or_default();
            if bytes.is_empty() {
                return Ok(false);
            }
            add(&metrics.bytes_down, len as u64);
            let written = match self.wire.try_write(bytes) {
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error),
            };
            if let Some(left) = bytes.get(written..).filter(|left| !left.is_empty()) {
                self.left = left.to_vec();
                return Ok(false);
            }
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A node whose key has changed has to come in anew.
    fn check_key(&mut self) {
        let name = self.session.name();
        if name.is_empty() {
            return;
        }
        let key = self.hub.relay.borrow().policy().key(name);
        match (self.key, key) {
            (None, key) => self.key = key,
            (Some(before), Some(now)) if before == now => {}
            _ => self.session.close(Code::Revoked),
        }
    }

    /// Lets others know who is here and how far.
    fn note(&mut self) {
        let relay = self.hub.relay.borrow();
        let watches = (0..SUBSCRIPTIONS as u8).filter_map(|sub| self.session.watch(sub));
        let revision = watches.filter_map(|watch| watch.position(&*relay)).min();
        match (&self.here, self.session.node()) {
            (Some(here), _) => here.borrow_mut().revision = revision,
            (None, Some(node)) => {
                let node = node.to_owned();
                let here = Rc::new(RefCell::new(Connected { node, revision }));
                self.present.borrow_mut().push(here.clone());
                self.here = Some(here);
                self.known.set(true);
                add(&self.hub.metrics.nodes, 1);
            }
            (None, None) => {}
        }
    }

    /// It is gone; what is kept is how far it had come.
    fn leave(&mut self) {
        let Some(here) = self.here.take() else { return };
        take(&self.hub.metrics.nodes, 1);
        self.present
            .borrow_mut()
            .retain(|other| !Rc::ptr_eq(other, &here));
        let Connected { node, revision } = &*here.borrow();
        if let Some(revision) = revision {
            let now = self.hub.clock.now();
            self.hub.relay.borrow_mut().note(node, *revision, now);
        }
    }
}
