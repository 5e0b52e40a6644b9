//! A relay: the engine of `ringwatch-edge` with its sessions, a connection to its upstream, and a disk.

use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use ringwatch_core::history;
use ringwatch_core::link::frame::Code;
use ringwatch_core::link::node::{Config, Security, View, Wanted};
use ringwatch_core::link::serve::{self, Reported, Request, Texts};
use ringwatch_core::link::{Ended, Framing, Seed};
use ringwatch_core::object::{self, Change, Object as _};
use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::Revision;
use ringwatch_core::room::InPlace;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Slot;
use ringwatch_core::watcher::State as _;
use ringwatch_edge::engine::{
    self, Bytes, Object, Refusal, Resources, Shape, Stored, Subject, Track, image,
};

use super::findings::{Findings, Property};
use super::hop::{Clock, Guests, Hop, PACKET, SILENCE};
use super::judge::{Holding, Judge, Record};
use super::line::{Line, Weather};
use super::link::{Link, Reader, Stage, Telling};
use super::wish::{Policy, RESOURCE, WHOLE};
use super::world::{KEYS, Thing, World};
use crate::random::Random;

/// As many ports as any hop has: one for each node, and one for each relay.
pub const PORTS: usize = 10;
/// Everything there can be, with its key.
const OBJECT: usize = 1400;
/// As many changes as a transaction can have, and a few more.
const PENDING: usize = 8;

/// What a relay wants of its upstream: everything.
static WANTED: [Wanted<'static>; 1] = [Wanted {
    bookmark_every: Duration::from_secs(3),
    ..Wanted::all(RESOURCE)
}];

/// Objects behind pointers, in vectors whose length a seed chooses.
#[derive(Debug)]
struct Memory;

#[derive(Debug, Clone)]
struct Blob(Rc<[u8]>);

impl AsRef<[u8]> for Blob {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Bytes for Blob {
    const LONGEST: usize = usize::MAX;

    fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Option<Self> {
        let mut bytes = vec![0; len];
        fill(&mut bytes);
        Some(Self(bytes.into()))
    }
}

impl Shape for Memory {
    type Bytes = Blob;
    type Key = String;
    type Text = String;
    type Room = InPlace;
    // As firmware keeps it; servers keep it parsed.
    type Asked = Texts<96>;
    type Objects = Vec<Slot<String, Stored<Blob>>>;
    type Changes = Vec<Place<history::Entry<Change<Object<Blob>>>>>;
    type Pending = Vec<Place<Change<Object<Blob>>>>;
    type Restarts = [Place<Reported>; 0];
    const NO_RESTARTS: Self::Restarts = [];
}

/// What survives a crash.
#[derive(Debug, Default)]
struct Disk(Vec<u8>);

impl image::Sink for Disk {
    type Error = Infallible;
    fn write(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// The policy of the site, as the engine asks for it.
impl engine::Policy for Guests {
    type Grant = Policy;

    fn grant(&self, node: &str, request: &Request<'_>) -> Result<Policy, Refusal> {
        let policy = self.policy(node).ok_or(Refusal::Forbidden)?;
        let permitted = policy.permits(&request.scope);
        permitted.then_some(policy).ok_or(Refusal::Forbidden)
    }
    fn concerns(&self, node: &str, _: &str) -> bool {
        self.policy(node).is_some()
    }
    fn is_current(&self, _: &Policy) -> bool {
        true
    }
    fn permits<O: object::Object>(grant: &Policy, object: &O) -> bool {
        grant.allows(object.key().as_str())
    }
}

type Engine = Resources<Memory, Guests, 1, 4, PORTS, 2, PACKET_IN, 8>;
/// Nodes have to make do with short packets, as at a relay on a board.
const PACKET_IN: usize = 160;

/// A relay process.
pub struct Relay {
    above: usize,
    engine: Box<Engine>,
    link: Option<Link<1, PACKET, 8, 16>>,
    state: State,
    guests: Guests,
    /// How many changes it remembers.
    places: usize,
    disk: Disk,
    written: Option<image::Written>,
    clock: Clock,
    asleep_until: u64,
    weather: Weather,
    /// How wrong its upstream may be.
    doubt: u64,
}

/// What its judge must know of it.
struct State {
    name: &'static str,
    port: usize,
    record: Record,
    bridges: Vec<(Revision, Revision)>,
}

/// The track of a relay, with its judge's memory.
struct Following<'r> {
    state: &'r mut State,
    track: &'r mut Track<Memory>,
}

/// A track as what is judged.
struct Tracked<'r>(&'r mut Track<Memory>);

impl Holding for Tracked<'_> {
    fn with<T>(&mut self, call: impl FnOnce(&mut dyn View) -> T) -> T {
        call(self.0)
    }
    fn revision(&self) -> Option<Revision> {
        self.0.is_complete().then(|| self.0.revision())
    }
    fn is_complete(&self) -> bool {
        self.0.has_all()
    }
    fn has(&self, thing: &Thing) -> bool {
        let mut objects = objects(&*self.0);
        objects.any(|(key, revision)| key == thing.key && revision == thing.revision)
    }
    fn count(&self) -> usize {
        objects(&*self.0).count()
    }
    fn show(&self) -> String {
        let objects: Vec<_> = objects(&*self.0).collect();
        format!("{objects:?} at {}", self.0.revision())
    }
    fn objection(&mut self) -> Option<(Property, String)> {
        None
    }
}

