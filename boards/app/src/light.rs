//! An LED that shows a setpoint: from 0, dark, to 100, as bright as it gets.

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embedded_hal::pwm::SetDutyCycle;

/// What the LED is to show: a static of the board's, which the node sets and a task of its own reads.
pub struct Light(Signal<CriticalSectionRawMutex, f32>);

impl Light {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(Signal::new())
    }

    /// Shows a setpoint.
    pub fn set(&self, setpoint: f32) {
        self.0.signal(setpoint);
    }

    /// Drives the LED, for ever.
    pub async fn shine(&self, mut led: impl SetDutyCycle) -> ! {
        loop {
            // An LED that cannot be set is no reason to stop watching.
            let _ = led.set_duty_cycle_percent(percent(self.0.wait().await));
        }
    }
}

impl Default for Light {
    fn default() -> Self {
        Self::new()
    }
}

/// The nearest brightness that there is. What is not a number is dark.
fn percent(setpoint: f32) -> u8 {
    setpoint.clamp(0.0, 100.0) as u8
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn what_is_out_of_range_is_shown_as_the_end_of_it() {
        let shown = [-1.0, 0.0, 21.5, 100.0, 250.0, f32::INFINITY, f32::NAN].map(percent);
        assert_eq!(shown, [0, 0, 21, 100, 100, 100, 0]);
    }
}
