//! A connection between a reader and a hop: the reader's session, two lines, and whoever listens.

use ringwatch_core::link::frame::Code;
use ringwatch_core::link::node::{Config, Session, Standing, View, Wanted};
use ringwatch_core::link::{Ended, Framing, Seed};
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;

use super::findings::{Findings, Property};
use super::hop::{Hop, PACKET};
use super::line::{Line, Weather};
use super::tap::Tap;
use super::world::World;
use crate::random::Random;

/// What is told, by whom and when: what a judge must know.
pub struct Telling<'t> {
    /// The truth.
    pub world: &'t World,
    /// Who tells.
    pub hop: usize,
    /// Stretches that the hop knows as a difference only.
    pub bridges: &'t [(Revision, Revision)],
    /// How much older the hop's knowledge may be than it can know.
    pub doubt: u64,
    /// When the bytes were written.
    pub written: u64,
    /// When they have come.
    pub now: u64,
    /// Where violations go.
    pub findings: &'t Findings,
}

/// Who has the views that a session is lent.
pub trait Reader {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Lends the views, to be asked for their positions.
    fn asked(&mut self, call: &mut dyn FnMut(&[&mut dyn View]));

    /// Lends the views, with a judge before each, to be told something.
    fn told(&mut self, telling: &Telling<'_>, call: &mut dyn FnMut(&mut [&mut dyn View]));

    /// Whether its key is no longer good.
    fn is_revoked(&self) -> bool;
}

/// A connection of a reader with `SUBS` subscriptions that takes packets of `LONGEST` bytes.
pub struct Link<const SUBS: usize, const LONGEST: usize, const KEYS: usize, const KEY: usize> {
    /// To which hop.
    pub hop: usize,
    /// At which of its ports.
    port: usize,
    session: Box<Session<'static, SUBS, LONGEST, KEYS, KEY, Vec<u8>>>,
    /// Upwards, and downwards.
    pub lines: [Line; 2],
    tap: Option<Tap>,
    tampered: bool,
}

/// What a connection acts on.
pub struct Stage<'s> {
    /// Who serves.
    pub hop: &'s mut dyn Hop,
    /// The truth.
    pub world: &'s World,
    /// The time.
    pub now: u64,
    /// Where violations go.
    pub findings: &'s Findings,
}

impl<const SUBS: usize, const LONGEST: usize, const KEYS: usize, const KEY: usize>
    Link<SUBS, LONGEST, KEYS, KEY>
{
    /// Connects to a port of a hop. `object` is the longest object that the reader takes, with its key.
    pub fn new(
        (config, wanted, object): (Config<'static>, &'static [Wanted<'static>; SUBS], usize),
        (to, port): (usize, usize),
        hop: &mut dyn Hop,
        weather: Weather,
        (clock, now): (Instant, u64),
        random: &mut Random,
    ) -> Self {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&random.number().to_le_bytes());
        let object = vec![0; object];
        let session = Session::new(config, wanted, object, Seed::new(seed), clock);
        seed[8] = 1;
        hop.accept(port, config.framing, now, seed);
        let is_readable = config.framing == Framing::Stream
            && matches!(
                config.security,
                ringwatch_core::link::node::Security::PlainText
            );
        Self {
            hop: to,
            port,
            session: Box::new(session),
            lines: [Line::new(weather), Line::new(weather)],
            tap: is_readable.then(Tap::default),
            tampered: false,
        }
    }

    /// Says goodbye.
    pub fn close(&mut self) {
        self.session.close(Code::Done);
    }

    /// Somebody has tampered with the lines.
    pub fn note_tampering(&mut self) {
        self.tampered = true;
    }

    /// How a subscription stands.
    pub fn standing(&self, sub: usize) -> Option<Standing> {
        self.session.standing(sub)
    }

    /// Moves bytes until nothing moves at this moment. Whether the connection goes on.
    pub fn pump(
        &mut self,
        reader: &mut dyn Reader,
        stage: &mut Stage<'_>,
        clock: Instant,
        random: &mut Random,
    ) -> bool {
        // Each turn moves something, and there is only so much; who is never done has a bug.
        for _ in 0..10_000 {
            let moved = self.turn(reader, stage, clock, random);
            if self.is_over(reader, stage) {
                return false;
            }
            if !moved {
                return true;
            }
        }
        let name = reader.name();
        let findings = stage.findings;
        findings.add(Property::Converges, || format!("{name} is never done"));
        true
    }

    fn turn(
        &mut self,
        reader: &mut dyn Reader,
        stage: &mut Stage<'_>,
        clock: Instant,
        random: &mut Random,
    ) -> bool {
        let (world, now, findings) = (stage.world, stage.now, stage.findings);
        let (port, session, hop) = (self.port, &mut self.session, &mut *stage.hop);
        let [up, down] = &mut self.lines;
        let mut out = [0; PACKET + 64];
        let mut moved = false;
        while up.has_room() {
            let mut written = None;
            reader.asked(&mut |views| {
                written = session.poll_output(views, clock, &mut out).map(<[u8]>::len);
            });
            let Some(length) = written else { break };
            up.write(&out[..length], now, random);
            moved = true;
        }
        while let Some((bytes, _)) = up.arrive(now, random) {
            if let Some(tap) = &mut self.tap {
                tap.up(&bytes, findings);
            }
            hop.receive(port, &bytes, now);
            moved = true;
        }
        while down.has_room()
            && let Some(length) = hop.poll_output(port, now, &mut out)
        {
            if let Some(tap) = &mut self.tap {
                tap.down(&out[..length], LONGEST, findings);
            }
            down.write(&out[..length], now, random);
            moved = true;
        }
        while let Some((bytes, written)) = down.arrive(now, random) {
            let telling = Telling {
                world,
                hop: self.hop,
                bridges: hop.bridges(),
                doubt: hop.doubt(),
                written,
                now,
                findings,
            };
            reader.told(&telling, &mut |views| session.receive(&bytes, views, clock));
            moved = true;
        }
        moved
    }

    fn is_over(&mut self, reader: &dyn Reader, stage: &mut Stage<'_>) -> bool {
        let ended = [stage.hop.ended(self.port), self.session.ended()];
        let (name, findings) = (reader.name(), stage.findings);
        for (line, ended) in self.lines.iter().zip(ended) {
            findings.expect(
                !line.must_be_noticed() || ended.is_some(),
                Property::Sealed,
                || format!("{name} took packets that were tampered with"),
            );
        }
        for ended in ended.into_iter().flatten() {
            let honest = match ended {
                Ended::Here(Code::Refused) | Ended::Refused(_) => reader.is_revoked(),
                Ended::Here(code) | Ended::ByPeer(code) => code != Code::Protocol,
                Ended::Wire(_) | Ended::Forged => false,
            };
            findings.expect(honest || self.tampered, Property::Protocol, || {
                format!("{name}: {ended:?} on a line that nobody touched")
            });
        }
        // What is still on its way down is for the reader, goodbye included.
        let over = ended[1].is_some() || ended[0].is_some() && self.lines[1].held() == 0;
        if over {
            let hop = self.hop;
            findings.say(|| format!("  {name} at hop {hop}: {ended:?}"));
        }
        over
    }
}
