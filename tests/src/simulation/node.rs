//! A node: what it has, and its connection to a hop.

use ringwatch_core::link::PresharedKey;
use ringwatch_core::link::frame::Code;
use ringwatch_core::link::node::{Config, Security, Standing, View};

use super::copy::Copy;
use super::findings::{Findings, Property};
use super::hop::{Clock, Hop, SILENCE};
use super::judge::{Holding, Judge};
use super::line::{Line, Weather};
use super::link::{Link, Reader, Stage, Telling};
use super::wish::{Kind, Wish};
use super::world::World;
use crate::random::Random;

/// The longest packet that a node takes, and the longest object, with its key.
const PACKET: usize = 164;
const OBJECT: usize = 520;

/// A node process.
pub struct Node {
    /// What it has.
    pub state: State,
    link: Option<Link<2, PACKET, 4, 4>>,
    /// Its key.
    pub key: &'static PresharedKey,
    /// Not before that it connects.
    pub asleep_until: u64,
    /// Its clock.
    pub clock: Clock,
    /// How its lines are.
    pub weather: Weather,
}

/// What a node has, and what its judges must know of it.
pub struct State {
    /// What it is called.
    pub name: &'static str,
    /// What kind of node it is.
    pub kind: &'static Kind,
    wish: usize,
    copies: [Copy; 2],
    /// Since when its key is no longer good.
    pub revoked: Option<u64>,
}

impl State {
    fn wish(&self) -> &'static Wish {
        &self.kind.wishes[self.wish]
    }
}

impl Reader for State {
    fn name(&self) -> &'static str {
        self.name
    }

    fn asked(&mut self, call: &mut dyn FnMut(&[&mut dyn View])) {
        let [first, second] = &mut self.copies;
        let ((mut first, _), (mut second, _)) = (first.parts(), second.parts());
        first.with(|first| {
            second.with(|second| {
                let views: &[&mut dyn View] = &[first, second];
                call(views);
            });
        });
    }

    fn told(&mut self, telling: &Telling<'_>, call: &mut dyn FnMut(&mut [&mut dyn View])) {
        let wish = self.wish();
        let (name, policy, revoked) = (self.name, self.kind.policy, self.revoked);
        let [first, second] = self.copies.each_mut().map(Copy::parts);
        let mut number = 0;
        let mut judges = [first, second].map(|(held, record)| {
            number += 1;
            Judge {
                held,
                record,
                selection: &wish.selections[number - 1],
                mode: wish.wanted[number - 1].mode,
                policy,
                revoked,
                telling,
                name,
                sub: number - 1,
            }
        });
        let [first, second] = &mut judges;
        let views: &mut [&mut dyn View] = &mut [first, second];
        call(views);
    }

    fn is_revoked(&self) -> bool {
        self.revoked.is_some()
    }
}

impl Node {
    /// A node that has nothing yet.
    pub fn new(name: &'static str, kind: &'static Kind, key: &'static PresharedKey) -> Self {
        Self {
            state: State {
                name,
                kind,
                wish: 0,
                copies: kind.wishes[0].selections.each_ref().map(Copy::new),
                revoked: None,
            },
            link: None,
            key,
            asleep_until: 0,
            clock: Clock::default(),
            weather: Weather::default(),
        }
    }

    /// The hop that it is connected to.
    pub fn hop(&self) -> Option<usize> {
        self.link.as_ref().map(|link| link.hop)
    }

    /// Connects to a port of a hop.
    pub fn connect(
        &mut self,
        at: (usize, usize),
        hop: &mut dyn Hop,
        now: u64,
        random: &mut Random,
    ) {
        let State { name, kind, .. } = self.state;
        let security = match kind.sealed {
            true => Security::Sealed(self.key),
            false => Security::PlainText,
        };
        let config = Config {
            framing: kind.framing,
            silence: SILENCE,
            ..Config::new(name, security)
        };
        let asked = (config, &self.state.wish().wanted, OBJECT);
        let times = (self.clock.read(now), now);
        self.link = Some(Link::new(asked, at, hop, self.weather, times, random));
    }

    /// The connection is gone; the node keeps what it has. The hop that was at the other end.
    pub fn cut(&mut self) -> Option<usize> {
        for copy in &mut self.state.copies {
            copy.record.cut();
        }
        self.link.take().map(|link| link.hop)
    }

    /// The process has ended; what it had is gone.
    pub fn forget(&mut self) {
        self.state.copies = self.state.wish().selections.each_ref().map(Copy::new);
    }

    /// It wants something else from now on. It keeps what it has, unless it needs another number of places.
    pub fn change_mind(&mut self) {
        let before = &self.state.wish().selections;
        self.state.wish ^= 1;
        let after = &self.state.wish().selections;
        let pairs = before.iter().zip(after);
        for (copy, (before, after)) in self.state.copies.iter_mut().zip(pairs) {
            if before.places == after.places {
                copy.reselect(after);
            } else {
                *copy = Copy::new(after);
            }
        }
    }

    /// The next event of a subscription gets lost in the node.
    pub fn lose_next(&mut self, sub: usize) {
        self.state.copies[sub].record.loses_next = true;
    }

    /// It says goodbye.
    pub fn close(&mut self) {
        if let Some(link) = &mut self.link {
            link.close();
        }
    }

    /// Both of its lines, upwards first.
    pub fn lines(&mut self) -> Option<&mut [Line; 2]> {
        self.link.as_mut().map(|link| &mut link.lines)
    }

    /// Somebody has tampered with its lines.
    pub fn note_tampering(&mut self) {
        if let Some(link) = &mut self.link {
            link.note_tampering();
        }
    }

    /// Moves bytes. Whether the connection goes on.
    pub fn pump(&mut self, stage: &mut Stage<'_>, random: &mut Random) -> bool {
        let clock = self.clock.read(stage.now);
        match &mut self.link {
            Some(link) => link.pump(&mut self.state, stage, clock, random),
            None => true,
        }
    }

    /// Whether each view is what it should be now; a part of that where it cannot have more.
    pub fn is_in_step(&mut self, world: &World) -> bool {
        let Some(link) = &self.link else { return false };
        let State { kind, .. } = self.state;
        let wish = self.state.wish();
        let mut copies = self.state.copies.iter_mut().enumerate();
        copies.all(|(sub, copy)| match link.standing(sub) {
            // Who asks for more than it may have gets nothing.
            Some(Standing::Failed { code, .. }) => {
                code == Code::Forbidden && !kind.policy.permits(&wish.wanted[sub].scope)
            }
            _ => copy.is_in_step(world, &wish.selections[sub]),
        })
    }

    /// What it has, for a failure.
    pub fn describe(&mut self, world: &World) -> String {
        let (wish, hop) = (self.state.wish(), self.hop());
        let mut text = format!("{} at hop {hop:?}:", self.state.name);
        for (sub, copy) in self.state.copies.iter_mut().enumerate() {
            let standing = self.link.as_ref().and_then(|link| link.standing(sub));
            let copy = copy.describe(world, &wish.selections[sub]);
            text += &format!("\n    {sub}: {standing:?} {copy}");
        }
        text
    }

    /// Whether its knowledge is no older than it says.
    pub fn inspect(&mut self, world: &World, now: u64, findings: &Findings) {
        let (clock, lost) = (self.clock.read(now), self.clock.lost);
        let honest = |copy: &Copy| copy.is_honest(world, clock, now, lost);
        if !self.state.copies.iter().all(honest) {
            findings.add(Property::HonestStaleness, || {
                format!("at {now}: {}", self.describe(world))
            });
        }
    }
}
