//! `cargo xtask`: Ringwatch's one way to build, check and measure everything.
//!
//! One file per task: [`mod@test`], [`fuzz`], [`mutants`], [`mod@bench`], [`size`], [`firmware`] (the boards), [`setup`].
//! They stand on [`command`] (running programs), [`places`] (paths), [`steps`] (named, timed steps),
//! [`tools`], [`apt`], [`sources`], [`mod@etcd`], [`kubectl`], [`python`], [`protoc`] and [`toolchain`] (fetching what is missing) and [`qemu`].

mod apt;
mod bench;
mod command;
mod etcd;
mod firmware;
mod fuzz;
mod kubectl;
mod mutants;
mod places;
mod protoc;
mod python;
mod qemu;
mod setup;
mod size;
mod sources;
mod steps;
mod test;
mod toolchain;
mod tools;

use std::{ffi::OsString, process::ExitCode, time::Duration};

use clap::{Parser, Subcommand, ValueEnum};

/// Builds, checks and measures Ringwatch.
///
/// Start with `cargo xtask serve`, which runs the server, `cargo xtask run`, which boots the core in an emulated
/// microcontroller, and
/// `cargo xtask test`, which is all that CI does. A fresh Debian machine with a Rust toolchain is
/// enough: what a task needs and does not find, it fetches (see `setup`).
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Boot the self-check firmware in QEMU and show what it prints
    ///
    /// Shows the core at work on an emulated Cortex-M3 without an allocator: each check, the size of each part, and how
    /// deep the stack went. The server is run by `serve`.
    Run {
        /// End the firmware after this many seconds
        #[arg(long, value_name = "SECONDS", default_value_t = qemu::TIME_LIMIT.as_secs())]
        limit: u64,
    },

    /// Build the server and run it
    ///
    /// As `cargo run --release --package ringwatch-server`, with what its build needs brought along.
    Serve {
        /// Flags for the server, behind `--`; `-- --help` explains them
        #[arg(last = true)]
        flags: Vec<OsString>,
    },

    /// Run every check; what CI does
    ///
    /// In order: fmt, clippy (also for the firmware), docs, tests (unit and integration), doctests,
    /// properties (10 000 cases each, optimised, with overflow checks), fuzz (a short coverage-guided run
    /// where there is a nightly toolchain), mutants (broken caches that must be noticed), firmware (the self-check in QEMU), size (flash and RAM within
    /// budget and as the README says). Stops at the first step that fails and names it.
    Test {
        /// Only fmt, clippy, docs, tests and doctests: a subset for while you work
        #[arg(long)]
        quick: bool,
    },

    /// Measure; each table names its targets
    ///
    /// `core` also counts instructions, which do not depend on the machine's mood.
    Bench {
        /// What to measure
        #[arg(default_value = "core")]
        what: Benchmark,
    },

    /// Search for inputs that break a decoder, guided by coverage (needs a nightly toolchain)
    Fuzz {
        /// One target of tests/fuzz/fuzz_targets; all of them if left out
        target: Option<String>,
        /// How long to search, per target
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },

    /// Break the cache in one place after the other and see that the recorded test notices
    ///
    /// Each file in tests/mutants names a text in the sources, what to put in its place, and the property that must be
    /// found violated. This happens in a copy in target/mutants. Prints which properties caught each mutant.
    Mutants {
        /// The name of one file of tests/mutants, without `.txt`; all of them if left out
        mutant: Option<String>,
    },

    /// Run real clients (kubectl old and new, kube-rs, Python, bare HTTP/2) against the server's program
    ///
    /// On the embedded store and on etcd. Fetches what is missing; building the clients takes some minutes the first time.
    Journeys,

    /// Build all firmware and list it: target, board, flash and RAM
    Boards,

    /// Fetch everything that the other tasks need, now rather than when they need it
    ///
    /// A tool on PATH is used. Otherwise Debian's package is installed (as root or through sudo);
    /// where that would remove other packages, or is not allowed, it is unpacked into
    /// $XDG_CACHE_HOME/ringwatch (~/.cache/ringwatch) instead and the system stays as it is. etcd is
    /// always unpacked there, since its package would start a service.
    Setup,

    /// Measure what a node costs in flash and RAM, and fail over budget
    Size {
        /// Also fail if the table in README.md differs
        #[arg(long, conflicts_with = "write_readme")]
        check_readme: bool,
        /// Write the table to README.md
        #[arg(long)]
        write_readme: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Benchmark {
    /// The data structures and encodings of `ringwatch-core`
    Core,
    /// The watch cache: what changes, watchers, lists and objects cost, and how that grows
    Cache,
    /// Connections of the server: what an idle one costs in memory
    Connections,
    /// The embedded store: writes with and without fsync, and opening
    Embedded,
    /// The server as a process: fan-out, lists, memory, start, beside a bare loop over sockets
    Server,
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Run { limit } => firmware::SELFCHECK.boot(Duration::from_secs(limit)),
        Task::Serve { flags } => command::run(
            places::cargo_in("")
                .args(["run", "--release", "--package", "ringwatch-server", "--"])
                .args(flags),
        ),
        Task::Test { quick } => test::run_all(quick),
        Task::Bench { what } => match what {
            Benchmark::Core => bench::operations("ringwatch-core"),
            Benchmark::Cache => bench::program("ringwatch-server", "cache")
                .and_then(|()| bench::program("ringwatch-server", "cache-memory")),
            Benchmark::Connections => bench::program("ringwatch-server", "connections"),
            Benchmark::Embedded => bench::program("ringwatch-server", "embedded"),
            Benchmark::Server => bench::program("ringwatch-server", "server"),
        },
        Task::Fuzz { target, seconds } => {
            let effort = fuzz::Effort {
                seconds,
                runs: None,
            };
            fuzz::fuzz(target.as_deref(), effort)
        }
        Task::Mutants { mutant } => mutants::try_all(mutant.as_deref()),
        Task::Journeys => test::journeys(),
        Task::Boards => firmware::list(),
        Task::Setup => setup::everything(),
        Task::Size {
            check_readme,
            write_readme,
        } => size::report(match (check_readme, write_readme) {
            (true, _) => size::Readme::Check,
            (_, true) => size::Readme::Write,
            _ => size::Readme::Ignore,
        }),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
