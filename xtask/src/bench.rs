//! Benchmarks that give the same answer on any machine: instructions per operation.
//!
//! A benchmark program is `benches/instructions.rs` of a package. `list` makes it print its cases, one
//! per line; `run CASE N` makes it set up and do the case's operation N times. Each case is run
//! twice under valgrind, with few and with many operations: the difference leaves start-up and set-up out.

use std::{path::PathBuf, process::Command};

use crate::{
    command::{Failure, Result, output, stdout},
    places::cargo_in,
    tools::{Found, VALGRIND},
};

const FEW: u64 = 10;
const MANY: u64 = 1010;

/// Runs the instruction benchmark of `package` and prints a table.
pub(crate) fn instructions(package: &str) -> Result<()> {
    let valgrind = VALGRIND.ensure()?;
    let program = build(package)?;
    println!("| case | instructions per operation |\n|---|---:|");
    for case in stdout(Command::new(&program).arg("list"))?.lines() {
        let few = count(&valgrind, &program, case, FEW)?;
        let many = count(&valgrind, &program, case, MANY)?;
        let each = many.saturating_sub(few) as f64 / (MANY - FEW) as f64;
        println!("| {case} | {each:.1} |");
    }
    Ok(())
}

fn build(package: &str) -> Result<PathBuf> {
    let messages = stdout(
        cargo_in("")
            .args(["bench", "--package", package, "--bench", "instructions"])
            .args(["--no-run", "--message-format=json-render-diagnostics"]),
    )?;
    executable(&messages)
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new(format!("{package} has no benchmark `instructions`")))
}

/// The last program that cargo says it has built.
fn executable(messages: &str) -> Option<&str> {
    let (_, rest) = messages.rsplit_once(r#""executable":""#)?;
    rest.split_once('"').map(|(path, _)| path)
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
    fn the_program_is_read_from_the_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","executable":"a/instructions-1","fresh":true}"#,
        );
        assert_eq!(executable(messages), Some("a/instructions-1"));
    }
}
