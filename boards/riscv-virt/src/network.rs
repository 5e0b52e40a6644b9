//! Ethernet by virtio: the queues are the crate `virtio-drivers`', the driver for embassy is here, with an interrupt when something has come or gone.

// Reason: the device reads and writes memory by itself, and its registers are reached through raw pointers.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Context;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::waitqueue::AtomicWaker;
use static_cell::ConstStaticCell;
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// The longest frame, without its checksum, and with what virtio puts before it.
const FRAME: usize = 1514;
const BUFFER: usize = 1536;
/// Frames that may come before they are taken.
const QUEUE: usize = 4;
/// What the two queues take.
const PAGES: usize = 4;

/// Devices begin here, one after the other, with interrupts from 1 on.
const DEVICES: usize = 0x1000_1000;
const DEVICE_SIZE: usize = 0x1000;
const INTERRUPT_STATUS: usize = 0x60;
const INTERRUPT_DONE: usize = 0x64;
/// The interrupt controller; what is said there is for the first processor, in machine mode.
const CONTROLLER: usize = 0x0c00_0000;
const ENABLE: usize = CONTROLLER + 0x2000;
const THRESHOLD: usize = CONTROLLER + 0x20_0000;
const CLAIM: usize = CONTROLLER + 0x20_0004;

static WAKER: AtomicWaker = AtomicWaker::new();
/// Where the device's registers are, once it was found.
static DEVICE: AtomicUsize = AtomicUsize::new(0);

fn read(register: usize) -> u32 {
    // SAFETY: a register of this board; reading it has no effect on memory.
    unsafe { (register as *const u32).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: a register of this board; writing it has no effect on memory that Rust knows of.
    unsafe { (register as *mut u32).write_volatile(value) }
}

pub(crate) fn on_interrupt() {
    let number = read(CLAIM);
    let device = DEVICE.load(Ordering::Relaxed);
    if device != 0 {
        write(device + INTERRUPT_DONE, read(device + INTERRUPT_STATUS));
    }
    WAKER.wake();
    write(CLAIM, number);
}

/// Memory for the queues, which are made once and stay.
#[repr(C, align(4096))]
struct Pages(core::cell::UnsafeCell<[u8; PAGES * PAGE_SIZE]>);

// SAFETY: each page is given out once.
unsafe impl Sync for Pages {}

static MEMORY_FOR_QUEUES: Pages = Pages(core::cell::UnsafeCell::new([0; PAGES * PAGE_SIZE]));
static GIVEN: AtomicUsize = AtomicUsize::new(0);

/// Addresses are the same for the device and for the program.
struct Plain;

// SAFETY: pages are aligned, zeroed, given out once and never taken back; addresses are those that the device sees.
unsafe impl Hal for Plain {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let at = GIVEN.fetch_add(pages, Ordering::Relaxed);
        assert!(
            at + pages <= PAGES,
            "the queues take more than {PAGES} pages"
        );
        let start = MEMORY_FOR_QUEUES.0.get().cast::<u8>();
        let page = start.wrapping_add(at * PAGE_SIZE);
        let page = NonNull::new(page).expect("a static is somewhere");
        (page.as_ptr() as usize as PhysAddr, page)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(address as usize as *mut u8).expect("no register is at 0")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.as_ptr().cast::<u8>() as usize as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

type Device = VirtIONetRaw<Plain, MmioTransport<'static>, QUEUE>;

struct Buffers {
    receive: [[u8; BUFFER]; QUEUE],
    send: [u8; BUFFER],
}

static BUFFERS: ConstStaticCell<Buffers> = ConstStaticCell::new(Buffers {
    receive: [[0; BUFFER]; QUEUE],
    send: [0; BUFFER],
});

/// The board's Ethernet.
pub struct Ethernet {
    device: Device,
    buffers: &'static mut Buffers,
    /// Which buffer is which to the device.
    tokens: [u16; QUEUE],
    /// What is being sent: its token and length.
    sending: Option<(u16, usize)>,
    /// A frame that has come, and its length; 0 if there is none.
    received: [u8; FRAME],
    received_len: usize,
}

impl Ethernet {
    /// Finds it and switches it on. `None` if it is not there.
    pub fn start() -> Option<Self> {
        let mut transports = (0..8).filter_map(|number| {
            let at = DEVICES + number * DEVICE_SIZE;
            let header = NonNull::new(at as *mut VirtIOHeader)?;
            // SAFETY: this board has the registers of a virtio device there, whether one is plugged in or not.
            let transport = unsafe { MmioTransport::new(header, DEVICE_SIZE) }.ok()?;
            let is_network = transport.device_type() == DeviceType::Network;
            is_network.then_some((number, at, transport))
        });
        let (number, at, transport) = transports.next()?;
        let mut device = Device::new(transport).ok()?;
        let buffers = BUFFERS.take();
        let mut tokens = [0; QUEUE];
        for (token, buffer) in tokens.iter_mut().zip(&mut buffers.receive) {
            // SAFETY: the buffer is static, and nobody looks at it until the device says that it is done.
            *token = unsafe { device.receive_begin(buffer) }.ok()?;
        }
        DEVICE.store(at, Ordering::Relaxed);
        let interrupt = number + 1;
        write(CONTROLLER + interrupt * 4, 1);
        write(ENABLE, 1 << interrupt);
        write(THRESHOLD, 0);
        device.enable_interrupts();
        Some(Self {
            device,
            buffers,
            tokens,
            sending: None,
            received: [0; FRAME],
            received_len: 0,
        })
    }

    /// Takes what was sent back from the device; whether the next can be.
    fn can_send(&mut self) -> bool {
        if let Some((token, len)) = self.sending {
            if self.device.poll_transmit() != Some(token) {
                return false;
            }
            let sent = self.buffers.send.get(..len).unwrap_or_default();
            // SAFETY: the same bytes that were begun with.
            let _ = unsafe { self.device.transmit_complete(token, sent) };
            self.sending = None;
        }
        true
    }

    /// Takes a frame from the device, if one has come, and gives its buffer back at once.
    fn pull(&mut self) -> bool {
        while self.received_len == 0
            && let Some(token) = self.device.poll_receive()
            && let Some(place) = self.tokens.iter().position(|it| *it == token)
            && let Some(buffer) = self.buffers.receive.get_mut(place)
        {
            // SAFETY: the same buffer that was begun with.
            let done = unsafe { self.device.receive_complete(token, buffer) };
            if let Ok((head, len)) = done
                && let Some(frame) = buffer.get(head..head + len)
                && let Some(copy) = self.received.get_mut(..len)
            {
                copy.copy_from_slice(frame);
                self.received_len = len;
            }
            // SAFETY: the buffer is static, and nobody looks at it until the device says that it is done.
            let begun = unsafe { self.device.receive_begin(buffer) };
            if let (Ok(begun), Some(token)) = (begun, self.tokens.get_mut(place)) {
                *token = begun;
            }
        }
        self.received_len != 0
    }
}

/// A frame that has come.
pub struct Received<'a> {
    frame: &'a mut [u8],
    len: &'a mut usize,
}

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, with: F) -> R {
        let len = core::mem::take(self.len);
        with(self.frame.get_mut(..len).unwrap_or_default())
    }
}

