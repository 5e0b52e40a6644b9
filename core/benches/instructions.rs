//! Operations of the core, for `cargo xtask bench core` to count their instructions.
//!
//! `list` prints the cases; `run CASE N` sets a case up and does its operation N times.

use core::hint::black_box;
use std::{env, process::ExitCode};

use ringwatch_core::{
    history::History, informer::Informer, revision::Revision, selector::LabelSelector,
};

/// A case's name and what does its operation that many times.
type Case = (&'static str, fn(u64));

const CASES: &[Case] = &[
    ("nothing (the loop itself)", nothing),
    ("history: push into a full ring of 64", history_push),
    ("selector: parse 3 requirements", selector_parse),
    ("selector: match 3 requirements", selector_match),
    ("informer: update one of 16 objects", informer_update),
];

fn nothing(times: u64) {
    for n in 0..times {
        black_box(n);
    }
}

fn history_push(times: u64) {
    let mut history = History::<u64, [_; 64]>::array();
    for n in 1..=64 + times {
        black_box(history.push(Revision::new(n), black_box(n))).ok();
    }
}

const SELECTOR: &str = "tier in (web, api), env=prod, !legacy";

fn selector_parse(times: u64) {
    for _ in 0..times {
        black_box(LabelSelector::<&str>::parse(black_box(SELECTOR))).ok();
    }
}

fn selector_match(times: u64) {
    let Ok(selector) = LabelSelector::<&str>::parse(SELECTOR) else {
        return;
    };
    for _ in 0..times {
        black_box(selector.matches(|key| match black_box(key) {
            "tier" => Some("web"),
            "env" => Some("prod"),
            _ => None,
        }));
    }
}

fn informer_update(times: u64) {
    let mut informer = Informer::<heapless::String<16>, u64, [_; 16]>::array();
    let keys = "abcdefghijklmnop";
    for n in 1..=16 + times {
        let at = n as usize % 16;
        if let Some(key) = keys.get(at..=at) {
            black_box(informer.put(key, Revision::new(n), n, &mut ())).ok();
        }
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
