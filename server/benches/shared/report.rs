//! The table that a benchmark prints: what was measured, what it is to be, and whether it is.

use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

static MET: AtomicUsize = AtomicUsize::new(0);
static MISSED: AtomicUsize = AtomicUsize::new(0);

/// What a figure is to be.
pub(crate) struct Target {
    text: String,
    met: bool,
}

/// A figure, called so, is to be at most `limit`.
pub(crate) fn at_most(name: &str, figure: f64, limit: f64, unit: &str) -> Target {
    Target {
        text: text(name, '≤', limit, unit),
        met: figure <= limit,
    }
}

/// A figure, called so, is to be at least `limit`.
pub(crate) fn at_least(name: &str, figure: f64, limit: f64, unit: &str) -> Target {
    Target {
        text: text(name, '≥', limit, unit),
        met: figure >= limit,
    }
}

/// Something is to be so.
pub(crate) fn so(text: &str, met: bool) -> Target {
    Target {
        text: text.to_owned(),
        met,
    }
}

fn text(name: &str, sign: char, limit: f64, unit: &str) -> String {
    format!("{name} {sign} {limit} {unit}").trim().to_owned()
}

/// A duration as it is read.
pub(crate) fn micros(time: Duration) -> String {
    format!("{:.2} µs", time.as_secs_f64() * 1e6)
}

/// A duration as it is read.
pub(crate) fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

pub(crate) fn head() {
    println!("| what | result | target | |\n|---|---|---|---|");
}

/// A row of the table. With several targets, those that are missed are named.
pub(crate) fn row(what: impl Display, result: impl Display, targets: &[Target]) {
    let missed: Vec<_> = targets.iter().filter(|target| !target.met).collect();
    MET.fetch_add(targets.len() - missed.len(), Ordering::Relaxed);
    MISSED.fetch_add(missed.len(), Ordering::Relaxed);
    let verdict = match (targets.len(), missed.as_slice()) {
        (0, _) => String::new(),
        (_, []) => "met".to_owned(),
        (1, _) => "**missed**".to_owned(),
        (_, missed) => {
            let texts: Vec<_> = missed.iter().map(|target| target.text.as_str()).collect();
            format!("**missed**: {}", texts.join(", "))
        }
    };
    let targets: Vec<_> = targets.iter().map(|target| target.text.as_str()).collect();
    println!("| {what} | {result} | {} | {verdict} |", targets.join(", "));
}

/// Says how many targets were met.
pub(crate) fn end() {
    let (met, missed) = (MET.load(Ordering::Relaxed), MISSED.load(Ordering::Relaxed));
    println!("\n{met} targets met, {missed} missed");
}
