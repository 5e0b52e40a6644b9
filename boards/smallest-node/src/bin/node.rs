//! The smallest honest node: takes each frame into an informer and acts on what has changed.
#![no_std]
#![no_main]

use core::hint::black_box;

use cortex_m_rt::entry;
use heapless::String;
use ringwatch_core::{
    compact::CompactEvent,
    informer::{Handler, Held, Informer},
    projection,
    store::Slot,
    transition::EventKind,
};
use serde::Deserialize;
use smallest_node::{MAX_FRAME, receive};

/// What the device wants of each object; what the sender projects for it.
#[derive(Deserialize)]
struct Device {
    setpoint: Option<f32>,
    mode: Option<String<8>>,
    site: Option<String<16>>,
    seen: Option<u64>,
}

/// What the RAM budget speaks of: 16 objects of 64 bytes.
const CAPACITY: usize = 16;
const _: () = assert!(size_of::<Device>() == 64);
type Key = String<32>;
type Devices = Informer<Key, Device, [Slot<Key, Held<Device>>; CAPACITY]>;

#[entry]
fn main() -> ! {
    // State goes in statics here, not on the stack: then the sections are the whole memory bill.
    static mut FRAME: [u8; MAX_FRAME] = [0; MAX_FRAME];
    static mut DEVICES: Devices = Informer::array();
    receive(FRAME, |frame| {
        black_box(take(DEVICES, frame));
    })
}

/// All that this firmware does with the core. `None`: the frame is none, or was refused.
fn take(devices: &mut Devices, frame: &[u8]) -> Option<()> {
    let (event, _) = CompactEvent::decode(frame).ok()?;
    let CompactEvent {
        kind,
        revision,
        key,
        body,
    } = event;
    match kind {
        EventKind::Deleted => {
            devices.delete(key, revision, &mut Act);
            Some(())
        }
        EventKind::Added | EventKind::Modified => {
            let (device, issues) = projection::read::<Device>(body).ok()?;
            black_box(issues);
            devices.put(key, revision, device, &mut Act).ok()
        }
    }
}

/// Stands for what a device does when its objects change.
struct Act;

impl Act {
    fn set(&mut self, key: &str, device: &Device) {
        black_box((
            key,
            device.setpoint,
            &device.mode,
            &device.site,
            device.seen,
        ));
    }
}

impl Handler<Device> for Act {
    fn on_add(&mut self, key: &str, new: &Device) {
        self.set(key, new);
    }
    fn on_update(&mut self, key: &str, _: Option<&Device>, new: &Device) {
        self.set(key, new);
    }
    fn on_delete(&mut self, key: &str, last: &Device) {
        self.set(key, last);
    }
}
