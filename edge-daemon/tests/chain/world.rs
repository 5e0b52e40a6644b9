//! A little world in one thread: an origin that remembers every state, hops that relay it, and devices that watch.

use std::collections::BTreeMap;
use std::time::Duration;

use ringwatch_core::informer::Handler;
use ringwatch_core::link::frame::{Code, Origin};
use ringwatch_core::link::node::{self, Mirror, Security, Standing, View, Wanted, projected};
use ringwatch_core::link::serve::{self, Admission};
use ringwatch_core::link::{Ended, Seed};
use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;
use ringwatch_core::transition::EventKind;
use ringwatch_edge::engine::{Everybody, Fixed, Resources, Subject, Track, Uplink, image};

pub(crate) const RESOURCE: &str = "lamps.example.com";
pub(crate) const ORIGIN: Origin = Origin([7; 8]);
pub(crate) const LINKS: usize = 7;

/// Sixteen objects, eight changes, four of them pending at once: small, so that everything overflows.
pub(crate) type Small = Fixed<16, 256, 32, 8, 4, 32>;
pub(crate) type Open = Everybody<fn(&str, bool) -> Admission>;
pub(crate) type Relay = Resources<Small, Open, 1, 4, LINKS, 2, 512, 4>;
type Up = Uplink<'static, 1, 512, 4, 32, Vec<u8>>;

pub(crate) fn open() -> Open {
    Everybody(|_, _| Admission::Plain)
}

pub(crate) fn track() -> Track<Small> {
    let subject = Subject {
        resource: RESOURCE.try_into().unwrap(),
        scope: Scope::Resource,
    };
    Track::array(subject)
}

/// Random enough, and the same for each seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    pub(crate) fn seed(&mut self) -> Seed {
        Seed::new(core::array::from_fn(|_| self.below(255) as u8 + 1))
    }
}

/// What an object was like: whether it is a light, and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lamp {
    pub(crate) revision: u64,
    pub(crate) light: bool,
    pub(crate) level: u32,
}

pub(crate) type State = BTreeMap<String, Lamp>;

pub(crate) fn json(key: &str, lamp: &Lamp) -> String {
    let (namespace, name) = key.split_once('/').unwrap();
    let kind = if lamp.light { "light" } else { "heat" };
    format!(
        r#"{{"kind":"Lamp","metadata":{{"name":"{name}","namespace":"{namespace}","resourceVersion":"{}","labels":{{"kind":"{kind}"}}}},"spec":{{"level":{}}}}}"#,
        lamp.revision, lamp.level
    )
}

/// A hop: what it relays, its session upstream, and its disk.
pub(crate) struct Hop {
    pub(crate) relay: Relay,
    up: Option<Up>,
    pub(crate) disk: Vec<u8>,
    written: Option<image::Written>,
}

impl Hop {
    pub(crate) fn new() -> Self {
        Self {
            relay: Relay::new([track()], open()),
            up: None,
            disk: Vec::new(),
            written: None,
        }
    }

    pub(crate) fn track(&self) -> &Track<Small> {
        &self.relay.relay().tracks()[0]
    }

    pub(crate) fn track_mut(&mut self) -> &mut Track<Small> {
        &mut self.relay.relay_mut().tracks_mut()[0]
    }

    pub(crate) fn save(&mut self) {
        let appended = match &mut self.written {
            Some(written) => {
                let track = &self.relay.relay().tracks()[0];
                image::append(track, written, &mut self.disk).is_ok()
            }
            None => false,
        };
        if !appended {
            let mut disk = Vec::new();
            let Ok(written) = image::write(self.track(), &mut disk);
            if written.is_some() {
                self.written = written;
                self.disk = disk;
            }
        }
    }

