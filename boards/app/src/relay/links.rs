//! Nodes: a place for each connection, and a session on it.

use core::cell::RefCell;
use core::convert::Infallible;
use core::time::Duration;

use embassy_futures::select::{Either3, select3};
use embassy_net::Stack;
use embassy_net::tcp::TcpSocket;
use embassy_time::{Timer, with_timeout};
use embedded_io_async::{Read, Write};
use ringwatch_core::link::serve::{Config, Session};

use super::{Changed, PACKET, Relayed};
use crate::clock::{moment, now};
use crate::network;
use crate::random::Random;
use crate::upstream::{self, Lost};

/// How long a node may be silent; after half of that it is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(20);
/// How long a node may take nothing of what is written to it.
const STUCK: embassy_time::Duration = embassy_time::Duration::from_secs(20);

/// What is read at once.
const READ: usize = 128;

/// The buffers of a connection.
pub(super) struct Line<const RECEIVE: usize, const SEND: usize> {
    pub(super) receive: [u8; RECEIVE],
    pub(super) send: [u8; SEND],
    pub(super) read: [u8; READ],
    pub(super) out: [u8; PACKET + 8],
}

impl<const RECEIVE: usize, const SEND: usize> Line<RECEIVE, SEND> {
    pub(super) const EMPTY: Self = Self {
        receive: [0; RECEIVE],
        send: [0; SEND],
        read: [0; READ],
        out: [0; PACKET + 8],
    };
}

/// Serves one node after the other, for ever.
pub(super) async fn serve<const RECEIVE: usize, const SEND: usize>(
    relayed: &RefCell<Relayed>,
    link: usize,
    stack: Stack<'static>,
    port: u16,
    line: &mut Line<RECEIVE, SEND>,
    random: &RefCell<Random>,
    changed: &Changed,
) -> Infallible {
    loop {
        network::up(stack).await;
        let mut socket = TcpSocket::new(stack, &mut line.receive, &mut line.send);
        if socket.accept(port).await.is_err() {
            Timer::after_millis(100).await;
            continue;
        }
        let config = Config {
            silence: SILENCE,
            ..Config::default()
        };
        let seed = random.borrow_mut().seed();
        relayed.borrow_mut().connect(link, config, seed, now());
        let mut session = OnLink {
            relayed,
            link,
            changed,
        };
        let lost = session
            .run(&mut socket, &mut line.read, &mut line.out)
            .await;
        {
            let mut relayed = relayed.borrow_mut();
            let name = relayed.link(link).map(Session::name).unwrap_or_default();
            log::info!("node {name} has left: {lost}");
            relayed.disconnect(link, now());
        }
        upstream::hang_up(&mut socket, lost).await;
    }
}

/// The session on a link.
struct OnLink<'a> {
    relayed: &'a RefCell<Relayed>,
    link: usize,
    changed: &'a Changed,
}

impl OnLink<'_> {
    /// Moves bytes until the end.
    async fn run(&mut self, io: &mut (impl Read + Write), read: &mut [u8], out: &mut [u8]) -> Lost {
        // There is one for each link, and it is given back at the end.
        let Some(mut changed) = self.changed.receiver() else {
            return Lost::Network;
        };
        let mut here = false;
        loop {
            loop {
                let len = {
                    let mut relayed = self.relayed.borrow_mut();
                    let bytes = relayed.poll_output(self.link, now(), out);
                    bytes.map(<[u8]>::len)
                };
                let Some(bytes) = len.and_then(|len| out.get(..len)) else {
                    break;
                };
                match with_timeout(STUCK, io.write_all(bytes)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) | Err(_) => return Lost::Network,
                }
            }
            let deadline = {
                let relayed = self.relayed.borrow();
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
            match select3(io.read(read), changed.changed(), wait).await {
                Either3::First(Ok(0) | Err(_)) => return Lost::Network,
                Either3::First(Ok(len)) => {
                    let bytes = read.get(..len).unwrap_or_default();
                    let mut relayed = self.relayed.borrow_mut();
                    let before = relayed.relay().restarts().count();
                    relayed.receive(self.link, bytes, now());
                    for reported in relayed.relay().restarts().since(before) {
                        let restart = reported.restart();
                        let (node, detail) = (restart.node, restart.detail);
                        log::warn!("node {node} restarted after {detail}");
                    }
                }
                Either3::Second(()) | Either3::Third(()) => {}
            }
        }
    }
}
