//! `ringwatch-edge`: wiring only.

use std::process::ExitCode;

use clap::Parser;
use ringwatch_edge::cli::Command;

/// 0: done. 1: cannot. 2: wrong settings.
fn main() -> ExitCode {
    Command::parse().run()
}
