//! The serving end of the link: one session for each node that is connected.
//!
//! ```text
//!   bytes ──► receive ──► packets ──► frames ──► subscriptions ◄── Source (store + history)
//!                                                     │
//!   bytes ◄── poll_output ◄── packet ◄── fill ◄───────┘   in turn, for as long as there is room and credit
//! ```
//!
//! A session buffers nothing but one packet and one event: what a node has not been sent yet stays where the source keeps it. A
//! node that is slow falls behind alone, and hears of it.

mod asked;
mod fill;
mod greeting;
mod known;
mod local;
mod restarts;
mod source;
mod state;
mod subscription;

pub use asked::{Asked, MAX_FIELDS, MAX_PROJECTION, Parsed, Texts};
pub use known::KnownNode;
pub use local::{Local, LocalReader, LocalWatch, Selecting, Shelf};
pub use restarts::{Reported, Restarts};
pub use source::{
    Access, Admission, Begin, Change, Content, Name, OpenError, Request, Source, Step,
};

use core::ops::Range;
use core::time::Duration;

use super::ended::Ended;
use super::frame::Code;
use super::hello::{self, MAX_HELLO, MIN_PACKET};
use super::liveness::Liveness;
use super::seal::Seed;
use super::wire::{Framing, Receiver, Sender};
use crate::room::{InPlace, Room};
use crate::time::Instant;
use greeting::{Greeted, Greeting, Refused};
use state::{Phase, State};

/// How a session behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// What carries the bytes.
    pub framing: Framing,
    /// How long a node may be silent before it is taken for gone; zero for any time.
    pub silence: Duration,
    /// How long a handshake may take.
    pub patience: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            framing: Framing::Stream,
            silence: Duration::from_secs(60),
            patience: Duration::from_secs(10),
        }
    }
}

/// One session with one node.
///
/// `W` and `H` are the [`Source`]'s watch and held object; `SUBS` is the most subscriptions, `PACKET` the longest packet in bytes that a node
/// may send after its first one (at least 132), `KEYS` the most keys that are sent only once; `N` is what [`Access`] gives for a name. With an allocator, `R` may be a [`Room`] in which subscriptions and packets take memory only
/// while there are any.
///
/// The caller moves bytes: [`receive`](Self::receive) what has come, and [`poll_output`](Self::poll_output) until there is nothing, after
/// each of: bytes that came, a change at the source, the [deadline](Self::next_deadline).
pub struct Session<
    W,
    H,
    const SUBS: usize,
    const PACKET: usize,
    const KEYS: usize,
    R: Room = InPlace,
    N = Name,
> {
    sender: Sender,
    part: Part<W, H, SUBS, PACKET, KEYS, R, N>,
}

/// How far a session has come, and what it needs for that.
enum Part<W, H, const SUBS: usize, const PACKET: usize, const KEYS: usize, R: Room, N> {
    /// The node has not said hello.
    Greeting(Greeting<R>),
    /// It has, and is to be told that it is not let in.
    Refused(Refused<N>),
    Talking(Talking<W, H, SUBS, PACKET, KEYS, R, N>),
    /// It has ended before it began, with whoever this was.
    Over(Ended, Option<N>),
}

/// A session that has begun.
struct Talking<W, H, const SUBS: usize, const PACKET: usize, const KEYS: usize, R: Room, N> {
    receiver: Receiver<PACKET, R>,
    state: State<W, H, SUBS, KEYS, R, N>,
}

impl<W, H, const SUBS: usize, const PACKET: usize, const KEYS: usize>
    Session<W, H, SUBS, PACKET, KEYS>
{
    /// A session that waits for its node, all in one value.
    pub fn new(config: Config, seed: Seed, now: Instant) -> Self {
        Self::begin(config, seed, now)
    }
}

impl<W, H, const SUBS: usize, const PACKET: usize, const KEYS: usize, R, N>
    Session<W, H, SUBS, PACKET, KEYS, R, N>
