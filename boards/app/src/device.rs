//! The object that the node acts on, and the acting.

use core::fmt;

use heapless::String;
use ringwatch_core::informer::Handler;
use serde::{Deserialize, Serialize};

/// What the node wants of a `Device`: [`PROJECTION`] says where that is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Device {
    /// The value to hold.
    pub setpoint: Option<f32>,
    /// Whether to hold it.
    pub mode: Option<String<8>>,
    /// Where the device is.
    pub site: Option<String<16>>,
}

/// Where the fields of a [`Device`] are in the object.
pub const PROJECTION: &str = "spec.setpoint:f32,spec.mode:text(8),spec.site:text(16)";

/// Drives something with a setpoint; zero if there is none. It is called from the node's task, and does not wait.
pub type Drive = fn(f32);

/// What is driven by the devices: a line for each setpoint, and on boards that have an LED or something better, that.
///
/// There is one output. It follows the device that has changed last; a board that is for one device watches only that.
#[derive(Debug)]
pub struct Output(pub Drive);

impl Output {
    fn set(&self, key: &str, new: &Device) {
        log::info!("set {key} {new}");
        (self.0)(new.setpoint.unwrap_or(0.0));
    }
}

impl Handler<Device> for Output {
    fn on_add(&mut self, key: &str, new: &Device) {
        self.set(key, new);
    }
    fn on_update(&mut self, key: &str, _: Option<&Device>, new: &Device) {
        self.set(key, new);
    }
    fn on_delete(&mut self, key: &str, _: &Device) {
        log::info!("unset {key}");
        (self.0)(0.0);
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.setpoint {
            Some(setpoint) => write!(f, "{setpoint}")?,
            None => f.write_str("-")?,
        }
        for text in [self.mode.as_deref(), self.site.as_deref()] {
            write!(f, " {}", text.unwrap_or("-"))?;
        }
        Ok(())
    }
}
