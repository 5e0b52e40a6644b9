//! Nodes: a place for each connection, and a session on it.

use core::convert::Infallible;
use core::time::Duration;

use embassy_futures::poll_once;
use embassy_futures::select::{Either3, select3};
use embassy_net::Stack;
use embassy_net::tcp::TcpSocket;
use embassy_time::{Timer, with_timeout};
use ringwatch_core::link::serve::{Config, Session};

use super::Common;
use crate::clock::{moment, now};
use crate::network;
use crate::upstream::{self, Lost};

/// How long a node may be silent; after half of that it is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(20);
/// How long a node may take nothing of what is written to it.
const STUCK: embassy_time::Duration = embassy_time::Duration::from_secs(20);

/// What TCP may have on its way from a node: they say little, in packets that the session puts together.
pub(super) const RECEIVE: usize = 192;
/// What may be on its way to a node, and how much of that must be free for a packet to be made: any event fits, and then another one while the first is not acknowledged.
pub(super) const SEND: usize = 2 * LEAST;
const LEAST: usize = 256;

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

/// What a connection is served with.
#[derive(Clone, Copy)]
pub(super) struct Serve {
    pub(super) shared: &'static Common,
    pub(super) link: usize,
    pub(super) stack: Stack<'static>,
    pub(super) port: u16,
}

#[embassy_executor::task(pool_size = super::LINKS)]
pub(super) async fn task(serve: Serve, line: &'static mut Line<RECEIVE, SEND>) -> ! {
    match serve.run(line).await {}
}

impl Serve {
    /// Serves one node after the other, for ever.
    async fn run(self, line: &'static mut Line<RECEIVE, SEND>) -> Infallible {
        loop {
            network::up(self.stack).await;
            let mut socket = TcpSocket::new(self.stack, &mut line.receive, &mut line.send);
            if socket.accept(self.port).await.is_err() {
                Timer::after_millis(100).await;
                continue;
            }
            self.connect();
            let lost = self.session(&mut socket).await;
            self.disconnect(lost);
            upstream::hang_up(&mut socket, lost).await;
        }
    }

    /// Apart, for the stack's sake: a session is long, and is moved to its place.
    #[inline(never)]
    fn connect(&self) {
        let config = Config {
            silence: SILENCE,
            ..Config::default()
        };
        let seed = self.shared.random.borrow_mut().seed();
        let mut relayed = self.shared.relayed.borrow_mut();
        relayed.connect(self.link, config, seed, now());
    }

    #[inline(never)]
    fn disconnect(&self, lost: Lost) {
        let mut relayed = self.shared.relayed.borrow_mut();
        let session = relayed.link(self.link);
        let name = session.map(Session::name).unwrap_or_default();
        log::info!("node {name} has left: {lost}");
        relayed.disconnect(self.link, now());
    }

    /// Moves bytes until the end.
    async fn session(&self, io: &mut TcpSocket<'_>) -> Lost {
        // There is one for each link, and it is given back at the end.
        let Some(mut changed) = self.shared.changed.receiver() else {
            return Lost::Network;
        };
        let mut here = false;
        loop {
            loop {
                if room(io) < LEAST {
                    match with_timeout(STUCK, until_sent(io)).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) | Err(_) => return Lost::Network,
                    }
                }
                match self.send(io) {
                    Some(true) => {}
                    Some(false) => break,
                    None => return Lost::Network,
                }
            }
            let deadline = {
                let relayed = self.shared.relayed.borrow();
                if let Some(ended) = relayed.ended(self.link) {
                    return Lost::Ended(ended);
                }
                let Some(session) = relayed.link(self.link) else {
                    return Lost::Network;
                };
                if let Some(name) = session.node()
                    && !core::mem::replace(&mut here, true)
                {
                    log::info!("node {name} is here");
                }
                session.next_deadline()
            };
            let wait = Timer::at(moment(deadline));
            let read = io.read_with(|bytes| {
                self.receive(bytes);
                (bytes.len(), bytes.len())
            });
            match select3(read, changed.changed(), wait).await {
                Either3::First(Ok(0) | Err(_)) => return Lost::Network,
                Either3::First(Ok(_)) | Either3::Second(()) | Either3::Third(()) => {}
            }
        }
    }

    /// Hands the next packet to the network; whether there was one. `None` if the network is gone.
    fn send(&self, io: &mut TcpSocket<'_>) -> Option<bool> {
        let mut out = self.shared.out.borrow_mut();
        let fits = room(io).min(out.len());
        let mut relayed = self.shared.relayed.borrow_mut();
        let bytes = relayed.poll_output(self.link, now(), out.get_mut(..fits)?);
        hand_over(io, bytes.unwrap_or_default())
    }

    fn receive(&self, bytes: &[u8]) {
        let mut relayed = self.shared.relayed.borrow_mut();
        let before = relayed.relay().restarts().count();
        relayed.receive(self.link, bytes, now());
        for reported in relayed.relay().restarts().since(before) {
            let restart = reported.restart();
            let (node, detail) = (restart.node, restart.detail);
            log::warn!("node {node} restarted after {detail}");
        }
    }
}

/// How much more can be handed to the network.
pub(super) fn room(io: &TcpSocket<'_>) -> usize {
    io.send_capacity().saturating_sub(io.send_queue())
}

/// Waits until the other end has everything.
pub(super) async fn until_sent(io: &mut TcpSocket<'_>) -> Result<(), embassy_net::tcp::Error> {
    io.flush().await
}

/// Hands bytes to the network, in which there is [room](room) for them; whether there were any. `None` if the network is gone.
pub(super) fn hand_over(io: &mut TcpSocket<'_>, bytes: &[u8]) -> Option<bool> {
    if bytes.is_empty() {
        return Some(false);
    }
    match poll_once(io.write(bytes)) {
        core::task::Poll::Ready(Ok(len)) if len == bytes.len() => Some(true),
        _ => None,
    }
}
