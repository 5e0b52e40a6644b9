//! The simulation: many seeds, or one of them step by step.

use crate::{
    command::{Result, run},
    places::cargo_in,
};

/// How many seeds are tried with all other checks. The full run has 20 000.
pub(crate) const SEEDS: u64 = 10_000;

/// Runs the seeds from `first` on.
pub(crate) fn seeds(first: u64, count: u64) -> Result<()> {
    simulate(&["--first", &first.to_string(), "--seeds", &count.to_string()])
}

/// Runs one seed, and tells what happens in it if asked to.
pub(crate) fn one(seed: u64, trace: bool) -> Result<()> {
    let seed = seed.to_string();
    let trace = if trace { &["--trace"][..] } else { &[] };
    simulate(&[&["--seed", &seed], trace].concat())
}

/// Optimised, with overflow checks; without what the simulation does not need, which is the server and its libraries.
fn simulate(arguments: &[&str]) -> Result<()> {
    run(cargo_in("")
        .args(["run", "--quiet", "--profile", "proof"])
        .args(["--package", "ringwatch-tests", "--no-default-features"])
        .args(["--bin", "simulation", "--"])
        .args(arguments))
}
