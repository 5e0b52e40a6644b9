//! Who serves: a server, or a relay.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use ringwatch_core::link::serve::{Access, Admission, Name};
use ringwatch_core::link::{Ended, Framing, PresharedKey};
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;

use super::findings::Findings;
use super::wish::Policy;
use super::world::World;
use crate::random::Random;

/// The longest packet that a hop takes or sends.
pub const PACKET: usize = 512;
/// How long a peer may be silent.
pub const SILENCE: Duration = Duration::from_secs(12);

/// A hop as its readers see it: sessions by the number of the reader, which is that of the port.
pub trait Hop {
    /// A connection comes in.
    fn accept(&mut self, port: usize, framing: Framing, now: u64, seed: [u8; 32]);

    /// Bytes have come.
    fn receive(&mut self, port: usize, bytes: &[u8], now: u64);

    /// Writes the next packet; its length.
    fn poll_output(&mut self, port: usize, now: u64, out: &mut [u8]) -> Option<usize>;

    /// How a session has ended, if it has, or if there is none.
    fn ended(&self, port: usize) -> Option<Ended>;

    /// A connection is gone.
    fn hang_up(&mut self, port: usize);

    /// The reader at this port has had its key taken away.
    fn revoke(&mut self, port: usize);

    /// Something goes wrong with it.
    fn disturb(&mut self, world: &World, now: u64, random: &mut Random, findings: &Findings);

    /// Nothing is wrong with it any more.
    fn repair(&mut self, now: u64);

    /// Its objects are those of another origin from now on.
    fn replace_origin(&mut self, world: &World, now: u64);

    /// It gets to know what it can: from storage, or from its upstream.
    fn follow(
        &mut self,
        world: &World,
        now: u64,
        above: Option<&mut dyn Hop>,
        random: &mut Random,
        findings: &Findings,
    );

    /// The hop that it follows, if it is not storage.
    fn upstream(&self) -> Option<usize>;

    /// Whether it has nothing of another origin: it takes a while until that is known everywhere.
    fn is_of(&self, world: &World) -> bool;

    /// Whether it has everything.
    fn is_in_step(&self, world: &World) -> bool;

    /// The newest revision that it has.
    fn newest(&self) -> Revision;

    /// Stretches that it knows as a difference only: after, until.
    fn bridges(&self) -> &[(Revision, Revision)];

    /// How much older its knowledge may be than it can know.
    fn doubt(&self) -> u64;

    /// Whether every container keeps its bound.
    fn inspect(&self, findings: &Findings);
}

/// Whether a stretch of revisions is known as a difference only, somewhere.
pub fn is_bridged(bridges: &[(Revision, Revision)], after: Revision, until: Revision) -> bool {
    bridges
        .iter()
        .any(|(from, to)| *from < until && after < *to)
}

/// The clock of a process, which is not the world's.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    ahead: u64,
    /// How much it was ever set back, in all. What it says of ages may be wrong by that.
    pub lost: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            ahead: 1_000_000,
            lost: 0,
        }
    }
}

impl Clock {
    /// What it shows.
    pub fn read(&self, now: u64) -> Instant {
        Instant::from_millis(now + self.ahead)
    }

    /// It jumps: ahead, or back.
    pub fn jump(&mut self, millis: u64, back: bool) {
        if back {
            let lost = millis.min(self.ahead);
            self.ahead -= lost;
            self.lost += lost;
        } else {
            self.ahead += millis;
        }
    }
}

/// Who may come in, and what each may have. All hops have the same list.
#[derive(Debug, Clone, Default)]
pub struct Guests(Rc<RefCell<Vec<Guest>>>);

/// One of them.
#[derive(Debug, Clone)]
pub struct Guest {
    /// What it calls itself.
    pub name: &'static str,
    /// Its key, or none if it may come in without.
    pub key: Option<&'static PresharedKey>,
    /// Whether the key is good.
    pub welcome: bool,
    /// What it may have.
    pub policy: Policy,
}

impl Guests {
    /// Adds one.
    pub fn add(&self, guest: Guest) {
        self.0.borrow_mut().push(guest);
    }

    /// Changes one, by number.
    pub fn change(&self, number: usize, change: impl FnOnce(&mut Guest)) {
        change(&mut self.0.borrow_mut()[number]);
    }

    /// What somebody may have; `None` if nothing.
    pub fn policy(&self, name: &str) -> Option<Policy> {
        let guests = self.0.borrow();
        let guest = guests.iter().find(|guest| guest.name == name);
        guest.map(|guest| guest.policy)
    }
}

impl Access for Guests {
    type Name = Name;

    fn name(&self, node: &str) -> Option<Name> {
        node.try_into().ok()
    }

    fn admit(&self, name: &str, sealed: bool) -> Admission {
        let guests = self.0.borrow();
        let mut welcome = guests.iter().filter(|guest| guest.welcome);
        let guest = welcome.find(|guest| guest.name == name);
        match (guest.map(|guest| guest.key), sealed) {
            (Some(Some(key)), true) => Admission::Sealed(key.clone()),
            (Some(None), false) => Admission::Plain,
            _ => Admission::Refused,
        }
    }
}
