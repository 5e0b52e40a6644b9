//! The core's operations, for `cargo xtask bench core` to time and to count instructions of.
//!
//! | call | does |
//! |---|---|
//! | `list` | prints the cases: name, bytes per operation (0 if that means nothing), target |
//! | `run CASE N` | sets a case up and does its operation N times: for counting under valgrind |
//! | `time CASE` | prints nanoseconds per operation, the best of several rounds |

mod cases;
mod link;
mod objects;

use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cases::{CASES, Case};

/// Long enough that reading the clock does not count, short enough to fall between disturbances.
const ROUND: Duration = Duration::from_millis(20);
const ROUNDS: usize = 25;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["list"] => {
            for case in CASES {
                println!("{}\t{}\t{}", case.name, (case.bytes)(), case.target);
            }
        }
        ["run", name, times] => {
            let (Some(case), Ok(times)) = (find(name), times.parse()) else {
                return usage();
            };
            (case.run)(times);
        }
        ["time", name] => {
            let Some(case) = find(name) else {
                return usage();
            };
            println!("{:.2}", nanoseconds(case));
        }
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn find(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

fn usage() -> ExitCode {
    eprintln!("use `cargo xtask bench core`; by hand: list | run CASE N | time CASE");
    ExitCode::FAILURE
}

/// Per operation, without set-up: the difference between many and no operations.
fn nanoseconds(case: &Case) -> f64 {
    let timed = |times: u64| {
        let start = Instant::now();
        (case.run)(times);
        start.elapsed()
    };
    let mut times = 1;
    while timed(times) < ROUND {
        times *= 2;
    }
    let set_up = (0..ROUNDS).map(|_| timed(0)).min().unwrap_or_default();
    let best = (0..ROUNDS).map(|_| timed(times)).min().unwrap_or_default();
    best.saturating_sub(set_up).as_nanos() as f64 / times as f64
}
