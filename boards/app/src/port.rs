//! A serial port that lines go to, for boards whose drivers are values and not registers.

use core::cell::RefCell;
use core::fmt;

use embassy_sync::blocking_mutex::{Mutex, raw::CriticalSectionRawMutex};
use embedded_io::Write;

/// A static of the board's, to which a port is given when the board starts. Before that nothing is printed.
pub struct Port<W>(Mutex<CriticalSectionRawMutex, RefCell<Option<W>>>);

impl<W: Write> Port<W> {
    /// None yet.
    pub const fn new() -> Self {
        Self(Mutex::new(RefCell::new(None)))
    }

    /// From now on, this one.
    pub fn set(&self, port: W) {
        self.0.lock(|place| place.replace(Some(port)));
    }

    /// Prints; waits until it is on its way.
    pub fn print(&self, text: fmt::Arguments<'_>) {
        self.0.lock(|place| {
            // Busy only if printing itself prints, and then that is lost. A line that cannot be printed cannot be complained about.
            if let Ok(mut place) = place.try_borrow_mut()
                && let Some(port) = place.as_mut()
            {
                let _ = port.write_fmt(text);
            }
        });
    }
}

impl<W: Write> Default for Port<W> {
    fn default() -> Self {
        Self::new()
    }
}
