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

/// What is driven by the devices: on these boards, a line for each setpoint.
#[derive(Debug, Default)]
pub struct Output;

impl Handler<Device> for Output {
    fn on_add(&mut self, key: &str, new: &Device) {
        log::info!("set {key} {new}");
    }
    fn on_update(&mut self, key: &str, _: Option<&Device>, new: &Device) {
        log::info!("set {key} {new}");
    }
    fn on_delete(&mut self, key: &str, _: &Device) {
        log::info!("unset {key}");
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
