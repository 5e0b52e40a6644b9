//! Runs the simulation: `simulation --first S --seeds N`, or one seed step by step: `simulation --seed S --trace`.
//!
//! Ends with one line, `N seeds, 0 failures`, or with those that failed, each with the command that replays it.

use std::collections::BTreeMap;
use std::panic;
use std::process::ExitCode;

use ringwatch_tests::simulation::{Property, Violation, run};

/// So many failures say enough.
const MOST: usize = 20;

fn main() -> ExitCode {
    let Some(asked) = Asked::parse(std::env::args().skip(1)) else {
        eprintln!("usage: simulation [--first S] [--seeds N] | --seed S [--trace]");
        return ExitCode::FAILURE;
    };
    // A panic is a failure like others, and is told like them.
    panic::set_hook(Box::new(|_| ()));
    let mut failures: BTreeMap<&str, usize> = BTreeMap::new();
    let mut count = 0;
    for seed in asked.first..asked.first.saturating_add(asked.seeds) {
        let Err(violation) = attempt(seed, asked.trace) else {
            continue;
        };
        count += 1;
        *failures.entry(violation.property.as_str()).or_default() += 1;
        println!("seed {seed}: {violation}\n  replay it: cargo xtask sim --seed {seed} --trace");
        if count == MOST {
            println!("… no more seeds are tried");
            break;
        }
    }
    for (property, times) in &failures {
        println!("VIOLATED {property}: {times} times");
    }
    println!("{} seeds, {count} failures", asked.seeds);
    match count {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn attempt(seed: u64, trace: bool) -> Result<(), Violation> {
    panic::catch_unwind(|| run(seed, trace)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Violation {
            property: Property::NoPanic,
            detail: text.unwrap_or("a panic").to_owned(),
        })
    })
}

struct Asked {
    first: u64,
    seeds: u64,
    trace: bool,
}

impl Asked {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut asked = Self {
            first: 0,
            seeds: 1000,
            trace: false,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--first" => asked.first = words.next()?.parse().ok()?,
                "--seeds" => asked.seeds = words.next()?.parse().ok()?,
                "--seed" => (asked.first, asked.seeds) = (words.next()?.parse().ok()?, 1),
                "--trace" => asked.trace = true,
                _ => return None,
            }
        }
        Some(asked)
    }
}
