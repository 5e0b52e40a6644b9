//! A thousand relays that lose their upstream at one moment: they come back spread out, and each goes on where it was.
//!
//! Sessions, tracks and waits are those of the program; the network and the time are not. The serving end takes in few at once, as a
//! real one does, so a thousand that come together are mostly turned away.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use ringwatch_core::link::frame::{Control, Frame, How};
use ringwatch_core::link::node::{Config, Security, Wanted};
use ringwatch_core::link::serve;
use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;
use ringwatch_core::transition::EventKind;
use ringwatch_edge::engine::{Backoff, Downlink, Heap, KnownNode, Relay, Subject, Track, Uplink};

use crate::world::{Dice, Lamp, ORIGIN, Open, RESOURCE, json, open};

const RELAYS: usize = 1_000;
const OBJECTS: u64 = 12;
/// What the serving end remembers.
const CHANGES: usize = 64;
const SLICE: Duration = Duration::from_millis(100);
/// How many the serving end takes in during one slice.
const HANDSHAKES: usize = 50;
/// Something changes this often.
const EVERY: Duration = Duration::from_secs(1);
/// The program's, as in `upstream.rs`.
const WAITS: Backoff = Backoff::new(Duration::from_millis(200), LONGEST);
const LONGEST: Duration = Duration::from_secs(30);
const WANTED: [Wanted<'static>; 1] = [Wanted::all(RESOURCE)];

type Serving = Relay<Heap, Open, [Track<Heap>; 1], [Place<KnownNode>; 4]>;

fn track(changes: usize) -> Track<Heap> {
    let subject = Subject {
        resource: RESOURCE.into(),
        scope: Scope::Resource,
    };
    let objects = std::iter::repeat_with(|| Slot::FREE).take(16);
    let changes = std::iter::repeat_with(|| Place::Free).take(changes);
    let pending = std::iter::repeat_with(|| Place::Free).take(4);
    Track::new(
        subject,
        objects.collect(),
        changes.collect(),
        pending.collect(),
    )
}

/// Both ends of one connection.
struct Connection {
    up: Uplink<'static, 1, 512, 4, 32, Vec<u8>>,
    down: Downlink<Heap, Open, 2, 512, 4>,
}

impl Connection {
    fn new(dice: &mut Dice, now: Instant) -> Self {
        let config = Config::new("relay", Security::PlainText);
        let up = Uplink::new(config, &WANTED, vec![0; 300], dice.seed(), now);
        let down = Downlink::begin(serve::Config::default(), dice.seed(), now);
        Self { up, down }
    }

    /// Moves bytes until there are none; what they said.
    fn pump(&mut self, serving: &Serving, track: &mut Track<Heap>, now: Instant) -> Said {
        let tracks = std::slice::from_mut(track);
        let mut said = Said::default();
        let mut wire = [0; 600];
        loop {
            let mut quiet = true;
            while let Some(bytes) = self.up.poll_output(tracks, now, &mut wire) {
                quiet = false;
                self.down.receive(bytes, serving, serving, now);
            }
            while let Some(bytes) = self.down.poll_output(serving, now, &mut wire) {
                quiet = false;
                // What comes before it is open is no frame.
                if self.up.is_open() {
                    said.read(bytes);
                }
                self.up.receive(tracks, bytes, now);
            }
            assert_eq!((self.up.ended(), self.down.ended()), (None, None));
            if quiet {
                return said;
            }
        }
    }
}

/// What the serving end has sent.
#[derive(Debug, Default)]
struct Said {
    starts: Vec<How>,
    events: usize,
    /// Asked what the relay has, said what stays of it, or ended a list: all of it part of a relist.
    relisting: usize,
}

impl Said {
    /// Reads whole packets: each with its length before it, and in plain text.
    fn read(&mut self, mut bytes: &[u8]) {
        while let Some((length, rest)) = bytes.split_first_chunk() {
            let (mut packet, rest) = rest.split_at(u16::from_le_bytes(*length).into());
            while !packet.is_empty() {
                let (frame, more) = Frame::decode(packet).unwrap();
                match frame {
                    Frame::Event(_) => self.events += 1,
                    Frame::Control(Control::Started { how, .. }) => self.starts.push(how),
                    Frame::Control(
                        Control::Compare { .. }
                        | Control::Kept { .. }
                        | Control::Bookmark {
                            ends_snapshot: true,
                            ..
                        },
                    ) => self.relisting += 1,
                    Frame::Control(_) => {}
                }
                packet = more;
            }
            bytes = rest;
        }
    }
}

struct Follower {
    track: Track<Heap>,
    connection: Option<Connection>,
    waits: Backoff,
}

/// What was seen of a cut.
struct Seen {
    /// How many came to the serving end in each slice since it answers again, with those that were turned away.
    arrivals: Vec<usize>,
    refused: usize,
    /// How long until the last was back, since the serving end answers again.
    took: Duration,
}

impl Seen {
    /// Somebody comes; whether there is room.
    fn arrives(&mut self, at: Duration) -> bool {
        let slice = (at.as_millis() / SLICE.as_millis()) as usize;
        self.arrivals.resize(self.arrivals.len().max(slice + 1), 0);
        self.arrivals[slice] += 1;
        let room = self.arrivals[slice] <= HANDSHAKES;
        self.refused += usize::from(!room);
        room
    }

    /// The most that came in one slice, from some time on.
    fn most(&self, from: Duration) -> usize {
        let slices = (from.as_millis() / SLICE.as_millis()) as usize;
        let arrivals = self.arrivals.iter().skip(slices);
        arrivals.copied().max().unwrap_or(0)
    }
}

struct Site {
    now: Instant,
    dice: Dice,
    serving: Serving,
    revision: u64,
    followers: Vec<Follower>,
}

impl Site {
    /// All are there and in step.
    fn new(seed: u64) -> Self {
        let mut site = Self {
            now: Instant::from_millis(1_000),
            dice: Dice::new(seed),
            serving: Relay::new([track(CHANGES)], open(), [Place::Free; 4]),
            revision: 10,
            followers: Vec::new(),
        };
        let now = site.now;
        site.serving.tracks_mut()[0].list_begin(ORIGIN);
        site.serving.tracks_mut()[0].list_end(Revision::new(site.revision), now);
        for _ in 0..OBJECTS {
            site.change();
        }
        for _ in 0..RELAYS {
            let mut follower = Follower {
                track: track(8),
                connection: None,
                waits: WAITS,
            };
            let mut connection = Connection::new(&mut site.dice, now);
            let said = connection.pump(&site.serving, &mut follower.track, now);
            // So a relist would be noticed.
            assert_eq!(said.starts, [How::Snapshot]);
            assert_eq!(
                (said.events as u64, said.relisting),
                (OBJECTS, 1),
                "{said:?}"
            );
            follower.connection = Some(connection);
            site.followers.push(follower);
        }
        site
    }

    /// The next of the objects is another, or there at all.
    fn change(&mut self) {
        self.revision += 1;
        let lamp = Lamp {
            revision: self.revision,
            light: true,
            level: 1,
        };
        let json = json(&format!("hall/{}", self.revision % OBJECTS), &lamp);
        let track = &mut self.serving.tracks_mut()[0];
        let kind = EventKind::Modified;
        track.event(kind, json.as_bytes(), self.now).unwrap();
    }

    /// Cuts everybody off at once. Nobody answers during the outage, and changes go on until all are back.
    fn cut(&mut self, outage: Duration) -> Seen {
        let (began, from) = (self.now, self.revision);
        let answers = began + outage;
        let mut attempts = BinaryHeap::new();
        for (index, follower) in self.followers.iter_mut().enumerate() {
            follower.connection = None;
            follower.track.interrupt();
            follower.waits.reset();
            let wait = follower.waits.wait(self.dice.below(1 << 32) as u32);
            attempts.push(Reverse((began + wait, index)));
        }
        let mut seen = Seen {
            arrivals: Vec::new(),
            refused: 0,
            took: Duration::ZERO,
        };
        let mut next_change = began + EVERY;
        while let Some(Reverse((at, index))) = attempts.pop() {
            while next_change <= at {
                self.now = next_change;
                self.change();
                next_change = next_change + EVERY;
            }
            self.now = at;
            let follower = &mut self.followers[index];
            let accepted = at >= answers && seen.arrives(at.since(answers));
            if !accepted {
                let wait = follower.waits.wait(self.dice.below(1 << 32) as u32);
                attempts.push(Reverse((at + wait, index)));
                continue;
            }
            let missed = self.revision - from;
            assert!(
                missed < CHANGES as u64,
                "relay {index} is back after {missed} changes only"
            );
            let mut connection = Connection::new(&mut self.dice, at);
            let said = connection.pump(&self.serving, &mut follower.track, at);
            assert_eq!(said.starts, [How::Resumed], "relay {index}");
            assert_eq!(
                (said.events as u64, said.relisting),
                (missed, 0),
                "relay {index}: {said:?}"
            );
            follower.connection = Some(connection);
            seen.took = at.since(answers);
        }
        // Those who were back early hear of the rest as well.
        for (index, follower) in self.followers.iter_mut().enumerate() {
            let connection = follower.connection.as_mut().unwrap();
            let said = connection.pump(&self.serving, &mut follower.track, self.now);
            assert_eq!(
                (said.starts.len(), said.relisting),
                (0, 0),
                "relay {index}: {said:?}"
            );
            let origin = &self.serving.tracks()[0];
            assert_eq!(follower.track.revision(), origin.revision());
            assert_eq!(follower.track.digest(), origin.digest(), "relay {index}");
        }
        seen
    }
}

#[test]
fn a_thousand_that_were_cut_off_at_once_come_back_spread_out_and_without_a_list() {
    let mut site = Site::new(1);
    // Nobody answers for a while: by then the waits are long, so they come one by one, and nobody is turned away.
    let seen = site.cut(Duration::from_secs(10));
    assert!(
        seen.most(Duration::ZERO) <= RELAYS * 3 / 100,
        "{:?}",
        seen.arrivals
    );
    assert_eq!(seen.refused, 0);
    assert!(seen.took <= LONGEST, "{:?}", seen.took);
    // The serving end is there again at once: more come at first than it takes in, and they step back until it can.
    let seen = site.cut(Duration::ZERO);
    assert!(seen.refused > 0);
    assert!(
        seen.most(Duration::from_secs(1)) <= RELAYS * 15 / 100,
        "{:?}",
        seen.arrivals
    );
    assert!(seen.took <= Duration::from_secs(10), "{:?}", seen.took);
}
