//! Benchmarks: how long an operation takes, and how many instructions.
//!
//! The time depends on the machine and its mood; the instructions do not, so a regression shows in them
//! even where the times are noise.
//!
//! A benchmark program is the bench target `operations` of a package. `list` makes it print its cases
//! with their bytes per operation and their targets; `time CASE` prints nanoseconds per operation; `run CASE N` does the
//! operation N times. For the instructions, each case is run twice under valgrind, with few and with many operations:
//! the difference leaves start-up and set-up out.

use std::{path::PathBuf, process::Command};

use crate::{
    command::{Failure, Result, output, run, stdout},
    places::cargo_in,
    tools::{Found, VALGRIND},
};

/// How often to do an operation under valgrind, which is slow: few times and many times.
const SMALL: (u64, u64) = (10, 210);
/// For operations on so many bytes that two more tell enough.
const LARGE: (u64, u64) = (1, 3);
const LARGE_BYTES: u64 = 1_000_000;

/// Measures the operations of `package` and prints a table.
pub(crate) fn operations(package: &str) -> Result<()> {
    let valgrind = VALGRIND.ensure()?;
    let program = build(package)?;
    println!("| operation | instructions | ns | rate | target |\n|---|---:|---:|---:|---:|");
    for line in stdout(Command::new(&program).arg("list"))?.lines() {
        let Some((case, bytes, target)) = parse_case(line) else {
            return Err(Failure::new(format!("not a case: `{line}`")));
        };
        let (few, many) = if bytes < LARGE_BYTES { SMALL } else { LARGE };
        let counted = count(&valgrind, &program, case, many)?
            .saturating_sub(count(&valgrind, &program, case, few)?);
        let each = counted as f64 / (many - few) as f64;
        let time = stdout(Command::new(&program).args(["time", case]))?;
        let time: f64 = time
            .trim()
            .parse()
            .map_err(|_| Failure::new(format!("not a time: `{time}`")))?;
        println!(
            "| {case} | {each:.0} | {time:.1} | {} | {target} |",
            rate(bytes, time)
        );
    }
    Ok(())
}

/// Runs a benchmark of `package` that prints its own table.
pub(crate) fn program(package: &str, name: &str) -> Result<()> {
    run(cargo_in("").args(["bench", "--package", package, "--bench", name]))
}

/// A line of `list`: name, bytes per operation, target.
fn parse_case(line: &str) -> Option<(&str, u64, &str)> {
    let mut words = line.split('\t');
    Some((words.next()?, words.next()?.parse().ok()?, words.next()?))
}

/// Operations or, where there are bytes, bytes per second.
fn rate(bytes: u64, nanoseconds: f64) -> String {
    match bytes {
        0 => format!("{:.1} M/s", 1e3 / nanoseconds),
        _ => format!("{:.2} GB/s", bytes as f64 / nanoseconds),
    }
}

fn build(package: &str) -> Result<PathBuf> {
    let messages = stdout(
        cargo_in("")
            .args(["bench", "--package", package, "--bench", "operations"])
            .args(["--no-run", "--message-format=json-render-diagnostics"]),
    )?;
    executable(&messages, "operations")
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new(format!("{package} has no benchmark `operations`")))
}

/// The test or benchmark of this name among the programs that cargo says it has built. It builds others beside it: a package's own, for its tests.
pub(crate) fn executable<'m>(messages: &'m str, name: &str) -> Option<&'m str> {
    let built = messages.split(r#""executable":""#).skip(1);
    let mut built = built.filter_map(|rest| rest.split('"').next());
    // Those of a package have no number.
    built.find(|path| {
        let file = path.rsplit('/').next().unwrap_or(path);
        file.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('-'))
    })
}

fn count(valgrind: &Found, program: &PathBuf, case: &str, operations: u64) -> Result<u64> {
    let mut command = valgrind.command()?;
    if let Some(private) = valgrind.private() {
        command.env("VALGRIND_LIB", private.join("usr/libexec/valgrind"));
    }
    command
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg("--cachegrind-out-file=/dev/null")
        .arg(program)
        .args(["run", case, &operations.to_string()]);
    let output = output(&mut command)?;
    let report = String::from_utf8_lossy(&output.stderr);
    references(&report)
        .filter(|_| output.status.success())
        .ok_or_else(|| Failure::new(format!("case `{case}` did not run:\n{report}")))
}

/// The count in cachegrind's line `==1== I   refs:      1,234`.
fn references(report: &str) -> Option<u64> {
    let (_, count) = report.lines().find_map(|line| {
        line.split_once("refs:")
            .filter(|(before, _)| before.trim_end().ends_with('I'))
    })?;
    count.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_the_report() {
        let report = "==7== Cachegrind\n==7== \n==7== I   refs:      1,234,567\n";
        assert_eq!(references(report), Some(1_234_567));
        assert_eq!(references("==7== I refs:  42"), Some(42));
        assert_eq!(references("nothing"), None);
    }

    #[test]
    fn a_case_is_read_from_the_list() {
        assert_eq!(
            parse_case("a: b\t50\t>= 1 GB/s"),
            Some(("a: b", 50, ">= 1 GB/s"))
        );
        assert_eq!(parse_case("a: b\t0\t"), Some(("a: b", 0, "")));
        assert_eq!(parse_case("a: b"), None);
    }

    #[test]
    fn the_program_is_read_from_the_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","executable":"a/operations-1","fresh":true}"#,
            "\n",
            r#"{"reason":"compiler-artifact","executable":"a/simulation","fresh":true}"#,
        );
        assert_eq!(executable(messages, "operations"), Some("a/operations-1"));
        assert_eq!(executable(messages, "simulation"), None, "it is no test");
    }
}