/// What readers may have of a track.
fn objects(track: &Track<Memory>) -> impl Iterator<Item = (String, Revision)> {
    let mut last = None;
    std::iter::from_fn(move || {
        let (key, object) = track.next_after(last.as_ref())?;
        last = Some(key.clone());
        Some((key, object.revision()))
    })
}

impl Reader for Following<'_> {
    fn name(&self) -> &'static str {
        self.state.name
    }

    fn asked(&mut self, call: &mut dyn FnMut(&[&mut dyn View])) {
        let view: &mut dyn View = self.track;
        call(&[view]);
    }

    fn told(&mut self, telling: &Telling<'_>, call: &mut dyn FnMut(&mut [&mut dyn View])) {
        let before = self.track.revision();
        let mut judge = Judge {
            held: Tracked(&mut *self.track),
            record: &mut self.state.record,
            selection: &WHOLE,
            mode: WANTED[0].mode,
            policy: Policy::All,
            revoked: None,
            telling,
            name: self.state.name,
            sub: 0,
        };
        let view: &mut dyn View = &mut judge;
        call(&mut [view]);
        // What came as a list or a difference, or was known so above, is known so here.
        let after = self.track.revision();
        let bridges = &mut self.state.bridges;
        let above = telling
            .bridges
            .iter()
            .filter(|(from, to)| *from < after && before < *to);
        bridges.extend(above);
        if std::mem::take(&mut self.state.record.was_replaced) {
            bridges.push((before, after));
        }
    }

    fn is_revoked(&self) -> bool {
        false
    }
}

impl Relay {
    /// A relay that knows nothing yet. The number is that of its port at its upstream.
    pub fn new(
        name: &'static str,
        (above, port): (usize, usize),
        guests: Guests,
        places: usize,
        weather: Weather,
    ) -> Self {
        Self {
            above,
            engine: engine(guests.clone(), places),
            link: None,
            state: State {
                name,
                port,
                record: Record::default(),
                bridges: Vec::new(),
            },
            guests,
            places,
            disk: Disk::default(),
            written: None,
            clock: Clock::default(),
            asleep_until: 0,
            weather,
            doubt: 0,
        }
    }

    fn track(&self) -> &Track<Memory> {
        &self.engine.relay().tracks()[0]
    }

    /// Its upstream is gone.
    fn cut(&mut self) {
        self.link = None;
        self.state.record.cut();
        self.engine.relay_mut().interrupt();
    }

    /// Brings its disk up to date.
    fn save(&mut self) {
        let track = &self.engine.relay().tracks()[0];
        if let Some(written) = &mut self.written
            && image::append(track, written, &mut self.disk).is_ok()
        {
            return;
        }
        let mut disk = Disk::default();
        let Ok(written) = image::write(track, &mut disk);
        if written.is_some() {
            (self.disk, self.written) = (disk, written);
        }
    }

    /// Loses everything but its disk, of which the last bytes may be missing too.
    fn crash(&mut self, torn: usize) {
        self.cut();
        self.engine = engine(self.guests.clone(), self.places);
        self.written = None;
        let disk = &mut self.disk.0;
        disk.truncate(disk.len().saturating_sub(torn));
        let track = &mut self.engine.relay_mut().tracks_mut()[0];
        match image::read(track, disk) {
            Ok(found) => {
                disk.truncate(found.len);
                self.written = image::Written::restored(track);
            }
            Err(_) => disk.clear(),
        }
    }

    fn connect(&mut self, above: &mut dyn Hop, now: u64, random: &mut Random) {
        let config = Config {
            silence: SILENCE,
            ..Config::new(self.state.name, Security::PlainText)
        };
        let at = (self.above, self.state.port);
        let times = (self.clock.read(now), now);
        let asked = (config, &WANTED, OBJECT);
        self.link = Some(Link::new(asked, at, above, self.weather, times, random));
    }
}

fn engine(guests: Guests, places: usize) -> Box<Engine> {
    let subject = Subject {
        resource: RESOURCE.to_owned(),
        scope: Scope::Resource,
    };
    let objects = KEYS.iter().map(|_| Slot::FREE).collect();
    let changes = (0..places).map(|_| Place::Free).collect();
    let pending = (0..PENDING).map(|_| Place::Free).collect();
    let track = Track::new(subject, objects, changes, pending);
    Box::new(Resources::new([track], guests))
}