where
    R: Room,
    N: AsRef<str> + Clone,
{
    /// The longest packet that is sent, whatever the node takes and the caller has room for.
    const LONGEST: usize = if PACKET > MAX_HELLO {
        PACKET
    } else {
        MAX_HELLO
    };

    /// A session that waits for its node, in a room of the caller's choice.
    pub fn begin(config: Config, seed: Seed, now: Instant) -> Self {
        const {
            assert!(
                PACKET >= MIN_PACKET + 4,
                "nodes may send packets of this length, on a serial line with a checksum"
            );
            assert!(
                SUBS > 0 && SUBS <= 256,
                "subscriptions are numbered by a byte"
            );
        }
        Self {
            sender: Sender::new(config.framing),
            part: Part::Greeting(Greeting {
                receiver: Receiver::new(config.framing),
                until: now + config.patience,
                seed,
                liveness: Liveness::new(config.silence, now),
            }),
        }
    }

    /// Takes in bytes, in whatever pieces they come.
    pub fn receive<A, S>(&mut self, mut bytes: &[u8], access: &A, source: &S, now: Instant)
    where
        A: Access<Name = N>,
        S: Source<Watch = W, Held = H>,
    {
        if let Part::Greeting(_) = self.part {
            self.greet(&mut bytes, access, source, now);
        }
        let Part::Talking(Talking { receiver, state }) = &mut self.part else {
            return;
        };
        // Who has not heard the answer has nothing to say yet; and it is where a packet would be. On a serial line it is noise.
        if let Phase::Answer(_) = state.phase {
            if !bytes.is_empty() && !receiver.is_noisy() {
                state.phase = Phase::Over(Ended::Here(Code::Protocol));
            }
            return;
        }
        while !matches!(state.phase, Phase::Over(_) | Phase::Closing(_)) {
            match receiver.take(&mut bytes, false) {
                Ok(Some(packet)) => state.packet(packet, access, source, now),
                Ok(None) => return,
                Err(error) => state.phase = Phase::Over(Ended::Wire(error)),
            }
        }
    }

    /// Takes in the first packet, if all of it has come. Apart, for the stack's sake: what is needed for that is needed once.
    #[inline(never)]
    fn greet<A, S>(&mut self, bytes: &mut &[u8], access: &A, source: &S, now: Instant)
    where
        A: Access<Name = N>,
        S: Source<Watch = W, Held = H>,
    {
        let mut opened = [0; MAX_HELLO];
        let frames = self.open(bytes, access, &mut opened, now);
        let (Some(frames), Part::Talking(Talking { state, .. })) = (frames, &mut self.part) else {
            return;
        };
        let frames = opened.get(frames).unwrap_or_default();
        if let Err(code) = state.frames(frames, true, access, source, now) {
            let name = Some(state.name.clone());
            self.part = Part::Refused(Refused { code, name });
        }
    }

    /// Opens the first packet and prepares the answer to it; where its frames are in what was opened. Apart, since the handshake is long and over when the frames are looked at.
    #[inline(never)]
    fn open<A: Access<Name = N>>(
        &mut self,
        bytes: &mut &[u8],
        access: &A,
        opened: &mut [u8; MAX_HELLO],
        now: Instant,
    ) -> Option<Range<usize>> {
        let Part::Greeting(greeting) = &mut self.part else {
            return None;
        };
        // What a serial line has picked up before is not the node's fault.
        let greeted = match greeting.receiver.take(bytes, true) {
            Ok(Some(packet)) => Greeted::read(packet, &greeting.seed, access, opened),
            Ok(None) => return None,
            Err(error) => {
                self.part = Part::Over(Ended::Wire(error), None);
                return None;
            }
        };
        let greeted = match greeted {
            Ok(greeted) => greeted,
            Err(refused) => {
                self.part = Part::Refused(refused);
                return None;
            }
        };
        self.talk(&greeted);
        let Part::Talking(Talking { receiver, state }) = &mut self.part else {
            return None;
        };
        if let Err(code) = state.answer(greeted.handshake, receiver.spare(), now) {
            let name = Some(greeted.name);
            self.part = Part::Refused(Refused { code, name });
            return None;
        }
        Some(greeted.frames)
    }

    /// Makes room for a session with a node that is let in, where that for its first packet was. Apart, since it is made on the stack and moved there.
    #[inline(never)]
    fn talk(&mut self, greeted: &Greeted<N>) {
        let Part::Greeting(greeting) = &self.part else {
            return;
        };
        let receiver = Receiver::after(&greeting.receiver);
        let secret = greeting.seed.hash_key();
        let state = State::new(greeted, secret, receiver.longest(), greeting.liveness);
        self.part = Part::Talking(Talking { receiver, state });
    }

    /// Writes the next bytes to send into the front of `out`, which should have room for a packet and a little more;
    /// `None` if there is nothing to send. All of them must be sent before the next call.
    pub fn poll_output<'o, S>(
        &mut self,
        source: &S,
        now: Instant,
        out: &'o mut [u8],
    ) -> Option<&'o [u8]>
    where
        S: Source<Watch = W, Held = H>,
    {
        let (sender, most) = (&mut self.sender, Self::LONGEST);
        match &mut self.part {
            Part::Greeting(greeting) => {
                if now >= greeting.until {
                    self.close(Code::Silent);
                }
                None
            }
            Part::Refused(Refused { code, name }) => {
                let code = *code;
                self.part = Part::Over(Ended::Here(code), name.take());
                sender.send::<R, PACKET>(most, out, |place| hello::write_refusal(code, place))
            }
            Part::Talking(Talking { receiver, state }) => {
                if let Phase::Answer(len) = state.phase {
                    let answer = sender.send::<R, PACKET>(most, out, |place| {
                        let answer = receiver.spare().get(..usize::from(len))?;
                        place.get_mut(..answer.len())?.copy_from_slice(answer);
                        Some(answer.len())
                    })?;
                    receiver.give_up();
                    state.phase = Phase::Open;
                    return Some(answer);
                }
                state.look_at_the_clock(now);
                sender.send::<R, PACKET>(most, out, |place| state.next_packet(place, source, now))
            }
            Part::Over(..) => None,
        }
    }

    /// When to call [`poll_output`](Self::poll_output) although nothing has happened; [`Instant::NEVER`] if then only.
    pub fn next_deadline(&self) -> Instant {
        match &self.part {
            Part::Greeting(greeting) => greeting.until,
            Part::Refused(_) => Instant::from_millis(0),
            Part::Talking(Talking { state, .. }) => state.next_deadline(),
            Part::Over(..) => Instant::NEVER,
        }
    }

    /// Says goodbye with the next output, after which the session has ended.
    pub fn close(&mut self, code: Code) {
        let ended = Ended::Here(code);
        match &mut self.part {
            Part::Greeting(_) => self.part = Part::Over(ended, None),
            Part::Refused(it) => self.part = Part::Over(ended, it.name.take()),
            Part::Talking(Talking { state, .. }) => state.close(code),
            Part::Over(..) => {}
        }
    }

    /// How the session has ended, if it has.
    pub fn ended(&self) -> Option<Ended> {
        match &self.part {
            Part::Greeting(_) | Part::Refused(_) => None,
            Part::Talking(Talking { state, .. }) => match state.phase {
                Phase::Over(ended) => Some(ended),
                _ => None,
            },
            Part::Over(ended, _) => Some(*ended),
        }
    }

    /// The node, once it has proved who it is. Before, somebody might have repeated what it once said.
    pub fn node(&self) -> Option<&str> {
        match &self.part {
            Part::Talking(Talking { state, .. }) if state.is_present => Some(state.name.as_ref()),
            _ => None,
        }
    }

    /// What the node calls itself, proved or not; empty before it has said so. For taking rights away, not for giving them.
    pub fn name(&self) -> &str {
        match &self.part {
            Part::Greeting(_) => "",
            Part::Refused(Refused { name, .. }) | Part::Over(_, name) => {
                name.as_ref().map_or("", N::as_ref)
            }
            Part::Talking(Talking { state, .. }) => state.name.as_ref(),
        }
    }

    /// The watch of a subscription, for a source that wants to know who reads.
    pub fn watch(&self, sub: u8) -> Option<&W> {
        let Part::Talking(Talking { state, .. }) = &self.part else {
            return None;
        };
        let subscription = state.subs.get(usize::from(sub))?.as_ref()?;
        subscription.watch.as_ref()
    }
}
