//! Simulated nodes: the node's end of the link as firmware has it, on Linux, for demos, tests and load.
//!
//! Each node keeps what it watches in the core's informer and goes on where it was after every cut.

mod fields;

use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use ringwatch_core::digest::Digest;
use ringwatch_core::informer::{Handler, Held, Informer, NoIndex};
use ringwatch_core::link::node::{
    Config, Mirror, News, Security, Session, Standing, Told, View, Wanted,
};
use ringwatch_core::link::{Ended, PresharedKey, Seed};
use ringwatch_core::store::Slot;

use crate::clock::Clock;
use crate::engine::{Backoff, Begun};
use crate::wire::Address;

/// The longest packet that a simulated node takes.
const PACKET: usize = 512;

/// What to simulate.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// Where to connect; the next one is tried when one does not answer.
    pub addresses: Vec<Address>,
    /// The nodes' names and keys.
    pub nodes: BTreeMap<String, [u8; 32]>,
    /// What each wants.
    pub wanted: Wanted<'static>,
    /// Places for objects.
    pub objects: usize,
    /// Whether to print what happens.
    pub prints: bool,
    /// Whether to print, for each node, a line whenever it has settled: name, revision, objects and digests,
    /// and how often its watch has begun in which way.
    pub reports: bool,
}

/// What is kept of an object.
type Body = Box<[u8]>;
/// What a node has.
type Copy = Mirror<Box<str>, Body, Box<[Slot<Box<str>, Held<Body>>]>>;

struct Printer {
    node: String,
    prints: bool,
    /// Which fields objects have here; whole objects if empty.
    projection: &'static str,
    events: u64,
}

impl Printer {
    fn print(&mut self, what: &str, key: &str, body: &[u8]) {
        self.events += 1;
        if !self.prints {
            return;
        }
        let node = &self.node;
        match self.projection {
            "" => println!("{node} {what} {key} {}", String::from_utf8_lossy(body)),
            _ if body.is_empty() => println!("{node} {what} {key}"),
            list => {
                let fields = fields::line(list, body);
                let fields = fields
                    .as_deref()
                    .unwrap_or("(not the fields that were asked for)");
                println!("{node} {what} {key} {fields}");
            }
        }
    }
}

impl Handler<Body> for Printer {
    fn on_add(&mut self, key: &str, new: &Body) {
        self.print("added", key, new);
    }
    fn on_update(&mut self, key: &str, _: Option<&Body>, new: &Body) {
        self.print("changed", key, new);
    }
    fn on_delete(&mut self, key: &str, _: &Body) {
        self.print("deleted", key, &[]);
    }
}

/// Runs all of them, until they are dropped.
pub async fn run(simulated: Simulated) {
    let simulated = Rc::new(simulated);
    let mut nodes = tokio::task::JoinSet::new();
    for (index, (name, key)) in simulated.nodes.clone().into_iter().enumerate() {
        nodes.spawn_local(node(simulated.clone(), index, name, PresharedKey::new(key)));
    }
    while nodes.join_next().await.is_some() {}
}

async fn node(simulated: Rc<Simulated>, index: usize, name: String, key: PresharedKey) {
    let clock = Clock::start();
    let slots: Box<[Slot<Box<str>, Held<Body>>]> = std::iter::repeat_with(|| Slot::FREE)
        .take(simulated.objects)
        .collect();
    let mut mirror = Mirror::new(Informer::<Box<str>, Body, _>::new(slots, NoIndex));
    let mut printer = Printer {
        node: name.clone(),
        prints: simulated.prints,
        projection: simulated.wanted.projection,
        events: 0,
    };
    let mut begun = Begun::NONE;
    let wanted = [simulated.wanted];
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
    for address in simulated
        .addresses
        .iter()
        .cycle()
        .skip(index % simulated.addresses.len().max(1))
    {
        let mut seed = [0; 32];
        if getrandom::fill(&mut seed).is_err() {
            return;
        }
        let config = Config {
            silence: Duration::from_secs(20),
            framing: address.framing(),
            ..Config::new(&name, Security::Sealed(&key))
        };
        let mut session = Session::<1, PACKET, 16, 128, Vec<u8>>::new(
            config,
            &wanted,
            vec![0; 64 * 1024],
            Seed::new(seed),
            clock.now(),
        );
        let mut was_live = false;
        let finish: io::Result<Ended> = async {
            let wire = address.connect().await?;
            let mut buffer = [0; 2048];
            let mut out = [0; PACKET + 16];
            let mut reported = None;
            loop {
                let feed = mirror.feed(|body| Some(body.into()), &mut printer);
                let mut feed = Told::new(feed, |news| {
                    if let News::Begins(how) = news {
                        begun.by_upstream(how);
                    }
                });
                let mut views: [&mut dyn View; 1] = [&mut feed];
                while let Some(bytes) = session.poll_output(&views, clock.now(), &mut out) {
                    wire.write_all(bytes).await?;
                }
                if let Some(ended) = session.ended() {
                    return Ok(ended);
                }
                let deadline = clock.at(session.next_deadline());
                tokio::select! {
                    read = wire.read(&mut buffer) => {
                        let len = read?;
                        session.receive(buffer.get(..len).unwrap_or_default(), &mut views, clock.now());
                    }
                    () = tokio::time::sleep_until(deadline) => {}
                }
                let live = session.standing(0) == Some(Standing::Live);
                was_live |= live;
                if simulated.reports
                    && live
                    && let Some(revision) = mirror.informer().revision()
                {
                    let state = (revision, mirror.informer().digest());
                    if reported != Some(state) {
                        reported = Some(state);
                        report(&name, &mirror, printer.events, begun);
                    }
                }
            }
        }
        .await;
        tracing::debug!(node = name, ?finish, "cut off");
        if was_live {
            backoff.reset();
        }
        let mut random = [0; 4];
        let _ = getrandom::fill(&mut random);
        tokio::time::sleep(backoff.wait(u32::from_le_bytes(random))).await;
    }
}

/// One line for whoever compares: name, revision, objects, digest of keys and revisions, digest of keys and contents, events, and how
/// often its watch has begun in which way.
fn report(name: &str, mirror: &Copy, events: u64, begun: Begun) {
    let informer = mirror.informer();
    let revision = informer.revision().unwrap_or_default();
    let (objects, digest) = (informer.len(), informer.digest());
    let values = values(informer.iter().map(|(key, body)| (key, &**body)));
    let Begun {
        snapshots,
        resumed,
        differences,
    } = begun;
    println!(
        "{name} at {revision} objects {objects} digest {digest} values {values} events {events} snapshots {snapshots} resumed {resumed} differences {differences}"
    );
}

/// A digest of keys and what is at them, the same for any order.
pub fn values<'a>(objects: impl Iterator<Item = (&'a str, &'a [u8])>) -> Digest {
    let mut digest = Digest::EMPTY;
    for (key, body) in objects {
        let mut text = key.as_bytes().to_vec();
        text.push(0);
        text.extend_from_slice(body);
        let crc = crc::Crc::<u64>::new(&crc::CRC_64_XZ).checksum(&text);
        digest.add(key, ringwatch_core::revision::Revision::new(crc));
    }
    digest
}