impl Hop for Relay {
    fn accept(&mut self, port: usize, framing: Framing, now: u64, seed: [u8; 32]) {
        let config = serve::Config {
            framing,
            silence: SILENCE,
            ..serve::Config::default()
        };
        let at = self.clock.read(now);
        self.engine.connect(port, config, Seed::new(seed), at);
    }

    fn receive(&mut self, port: usize, bytes: &[u8], now: u64) {
        self.engine.receive(port, bytes, self.clock.read(now));
    }

    fn poll_output(&mut self, port: usize, now: u64, out: &mut [u8]) -> Option<usize> {
        let at = self.clock.read(now);
        self.engine.poll_output(port, at, out).map(<[u8]>::len)
    }

    fn ended(&self, port: usize) -> Option<Ended> {
        match self.engine.link(port) {
            Some(session) => session.ended(),
            None => Some(Ended::Here(Code::Done)),
        }
    }

    fn hang_up(&mut self, port: usize) {
        self.engine.disconnect(port, self.clock.read(0));
    }

    fn revoke(&mut self, port: usize) {
        self.engine.close(port, Code::Revoked);
    }

    fn disturb(&mut self, _: &World, now: u64, random: &mut Random, findings: &Findings) {
        match random.below(8) {
            0 | 1 => {
                findings.say(|| "    is cut off from its upstream".to_owned());
                self.cut();
                self.asleep_until = now + random.below(10_000) as u64;
            }
            2 | 3 => {
                findings.say(|| "    saves".to_owned());
                self.save();
            }
            4 => {
                let torn = random.below(300) * random.below(2);
                findings.say(|| format!("    crashes, and loses {torn} bytes of its disk"));
                self.crash(torn);
                self.asleep_until = now + random.below(5000) as u64;
            }
            5 => {
                let until = now + random.below(20_000) as u64;
                findings.say(|| format!("    its lines stall until {until}"));
                if let Some(link) = &mut self.link {
                    link.lines[random.below(2)].stalled_until = until;
                }
            }
            6 => {
                self.weather = Weather::any(random);
                self.cut();
            }
            _ => {
                let (millis, back) = (random.below(30_000) as u64, random.below(3) == 0);
                findings.say(|| format!("    its clock jumps by {millis} ms, back: {back}"));
                self.clock.jump(millis, back);
            }
        }
    }

    fn repair(&mut self, now: u64) {
        self.weather = Weather::default();
        self.asleep_until = now;
        if let Some(link) = &mut self.link {
            link.lines.iter_mut().for_each(Line::repair);
        }
    }

    fn replace_origin(&mut self, _: &World, _: u64) {
        // It learns of that from its upstream.
        self.cut();
        self.state.bridges.clear();
    }

    fn follow(
        &mut self,
        world: &World,
        now: u64,
        above: Option<&mut dyn Hop>,
        random: &mut Random,
        findings: &Findings,
    ) {
        let Some(above) = above else { return };
        if self.link.is_none() && self.asleep_until <= now && above.is_of(world) {
            findings.say(|| format!("  {} connects to hop {}", self.state.name, self.above));
            self.connect(above, now, random);
        }
        let clock = self.clock.read(now);
        self.doubt = self.doubt.max(above.doubt());
        let Some(link) = &mut self.link else { return };
        let mut reader = Following {
            state: &mut self.state,
            track: &mut self.engine.relay_mut().tracks_mut()[0],
        };
        let mut stage = Stage {
            hop: above,
            world,
            now,
            findings,
        };
        if !link.pump(&mut reader, &mut stage, clock, random) {
            stage.hop.hang_up(self.state.port);
            self.cut();
            self.asleep_until = now + random.below(1500) as u64;
        }
    }

    fn upstream(&self) -> Option<usize> {
        Some(self.above)
    }

    fn is_of(&self, world: &World) -> bool {
        self.track()
            .origin()
            .is_none_or(|origin| origin == world.origin)
    }

    fn is_in_step(&self, world: &World) -> bool {
        self.track().origin() == Some(world.origin) && self.track().revision() == world.newest()
    }

    fn newest(&self) -> Revision {
        self.track().revision()
    }

    fn bridges(&self) -> &[(Revision, Revision)] {
        &self.state.bridges
    }

    fn doubt(&self) -> u64 {
        self.doubt + self.state.record.lag + self.clock.lost
    }

    fn inspect(&self, findings: &Findings) {
        let (objects, _) = self.track().capacity();
        let known = self.engine.relay().nodes();
        let bounded = self.track().len() <= objects && known.iter().count() <= known.capacity();
        findings.expect(bounded, Property::Memory, || self.state.name.to_owned());
    }
}
