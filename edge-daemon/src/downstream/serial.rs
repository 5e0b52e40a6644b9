//! Nodes on serial lines: one session after the other on each, for as long as the device is there, and again when it is back.
//!
//! A line has no connections. Bytes begin a session, and one that has ended is said to have ([`RESET`]), so that its node begins anew at once. What a node says
//! first after it has restarted ends the session before, and is heard by the next.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use ringwatch_core::link::{Ended, WireError};

use super::link::{Present, session};
use crate::engine::Backoff;
use crate::hub::Hub;
use crate::upstream::wait;
use crate::wire::{Line, RESET, Wire};

/// The longest packet that may be heard twice: longer than a Hello, which is at most 512 bytes before it is put into pieces.
pub const LONGEST: usize = 600;

/// Serves whoever is at the other end of a line, until it is time to stop.
pub async fn serve(hub: Rc<Hub>, line: Line, present: Present) {
    let mut waits = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
    let mut said = false;
    while !hub.is_stopping() {
        match Wire::open(&line) {
            Ok(wire) => {
                tracing::info!(%line, baud = line.baud, "listening for a node");
                waits.reset();
                said = false;
                match listen(&hub, &wire, &line, &present).await {
                    Ok(()) => return,
                    Err(error) => tracing::warn!(%line, %error, "the line is gone; waiting for it"),
                }
            }
            // Once is enough: it may be away for days.
            Err(error) if !std::mem::replace(&mut said, true) => {
                tracing::warn!(%line, %error, "the line cannot be opened; waiting for it");
            }
            Err(_) => {}
        }
        wait(&mut waits, Duration::ZERO, &hub).await;
    }
}

/// One session after the other, until the line is gone or it is time to stop.
async fn listen(hub: &Rc<Hub>, wire: &Wire, line: &Line, present: &Present) -> io::Result<()> {
    // Whoever talked with somebody here before finds out that this is over.
    unless_stopped(hub, wire.write_all(&RESET)).await?;
    let mut heard = Resync::default();
    while !hub.is_stopping() {
        if heard.is_empty() {
            unless_stopped(hub, wire.readable()).await?;
            if hub.is_stopping() {
                break;
            }
        }
        let known = Rc::new(Cell::new(false));
        let (finish, rest) = session(hub, wire, line, present, known, heard).await;
        let ended = finish?;
        heard = rest.after(ended);
        if !matches!(ended, Ended::ByPeer(_) | Ended::Wire(WireError::Restarted)) {
            unless_stopped(hub, wire.write_all(&RESET)).await?;
        }
    }
    Ok(())
}

/// Waits for something, unless it is time to stop before.
async fn unless_stopped(hub: &Hub, it: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    tokio::select! {
        done = it => done,
        () = hub.stopped() => Ok(()),
    }
}

/// Bytes of a line, packet by packet, so that the one that ends a session can begin the next.
#[derive(Debug, Default)]
pub(super) struct Resync {
    /// Of the packet that is coming in, unless it is too long to begin anything.
    packet: Vec<u8>,
    /// What came behind the packet that ended the session.
    rest: Vec<u8>,
}

impl Resync {
    /// Passes on what was left before and what has come, until the session has ended.
    pub(super) fn each(&mut self, bytes: &[u8], mut pass: impl FnMut(&[u8]) -> Option<Ended>) {
        let mut whole = std::mem::take(&mut self.rest);
        whole.extend_from_slice(bytes);
        let mut done = 0;
        for piece in whole.split_inclusive(|byte| *byte == 0) {
            done += piece.len();
            if self.packet.len() + piece.len() <= LONGEST {
                self.packet.extend_from_slice(piece);
            }
            if pass(piece).is_some() {
                self.rest = whole.split_off(done);
                return;
            }
            if piece.ends_with(&[0]) {
                self.packet.clear();
            }
        }
    }

    /// For the next session: what ended this one, if that is how its node begins.
    fn after(mut self, ended: Ended) -> Self {
        self.packet.append(&mut self.rest);
        match ended {
            Ended::Wire(WireError::Restarted) => Self {
                packet: Vec::new(),
                rest: self.packet,
            },
            _ => Self::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_session_begins_the_next() {
        let mut heard = Resync::default();
        let mut seen = Vec::new();
        heard.each(&[0, 1, 2], |piece| {
            seen.extend_from_slice(piece);
            None
        });
        let ended = Ended::Wire(WireError::Restarted);
        heard.each(&[3, 0, 4, 0, 5], |piece| {
            seen.extend_from_slice(piece);
            piece.ends_with(&[3, 0]).then_some(ended)
        });
        assert_eq!(seen, [0, 1, 2, 3, 0]);
        let mut next = heard.after(ended);
        let mut seen = Vec::new();
        next.each(&[6], |piece| {
            seen.extend_from_slice(piece);
            None
        });
        assert_eq!(seen, [1, 2, 3, 0, 4, 0, 5, 6]);
    }

    #[test]
    fn a_packet_without_an_end_takes_no_memory() {
        let mut heard = Resync::default();
        for _ in 0..1000 {
            heard.each(&[7; 512], |_| None);
        }
        assert!(heard.packet.capacity() < 4 * LONGEST && heard.rest.is_empty());
    }
}
