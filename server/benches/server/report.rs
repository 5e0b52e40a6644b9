//! The table.

use std::fmt::Display;
use std::time::Duration;

pub(crate) fn head() {
    println!("| what | result | target |\n|---|---|---|");
}

pub(crate) fn row(what: impl Display, result: impl Display, target: &str) {
    println!("| {what} | {result} | {target} |");
}

pub(crate) fn micros(time: Duration) -> String {
    format!("{:.2} µs", time.as_secs_f64() * 1e6)
}

pub(crate) fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
