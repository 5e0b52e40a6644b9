//! All of it together: servers, relays and nodes, what is written, and what goes wrong.

use ringwatch_core::link::{Framing, PresharedKey};

use super::findings::{Findings, Property, Violation};
use super::hop::{Guest, Guests, Hop};
use super::line::{Line, Tampering, Weather};
use super::link::Stage;
use super::node::Node;
use super::relay::{PORTS, Relay};
use super::server::Server;
use super::wish::{KINDS, Policy};
use super::world::{KEYS, World};
use crate::random::Random;

const NAMES: [&str; 8] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"];

/// Two keys for each node, so that one can take the other's place.
static KEYRING: [[PresharedKey; 2]; 8] = {
    const fn pair(number: u8) -> [PresharedKey; 2] {
        [
            PresharedKey::new([number; 32]),
            PresharedKey::new([number | 0x80; 32]),
        ]
    }
    [
        pair(1),
        pair(2),
        pair(3),
        pair(4),
        pair(5),
        pair(6),
        pair(7),
        pair(8),
    ]
};

/// How many steps things may go wrong for.
const STEPS: usize = 160;
/// How many seconds everybody has to come in step, once all is repaired.
const PATIENCE: u64 = 400;

/// Runs the site of a seed, and tells the story if asked to.
pub fn run(seed: u64, trace: bool) -> Result<(), Violation> {
    let findings = Findings::new(trace);
    let mut site = Site::new(seed, &findings);
    for step in 0..STEPS {
        site.findings
            .say(|| format!("step {step}, {} ms", site.now));
        site.disturb();
        let moment = site.moment();
        site.advance(moment);
        findings.verdict()?;
    }
    site.repair();
    findings.verdict()
}

/// Everything there is.
struct Site<'f> {
    random: Random,
    now: u64,
    world: World,
    origins: u8,
    hops: Vec<Box<dyn Hop>>,
    nodes: Vec<Node>,
    guests: Guests,
    findings: &'f Findings,
}

impl<'f> Site<'f> {
    fn new(seed: u64, findings: &'f Findings) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.number();
        let mut world = World::new(1);
        for _ in 0..random.below(12) {
            write(&mut world, 0, &mut random);
        }
        let guests = Guests::default();
        let mut nodes = Vec::new();
        for (number, name) in NAMES.into_iter().enumerate() {
            let kind = &KINDS[number % KINDS.len()];
            let key = &KEYRING[number][0];
            guests.add(Guest {
                name,
                key: kind.sealed.then_some(key),
                welcome: true,
                policy: kind.policy,
            });
            let mut node = Node::new(name, kind, key);
            node.weather = Weather::any(&mut random);
            node.asleep_until = random.below(2000) as u64;
            nodes.push(node);
        }
        let hops = hops(&world, &guests, &mut random);
        Self {
            hops,
            random,
            now: 0,
            world,
            origins: 1,
            nodes,
            guests,
            findings,
        }
    }

    /// Some time, mostly a short one.
    fn moment(&mut self) -> u64 {
        let most = match self.random.below(16) {
            0 => 8000,
            1..=4 => 400,
            _ => 40,
        };
        self.random.below(most) as u64
    }

    /// Time passes, and bytes move.
    fn advance(&mut self, millis: u64) {
        self.now += millis;
        for number in 0..self.hops.len() {
            let (above, rest) = self.hops.split_at_mut(number);
            let Some(hop) = rest.first_mut() else { break };
            let above: Option<&mut dyn Hop> = match hop.upstream() {
                Some(number) => Some(above[number].as_mut()),
                None => None,
            };
            hop.follow(
                &self.world,
                self.now,
                above,
                &mut self.random,
                self.findings,
            );
            hop.inspect(self.findings);
        }
        for port in 0..self.nodes.len() {
            self.connect(port);
            let node = &mut self.nodes[port];
            if let Some(hop) = node.hop() {
                let mut stage = Stage {
                    hop: self.hops[hop].as_mut(),
                    world: &self.world,
                    now: self.now,
                    findings: self.findings,
                };
                if !node.pump(&mut stage, &mut self.random) {
                    self.part(port);
                    let node = &mut self.nodes[port];
                    node.asleep_until = node
                        .asleep_until
                        .max(self.now + self.random.below(1500) as u64);
                }
            }
            let node = &mut self.nodes[port];
            node.inspect(&self.world, self.now, self.findings);
        }
    }

