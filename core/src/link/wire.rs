//! Packets on a wire: where one ends and the next begins, whatever pieces the bytes come in.
//!
//! | framing | bytes |
//! |---|---|
//! | stream | length, packet |
//! | serial | COBS of (packet, CRC over its number and itself), `00` |
//!
//! A [`Receiver`] owns the buffer for one packet, between packets perhaps none. Lengths are checked before anything is stored.

use core::error::Error;
use core::fmt;

use cobs::{CobsEncoder, DecodeResult, DecoderState};
use crc::{CRC_32_ISO_HDLC, Crc, NoTable};

use crate::room::{Buffer, InPlace, Room};

/// How packets are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Framing {
    /// On a stream that neither loses nor damages bytes, such as TCP.
    Stream,
    /// On a line that may.
    Serial,
}

/// What was wrong on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum WireError {
    /// A packet of no length, or of a greater one than was agreed.
    Length,
    /// A packet was damaged, lost, repeated or swapped on a serial line.
    Damaged,
    /// The peer has begun again from its first packet, on a line that knows no connections.
    Restarted,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "packet of a length that was not agreed",
            Self::Damaged => "packet damaged or lost on the line",
            Self::Restarted => "peer has begun again",
        })
    }
}

impl Error for WireError {}

const CRC: Crc<u32, NoTable> = Crc::<u32, NoTable>::new(&CRC_32_ISO_HDLC);
const CRC_LEN: usize = 4;
const LENGTH_LEN: usize = 2;

fn checksum(number: u32, packet: &[u8]) -> [u8; CRC_LEN] {
    let mut digest = CRC.digest();
    digest.update(&number.to_le_bytes());
    digest.update(packet);
    digest.finalize().to_le_bytes()
}

/// The longest packet that a buffer of this length takes in.
pub(super) const fn longest_in(framing: Framing, buffer: usize) -> u16 {
    let longest = match framing {
        Framing::Stream => buffer,
        Framing::Serial => buffer.saturating_sub(CRC_LEN),
    };
    if longest > u16::MAX as usize {
        u16::MAX
    } else {
        longest as u16
    }
}

/// The longest packet whose bytes on the wire fit into this many.
pub(super) const fn longest_out(framing: Framing, out: usize) -> usize {
    match framing {
        Framing::Stream => out.saturating_sub(LENGTH_LEN),
        // One byte for each 254, one at the start, and a zero at each end.
        Framing::Serial => (out.saturating_sub(3) / 255 * 254
            + (out.saturating_sub(3) % 255).saturating_sub(1))
        .saturating_sub(CRC_LEN),
    }
}

/// Bytes in, packets out.
pub(super) struct Receiver<const N: usize, R: Room = InPlace> {
    framing: Framing,
    buffer: Buffer<R, N>,
    len: usize,
    progress: Progress,
    cobs: DecoderState,
    /// Of the next packet, on a serial line.
    number: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Stream: no byte of the length yet. Serial: inside a packet or before one.
    Begin,
    /// Stream: the low byte of the length.
    Length(u8),
    /// Stream: so many bytes are to come.
    Packet(usize),
    /// Serial: what comes is not wanted, up to the next zero.
    Skip,
}

impl<const N: usize, R: Room> Receiver<N, R> {
    pub(super) const fn new(framing: Framing) -> Self {
        Self {
            framing,
            buffer: Buffer::new(),
            len: 0,
            progress: Progress::Begin,
            cobs: DecoderState::Idle,
            number: 0,
        }
    }

    /// One for the rest of what comes to another, which is between packets.
    pub(super) const fn after<const M: usize>(other: &Receiver<M, R>) -> Self {
        let mut receiver = Self::new(other.framing);
        receiver.number = other.number;
        receiver
    }

    /// Whether bytes may be noise.
    pub(super) fn is_noisy(&self) -> bool {
        self.framing == Framing::Serial
    }

    /// The buffer, while nothing is in it: between packets.
    pub(super) fn spare(&mut self) -> &mut [u8; N] {
        self.buffer.bytes()
    }

    /// What was put into the buffer is not needed any more.
    pub(super) fn give_up(&mut self) {
        self.buffer.give_up();
    }

