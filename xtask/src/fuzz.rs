//! Coverage-guided fuzzing of the harnesses in `tests/src/harness`.
//!
//! It needs a nightly compiler. Without one, the harnesses still run in every `cargo test`, on the
//! stored corpus and on random bytes; only the search guided by coverage is missing, and is said to be.

use std::{env, process::Command};

use crate::{
    command::{Context, Failure, Result, run, succeeds},
    places,
    tools::CXX,
};

const TARGETS: &str = "tests/fuzz/fuzz_targets";

/// How long to search, per target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) seconds: u32,
    /// Inputs after which to stop earlier; `None` for no such limit.
    pub(crate) runs: Option<u32>,
}

/// Enough to find what a change has broken at once, no more.
pub(crate) const SMOKE: Effort = Effort {
    seconds: 10,
    runs: Some(200_000),
};

/// Fuzzes `only` this target, or each in turn.
pub(crate) fn fuzz(only: Option<&str>, effort: Effort) -> Result<()> {
    let mut targets = places::rust_files(TARGETS)?;
    if let Some(only) = only {
        targets.retain(|target| target == only);
    }
    if targets.is_empty() {
        let what = only.map_or_else(String::new, |only| format!(" named {only}"));
        return Err(Failure::new(format!("no fuzz target{what} in {TARGETS}")));
    }
    if let Err(why) = prepare() {
        println!(
            "    NOT POSSIBLE HERE: the coverage-guided run ({why}).\n    \
             The same harnesses run on the stored corpus and on random bytes in the step `tests`."
        );
        return Ok(());
    }
    for target in targets {
        println!("    fuzzing {target}");
        fuzz_one(&target, effort)?;
    }
    Ok(())
}

fn fuzz_one(target: &str, effort: Effort) -> Result<()> {
    // libFuzzer writes what it finds to the first folder and only reads the others: the seeds in the
    // project stay as they are.
    let root = places::root();
    let found = root.join("target/fuzz/corpus").join(target);
    std::fs::create_dir_all(&found).context(found.display())?;
    let seeds = root.join("tests/fuzz/corpus").join(target);
    let mut command = cargo_fuzz()?;
    command
        .args(["run", "--fuzz-dir", "tests/fuzz", "--target-dir"])
        .arg("target/fuzz")
        .arg(target)
        .arg(found)
        .arg(seeds)
        .args(["--", &format!("-max_total_time={}", effort.seconds)])
        .args(effort.runs.map(|runs| format!("-runs={runs}")))
        .args(["-print_final_stats=1", "-verbosity=0"]);
    run(&mut command)
}

/// Makes sure that nightly, cargo-fuzz and a C++ compiler are there.
pub(crate) fn prepare() -> Result<()> {
    if !succeeds(Command::new("cargo").args(["+nightly", "--version"])) {
        return Err(Failure::new("there is no nightly toolchain"));
    }
    CXX.ensure()?;
    if !succeeds(cargo_fuzz()?.arg("--version")) {
        println!("    cargo-fuzz is missing: building it, once");
        let mut install = places::cargo_in("");
        install
            .args(["install", "--locked", "cargo-fuzz", "--root"])
            .arg(places::cache()?);
        run(&mut install)?;
    }
    Ok(())
}

fn cargo_fuzz() -> Result<Command> {
    let mut path: Vec<_> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    path.push(places::cache()?.join("bin"));
    let mut command = places::cargo_in("");
    command
        .args(["+nightly", "fuzz"])
        .env("PATH", env::join_paths(path).context("PATH")?);
    Ok(command)
}