    /// A node that is awake and alone connects: mostly at home, at times elsewhere.
    fn connect(&mut self, port: usize) {
        let node = &mut self.nodes[port];
        if node.hop().is_some() || self.now < node.asleep_until {
            return;
        }
        let hops = self.hops.len();
        let to = match self.random.below(4) {
            0 => self.random.below(hops),
            _ => port % hops,
        };
        if !self.hops[to].is_of(&self.world) {
            return;
        }
        self.findings
            .say(|| format!("  {} connects to hop {to}", node.state.name));
        let hop = self.hops[to].as_mut();
        node.connect((to, port), hop, self.now, &mut self.random);
    }

    /// A connection is gone, at both ends.
    fn part(&mut self, port: usize) {
        if let Some(hop) = self.nodes[port].cut() {
            self.hops[hop].hang_up(port);
        }
    }

    /// Something is written, or goes wrong, or nothing happens.
    fn disturb(&mut self) {
        let port = self.random.below(self.nodes.len());
        let hop = self.random.below(self.hops.len());
        match self.random.below(48) {
            0..=15 => {
                for _ in 0..=self.random.below(3) {
                    write(&mut self.world, self.now, &mut self.random);
                }
                let newest = self.world.newest();
                self.findings.say(|| format!("  written up to {newest}"));
            }
            16 | 17 => self.cut(port),
            18 | 19 => self.tamper(port),
            20 => self.crash_node(port),
            21 => self.change_mind(port),
            22 => self.sleep(port),
            23 | 24 => self.stall(port),
            25 => self.change_weather(port),
            26 => self.revoke(port),
            27 => self.readmit(port),
            28 => self.jump(port),
            29 => {
                let sub = self.random.below(2);
                self.findings
                    .say(|| format!("  n{port} is about to lose an event"));
                self.nodes[port].lose_next(sub);
            }
            30..=32 => {
                let (random, findings) = (&mut self.random, self.findings);
                findings.say(|| format!("  hop {hop}:"));
                self.hops[hop].disturb(&self.world, self.now, random, findings);
            }
            33 if self.random.below(8) == 0 => self.replace_origin(),
            _ => {}
        }
    }

    fn cut(&mut self, port: usize) {
        self.say(port, "is cut off");
        self.part(port);
        self.nodes[port].asleep_until = self.now + self.random.below(3000) as u64;
    }

    fn say(&self, port: usize, what: &str) {
        let name = NAMES[port];
        self.findings.say(|| format!("  {name} {what}"));
    }

    /// Somebody changes what is on its way, where that must be noticed.
    fn tamper(&mut self, port: usize) {
        use Tampering::{Drop, Flip, Repeat, Swap};
        let node = &mut self.nodes[port];
        if !node.state.kind.sealed && node.state.kind.framing == Framing::Stream {
            return;
        }
        let how = [Flip, Drop, Repeat, Swap][self.random.below(4)];
        let direction = self.random.below(2);
        let random = &mut self.random;
        let lines = node.lines();
        if lines.is_some_and(|lines| lines[direction].tamper(how, random)) {
            self.findings
                .say(|| format!("  {}: {how:?} on line {direction}", node.state.name));
            node.note_tampering();
        }
    }

    fn crash_node(&mut self, port: usize) {
        self.cut(port);
        self.say(port, "loses everything");
        self.nodes[port].forget();
    }

    fn change_mind(&mut self, port: usize) {
        self.part(port);
        self.say(port, "wants something else");
        self.nodes[port].change_mind();
    }

    fn sleep(&mut self, port: usize) {
        self.say(port, "goes to sleep");
        let node = &mut self.nodes[port];
        node.close();
        node.asleep_until = self.now + self.random.below(60_000) as u64;
    }

    fn stall(&mut self, port: usize) {
        let until = self.now + self.random.below(20_000) as u64;
        let node = &mut self.nodes[port];
        let direction = self.random.below(2);
        if let Some(lines) = node.lines() {
            lines[direction].stalled_until = until;
            self.findings.say(|| {
                format!(
                    "  {}: line {direction} stalls until {until}",
                    node.state.name
                )
            });
        }
    }

    fn change_weather(&mut self, port: usize) {
        self.nodes[port].weather = Weather::any(&mut self.random);
    }

