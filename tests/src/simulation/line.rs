//! Bytes on their way: late, in pieces, at a trickle, changed, or never.

use std::collections::VecDeque;

use crate::random::Random;

/// As many bytes as a line holds. Who writes waits until there is room.
pub const ROOM: usize = 700;

/// Bytes that were written together.
#[derive(Debug)]
struct Piece {
    bytes: VecDeque<u8>,
    written: u64,
    due: u64,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub struct Line {
    pieces: VecDeque<Piece>,
    /// Bytes in all pieces.
    held: usize,
    /// Not a byte arrives before that.
    pub stalled_until: u64,
    /// How it is.
    pub weather: Weather,
    /// So many bytes are still to arrive until what was done to it must have been noticed.
    to_notice: Option<usize>,
}

/// How lines are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weather {
    /// How long bytes take, at most.
    pub delay: u64,
    /// At most so many bytes arrive at a time; 0 for any number.
    pub trickle: usize,
}

impl Weather {
    /// Good or bad.
    pub fn any(random: &mut Random) -> Self {
        Self {
            delay: [0, 0, 30, 500][random.below(4)],
            trickle: [0, 0, 0, 7, 40][random.below(5)],
        }
    }
}

/// What somebody does to the bytes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tampering {
    /// A bit is turned.
    Flip,
    /// A packet is left out.
    Drop,
    /// A packet comes twice.
    Repeat,
    /// Two packets change places.
    Swap,
}

impl Line {
    /// A line with nothing on its way.
    pub fn new(weather: Weather) -> Self {
        Self {
            weather,
            ..Self::default()
        }
    }

    /// Nothing is wrong with it any more.
    pub fn repair(&mut self) {
        self.stalled_until = 0;
        self.weather = Weather::default();
    }

    /// Whether packets have been left out, repeated or swapped, and all that was on its way then has arrived.
    pub fn must_be_noticed(&self) -> bool {
        self.to_notice == Some(0)
    }

    /// Whether there is room for more.
    pub fn has_room(&self) -> bool {
        self.held < ROOM
    }

    /// How many bytes are on their way.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes what was written: a whole packet.
    pub fn write(&mut self, bytes: &[u8], now: u64, random: &mut Random) {
        let last = self.pieces.back().map_or(0, |piece| piece.due);
        let due = now + random.below(self.weather.delay as usize + 1) as u64;
        self.held += bytes.len();
        self.pieces.push_back(Piece {
            bytes: bytes.iter().copied().collect(),
            written: now,
            due: due.max(last),
        });
    }

    /// What arrives, and when it was written. Call until there is nothing.
    pub fn arrive(&mut self, now: u64, random: &mut Random) -> Option<(Vec<u8>, u64)> {
        if now < self.stalled_until {
            return None;
        }
        let piece = self.pieces.front_mut().filter(|piece| piece.due <= now)?;
        let most = match self.weather.trickle {
            0 => piece.bytes.len(),
            trickle => trickle.min(piece.bytes.len()),
        };
        let count = if random.below(3) == 0 {
            random.below(most) + 1
        } else {
            most
        };
        let bytes: Vec<u8> = piece.bytes.drain(..count).collect();
        self.held -= bytes.len();
        if let Some(left) = &mut self.to_notice {
            *left = left.saturating_sub(bytes.len());
        }
        let written = piece.written;
        if piece.bytes.is_empty() {
            self.pieces.pop_front();
        } else if self.weather.trickle > 0 {
            // The rest takes its time.
            piece.due = now + 1;
        }
        Some((bytes, written))
    }

    /// Tampers with whole packets that are on their way. Whether there were any.
    pub fn tamper(&mut self, how: Tampering, random: &mut Random) -> bool {
        // Once is enough: a packet that is repeated and then left out was never touched.
        if self.to_notice.is_some() {
            return false;
        }
        let count = self.pieces.len();
        // The first may have arrived in part.
        let first = 1;
        match how {
            Tampering::Flip if count > 0 => {
                let piece = &mut self.pieces[random.below(count)];
                let at = random.below(piece.bytes.len());
                piece.bytes[at] ^= 1 << random.below(8);
            }
            // Not the last: nobody could tell, until more comes.
            Tampering::Drop if count > first + 1 => {
                let at = first + random.below(count - first - 1);
                let gone = self.pieces.remove(at);
                self.held -= gone.map_or(0, |piece| piece.bytes.len());
            }
            Tampering::Repeat if count > first => {
                let at = first + random.below(count - first);
                let piece = &self.pieces[at];
                let again = Piece {
                    bytes: piece.bytes.clone(),
                    ..*piece
                };
                self.held += again.bytes.len();
                self.pieces.insert(at, again);
            }
            Tampering::Swap if count > first + 1 => {
                let at = first + random.below(count - first - 1);
                if self.pieces[at].bytes == self.pieces[at + 1].bytes {
                    return false;
                }
                self.pieces.swap(at, at + 1);
            }
            _ => return false,
        }
        // A changed length may hide the end of a packet for a while.
        if how != Tampering::Flip {
            self.to_notice = Some(self.held);
        }
        true
    }
}