    /// Loses everything but the disk, of which the last bytes may be missing too.
    pub(crate) fn crash(&mut self, torn: usize) {
        let mut disk = std::mem::take(&mut self.disk);
        disk.truncate(disk.len().saturating_sub(torn));
        *self = Self::new();
        if let Ok(found) = image::read(self.track_mut(), &disk) {
            disk.truncate(found.len);
            self.written = image::Written::restored(self.track());
            self.disk = disk;
        }
    }
}

/// Counts what it is told, and would notice nonsense.
#[derive(Default)]
pub(crate) struct Told(pub(crate) BTreeMap<String, u32>);

#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub(crate) struct Level(pub(crate) Option<u32>);

impl Handler<Level> for Told {
    fn on_add(&mut self, key: &str, new: &Level) {
        assert!(
            self.0.insert(key.into(), new.0.unwrap()).is_none(),
            "{key} was there"
        );
    }
    fn on_update(&mut self, key: &str, _: Option<&Level>, new: &Level) {
        assert!(
            self.0.insert(key.into(), new.0.unwrap()).is_some(),
            "{key} was not there"
        );
    }
    fn on_delete(&mut self, key: &str, _: &Level) {
        assert!(self.0.remove(key).is_some(), "{key} was not there");
    }
}

type Name = heapless::String<32>;
type DeviceSession = node::Session<'static, 1, 256, 4, 32>;

/// A device and where it is connected.
pub(crate) struct Device {
    pub(crate) wanted: &'static [Wanted<'static>; 1],
    session: Option<DeviceSession>,
    pub(crate) mirror: Mirror<
        Name,
        Level,
        [ringwatch_core::store::Slot<Name, ringwatch_core::informer::Held<Level>>; 16],
    >,
    pub(crate) told: Told,
    pub(crate) at: (usize, usize),
}

impl Device {
    pub(crate) fn new(
        labels: &'static str,
        scope: Scope<&'static str>,
        at: (usize, usize),
    ) -> Self {
        let wanted = Wanted {
            labels,
            scope,
            projection: "spec.level:u32",
            bookmark_every: Duration::from_secs(10),
            ..Wanted::all(RESOURCE)
        };
        Self {
            wanted: Box::leak(Box::new([wanted])),
            session: None,
            mirror: Mirror::array(),
            told: Told::default(),
            at,
        }
    }

    pub(crate) fn selects(&self, key: &str, lamp: &Lamp) -> bool {
        let wanted = &self.wanted[0];
        let inside = match wanted.scope {
            Scope::Resource => true,
            Scope::Namespace(namespace) => key.split_once('/').unwrap().0 == namespace,
            Scope::Object(one) => one == key,
        };
        inside
            && match wanted.labels {
                "" => true,
                "kind=light" => lamp.light,
                "kind!=light" => !lamp.light,
                other => panic!("{other}"),
            }
    }
}

/// An origin (hop 0, fed with JSON), relays (each with the hop before it as upstream), and devices.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) dice: Dice,
    pub(crate) hops: Vec<Hop>,
    pub(crate) devices: Vec<Device>,
    pub(crate) state: State,
    pub(crate) revision: u64,
}

/// Whether a session has ended, which it may only because time has passed.
fn is_silent(ended: Option<Ended>) -> bool {
    let silent = [Ended::Here(Code::Silent), Ended::ByPeer(Code::Silent)];
    assert!(
        ended.is_none_or(|ended| silent.contains(&ended)),
        "{ended:?}"
    );
    ended.is_some()
}

/// The link of each hop that belongs to the relay below it.
const DOWN: usize = LINKS - 1;

impl World {
    pub(crate) fn new(seed: u64, hops: usize, devices: Vec<Device>) -> Self {
        let mut world = Self {
            now: Instant::from_millis(1_000),
            dice: Dice::new(seed),
            hops: (0..hops).map(|_| Hop::new()).collect(),
            devices,
            state: State::new(),
            revision: 10,
        };
        world.list();
        world
    }

