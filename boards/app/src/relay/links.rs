//! Nodes: a place for each connection, and a session on it.
//!
//! ```text
//!   free ──► waiting ──► serving ──► leaving ──┐
//!    ▲                                         │
//!    └─────────────────────────────────────────┘
//! ```
//!
//! One task looks after all connections: a task for each, with what it keeps while it waits, would take more memory than a place does. It is woken by a connection
//! that has bytes or room, by a change, and by the first of all deadlines.

use core::convert::Infallible;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll};
use core::time::Duration;

use embassy_futures::poll_once;
use embassy_net::Stack;
use embassy_net::tcp::{State as Tcp, TcpSocket};
use embassy_time::Timer;
use ringwatch_core::link::serve::{Config, Session};
use ringwatch_core::time::Instant;

use super::{Common, LINKS};
use crate::clock::{moment, now};
use crate::upstream::{CONNECT, GOODBYE, Lost};

/// How long a node may be silent; after half of that it is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(20);
/// How long a node may take nothing of what is written to it.
const STUCK: Duration = Duration::from_secs(20);
/// How long to wait if the network lets nobody listen.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a state of TCP is taken for the same: it may have been another in between, which has used up what was asked for.
const GLANCE: Duration = Duration::from_secs(1);

/// What TCP may have on its way from a node: they say little, in packets that the session puts together.
pub(super) const RECEIVE: usize = 64;
/// The longest packet to a node, as it is on the wire. Any object fits, with its key.
const PACKET: usize = 224;
/// What may be on its way to a node: a packet, and an event before it that is not acknowledged. What comes meanwhile goes together.
pub(super) const SEND: usize = PACKET + 64;

/// The buffers of a connection.
pub(super) struct Line<const RECEIVE: usize, const SEND: usize> {
    pub(super) receive: [u8; RECEIVE],
    pub(super) send: [u8; SEND],
}

impl<const RECEIVE: usize, const SEND: usize> Line<RECEIVE, SEND> {
    pub(super) const EMPTY: Self = Self {
        receive: [0; RECEIVE],
        send: [0; SEND],
    };
}

/// The buffers of all connections.
pub(super) type Lines = [Line<RECEIVE, SEND>; LINKS];

#[embassy_executor::task]
pub(super) async fn task(
    shared: &'static Common,
    stack: Stack<'static>,
    port: u16,
    lines: &'static mut Lines,
) -> ! {
    // One after the other, since all together would be made on the stack.
    let mut links = heapless::Vec::<_, LINKS>::new();
    for line in lines {
        // There are as many places as lines.
        let _ = links.push(Link {
            io: TcpSocket::new(stack, &mut line.receive, &mut line.send),
            stage: Stage::Free(Instant::from_millis(0)),
        });
    }
    let serve = Serve { shared, port };
    match poll_fn(|cx| serve.poll_all(&mut links, cx)).await {}
}

/// A connection, or a place for one.
struct Link {
    io: TcpSocket<'static>,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    /// Nobody is here, and from then on somebody may come.
    Free(Instant),
    /// Somebody may come. Who asked to be woken when TCP was in this state need not ask again, before it is another.
    Waiting {
        asked: Option<Tcp>,
        again: Instant,
    },
    Serving(Serving),
    /// What was said last is being sent, or that it is over; until then.
    Leaving {
        until: Instant,
        aborted: bool,
    },
}

#[derive(Clone, Copy)]
struct Serving {
    /// Whether it was said who it is.
    known: bool,
    /// Whether to be woken when something has come was asked for.
    asked: bool,
    /// Whether there may be something to be sent.
    more: bool,
    /// Since when the node has taken nothing of what there is for it.
    stuck: Option<Instant>,
}

/// What connections are served with.
struct Serve {
    shared: &'static Common,
    port: u16,
}

