//! What a line that is not sealed gives away. It listens where the serving end reads and writes, so it knows what that end knew.

use ringwatch_core::link::frame::{Body, Control, Frame};

use super::findings::{Findings, Property};

/// A listener at the serving end of a plain stream.
#[derive(Debug, Default)]
pub struct Tap {
    up: Vec<u8>,
    greeted: bool,
    answered: bool,
    /// What each subscription may still be sent; `None` for any amount.
    allowed: [Option<i64>; 2],
    /// Whose event is being sent in parts.
    split: u8,
}

impl Tap {
    /// Bytes that the serving end gets.
    pub fn up(&mut self, bytes: &[u8], findings: &Findings) {
        self.up.extend(bytes);
        while let [low, high, rest @ ..] = &*self.up {
            let length = usize::from(u16::from_le_bytes([*low, *high]));
            let Some(packet) = rest.get(..length) else {
                return;
            };
            let packet = packet.to_vec();
            self.up.drain(..2 + length);
            let frames = match self.greeted {
                true => &packet[..],
                false => after_hello(&packet),
            };
            self.greeted = true;
            self.asked(frames, findings);
        }
    }

    fn asked(&mut self, mut frames: &[u8], findings: &Findings) {
        while !frames.is_empty() {
            let Ok((frame, rest)) = Frame::decode(frames) else {
                return findings.add(Property::Protocol, || "no frame of a node's".to_owned());
            };
            frames = rest;
            match frame {
                Frame::Control(Control::Subscribe(asked)) => {
                    let limit = (asked.credit != u32::MAX).then_some(i64::from(asked.credit));
                    self.allowed[usize::from(asked.sub)] = limit;
                }
                Frame::Control(Control::Credit { sub, bytes }) => {
                    if let Some(allowed) = &mut self.allowed[usize::from(sub)] {
                        *allowed += i64::from(bytes);
                    }
                }
                _ => {}
            }
        }
    }

    /// A packet that the serving end sends, with its length before it.
    pub fn down(&mut self, bytes: &[u8], longest: usize, findings: &Findings) {
        let mut frames = &bytes[2..];
        findings.expect(frames.len() <= longest, Property::Memory, || {
            format!("a packet of {} bytes, not {longest}", frames.len())
        });
        if !self.answered {
            self.answered = true;
            return;
        }
        while !frames.is_empty() {
            let Ok((frame, rest)) = Frame::decode(frames) else {
                return findings.add(Property::Protocol, || "no frame of a server's".to_owned());
            };
            let cost = (frames.len() - rest.len()) as i64;
            frames = rest;
            let (sub, goes_on) = match frame {
                Frame::Event(event) => {
                    if matches!(event.body, Body::First { .. }) {
                        self.split = event.sub;
                    }
                    (event.sub, false)
                }
                Frame::Control(Control::Part { .. }) => (self.split, true),
                Frame::Control(Control::Kept { sub, .. } | Control::TooLarge { sub, .. }) => {
                    (sub, false)
                }
                Frame::Control(_) => continue,
            };
            if let Some(allowed) = &mut self.allowed[usize::from(sub)] {
                findings.expect(*allowed > 0 || goes_on, Property::Credit, || {
                    format!("{frame:?} with an allowance of {allowed}")
                });
                *allowed -= cost;
            }
        }
    }
}

/// The frames in the first packet: behind the opening and the four numbers of the offer.
fn after_hello(packet: &[u8]) -> &[u8] {
    let name = packet.get(5).copied().unwrap_or(0);
    let mut rest = packet.get(6 + usize::from(name)..).unwrap_or_default();
    for _ in 0..3 {
        let end = rest.iter().position(|byte| byte & 0x80 == 0);
        rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or_default();
    }
    rest.get(1..).unwrap_or_default()
}
