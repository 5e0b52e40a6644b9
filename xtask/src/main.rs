//! `cargo xtask`: Ringwatch's one way to build, check and measure everything.
//!
//! One file per task: [`mod@run`], [`mod@test`], [`documented`], [`fuzz`], [`sim`], [`mutants`], [`mod@bench`], [`size`], [`footprint`], [`boards`] and [`firmware`], [`setup`].
//! They stand on [`command`] and [`children`] (running programs), [`places`] (paths), [`steps`] (named, timed steps),
//! [`tools`], [`versioned`], [`apt`], [`sources`], [`mod@etcd`], [`faketime`], [`kubectl`], [`python`], [`protoc`] and [`toolchain`]
//! (fetching what is missing) and [`qemu`].

mod apt;
mod bench;
mod boards;
mod children;
mod command;
mod documented;
mod etcd;
mod faketime;
mod firmware;
mod footprint;
mod fuzz;
mod kubectl;
mod mutants;
mod places;
mod protoc;
mod python;
mod qemu;
mod run;
mod setup;
mod sim;
mod size;
mod sources;
mod steps;
mod test;
mod toolchain;
mod tools;
mod uf2;
mod versioned;

use std::{ffi::OsString, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Parser, Subcommand, ValueEnum};

/// Builds, checks and measures Ringwatch.
///
/// Start with `cargo xtask run`, which runs a server, a relay and a node to look at, and
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
    /// Run everything on this machine: server, relay and a node, with two devices to change
    ///
    /// Prints the addresses and three commands to try, then what the node says, until Ctrl-C. Another start goes on from the same data.
    /// The programs are built without optimisation, so that the first start is soon; `serve` runs the server with it.
    Run(run::Flags),

    /// Boot the self-check firmware in QEMU and show what it prints
    ///
    /// Shows the core at work on an emulated Cortex-M3 without an allocator: each check, the size of each part, and how
    /// deep the stack went.
    Selfcheck {
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
    /// journeys (real clients: see there), documents (every command of the README and the quickstarts), smoke (`run --smoke`, also with `--qemu`), soak (ten minutes of changes through boards in QEMU, beside the steps after it), properties (10 000 cases each, optimised, with overflow checks), fuzz (a short coverage-guided run
    /// where there is a nightly toolchain), simulation (10 000 seeds), mutants (broken caches that must be noticed), firmware (the self-check and restarts in QEMU; nodes in QEMU that watch the server), size (flash and RAM within
    /// budget and as the README says). Stops at the first step that fails and names it.
    Test {
        /// Only fmt, clippy, docs, tests and doctests: a subset for while you work
        #[arg(long)]
        quick: bool,
        /// Only these steps, by name and with commas between them
        #[arg(
            long,
            value_name = "STEPS",
            value_delimiter = ',',
            conflicts_with = "quick"
        )]
        only: Vec<String>,
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

    /// Simulate a site under a seed: servers, relays, nodes, and all that can go wrong between them
    ///
    /// Ends with `N seeds, 0 failures`, or with the seeds that failed and how each is replayed. The same seed is the same run.
    Sim {
        /// The first seed
        #[arg(long, default_value_t = 0)]
        first: u64,
        /// How many seeds
        #[arg(long, default_value_t = 20_000)]
        seeds: u64,
        /// Only this seed
        #[arg(long, conflicts_with_all = ["first", "seeds"])]
        seed: Option<u64>,
        /// Tell what happens, step by step
        #[arg(long, requires = "seed")]
        trace: bool,
    },

    /// Break the cache or the link in one place after the other and see that somebody notices
    ///
    /// Each file in tests/mutants names a text in the sources, what to put in its place, and the property that must be
    /// found violated, by the recorded test of the cache or by the simulation. This happens in a copy in target/mutants. Prints which properties caught each mutant.
    Mutants {
        /// How the names begin, as in `link-`: files of tests/mutants, without `.txt`; all of them if left out
        mutant: Option<String>,
    },

    /// Run real clients (kubectl old and new, kube-rs, Python, bare HTTP/2) against the server's program
    ///
    /// On the embedded store and on etcd. Fetches what is missing. A part of `test`, but not of `test --quick`.
    Journeys,

    /// Build all firmware and list it: board, flash and RAM, within budget or not; or run one image in QEMU
    Boards {
        #[command(subcommand)]
        what: Option<boards::Task>,
    },

    /// Put an image on a board that is connected to this machine
    Flash {
        /// One of the first column of `cargo xtask boards`
        board: String,
        /// One of the second
        image: String,
        /// What the board is told: boards/node.toml explains it
        #[arg(long, value_name = "FILE")]
        settings: PathBuf,
    },

    /// Fetch everything that the other tasks need, now rather than when they need it
    ///
    /// A tool on PATH is used. Otherwise Debian's package is installed (as root or through sudo);
    /// where that would remove other packages, or is not allowed, it is unpacked into
    /// $XDG_CACHE_HOME/ringwatch (~/.cache/ringwatch) instead and the system stays as it is. What
    /// is needed in several versions (etcd, kubectl) is always unpacked there, and so is the Python client.
    Setup,

    /// Measure what the relay's program takes in memory, with objects and nodes, and fail over budget
    ///
    /// The program is built as one static, stripped file. If that cannot be done it is said, and the one with this machine's C library is measured.
    Footprint,

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
    /// The relay: frames to nodes and how that grows with them; as a program: latency, catching up, bytes, start
    Edge,
    /// The embedded store: writes with and without fsync, and opening
    Embedded,
    /// Firmware in QEMU: how late a change is at a node, and how many pass through a relay
    Firmware,
    /// Kinds of one's own: 500 definitions with 20 objects each
    Kinds,
    /// The server as a process: fan-out, lists, memory, start, beside a bare loop over sockets
    Server,
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Run(flags) => run::run(&flags),
        Task::Selfcheck { limit } => firmware::SELFCHECK.boot(Duration::from_secs(limit)),
        Task::Serve { flags } => command::run(
            places::cargo_in("")
                .args(["run", "--release", "--package", "ringwatch-server", "--"])
                .args(flags),
        ),
        Task::Test { quick, only } if only.is_empty() => test::run_all(quick),
        Task::Test { only, .. } => test::run_only(&only),
        Task::Bench { what } => match what {
            Benchmark::Core => bench::operations("ringwatch-core"),
            Benchmark::Cache => bench::program("ringwatch-server", "cache")
                .and_then(|()| bench::program("ringwatch-server", "cache-memory")),
            Benchmark::Connections => bench::program("ringwatch-server", "connections"),
            Benchmark::Edge => bench::program("ringwatch-edge", "edge")
                .and_then(|()| bench::program("ringwatch-edge", "running")),
            Benchmark::Embedded => bench::program("ringwatch-server", "embedded"),
            Benchmark::Firmware => test::bench_firmware(),
            Benchmark::Kinds => bench::program("ringwatch-server", "kinds"),
            Benchmark::Server => bench::program("ringwatch-server", "server"),
        },
        Task::Fuzz { target, seconds } => {
            let effort = fuzz::Effort {
                seconds,
                runs: None,
            };
            fuzz::fuzz(target.as_deref(), effort)
        }
        Task::Sim {
            seed: Some(seed),
            trace,
            ..
        } => sim::one(seed, trace),
        Task::Sim { first, seeds, .. } => sim::seeds(first, seeds),
        Task::Mutants { mutant } => mutants::try_all(mutant.as_deref()),
        Task::Journeys => test::journeys(),
        Task::Boards { what: None } => boards::list(),
        Task::Boards { what: Some(task) } => boards::run(task),
        Task::Flash {
            board,
            image,
            settings,
        } => boards::flash(&board, &image, &settings),
        Task::Setup => setup::everything(),
        Task::Footprint => footprint::measure(),
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