    /// The origin learns of everything by a list.
    pub(crate) fn list(&mut self) {
        let (now, revision) = (self.now, Revision::new(self.revision));
        let state = self.state.clone();
        let track = self.hops[0].track_mut();
        track.list_begin(ORIGIN);
        for (key, lamp) in &state {
            track.list_item(json(key, lamp).as_bytes()).unwrap();
        }
        track.list_end(revision, now);
    }

    /// Something happens; the origin hears of it unless it is `unheard`.
    pub(crate) fn write(&mut self, unheard: bool) {
        self.revision += 1 + self.dice.below(3);
        let key = format!(
            "{}/{}",
            ["hall", "yard"][self.dice.below(2) as usize],
            self.dice.below(6)
        );
        let now = self.now;
        let event = if self.dice.below(3) == 0 {
            self.state.remove(&key).map(|mut lamp| {
                lamp.revision = self.revision;
                (EventKind::Deleted, lamp)
            })
        } else {
            let lamp = Lamp {
                revision: self.revision,
                light: self.dice.below(2) == 0,
                level: self.dice.below(1000) as u32,
            };
            let before = self.state.insert(key.clone(), lamp);
            Some(match before {
                Some(_) => (EventKind::Modified, lamp),
                None => (EventKind::Added, lamp),
            })
        };
        if let Some((kind, lamp)) = event
            && !unheard
        {
            let json = json(&key, &lamp);
            self.hops[0]
                .track_mut()
                .event(kind, json.as_bytes(), now)
                .unwrap();
        }
    }

    pub(crate) fn cut_hop(&mut self, hop: usize) {
        if self.hops[hop].up.take().is_some() {
            self.hops[hop].relay.relay_mut().interrupt();
            let now = self.now;
            self.hops[hop - 1].relay.disconnect(DOWN, now);
        }
    }

    pub(crate) fn cut_device(&mut self, device: usize) {
        let Device { session, at, .. } = &mut self.devices[device];
        if session.take().is_some() {
            let (hop, link) = *at;
            let now = self.now;
            self.hops[hop].relay.disconnect(link, now);
        }
    }

    pub(crate) fn move_device(&mut self, device: usize, hop: usize) {
        self.cut_device(device);
        self.devices[device].at.0 = hop;
    }

    pub(crate) fn crash(&mut self, hop: usize, torn: usize) {
        for device in 0..self.devices.len() {
            if self.devices[device].at.0 == hop {
                self.cut_device(device);
            }
        }
        if hop + 1 < self.hops.len() {
            self.cut_hop(hop + 1);
        }
        self.cut_hop(hop);
        self.hops[hop].crash(torn);
    }

