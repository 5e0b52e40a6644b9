//! How often a number fell between which bounds.
//!
//! Counted without a lock, by whoever comes along. For what happens once in a request or in a batch; what happens for every event of
//! every watch is counted by [each thread for itself](crate::api).

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A histogram as Prometheus knows it.
#[derive(Debug)]
pub(crate) struct Histogram {
    bounds: &'static [f64],
    /// How many fell up to each bound and beyond the one before; the last for those beyond all.
    counts: Box<[AtomicU64]>,
    /// Of all numbers, as the bits of a float.
    sum: AtomicU64,
}

impl Histogram {
    /// An empty one; the bounds ascend.
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0.0_f64.to_bits()),
        }
    }

    /// Counts a number.
    pub(crate) fn observe(&self, value: f64) {
        self.observe_many(value, 1);
    }

    /// Counts a duration, in seconds.
    pub(crate) fn observe_time(&self, took: Duration) {
        self.observe(took.as_secs_f64());
    }

    /// Counts a number that `times` of them share.
    pub(crate) fn observe_many(&self, value: f64, times: usize) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(times as u64, Relaxed);
        }
        let add = |sum: u64| Some((f64::from_bits(sum) + value * times as f64).to_bits());
        // Nothing is refused, so it cannot fail.
        let _ = self.sum.fetch_update(Relaxed, Relaxed, add);
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Appends it in the text form of Prometheus; `labels` are not empty.
    pub(crate) fn write(&self, name: &str, labels: &str, text: &mut String) {
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        let sum = f64::from_bits(self.sum.load(Relaxed));
        write(name, labels, self.bounds, counts, sum, text);
    }
}

/// Appends a histogram whose counts somebody else has kept, one for each bound and one beyond.
pub(crate) fn write(
    name: &str,
    labels: &str,
    bounds: &[f64],
    counts: impl Iterator<Item = u64>,
    sum: f64,
    text: &mut String,
) {
    let mut below = 0;
    let bounds = bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
    for (bound, count) in bounds.zip(counts) {
        below += count;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}");
    }
    let _ = writeln!(text, "{name}_sum{{{labels}}} {sum}");
    let _ = writeln!(text, "{name}_count{{{labels}}} {below}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_at_a_bound_is_below_it() {
        let histogram = Histogram::new(&[0.5, 2.0]);
        for value in [0.25, 0.5, 1.0, 8.0] {
            histogram.observe(value);
        }
        histogram.observe_many(2.0, 3);
        let mut text = String::new();
        histogram.write("h", "a=\"b\"", &mut text);
        let expected = "h_bucket{a=\"b\",le=\"0.5\"} 2\n\
            h_bucket{a=\"b\",le=\"2\"} 6\n\
            h_bucket{a=\"b\",le=\"+Inf\"} 7\n\
            h_sum{a=\"b\"} 15.75\n\
            h_count{a=\"b\"} 7\n";
        assert_eq!(text, expected);
    }
}
