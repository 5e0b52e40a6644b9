//! Ethernet: the SMSC LAN9118, by its FIFOs, with an interrupt when something has come.

// Reason: memory-mapped registers are reached through raw pointers.
#![allow(unsafe_code)]

use core::task::Context;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::waitqueue::AtomicWaker;

use crate::interrupts::{Interrupt, unmask};
use crate::time;

const BASE: usize = 0x4020_0000;

const RECEIVED: usize = 0x00;
const TO_SEND: usize = 0x20;
const RECEIVE_STATUS: usize = 0x40;
const SEND_STATUS: usize = 0x48;
const INTERRUPT_CONFIG: usize = 0x54;
const INTERRUPT_STATUS: usize = 0x58;
const INTERRUPT_ENABLE: usize = 0x5c;
const BYTE_TEST: usize = 0x64;
const FIFO_LEVELS: usize = 0x68;
const RECEIVE_CONFIG: usize = 0x6c;
const SEND_CONFIG: usize = 0x70;
const HARDWARE_CONFIG: usize = 0x74;
const RECEIVE_FIFO: usize = 0x7c;
const SEND_FIFO: usize = 0x80;
const MAC_COMMAND: usize = 0xa4;
const MAC_DATA: usize = 0xa8;

/// Something is in the FIFO of received frames.
const FRAME_CAME: u32 = 1 << 3;
/// The cable was pulled or put in.
const CABLE: u32 = 1 << 18;

/// Registers behind [`MAC_COMMAND`].
const MAC_CONTROL: u32 = 1;
const MAC_ADDRESS_HIGH: u32 = 2;
const MAC_ADDRESS_LOW: u32 = 3;
const PHY_ACCESS: u32 = 6;
const PHY_DATA: u32 = 7;

const BUSY: u32 = 1 << 31;
const READ: u32 = 1 << 30;

/// The longest frame, without its checksum, which is 4 bytes.
const FRAME: usize = 1514;
const CHECKSUM: usize = 4;
/// A frame and its checksum, in whole words.
const ROOM: usize = (FRAME + CHECKSUM).next_multiple_of(4);

static WAKER: AtomicWaker = AtomicWaker::new();

/// No more of them until [`Driver::receive`] has taken what is there.
pub(crate) fn on_interrupt() {
    write(INTERRUPT_ENABLE, 0);
    WAKER.wake();
}

