//! Booting firmware in QEMU, with a time limit.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    command::{Context, Failure, Result, line},
    places::on_path,
    tools::QEMU_ARM,
};

/// How long a firmware may run before it counts as hanging.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);

/// How many of the last lines of output are repeated when a run fails.
const TAIL: usize = 20;

/// Boots `elf` on the emulated board `machine`, prints its output, and fails if it exits with
/// anything but 0 or runs longer than `limit`.
pub(crate) fn boot(machine: &str, elf: &Path, limit: Duration) -> Result<()> {
    let qemu = QEMU_ARM.ensure()?;
    let mut command = qemu.command()?;
    if let Some(private) = qemu.private() {
        command.arg("-L").arg(private.join("usr/share/qemu"));
    }
    command
        .args(["-M", machine])
        .args("-display none -monitor none -serial stdio".split(' '))
        .args(["-semihosting-config", "enable=on,target=native", "-kernel"])
        .arg(elf);
    run_limited(die_with_us(command), limit)
}

/// Wraps a command so that the kernel ends it when this program ends in any way, where the small
/// Linux helper for that exists. Ctrl-C needs no help: it reaches the whole process group.
fn die_with_us(command: Command) -> Command {
    let Some(setpriv) = on_path("setpriv") else {
        return command;
    };
    let mut wrapped = Command::new(setpriv);
    wrapped
        .args(["--pdeathsig", "KILL", "--"])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            wrapped.env(name, value);
        }
    }
    wrapped
}

fn run_limited(mut command: Command, limit: Duration) -> Result<()> {
    let what = line(&command);
    let (reader, writer) = io::pipe().context("pipe")?;
    let errors = writer.try_clone().context("pipe")?;
    let child = command
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(errors)
        .spawn()
        .context(format!("`{what}`"))?;
    // The command holds this side's writing end of the pipe: the reader ends only once it is gone.
    drop(command);
    let output = thread::spawn(move || show(BufReader::new(reader)));
    let ended = wait(child, limit);
    let tail = output.join().unwrap_or_default();
    let last = || Vec::from(tail).join("\n");
    match ended.context(format!("`{what}`"))? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(Failure::new(format!(
            "`{what}` ended with {status}; its last output:\n{}",
            last()
        ))),
        None => Err(Failure::new(format!(
            "`{what}` was still running after {} s and was ended; its last output:\n{}",
            limit.as_secs_f64(),
            last()
        ))),
    }
}

/// The child's exit status, or `None` if it had to be killed at the limit.
fn wait(mut child: Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Prints each line as it comes and keeps the last ones.
fn show(mut output: impl BufRead) -> VecDeque<String> {
    let mut tail = VecDeque::with_capacity(TAIL);
    let mut bytes = Vec::new();
    while output.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        // A closed terminal is no reason to stop watching the firmware.
        let _ = writeln!(io::stdout(), "    {line}");
        if tail.len() == TAIL {
            tail.pop_front();
        }
        tail.push_back(line);
        bytes.clear();
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run_limited(command, limit)
    }

    #[test]
    fn success_is_success() {
        shell("echo fine", TIME_LIMIT).unwrap();
    }

    #[test]
    fn an_exit_code_is_a_failure_and_shows_the_last_output() {
        let failure = shell("seq 30; echo FAILED ring >&2; exit 1", TIME_LIMIT)
            .unwrap_err()
            .to_string();
        assert!(failure.contains("exit status: 1"), "{failure}");
        assert!(failure.ends_with("30\nFAILED ring"), "{failure}");
        assert!(!failure.contains("\n11\n"), "more than the tail: {failure}");
    }

    #[test]
    fn a_hang_is_ended_at_the_limit() {
        let start = Instant::now();
        let failure = shell("echo booting; exec sleep 60", Duration::from_millis(300))
            .unwrap_err()
            .to_string();
        assert!(failure.contains("still running after 0.3 s"), "{failure}");
        assert!(failure.ends_with("booting"), "{failure}");
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
