//! Every check of the project, in the order from quick to slow.

use std::{process::Command, thread};

use crate::{
    bench, boards,
    command::{Failure, Result, run, stdout, succeeds},
    documented, etcd, faketime,
    firmware::{self, RESTARTS, SELFCHECK},
    fuzz, kubectl, mutants,
    places::{self, cargo_in},
    python, qemu, run, sim,
    size::{self, Readme},
    steps::{self, Run, Step},
    toolchain, versioned,
};

/// How many cases each property is tried on; in `tests` it is proptest's default of 256.
const PROPERTY_CASES: &str = "10000";
const PROPERTY_SUFFIX: &str = "_properties";
/// The packages in which properties spend their time.
const OURS: [&str; 4] = [
    "ringwatch-core",
    "ringwatch-edge",
    "ringwatch-server",
    "ringwatch-tests",
];

/// Journeys, and the libraries they use, which every build of tests is made with so that nothing is built twice.
const JOURNEYS: &str = "ringwatch-tests/journeys";
/// Nodes in QEMU against the server's program.
const FIRMWARE: &str = "ringwatch-tests/firmware";
/// How long changes go through boards.
const SOAK_MINUTES: u64 = 10;
const CLIENTS: &str = "ringwatch-tests/clients";

const fn step(name: &'static str, quick: bool, run: fn() -> Result<()>) -> Step {
    Step {
        name,
        quick,
        run: Run::Now(run),
    }
}

