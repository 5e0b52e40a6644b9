//! Every check of the project, in the order from quick to slow.

use std::process::Command;

use crate::{
    command::{Failure, Result, run, succeeds},
    etcd,
    firmware::{self, SELFCHECK},
    fuzz, kubectl, mutants,
    places::{self, cargo_in},
    python, qemu,
    size::{self, Readme},
    steps::{self, Step},
    toolchain,
};

/// How many cases each property is tried on; in `tests` it is proptest's default of 256.
const PROPERTY_CASES: &str = "10000";
const PROPERTY_SUFFIX: &str = "_properties";

const fn step(name: &'static str, quick: bool, run: fn() -> Result<()>) -> Step {
    Step { name, quick, run }
}

const STEPS: &[Step] = &[
    step("fmt", true, format),
    step("clippy", true, clippy),
    step("docs", true, docs),
    step("tests", true, tests),
    step("doctests", true, doctests),
    step("properties", false, properties),
    step("fuzz", false, || fuzz::fuzz(None, fuzz::SMOKE)),
    step("mutants", false, || mutants::try_all(None)),
    step("firmware", false, || SELFCHECK.boot(qemu::TIME_LIMIT)),
    step("size", false, || size::report(Readme::Check)),
];

/// Runs all steps, or those that need neither firmware nor minutes.
pub(crate) fn run_all(quick: bool) -> Result<()> {
    if !quick {
        return steps::run_all(STEPS);
    }
    let left_out: Vec<_> = STEPS.iter().filter(|s| !s.quick).map(|s| s.name).collect();
    let note = format!("a subset (--quick), without: {}", left_out.join(", "));
    println!("{note}");
    steps::run_all(STEPS.iter().filter(|step| step.quick))?;
    println!("{note}");
    Ok(())
}

fn format() -> Result<()> {
    toolchain::component("rustfmt", "fmt")?;
    for workspace in ["", "boards", "tests/fuzz"] {
        run(cargo_in(workspace).args(["fmt", "--all", "--check"]))?;
    }
    Ok(())
}

fn clippy() -> Result<()> {
    toolchain::component("clippy", "clippy")?;
    run(cargo_in("")
        .args(["clippy", "--workspace", "--all-targets"])
        .args(["--", "-D", "warnings"]))?;
    // Alone, since in a workspace its features are those that others ask for.
    run(cargo_in("")
        .args(["clippy", "--package", "ringwatch-core", "--all-features"])
        .args(["--", "-D", "warnings"]))?;
    firmware::lint()
}

fn docs() -> Result<()> {
    run(cargo_in("")
        .args(["doc", "--workspace", "--no-deps"])
        .env("RUSTDOCFLAGS", "-Dwarnings"))
}

fn tests() -> Result<()> {
    // `--tests`: also of libraries and programs; documentation examples are a step of their own.
    let mut command = runner(None);
    etcd::provide(&mut command)?;
    run(command.args(["--workspace", "--tests"]))
}

/// What real clients do with the server's program. Not a part of [`run_all`] yet: the client library of Rust alone takes minutes
/// to build.
pub(crate) fn journeys() -> Result<()> {
    let mut command = runner(None);
    etcd::provide(&mut command)?;
    kubectl::provide(&mut command)?;
    python::provide(&mut command)?;
    run(command
        .args(["--package", "ringwatch-tests", "--features", "journeys"])
        .args(["--test", "journeys"]))
}

fn doctests() -> Result<()> {
    run(cargo_in("").args(["test", "--workspace", "--doc"]))
}

fn properties() -> Result<()> {
    let mut found = false;
    for (folder, package) in [
        ("core/tests", "ringwatch-core"),
        ("server/tests", "ringwatch-server"),
        ("tests/tests", "ringwatch-tests"),
    ] {
        let mut files = places::rust_files(folder)?;
        files.retain(|file| file.ends_with(PROPERTY_SUFFIX));
        if files.is_empty() {
            continue;
        }
        found = true;
        // Optimised, with overflow checks; the profile is in the root's Cargo.toml.
        let mut command = runner(Some("proof"));
        command.args(["--package", package]);
        for file in &files {
            command.args(["--test", file]);
        }
        run(command.env("PROPTEST_CASES", PROPERTY_CASES))?;
    }
    if found {
        Ok(())
    } else {
        Err(Failure::new(format!(
            "no file *{PROPERTY_SUFFIX}.rs in core/tests, server/tests or tests/tests"
        )))
    }
}

/// Runs tests, built in a profile of Cargo's other than the usual one if given: by nextest if it is
/// there, else by what cargo has.
fn runner(profile: Option<&str>) -> Command {
    let mut command = cargo_in("");
    // nextest has profiles of its own, so that Cargo's go by a longer name there.
    let option = if succeeds(Command::new("cargo").args(["nextest", "--version"])) {
        command.args(["nextest", "run"]);
        "--cargo-profile"
    } else {
        command.arg("test");
        "--profile"
    };
    if let Some(profile) = profile {
        command.args([option, profile]);
    }
    command
}