/// A place for a frame to send.
pub struct ToSend<'a> {
    device: &'a mut Device,
    buffer: &'a mut [u8; BUFFER],
    sending: &'a mut Option<(u16, usize)>,
}

impl TxToken for ToSend<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, with: F) -> R {
        // The buffer has room for what virtio puts before a frame.
        let head = self.device.fill_buffer_header(self.buffer).unwrap_or(0);
        let end = (head + len).min(BUFFER);
        let done = with(self.buffer.get_mut(head..end).unwrap_or_default());
        let whole = self.buffer.get(..end).unwrap_or_default();
        // SAFETY: the buffer is static, and stays as it is until the device says that it is done.
        let begun = unsafe { self.device.transmit_begin(whole) };
        *self.sending = begun.ok().map(|token| (token, end));
        done
    }
}

impl Driver for Ethernet {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = ToSend<'a>;

    fn receive(&mut self, context: &mut Context<'_>) -> Option<(Received<'_>, ToSend<'_>)> {
        WAKER.register(context.waker());
        if !self.can_send() || !self.pull() {
            return None;
        }
        let received = Received {
            frame: &mut self.received,
            len: &mut self.received_len,
        };
        let to_send = ToSend {
            device: &mut self.device,
            buffer: &mut self.buffers.send,
            sending: &mut self.sending,
        };
        Some((received, to_send))
    }

    fn transmit(&mut self, context: &mut Context<'_>) -> Option<ToSend<'_>> {
        WAKER.register(context.waker());
        if !self.can_send() {
            return None;
        }
        Some(ToSend {
            device: &mut self.device,
            buffer: &mut self.buffers.send,
            sending: &mut self.sending,
        })
    }

    fn link_state(&mut self, _: &mut Context<'_>) -> LinkState {
        LinkState::Up
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = FRAME;
        capabilities.max_burst_size = Some(1);
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.device.mac_address())
    }
}