    pub(crate) fn connect(&mut self) {
        let now = self.now;
        let config = serve::Config::default();
        for hop in 1..self.hops.len() {
            if self.hops[hop].up.is_none() {
                let seed = self.dice.seed();
                self.hops[hop - 1].relay.connect(DOWN, config, seed, now);
                let wanted: &'static [Wanted<'static>; 1] = &const {
                    [Wanted {
                        bookmark_every: Duration::from_secs(5),
                        ..Wanted::all(RESOURCE)
                    }]
                };
                let config = node::Config::new("relay", Security::PlainText);
                let seed = self.dice.seed();
                self.hops[hop].up = Some(Uplink::new(config, wanted, vec![0; 300], seed, now));
            }
        }
        for device in &mut self.devices {
            if device.session.is_none() {
                let (hop, link) = device.at;
                let seed = self.dice.seed();
                self.hops[hop].relay.connect(link, config, seed, now);
                let config = node::Config::new("device", Security::PlainText);
                let seed = self.dice.seed();
                device.session = Some(DeviceSession::new(config, device.wanted, [], seed, now));
            }
        }
    }

    /// Moves at most so many packets; whether there may be more.
    pub(crate) fn pump(&mut self, packets: usize) -> bool {
        let now = self.now;
        let mut wire = [0; 600];
        let mut left = packets;
        loop {
            let before = left;
            let mut silent = false;
            for hop in 1..self.hops.len() {
                let (above, below) = self.hops.split_at_mut(hop);
                let (above, below) = (&mut above[hop - 1], &mut below[0]);
                let Some(up) = &mut below.up else { continue };
                let tracks = below.relay.relay_mut().tracks_mut();
                if left > 0
                    && let Some(bytes) = up.poll_output(tracks, now, &mut wire)
                {
                    above.relay.receive(DOWN, bytes, now);
                    left -= 1;
                }
                if left > 0
                    && let Some(bytes) = above.relay.poll_output(DOWN, now, &mut wire)
                {
                    up.receive(tracks, bytes, now);
                    left -= 1;
                }
                silent |= is_silent(up.ended()) | is_silent(above.relay.ended(DOWN));
            }
            for device in &mut self.devices {
                let Some(session) = &mut device.session else {
                    continue;
                };
                let (hop, link) = device.at;
                let relay = &mut self.hops[hop].relay;
                let mut feed = device.mirror.feed(projected, &mut device.told);
                let mut views: [&mut dyn View; 1] = [&mut feed];
                if left > 0
                    && let Some(bytes) = session.poll_output(&views, now, &mut wire)
                {
                    relay.receive(link, bytes, now);
                    left -= 1;
                }
                if left > 0
                    && let Some(bytes) = relay.poll_output(link, now, &mut wire)
                {
                    session.receive(bytes, &mut views, now);
                    left -= 1;
                }
                silent |= is_silent(session.ended()) | is_silent(relay.ended(link));
            }
            if silent {
                self.drop_ended();
            }
            if left == 0 || left == before {
                return left == 0;
            }
        }
    }

    /// Cuts what has ended because nobody spoke for long.
    fn drop_ended(&mut self) {
        for hop in 1..self.hops.len() {
            let up = self.hops[hop].up.as_ref().and_then(Uplink::ended);
            if up.or(self.hops[hop - 1].relay.ended(DOWN)).is_some() {
                self.cut_hop(hop);
            }
        }
        for device in 0..self.devices.len() {
            let Device { session, at, .. } = &self.devices[device];
            let session = session.as_ref().and_then(DeviceSession::ended);
            if session.or(self.hops[at.0].relay.ended(at.1)).is_some() {
                self.cut_device(device);
            }
        }
    }

    /// Lets time pass until everybody has what there is, and checks that it is so.
    pub(crate) fn settle(&mut self) {
        self.connect();
        for _ in 0..40 {
            self.connect();
            while self.pump(1_000) {}
            self.now = self.now + Duration::from_secs(3);
            let now = self.now;
            self.hops[0]
                .track_mut()
                .progress(Revision::new(self.revision), now);
        }
        for (index, hop) in self.hops.iter().enumerate() {
            let track = hop.track();
            assert_eq!(
                track.revision(),
                Revision::new(self.revision),
                "hop {index}"
            );
            assert_eq!(track.digest(), self.hops[0].track().digest(), "hop {index}");
            assert!(
                track.age(self.now) <= Duration::from_secs(30),
                "hop {index}"
            );
        }
        for (index, device) in self.devices.iter().enumerate() {
            let session = device.session.as_ref().unwrap();
            assert_eq!(session.standing(0), Some(Standing::Live), "device {index}");
            let expected: BTreeMap<String, u32> = self
                .state
                .iter()
                .filter(|(key, lamp)| device.selects(key, lamp))
                .map(|(key, lamp)| (key.clone(), lamp.level))
                .collect();
            assert_eq!(device.told.0, expected, "device {index}");
            let has = device.mirror.informer().iter();
            assert!(
                has.map(|(key, level)| (key.to_owned(), level.0.unwrap()))
                    .eq(expected)
            );
            assert_eq!(
                device.mirror.informer().revision(),
                Some(Revision::new(self.revision)),
                "device {index}"
            );
        }
    }
}
