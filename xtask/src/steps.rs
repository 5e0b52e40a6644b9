//! Named steps: what runs, in which order, how long it took, and which one failed.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use crate::command::{Failure, Result};

/// One step of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Whether the step belongs to the quick subset.
    pub(crate) quick: bool,
    pub(crate) run: fn() -> Result<()>,
}

/// Runs `steps` in order, up to the first failure. Prints how long each took either way.
pub(crate) fn run_all<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Result<()> {
    let mut done = Vec::new();
    let mut failed = None;
    for step in steps {
        println!("==> {}", step.name);
        let start = Instant::now();
        let result = (step.run)();
        done.push((step.name, start.elapsed()));
        if let Err(failure) = result {
            failed = Some((step.name, failure));
            break;
        }
    }
    print!("\n{}", table(&done));
    match failed {
        None => {
            println!("{} passed, 0 failed", done.len());
            Ok(())
        }
        Some((name, failure)) => {
            println!("{} passed, 1 failed", done.len() - 1);
            Err(Failure::new(format!("step `{name}` failed: {failure}")))
        }
    }
}

fn table(done: &[(&str, Duration)]) -> String {
    let total = done.iter().map(|(_, took)| *took).sum();
    let mut table = String::new();
    for (name, took) in done.iter().copied().chain([("total", total)]) {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{name:<12} {:>7.1} s", took.as_secs_f64());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn step(name: &'static str, run: fn() -> Result<()>) -> Step {
        Step {
            name,
            quick: true,
            run,
        }
    }

    #[test]
    fn the_first_failure_ends_the_run_and_is_named() {
        let steps = [
            step("good", || Ok(())),
            step("bad", || Err(Failure::new("`cargo x` ended with 1"))),
            step("never", || unreachable!("a step after the failed one ran")),
        ];
        let failure = run_all(&steps).unwrap_err().to_string();
        assert_eq!(failure, "step `bad` failed: `cargo x` ended with 1");
    }

    #[test]
    fn the_table_ends_with_the_total() {
        let table = table(&[
            ("a", Duration::from_millis(1500)),
            ("b", Duration::from_secs(2)),
        ]);
        assert_eq!(
            table,
            "a                1.5 s\nb                2.0 s\ntotal            3.5 s\n"
        );
    }
}