    /// A node's key is no longer good.
    fn revoke(&mut self, port: usize) {
        self.say(port, "has its key revoked");
        let node = &mut self.nodes[port];
        node.state.revoked.get_or_insert(self.now);
        self.guests.change(port, |guest| guest.welcome = false);
        if let Some(hop) = node.hop() {
            self.hops[hop].revoke(port);
        }
    }

    /// A node whose key was revoked gets another.
    fn readmit(&mut self, port: usize) {
        if self.nodes[port].state.revoked.take().is_none() {
            return;
        }
        self.part(port);
        self.say(port, "has another key");
        let node = &mut self.nodes[port];
        let [one, other] = &KEYRING[port];
        node.key = if node.key == one { other } else { one };
        let key = node.state.kind.sealed.then_some(node.key);
        self.guests.change(port, |guest| {
            guest.welcome = true;
            guest.key = key;
        });
    }

    fn jump(&mut self, port: usize) {
        let (millis, back) = (self.random.below(30_000) as u64, self.random.below(3) == 0);
        let node = &mut self.nodes[port];
        self.findings.say(|| {
            format!(
                "  the clock of {} jumps by {millis} ms, back: {back}",
                node.state.name
            )
        });
        node.clock.jump(millis, back);
    }

    /// The store is replaced by another one, with revisions of its own.
    fn replace_origin(&mut self) {
        self.origins += 1;
        self.findings
            .say(|| format!("  another origin: {}", self.origins));
        self.world = World::new(self.origins);
        for _ in 0..self.random.below(30) {
            write(&mut self.world, self.now, &mut self.random);
        }
        for port in 0..self.nodes.len() {
            self.part(port);
        }
        for hop in &mut self.hops {
            hop.replace_origin(&self.world, self.now);
        }
    }

    /// Nothing goes wrong any more: does everybody come in step?
    fn repair(&mut self) {
        self.findings.say(|| "all is repaired".to_owned());
        for port in 0..self.nodes.len() {
            self.readmit(port);
            let node = &mut self.nodes[port];
            node.weather = Weather::default();
            node.asleep_until = self.now;
            if let Some(lines) = node.lines() {
                lines.iter_mut().for_each(Line::repair);
            }
        }
        for hop in &mut self.hops {
            hop.repair(self.now);
        }
        for _ in 0..PATIENCE {
            self.advance(1000);
            let world = &self.world;
            let in_step = self.hops.iter().all(|hop| hop.is_in_step(world))
                && self.nodes.iter_mut().all(|node| node.is_in_step(world));
            if in_step || self.findings.verdict().is_err() {
                return;
            }
        }
        let mut late = Vec::new();
        for node in &mut self.nodes {
            if !node.is_in_step(&self.world) {
                late.push(node.describe(&self.world));
            }
        }
        self.findings.add(Property::Converges, || late.join("\n  "));
    }
}

/// Two servers of one store, and two relays: side by side, or one behind the other.
fn hops(world: &World, guests: &Guests, random: &mut Random) -> Vec<Box<dyn Hop>> {
    let above = random.below(4);
    let mut places = || [0, 1, 4, 8, 16, 64][random.below(6)];
    let servers = [places(), places()];
    let remembers = [places(), places()];
    let mut hops: Vec<Box<dyn Hop>> = Vec::new();
    for places in servers {
        hops.push(Box::new(Server::new(world, guests.clone(), places, PORTS)));
    }
    let upstreams = match above {
        0 => [0, 1],
        1 => [0, 0],
        _ => [0, 2],
    };
    for (number, name) in ["relay-0", "relay-1"].into_iter().enumerate() {
        guests.add(Guest {
            name,
            key: None,
            welcome: true,
            policy: Policy::All,
        });
        let at = (upstreams[number], NAMES.len() + number);
        let weather = Weather::any(random);
        let relay = Relay::new(name, at, guests.clone(), remembers[number], weather);
        hops.push(Box::new(relay));
    }
    hops
}

/// One transaction.
fn write(world: &mut World, now: u64, random: &mut Random) {
    let edits: Vec<_> = (0..=random.below(3))
        .map(|_| {
            let key = KEYS[random.below(KEYS.len())];
            let level = random.below(256) as u8;
            (key, (level >= 64).then_some(level))
        })
        .collect();
    world.write(now, &edits);
}