impl Serve {
    /// Does what there is to do, and sees to being woken when there is more.
    fn poll_all(&self, links: &mut [Link], cx: &mut Context<'_>) -> Poll<Infallible> {
        loop {
            // As long as it rings: it has to be heard by who is then woken by it.
            let mut rang = false;
            while poll(self.shared.changed.wait(), cx).is_ready() {
                rang = true;
            }
            let now = now();
            let mut deadline = Instant::NEVER;
            for (number, link) in links.iter_mut().enumerate() {
                if let (Stage::Serving(serving), true) = (&mut link.stage, rang) {
                    serving.more = true;
                }
                deadline = deadline.min(self.poll_link(number, link, now, cx));
            }
            if poll(Timer::at(moment(deadline)), cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Brings a link as far as it comes; when to look at it again although nothing has happened.
    fn poll_link(
        &self,
        number: usize,
        link: &mut Link,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> Instant {
        let Link { io, stage } = link;
        loop {
            match stage {
                Stage::Free(from) if now < *from => return *from,
                Stage::Free(_) => {
                    *stage = match poll(io.accept(self.port), cx) {
                        Poll::Ready(Err(_)) => Stage::Free(now + PAUSE),
                        Poll::Ready(Ok(())) | Poll::Pending => Stage::Waiting {
                            asked: None,
                            again: now,
                        },
                    };
                }
                Stage::Waiting { asked, again } => {
                    let state = io.state();
                    if let Tcp::Listen | Tcp::SynSent | Tcp::SynReceived = state {
                        // Asking wakes the network stack, for each of many places each time.
                        if *asked == Some(state) && now < *again {
                            return *again;
                        }
                        if poll(io.wait_write_ready(), cx).is_pending() {
                            (*asked, *again) = (Some(state), now + GLANCE);
                            return *again;
                        }
                    }
                    self.connect(number, now);
                    *stage = Stage::Serving(Serving {
                        known: false,
                        asked: false,
                        more: true,
                        stuck: None,
                    });
                }
                Stage::Serving(serving) => match self.serve(number, io, serving, now, cx) {
                    Ok(deadline) => return deadline,
                    Err(lost) => {
                        self.disconnect(number, lost, now);
                        *stage = Stage::leave(io, lost, now);
                    }
                },
                Stage::Leaving { until, aborted } => {
                    if poll(io.flush(), cx).is_pending() && now < *until {
                        return *until;
                    }
                    *stage = if *aborted {
                        Stage::Free(Instant::from_millis(0))
                    } else {
                        Stage::abort(io, now)
                    };
                }
            }
        }
    }

    /// Apart, for the stack's sake: a session is long, and is moved to its place.
    #[inline(never)]
    fn connect(&self, link: usize, now: Instant) {
        let config = Config {
            silence: SILENCE,
            ..Config::default()
        };
        let seed = self.shared.random.borrow_mut().seed();
        let mut relayed = self.shared.relayed.borrow_mut();
        relayed.connect(link, config, seed, now);
    }

    #[inline(never)]
    fn disconnect(&self, link: usize, lost: Lost, now: Instant) {
        let mut relayed = self.shared.relayed.borrow_mut();
        let session = relayed.link(link);
        let name = session.map(Session::name).unwrap_or_default();
        log::info!("node {name} has left: {lost}");
        relayed.disconnect(link, now);
    }

    /// Moves bytes, as many as there are and have room; when to look again.
    fn serve(
        &self,
        link: usize,
        io: &mut TcpSocket<'_>,
        serving: &mut Serving,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> Result<Instant, Lost> {
        // What was asked for is used up by bytes that come and by an end, which are both seen.
        while !serving.asked || io.can_recv() || !io.may_recv() {
            let read = io.read_with(|bytes| {
                self.receive(link, bytes, now);
                (bytes.len(), bytes.len())
            });
            match poll(read, cx) {
                Poll::Ready(Ok(0) | Err(_)) => return Err(Lost::Network),
                Poll::Ready(Ok(_)) => (serving.asked, serving.more) = (false, true),
                Poll::Pending => serving.asked = true,
            }
        }
        if self.deadline(link)? <= now {
            serving.more = true;
        }
        while serving.more {
            if room(io) < PACKET {
                // Woken whenever the node has taken something.
                if poll(io.flush(), cx).is_pending() {
                    break;
                }
                return Err(Lost::Network);
            }
            serving.stuck = None;
            serving.more = self.send(link, io, now).ok_or(Lost::Network)?;
        }
        self.say_who(link, serving);
        let deadline = self.deadline(link)?;
        if !serving.more {
            return Ok(deadline);
        }
        let stuck = *serving.stuck.get_or_insert(now) + STUCK;
        if stuck <= now {
            return Err(Lost::Network);
        }
        // There is something to be said, and no room for it: no other deadline counts.
        Ok(stuck)
    }

    /// When the session has something to say, unless it has ended.
    fn deadline(&self, link: usize) -> Result<Instant, Lost> {
        let relayed = self.shared.relayed.borrow();
        let session = relayed.link(link).ok_or(Lost::Network)?;
        match session.ended() {
            Some(ended) => Err(Lost::Ended(ended)),
            None => Ok(session.next_deadline()),
        }
    }

    fn say_who(&self, link: usize, serving: &mut Serving) {
        let relayed = self.shared.relayed.borrow();
        if !serving.known
            && let Some(name) = relayed.link(link).and_then(Session::node)
        {
            serving.known = true;
            log::info!("node {name} is here");
        }
    }

    /// Hands the next packet to the network; whether there was one. `None` if the network is gone.
    fn send(&self, link: usize, io: &mut TcpSocket<'_>, now: Instant) -> Option<bool> {
        // No longer than that even if there is room: what fits no packet must never fit one.
        let mut out = [0; PACKET];
        let mut relayed = self.shared.relayed.borrow_mut();
        let bytes = relayed.poll_output(link, now, &mut out);
        hand_over(io, bytes.unwrap_or_default())
    }

    fn receive(&self, link: usize, bytes: &[u8], now: Instant) {
        let mut relayed = self.shared.relayed.borrow_mut();
        let before = relayed.relay().restarts().count();
        relayed.receive(link, bytes, now);
        for reported in relayed.relay().restarts().since(before) {
            let restart = reported.restart();
            let (node, detail) = (restart.node, restart.detail);
            log::warn!("node {node} restarted after {detail}");
        }
    }
}

impl Stage {
    /// Gives a connection up. A session that has ended by itself may have said why, which is sent first.
    fn leave(io: &mut TcpSocket<'_>, lost: Lost, now: Instant) -> Self {
        if !matches!(lost, Lost::Ended(_)) {
            return Self::abort(io, now);
        }
        io.close();
        let until = now + GOODBYE;
        Self::Leaving {
            until,
            aborted: false,
        }
    }

    /// Whoever is still there is told, if there is a way.
    fn abort(io: &mut TcpSocket<'_>, now: Instant) -> Self {
        io.abort();
        let until = now + CONNECT;
        Self::Leaving {
            until,
            aborted: true,
        }
    }
}

/// Asks a future once, on behalf of who is to be woken. Those of the network keep nothing of their own, so that they can be made anew each time.
fn poll<F: Future>(future: F, cx: &mut Context<'_>) -> Poll<F::Output> {
    pin!(future).poll(cx)
}

/// How much more can be handed to the network.
pub(super) fn room(io: &TcpSocket<'_>) -> usize {
    io.send_capacity().saturating_sub(io.send_queue())
}

/// Hands bytes to the network, in which there is [room](room) for them; whether there were any. `None` if the network is gone.
pub(super) fn hand_over(io: &mut TcpSocket<'_>, bytes: &[u8]) -> Option<bool> {
    if bytes.is_empty() {
        return Some(false);
    }
    match poll_once(io.write(bytes)) {
        Poll::Ready(Ok(len)) if len == bytes.len() => Some(true),
        _ => None,
    }
}
