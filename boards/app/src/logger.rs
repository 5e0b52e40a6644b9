//! `log` to wherever a board prints: milliseconds since the start, and the line.

use core::fmt;

/// Prints one line, of which it is given everything but the end.
type Print = fn(fmt::Arguments<'_>);

/// Prints what is logged.
#[derive(Debug)]
pub struct Logger(Print);

impl Logger {
    /// To a place of the board's. It is a static there.
    pub const fn new(print: Print) -> Self {
        Self(print)
    }

    /// From now on what is logged is printed.
    #[cfg(target_has_atomic = "ptr")]
    pub fn start(&'static self) {
        // Already set is as good.
        let _ = log::set_logger(self);
        log::set_max_level(log::LevelFilter::Info);
    }

    /// From now on what is logged is printed.
    // Reason: on a processor that cannot compare and swap, `log` cannot see to it that nothing comes in between; a critical section can.
    #[cfg(not(target_has_atomic = "ptr"))]
    #[allow(unsafe_code)]
    pub fn start(&'static self) {
        // SAFETY: nothing else runs in a critical section, so that nobody logs or sets a logger meanwhile.
        critical_section::with(|_| unsafe {
            let _ = log::set_logger_racy(self);
            log::set_max_level_racy(log::LevelFilter::Info);
        });
    }
}

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let millis = embassy_time::Instant::now().as_millis();
        (self.0)(format_args!("{millis} {}\r\n", record.args()));
    }

    fn flush(&self) {}
}
