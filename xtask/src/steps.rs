//! Named steps: what runs, in which order, how long it took, and which one failed.

use std::{
    fmt::Write,
    process::Command,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{
    children::Children,
    command::{Context, Failure, Result},
};

/// One step of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Whether the step belongs to the quick subset.
    pub(crate) quick: bool,
    pub(crate) run: Run,
}

/// How a step runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    /// Before the next one.
    Now(fn() -> Result<()>),
    /// Beside the next ones, since it takes long and has little to do: a program, which is waited for at the end.
    Beside(fn() -> Result<Command>),
}

/// Runs `steps` in order, up to the first failure. Prints how long each took either way.
pub(crate) fn run_all<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Result<()> {
    let began = Instant::now();
    let mut done = Vec::new();
    let mut failed = None;
    let mut beside = Vec::new();
    for step in steps {
        println!("==> {}", step.name);
        let start = Instant::now();
        let result = match step.run {
            Run::Now(run) => run(),
            Run::Beside(prepare) => Beside::begin(step.name, prepare).map(|it| beside.push(it)),
        };
        let runs_on = result.is_ok() && matches!(step.run, Run::Beside(_));
        if !runs_on {
            done.push((step.name, start.elapsed()));
        }
        if let Err(failure) = result {
            failed = Some((step.name, failure));
            break;
        }
    }
    for it in beside {
        // What is not waited for is ended.
        if failed.is_some() {
            break;
        }
        let (name, start) = (it.name, it.start);
        println!("==> {name}: its end");
        if let Err(failure) = it.finish() {
            failed = Some((name, failure));
        }
        done.push((name, start.elapsed()));
    }
    print!("\n{}", table(&done, began.elapsed()));
    match failed {
        None => {
            println!("{} passed, 0 failed", done.len());
            Ok(())
        }
        Some((name, failure)) => {
            println!("{} passed, 1 failed", done.len() - 1);
            Err(Failure::new(format!("step `{name}` failed: {failure}")))
        }
    }
}

/// A step that runs beside others. It is ended with this value.
struct Beside {
    name: &'static str,
    start: Instant,
    children: Children,
    _folder: TempDir,
}

impl Beside {
    fn begin(name: &'static str, prepare: fn() -> Result<Command>) -> Result<Self> {
        let command = prepare()?;
        let folder = tempfile::tempdir().context("a folder")?;
        let mut children = Children::new()?;
        children.start(name, command, folder.path().join("log"))?;
        println!("    goes on beside what follows");
        Ok(Self {
            name,
            start: Instant::now(),
            children,
            _folder: folder,
        })
    }

    fn finish(mut self) -> Result<()> {
        self.children
            .finish(self.name, |line| println!("    {line}"))
    }
}

fn table(done: &[(&str, Duration)], total: Duration) -> String {
    let mut table = String::new();
    for (name, took) in done.iter().copied().chain([("total", total)]) {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{name:<12} {:>7.1} s", took.as_secs_f64());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn step(name: &'static str, run: Run) -> Step {
        Step {
            name,
            quick: true,
            run,
        }
    }

    #[test]
    fn the_first_failure_ends_the_run_and_is_named() {
        let steps = [
            step("good", Run::Now(|| Ok(()))),
            step(
                "bad",
                Run::Now(|| Err(Failure::new("`cargo x` ended with 1"))),
            ),
            step(
                "never",
                Run::Now(|| unreachable!("a step after the failed one ran")),
            ),
        ];
        let failure = run_all(&steps).unwrap_err().to_string();
        assert_eq!(failure, "step `bad` failed: `cargo x` ended with 1");
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_step_beside_the_others_is_waited_for() {
        let long = step("long", Run::Beside(|| Ok(shell("sleep 0.2; exit 5"))));
        let steps = [long, step("good", Run::Now(|| Ok(())))];
        let failure = run_all(&steps).unwrap_err().to_string();
        let expected = "step `long` failed: the long ended with exit status: 5";
        assert!(failure.starts_with(expected), "{failure}");
    }

    #[test]
    fn a_step_beside_the_others_ends_when_one_fails() {
        let long = step("long", Run::Beside(|| Ok(shell("exec sleep 600"))));
        let bad = step("bad", Run::Now(|| Err(Failure::new("no"))));
        let start = Instant::now();
        let failure = run_all(&[long, bad]).unwrap_err().to_string();
        assert_eq!(failure, "step `bad` failed: no");
        assert!(start.elapsed() < Duration::from_secs(300));
    }

    #[test]
    fn the_table_ends_with_the_total() {
        let table = table(
            &[
                ("a", Duration::from_millis(1500)),
                ("b", Duration::from_secs(2)),
            ],
            Duration::from_secs(3),
        );
        assert_eq!(
            table,
            "a                1.5 s\nb                2.0 s\ntotal            3.0 s\n"
        );
    }
}
