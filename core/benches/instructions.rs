//! Operations of the core, for `cargo xtask bench core` to count their instructions.
//!
//! `list` prints the cases; `run CASE N` sets a case up and does its operation N times.

use core::hint::black_box;
use std::{env, process::ExitCode};

/// A case's name and what does its operation that many times.
type Case = (&'static str, fn(u64));

const CASES: &[Case] = &[("nothing (the loop itself)", nothing)];

fn nothing(times: u64) {
    for n in 0..times {
        black_box(n);
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["list"] => {
            CASES.iter().for_each(|(name, _)| println!("{name}"));
            ExitCode::SUCCESS
        }
        ["run", case, times] => {
            let found = CASES.iter().find(|(name, _)| name == case);
            match (found, times.parse()) {
                (Some((_, operation)), Ok(times)) => {
                    operation(times);
                    ExitCode::SUCCESS
                }
                _ => usage(),
            }
        }

        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("use `cargo xtask bench core`; by hand: list | run CASE N");
    ExitCode::FAILURE
}
