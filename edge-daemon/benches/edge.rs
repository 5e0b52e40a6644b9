//! What the relay's engine does in a second on one core, without sockets. Run by `cargo xtask bench edge`.
//!
//! Nodes are sealed and projected, and each gets every change as a packet of its own: the dearest case.

use std::time::{Duration, Instant as Wall};

use ringwatch_core::informer::{Handler, Held};
use ringwatch_core::link::frame::Origin;
use ringwatch_core::link::node::{self, Mirror, Security, Standing, View, Wanted, projected};
use ringwatch_core::link::serve::{self, Admission};
use ringwatch_core::link::{PresharedKey, Seed};
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;
use ringwatch_core::transition::EventKind;
use ringwatch_edge::config::Watch;
use ringwatch_edge::engine::{Downlink, Everybody, Heap, KnownNode, Relay, Track};
use ringwatch_edge::hub::track;

const KEY: [u8; 32] = [9; 32];
const OBJECTS: usize = 100;
/// Frames for each line of the table.
const FRAMES: usize = 400_000;

type Open = Everybody<fn(&str, bool) -> Admission>;
type Line = Downlink<Heap, Open, 4, 1024, 32>;
type OneRelay = Relay<Heap, Open, Box<[Track<Heap>]>, Box<[Place<KnownNode>]>>;

#[derive(serde::Deserialize)]
struct Fields(
    #[expect(dead_code)] Option<f32>,
    #[expect(dead_code)] Option<bool>,
);

struct Nobody;
impl Handler<Fields> for Nobody {
    fn on_add(&mut self, _: &str, _: &Fields) {}
    fn on_update(&mut self, _: &str, _: Option<&Fields>, _: &Fields) {}
    fn on_delete(&mut self, _: &str, _: &Fields) {}
}

type Name = heapless::String<32>;
type Copy = Mirror<Name, Fields, Box<[Slot<Name, Held<Fields>>]>>;

fn object(index: usize, revision: u64) -> String {
    let mut text = format!(
        r#"{{"kind":"Device","apiVersion":"example.com/v1","metadata":{{"name":"device-{index}","namespace":"hall","resourceVersion":"{revision}","labels":{{"kind":"heater"}}}},"spec":{{"setpoint":{}.5,"on":true,"note":""#,
        revision % 30
    );
    while text.len() < 1021 {
        text.push('x');
    }
    text + "\"}}"
}

fn relay() -> OneRelay {
    let watch = Watch {
        resource: "devices.example.com".to_owned(),
        namespace: None,
        labels: String::new(),
        fields: String::new(),
        objects: OBJECTS,
        changes: 1000,
        object_bytes: 65_536,
        version: None,
        kind: None,
        columns: Vec::new(),
    };
    let admit: fn(&str, bool) -> Admission = |_, _| Admission::Sealed(PresharedKey::new(KEY));
    let mut relay = OneRelay::new(vec![track(&watch)].into(), Everybody(admit), Box::new([]));
    if let [track] = relay.tracks_mut() {
        track.list_begin(Origin([1; 8]));
        for index in 0..OBJECTS {
            track
                .list_item(object(index, index as u64 + 1).as_bytes())
                .expect("an object");
        }
        track.list_end(Revision::new(1_000), NOW);
    }
    relay
}

const NOW: Instant = Instant::from_millis(1);

/// Brings a node in step, from what it has; the relay's end of its session.
fn connect(relay: &OneRelay, copy: &mut Copy, seed: u64) -> Box<Line> {
    let seed = |end: u8| {
        let mut bytes = [end; 32];
        bytes[..8].copy_from_slice(&(seed + 1).to_le_bytes());
        Seed::new(bytes)
    };
    let mut line = Box::new(Line::begin(serve::Config::default(), seed(1), NOW));
    let key = PresharedKey::new(KEY);
    let wanted = [Wanted {
        projection: "spec.setpoint:f32,spec.on:bool",
        ..Wanted::all("devices.example.com")
    }];
    let config = node::Config::new("node", Security::Sealed(&key));
    let mut session = node::Session::<1, 512, 16, 32>::new(config, &wanted, [], seed(2), NOW);
    let mut nobody = Nobody;
    let mut feed = copy.feed(projected, &mut nobody);
    let mut views: [&mut dyn View; 1] = [&mut feed];
    let mut wire = [0; 1100];
    loop {
        let mut quiet = true;
        while let Some(bytes) = session.poll_output(&views, NOW, &mut wire) {
            line.receive(bytes, relay, relay, NOW);
            quiet = false;
        }
        while let Some(bytes) = line.poll_output(relay, NOW, &mut wire) {
            session.receive(bytes, &mut views, NOW);
            quiet = false;
        }
        if quiet {
            assert_eq!(session.standing(0), Some(Standing::Live));
            return line;
        }
    }
}

fn main() {
    println!(
        "| nodes | frames/s | wanted | bytes upstream per change | bytes downstream per change and node | missed 10 changes: all in step after |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    for nodes in [10, 100, 1_000, 10_000] {
        let mut relay = relay();
        let mut copies: Vec<Copy> = (0..nodes)
            .map(|_| {
                let slots: Box<[_]> = std::iter::repeat_with(|| Slot::FREE)
                    .take(OBJECTS)
                    .collect();
                Copy::new(ringwatch_core::informer::Informer::new(
                    slots,
                    ringwatch_core::informer::NoIndex,
                ))
            })
            .collect();
        let mut lines: Vec<Box<Line>> = Vec::new();
        for (index, copy) in copies.iter_mut().enumerate() {
            lines.push(connect(&relay, copy, index as u64));
        }
        // A cut, ten changes, and all come back.
        let mut revision = 1_000;
        for _ in 0..10 {
            revision += 1;
            change(&mut relay, revision);
        }
        let began = Wall::now();
        for (index, (copy, line)) in copies.iter_mut().zip(&mut lines).enumerate() {
            *line = connect(&relay, copy, (nodes + index) as u64);
        }
        let catch_up = began.elapsed();
        drop(copies);
        let changes = (FRAMES / nodes).clamp(10, 900);
        let (mut frames, mut bytes, mut up) = (0u64, 0u64, 0u64);
        let mut took = Duration::ZERO;
        let mut wire = [0; 1100];
        for _ in 0..changes {
            revision += 1;
            up += change(&mut relay, revision);
            let began = Wall::now();
            for line in &mut lines {
                while let Some(packet) = line.poll_output(&relay, NOW, &mut wire) {
                    frames += 1;
                    bytes += packet.len() as u64;
                }
            }
            took += began.elapsed();
        }
        assert_eq!(frames, (changes * nodes) as u64);
        println!(
            "| {nodes} | {:.0} | 300000 | {} | {} | {} ms |",
            frames as f64 / took.as_secs_f64(),
            up / changes as u64,
            bytes / frames,
            catch_up.as_millis()
        );
    }
}

/// One change from upstream; its bytes.
fn change(relay: &mut OneRelay, revision: u64) -> u64 {
    let json = object(revision as usize % OBJECTS, revision);
    if let [track] = relay.tracks_mut() {
        track
            .event(EventKind::Modified, json.as_bytes(), NOW)
            .expect("an object");
    }
    json.len() as u64
}