const STEPS: &[Step] = &[
    step("fmt", true, format),
    step("clippy", true, clippy),
    step("docs", true, docs),
    step("tests", true, tests),
    step("doctests", true, doctests),
    step("journeys", false, journeys),
    step("documents", false, documented::run_all),
    step("smoke", false, run::smoke::both),
    Step {
        name: "soak",
        quick: false,
        run: Run::Beside(|| soak(SOAK_MINUTES)),
    },
    step("properties", false, properties),
    step("fuzz", false, || fuzz::fuzz(None, fuzz::SMOKE)),
    step("simulation", false, || sim::seeds(0, sim::SEEDS)),
    step("mutants", false, mutants::try_those_of_the_cache),
    step("firmware", false, firmware_steps),
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

/// Runs the steps of these names, in the usual order.
pub(crate) fn run_only(names: &[String]) -> Result<()> {
    let unknown = names
        .iter()
        .find(|name| STEPS.iter().all(|step| step.name != **name));
    if let Some(name) = unknown {
        let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        let known = known.join(", ");
        return Err(Failure::new(format!(
            "there is no step `{name}`; there are: {known}"
        )));
    }
    let wanted = STEPS
        .iter()
        .filter(|step| names.iter().any(|name| name == step.name));
    steps::run_all(wanted)
}

fn format() -> Result<()> {
    toolchain::component("rustfmt", "fmt")?;
    for workspace in ["", "boards", "boards/esp32c3", "tests/fuzz"] {
        run(cargo_in(workspace).args(["fmt", "--all", "--check"]))?;
    }
    Ok(())
}

fn clippy() -> Result<()> {
    toolchain::component("clippy", "clippy")?;
    run(cargo_in("")
        .args(["clippy", "--workspace", "--all-targets"])
        .args(["--features", JOURNEYS, "--features", FIRMWARE])
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
    let mut command = runner_of_waiters();
    versioned::provide(etcd::VERSIONS, &mut command)?;
    faketime::provide(&mut command)?;
    run(command.args(["--workspace", "--features", CLIENTS, "--tests"]))
}

fn doctests() -> Result<()> {
    run(cargo_in("").args(["test", "--workspace", "--features", CLIENTS, "--doc"]))
}

/// What real clients do with the server's program.
pub(crate) fn journeys() -> Result<()> {
    let mut command = runner_of_waiters();
    versioned::provide(etcd::VERSIONS, &mut command)?;
    versioned::provide(kubectl::VERSIONS, &mut command)?;
    python::provide(&mut command)?;
    // The whole workspace, although one package has them: what it depends on is then what the other tests have built.
    run(command.args(["--workspace", "--features", JOURNEYS, "--test", "journeys"]))
}

/// What needs a board: on this machine, alone in QEMU, and in QEMU with a network, where a node watches the server's program.
pub(crate) fn firmware_steps() -> Result<()> {
    firmware::host_tests()?;
    SELFCHECK.boot(qemu::TIME_LIMIT)?;
    RESTARTS.boot(qemu::TIME_LIMIT)?;
    let mut command = runner();
    provide_boards(&mut command)?;
    command.args(["--workspace", "--features", FIRMWARE, "--test", "firmware"]);
    if !lets_us_make_a_network() {
        println!(
            "    NOT RUN: {HOST}: this machine lets nobody make a network with a TAP device (`unshare`, `ip tuntap`)"
        );
        command.args(["--", "--skip", HOST]);
    }
    run(&mut command)
}

/// The test of the application as a program of this machine, which needs a network of its own.
const HOST: &str = "host::the_node_on_this_machine_sees_what_kubectl_wrote";

fn lets_us_make_a_network() -> bool {
    let words = "--user --map-root-user --net ip tuntap add dev tap0 mode tap";
    succeeds(Command::new("unshare").args(words.split(' ')))
}

/// Fifty changes a second through a relay to a node, both in QEMU, for so long: the program that does that, built.
pub(crate) fn soak(minutes: u64) -> Result<Command> {
    let messages = stdout(
        cargo_in("")
            .args(["test", "--workspace", "--features", FIRMWARE])
            .args(["--test", "firmware", "--no-run"])
            .arg("--message-format=json-render-diagnostics"),
    )?;
    let program = bench::executable(&messages, "firmware")
        .ok_or_else(|| Failure::new("cargo does not say where the test `firmware` is"))?;
    let mut command = Command::new(program);
    command.current_dir(places::root().join("tests"));
    provide_boards(&mut command)?;
    command.env("RINGWATCH_SOAK_SECONDS", (minutes * 60).to_string());
    command.args(["none_is_lost", "--nocapture"]);
    Ok(command)
}

/// How late a change is at a node in QEMU, and how many pass through a relay there.
pub(crate) fn bench_firmware() -> Result<()> {
    let mut command = cargo_in("");
    provide_boards(&mut command)?;
    run(command.args([
        "bench",
        "--package",
        "ringwatch-tests",
        "--bench",
        "firmware",
    ]))
}

/// Tells `command`, which runs the tests of firmware, where everything is. Images over their budget are an error.
fn provide_boards(command: &mut Command) -> Result<()> {
    versioned::provide(kubectl::VERSIONS, command)?;
    qemu::provide(command)?;
    for (variable, image) in firmware::NODES {
        let elf = image.build()?;
        boards::hold_to_budget(image, &elf)?;
        command.env(variable, elf);
    }
    Ok(())
}

fn properties() -> Result<()> {
    let mut files = Vec::new();
    for folder in ["core/tests", "server/tests", "tests/tests"] {
        let found = places::rust_files(folder)?;
        files.extend(
            found
                .into_iter()
                .filter(|file| file.ends_with(PROPERTY_SUFFIX)),
        );
    }
    if files.is_empty() {
        return Err(Failure::new(format!(
            "no file *{PROPERTY_SUFFIX}.rs in core/tests, server/tests or tests/tests"
        )));
    }
    // Ours are optimised, with overflow checks. Everything else is what the step `tests` has built: to optimise that too takes longer than it saves.
    let mut command = runner();
    for package in OURS {
        let optimised = format!("profile.dev.package.{package}.opt-level=1");
        command.args(["--config", &optimised]);
    }
    command.args(["--workspace", "--features", CLIENTS]);
    for file in &files {
        command.args(["--test", file]);
    }
    run(command.env("PROPTEST_CASES", PROPERTY_CASES))
}

/// Runs tests: by nextest if it is there, else by what cargo has.
fn runner() -> Command {
    let mut command = cargo_in("");
    if succeeds(Command::new("cargo").args(["nextest", "--version"])) {
        command.args(["nextest", "run"]);
    } else {
        command.arg("test");
    }
    command
}

/// Runs tests that wait more than they work: for disks, time limits, and programs that start. So more of them run at once than there are cores.
fn runner_of_waiters() -> Command {
    let mut command = runner();
    if let Ok(cores) = thread::available_parallelism() {
        // nextest's; what cargo has runs one file after the other anyway.
        command.env("NEXTEST_TEST_THREADS", (2 * cores.get()).to_string());
    }
    command
}