fn read(register: usize) -> u32 {
    // SAFETY: a register of this board's Ethernet; reading it has no effect on memory.
    unsafe { ((BASE + register) as *const u32).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: a register of this board's Ethernet; writing it has no effect on memory.
    unsafe { ((BASE + register) as *mut u32).write_volatile(value) }
}

fn read_mac(register: u32) -> u32 {
    write(MAC_COMMAND, BUSY | READ | register);
    while read(MAC_COMMAND) & BUSY != 0 {}
    read(MAC_DATA)
}

fn write_mac(register: u32, value: u32) {
    write(MAC_DATA, value);
    write(MAC_COMMAND, BUSY | register);
    while read(MAC_COMMAND) & BUSY != 0 {}
}

/// Registers of what is at the cable.
const PHY_STATUS: u32 = 1;
const PHY_INTERRUPTS: u32 = 29;
const PHY_INTERRUPTS_WANTED: u32 = 30;

fn write_phy(register: u32, value: u32) {
    write_mac(PHY_DATA, value);
    write_mac(PHY_ACCESS, 1 << 11 | register << 6 | 1 << 1);
    while read_mac(PHY_ACCESS) & 1 != 0 {}
}

fn read_phy(register: u32) -> u32 {
    write_mac(PHY_ACCESS, 1 << 11 | register << 6);
    while read_mac(PHY_ACCESS) & 1 != 0 {}
    read_mac(PHY_DATA)
}

/// The board's Ethernet.
pub struct Lan9118 {
    address: [u8; 6],
    /// Of the frame that is in front, with its checksum; 0 if there is none.
    received: usize,
    /// Whether there is a cable, if that is known.
    link: Option<LinkState>,
}

impl Lan9118 {
    /// Switches it on. `None` if it is not there.
    pub fn start() -> Option<Self> {
        if read(BYTE_TEST) != 0x8765_4321 {
            return None;
        }
        const RESET: u32 = 1;
        const MUST_BE_ONE: u32 = 1 << 20;
        const SEND_FIFO_5K: u32 = 5 << 16;
        write(HARDWARE_CONFIG, RESET);
        while read(HARDWARE_CONFIG) & RESET != 0 {}
        write(HARDWARE_CONFIG, MUST_BE_ONE | SEND_FIFO_5K);
        let [a, b, c, d] = read_mac(MAC_ADDRESS_LOW).to_le_bytes();
        let [e, f, ..] = read_mac(MAC_ADDRESS_HIGH).to_le_bytes();
        write(INTERRUPT_ENABLE, 0);
        write(INTERRUPT_STATUS, u32::MAX);
        write(FIFO_LEVELS, 0);
        // Enabled, active high, push-pull.
        write(INTERRUPT_CONFIG, 1 << 8 | 1 << 4 | 1);
        write(RECEIVE_CONFIG, 0);
        // On, and statuses that nobody takes may be lost.
        write(SEND_CONFIG, 1 << 2 | 1 << 1);
        // Send and receive.
        write_mac(MAC_CONTROL, 1 << 3 | 1 << 2);
        // Link down, and negotiated anew.
        write_phy(PHY_INTERRUPTS_WANTED, 1 << 4 | 1 << 6);
        unmask(Interrupt::Ethernet);
        Some(Self {
            address: [a, b, c, d, e, f],
            received: 0,
            link: None,
        })
    }

    /// Whether there is a good frame; bad ones, and those that are too long, are thrown away.
    fn look(&mut self) -> bool {
        while self.received == 0 && (read(RECEIVE_FIFO) >> 16) & 0xff != 0 {
            let status = read(RECEIVE_STATUS);
            let len = (status >> 16 & 0x3fff) as usize;
            if status & 1 << 15 == 0 && (CHECKSUM..=FRAME + CHECKSUM).contains(&len) {
                self.received = len;
            } else {
                pull(len, &mut []);
            }
        }
        self.received != 0
    }

    fn can_send(&mut self) -> bool {
        while (read(SEND_FIFO) >> 16) & 0xff != 0 {
            read(SEND_STATUS);
        }
        read(SEND_FIFO) & 0xffff >= FRAME as u32 + 16
    }
}

/// Takes a frame out of the FIFO, as much of it as there is room for.
fn pull(len: usize, frame: &mut [u8]) {
    let mut places = frame.chunks_mut(4);
    for _ in 0..len.div_ceil(4) {
        let word = read(RECEIVED).to_le_bytes();
        let bytes = places.next().into_iter().flatten().zip(word);
        bytes.for_each(|(place, byte)| *place = byte);
    }
}

/// A frame that has come, and is still in the FIFO. Its length is taken with it.
///
/// Frames are on the stack, and only while they are looked at: other things take more of it, at other times.
pub struct Received<'a>(&'a mut usize);

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, with: F) -> R {
        let len = core::mem::take(self.0);
        let mut frame = [0; ROOM];
        pull(len, &mut frame);
        with(frame.get_mut(..len - CHECKSUM).unwrap_or_default())
    }
}

/// A place in the FIFO for a frame to send.
pub struct ToSend;

impl TxToken for ToSend {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, with: F) -> R {
        const FIRST_AND_LAST: u32 = 1 << 13 | 1 << 12;
        // The network stack asks for no more than was said to be possible.
        let len = len.min(FRAME);
        let mut frame = [0; ROOM];
        let done = with(frame.get_mut(..len).unwrap_or_default());
        write(TO_SEND, FIRST_AND_LAST | len as u32);
        write(TO_SEND, len as u32);
        for word in frame.chunks_exact(4).take(len.div_ceil(4)) {
            write(
                TO_SEND,
                u32::from_le_bytes(word.try_into().unwrap_or_default()),
            );
        }
        time::nudge();
        done
    }
}

impl Driver for Lan9118 {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = ToSend;

    fn receive(&mut self, context: &mut Context<'_>) -> Option<(Received<'_>, ToSend)> {
        if !self.look() {
            WAKER.register(context.waker());
            write(INTERRUPT_STATUS, FRAME_CAME);
            write(INTERRUPT_ENABLE, FRAME_CAME | CABLE);
            // What came in between has caused no interrupt.
            if !self.look() {
                return None;
            }
        }
        if !self.can_send() {
            context.waker().wake_by_ref();
            return None;
        }
        Some((Received(&mut self.received), ToSend))
    }

    fn transmit(&mut self, context: &mut Context<'_>) -> Option<ToSend> {
        if !self.can_send() {
            context.waker().wake_by_ref();
            return None;
        }
        Some(ToSend)
    }

    fn link_state(&mut self, _: &mut Context<'_>) -> LinkState {
        // Asked at each poll, and twenty registers away: so only after it has changed.
        if let Some(link) = self.link
            && read(INTERRUPT_STATUS) & CABLE == 0
        {
            return link;
        }
        // Reading takes the interrupt back.
        read_phy(PHY_INTERRUPTS);
        let link = match read_phy(PHY_STATUS) & 1 << 2 != 0 {
            true => LinkState::Up,
            false => LinkState::Down,
        };
        self.link = Some(link);
        link
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = FRAME;
        capabilities.max_burst_size = Some(1);
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.address)
    }
}