    pub(super) const fn longest(&self) -> u16 {
        longest_in(self.framing, N)
    }

    /// The next packet, of which `input` may hold a part, or several. What was used is taken off the input.
    ///
    /// While `lenient`, damage on a serial line is skipped.
    pub(super) fn take(
        &mut self,
        input: &mut &[u8],
        lenient: bool,
    ) -> Result<Option<&mut [u8]>, WireError> {
        let whole = match self.framing {
            Framing::Stream => self.take_stream(input)?,
            Framing::Serial => self.take_serial(input, lenient)?,
        };
        Ok(match whole {
            Some(len) => self.buffer.bytes().get_mut(..len),
            None => {
                // Between packets.
                if self.len == 0 {
                    self.buffer.give_up();
                }
                None
            }
        })
    }

    fn take_stream(&mut self, input: &mut &[u8]) -> Result<Option<usize>, WireError> {
        loop {
            match self.progress {
                Progress::Begin | Progress::Skip => {
                    let Some(low) = first(input) else {
                        return Ok(None);
                    };
                    self.progress = Progress::Length(low);
                }
                Progress::Length(low) => {
                    let Some(high) = first(input) else {
                        return Ok(None);
                    };
                    let length = usize::from(u16::from_le_bytes([low, high]));
                    if length == 0 || length > usize::from(self.longest()) {
                        return Err(WireError::Length);
                    }
                    self.len = 0;
                    self.progress = Progress::Packet(length);
                }
                Progress::Packet(length) => {
                    let wanted = length.saturating_sub(self.len).min(input.len());
                    let (taken, rest) = input.split_at_checked(wanted).unwrap_or((input, &[]));
                    *input = rest;
                    let place = self.buffer.bytes().get_mut(self.len..self.len + wanted);
                    place.ok_or(WireError::Length)?.copy_from_slice(taken);
                    self.len += wanted;
                    if self.len < length {
                        return Ok(None);
                    }
                    self.begin();
                    return Ok(Some(length));
                }
            }
        }
    }

    fn take_serial(
        &mut self,
        input: &mut &[u8],
        lenient: bool,
    ) -> Result<Option<usize>, WireError> {
        while let Some(byte) = first(input) {
            let outcome = match (self.progress, byte) {
                (Progress::Skip, 0) => {
                    self.begin();
                    continue;
                }
                (Progress::Skip, _) => continue,
                _ => self.feed(byte),
            };
            match outcome {
                Ok(Some(len)) => return Ok(Some(len)),
                Ok(None) => {}
                Err(error) => {
                    self.begin();
                    if byte != 0 {
                        self.progress = Progress::Skip;
                    }
                    if !lenient {
                        return Err(error);
                    }
                }
            }
        }
        Ok(None)
    }

    /// One byte of a serial line; the length of the packet that it ends.
    fn feed(&mut self, byte: u8) -> Result<Option<usize>, WireError> {
        match self.cobs.feed(byte) {
            Ok(DecodeResult::NoData) => Ok(None),
            Ok(DecodeResult::DataContinue(decoded)) => {
                let place = self.buffer.bytes().get_mut(self.len);
                let place = place.ok_or(WireError::Length)?;
                *place = decoded;
                self.len += 1;
                Ok(None)
            }
            Ok(DecodeResult::DataComplete) => {
                let len = self.len;
                self.begin();
                self.check(len)
            }
            Err(_) => Err(WireError::Damaged),
        }
    }

    fn begin(&mut self) {
        self.len = 0;
        self.cobs = DecoderState::Idle;
        self.progress = Progress::Begin;
    }

    /// Checks the CRC of what is in the buffer; the length without it.
    fn check(&mut self, len: usize) -> Result<Option<usize>, WireError> {
        if len == 0 {
            return Ok(None);
        }
        let packet = len.checked_sub(CRC_LEN).filter(|len| *len > 0);
        let (packet, crc) = packet
            .and_then(|len| {
                let whole = self.buffer.bytes().get(..len + CRC_LEN)?;
                whole.split_at_checked(len)
            })
            .ok_or(WireError::Damaged)?;
        if crc == checksum(self.number, packet) {
            self.number = self.number.wrapping_add(1);
            Ok(Some(packet.len()))
        } else if crc == checksum(0, packet) {
            Err(WireError::Restarted)
        } else {
            Err(WireError::Damaged)
        }
    }
}

