//! Tables with one row per line, `request => answer`, of which all may be asked at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::names::Names;

/// How many rows are asked at once: some answers take seconds, and the server has to cope anyway.
const AT_ONCE: usize = 24;

/// The rows of a table, which has at least so many.
pub(crate) fn rows(table: &str, at_least: usize) -> Vec<(&str, &str)> {
    let rows: Vec<_> = table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once("=>").expect("a request and an answer"))
        .map(|(request, answer)| (request.trim(), answer.trim()))
        .collect();
    assert!(rows.len() >= at_least, "only {} rows", rows.len());
    rows
}

/// Asks for every row, and fails with those that were answered differently.
pub(crate) fn check(rows: &[(&str, &str)], names: &Names, ask: impl Fn(&str) -> String + Sync) {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![String::new(); rows.len()]);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((request, _)) = rows.get(index) else {
                        return;
                    };
                    let answer = ask(&names.fill(request));
                    found.lock().expect("no panic")[index] = answer;
                }
            });
        }
    });
    compare(rows, names, &found.into_inner().expect("no panic"));
}

/// Fails with the rows that were answered differently.
pub(crate) fn compare(rows: &[(&str, &str)], names: &Names, found: &[String]) {
    let wrong: Vec<_> = rows
        .iter()
        .zip(found)
        .filter(|((_, expected), found)| names.fill(expected) != **found)
        .map(|((request, expected), found)| {
            format!(
                "{request} => {}\n    expected {expected}",
                names.restore(found)
            )
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