/// Packets in, bytes out.
#[derive(Debug)]
pub(super) struct Sender {
    framing: Framing,
    number: u32,
}

impl Sender {
    pub(super) const fn new(framing: Framing) -> Self {
        Self { framing, number: 0 }
    }

    /// Has `make` write a packet, and gives its bytes on the wire; `None` if there is none. The place that it is given has at most `most` bytes, and as many as `out` allows.
    ///
    /// On a stream a packet is made where it is sent from. On a serial line it is made elsewhere, since no byte of it stays where it was, and has at most `N`.
    pub(super) fn send<'o, R: Room, const N: usize>(
        &mut self,
        most: usize,
        out: &'o mut [u8],
        make: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> Option<&'o [u8]> {
        let longest = longest_out(self.framing, out.len()).min(most);
        let len = match self.framing {
            Framing::Stream => {
                let (head, body) = out.split_at_mut_checked(LENGTH_LEN)?;
                let len = make(body.get_mut(..longest)?).filter(|len| *len > 0)?;
                head.copy_from_slice(&u16::try_from(len).ok()?.to_le_bytes());
                LENGTH_LEN + len
            }
            Framing::Serial => self.send_serial::<R, N>(longest.min(N), out, make)?,
        };
        out.get(..len)
    }

    /// Apart, so that who speaks on streams only needs no stack for the buffer.
    #[inline(never)]
    fn send_serial<R: Room, const N: usize>(
        &mut self,
        longest: usize,
        out: &mut [u8],
        make: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> Option<usize> {
        let mut buffer = Buffer::<R, N>::new();
        let packet = buffer.bytes();
        let len = make(packet.get_mut(..longest)?).filter(|len| *len > 0)?;
        self.write_serial(packet.get(..len)?, out)
    }

    fn write_serial(&mut self, packet: &[u8], out: &mut [u8]) -> Option<usize> {
        let (flush, encoded) = out.split_first_mut()?;
        // What the line has picked up while nobody spoke ends here.
        *flush = 0;
        let mut encoder = CobsEncoder::new(encoded);
        encoder.push(packet).ok()?;
        encoder.push(&checksum(self.number, packet)).ok()?;
        let len = encoder.finalize();
        self.number = self.number.wrapping_add(1);
        *encoded.get_mut(len)? = 0;
        Some(len + 2)
    }
}

fn first(input: &mut &[u8]) -> Option<u8> {
    let (first, rest) = input.split_first()?;
    *input = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// Every packet that comes out, whatever the pieces.
    fn receive(framing: Framing, bytes: &[u8], piece: usize) -> Result<Vec<Vec<u8>>, WireError> {
        let mut receiver = Receiver::<300, InPlace>::new(framing);
        let mut packets = Vec::new();
        for mut input in bytes.chunks(piece) {
            while let Some(packet) = receiver.take(&mut input, false)? {
                packets.push(packet.to_vec());
            }
        }
        Ok(packets)
    }

    fn packets() -> Vec<Vec<u8>> {
        let long = (0..296u16).map(|n| (n % 7) as u8).collect();
        let full = (0..296u16).map(|n| (n % 255 + 1) as u8).collect();
        std::vec![
            std::vec![1],
            std::vec![0, 0, 0],
            long,
            full,
            std::vec![255; 254]
        ]
    }

    /// One packet on the wire, if there is room for it.
    fn write(sender: &mut Sender, packet: &[u8], room: usize) -> Option<Vec<u8>> {
        let mut out = std::vec![0; room];
        let sent = sender.send::<InPlace, 1100>(1100, &mut out, |place| {
            place.get_mut(..packet.len())?.copy_from_slice(packet);
            Some(packet.len())
        });
        sent.map(<[u8]>::to_vec)
    }

    fn send(framing: Framing, packets: &[Vec<u8>]) -> Vec<u8> {
        let mut sender = Sender::new(framing);
        let written = packets.iter();
        let written = written.map(|packet| write(&mut sender, packet, 320).unwrap());
        written.collect::<Vec<_>>().concat()
    }

    #[test]
    fn any_pieces_give_the_same_packets() {
        for framing in [Framing::Stream, Framing::Serial] {
            let bytes = send(framing, &packets());
            for piece in [1, 2, 3, 5, 64, 300, 4096] {
                assert_eq!(
                    receive(framing, &bytes, piece),
                    Ok(packets()),
                    "{framing:?} {piece}"
                );
            }
        }
    }

    /// The bytes were made by another implementation.
    #[test]
    fn the_format_is_fixed() {
        let text = include_str!("../../tests/golden/link/wire.txt");
        let hex = |line: &str| -> Vec<u8> {
            let bytes = line.split_whitespace().skip(1);
            bytes
                .map(|byte| u8::from_str_radix(byte, 16).unwrap())
                .collect()
        };
        for (framing, name) in [
            (Framing::Stream, "== stream"),
            (Framing::Serial, "== serial"),
        ] {
            let sections = text
                .split("\n\n")
                .filter(|section| section.starts_with(name));
            let lines =
                sections.map(|section| section.lines().skip(1).map(hex).collect::<Vec<_>>());
            let (packets, bytes): (Vec<_>, Vec<_>) = lines
                .map(|lines| (lines[0].clone(), lines[1].clone()))
                .unzip();
            assert_eq!(packets.len(), 3);
            assert_eq!(send(framing, &packets), bytes.concat());
            assert_eq!(receive(framing, &bytes.concat(), 1), Ok(packets));
        }
    }

    #[test]
    fn the_longest_packet_fits_and_no_longer_one() {
        for framing in [Framing::Stream, Framing::Serial] {
            for len in 8..1100 {
                let longest = longest_out(framing, len);
                for filler in [0, 1] {
                    let packet = std::vec![filler; longest];
                    let written = write(&mut Sender::new(framing), &packet, len);
                    assert_eq!(written.is_some(), longest > 0, "{framing:?} {len}");
                }
                let packet = std::vec![1; longest + 1];
                assert_eq!(write(&mut Sender::new(framing), &packet, len), None);
            }
        }
    }

    #[test]
    fn lengths_are_checked_first() {
        assert_eq!(receive(Framing::Stream, &[0, 0], 1), Err(WireError::Length));
        assert_eq!(
            receive(Framing::Stream, &[45, 1], 1),
            Err(WireError::Length)
        );
        assert_eq!(receive(Framing::Stream, &[44, 1], 1), Ok(Vec::new()));
        let endless = [7; 1000];
        assert_eq!(
            receive(Framing::Serial, &endless, 10),
            Err(WireError::Length)
        );
    }

    #[test]
    fn a_serial_line_tells_damage_loss_and_restart() {
        let packets = packets();
        let bytes: Vec<_> = {
            let mut sender = Sender::new(Framing::Serial);
            let written = packets.iter();
            let written = written.map(|packet| write(&mut sender, packet, 320).unwrap());
            written.collect()
        };
        for at in 0..bytes[1].len() {
            let mut damaged = bytes[1].clone();
            damaged[at] ^= 0x10;
            let all = [&bytes[0][..], &damaged, &bytes[2]].concat();
            assert!(receive(Framing::Serial, &all, 7).is_err(), "byte {at}");
        }
        let lost = [&bytes[0][..], &bytes[2]].concat();
        assert_eq!(receive(Framing::Serial, &lost, 7), Err(WireError::Damaged));
        let again = [&bytes[0][..], &bytes[1], &bytes[0]].concat();
        assert_eq!(
            receive(Framing::Serial, &again, 7),
            Err(WireError::Restarted)
        );
    }

    #[test]
    fn noise_before_the_first_packet_is_skipped() {
        let mut noise = b"boot 1.0\r\n".to_vec();
        noise.extend(send(Framing::Serial, &packets()));
        let mut receiver = Receiver::<300, InPlace>::new(Framing::Serial);
        let mut input = &noise[..];
        assert_eq!(
            receiver.take(&mut input, true).unwrap().unwrap(),
            &packets()[0]
        );
    }
}
