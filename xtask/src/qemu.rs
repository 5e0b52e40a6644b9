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
    apt,
    children::ends_with_us,
    command::{Context, Failure, Result, line, run},
    firmware::Board,
    tools::{QEMU_ARM, QEMU_RISCV, Tool},
};

/// A QEMU, and how firmware is started in it.
#[derive(Debug)]
pub(crate) struct Emulator {
    tool: Tool,
    arguments: &'static str,
    /// A network in which this machine is 10.0.2.2.
    network: &'static str,
    /// How the tests learn where it is.
    variable: &'static str,
}

pub(crate) const ARM: Emulator = Emulator {
    tool: QEMU_ARM,
    arguments: "-semihosting-config enable=on,target=native",
    network: "-nic user,model=lan9118",
    variable: "RINGWATCH_QEMU_ARM",
};
pub(crate) const RISCV: Emulator = Emulator {
    tool: QEMU_RISCV,
    arguments: "-m 32M -bios none -global virtio-mmio.force-legacy=false",
    network: "-netdev user,id=cable -device virtio-net-device,netdev=cable",
    variable: "RINGWATCH_QEMU_RISCV",
};

/// How long a firmware may run before it counts as hanging.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Where QEMU's own files are, below the folder that it was unpacked into.
const FILES: &str = "usr/share/qemu";

/// How many of the last lines of output are repeated when a run fails.
const TAIL: usize = 20;

/// Boots `elf` on an emulated board, prints its output, and fails if it exits with anything but 0 or runs longer than `limit`.
pub(crate) fn boot(board: &Board, elf: &Path, limit: Duration) -> Result<()> {
    let mut command = start(board)?;
    command.arg("-kernel").arg(elf);
    run_limited(ends_with_us(command, "KILL"), limit)
}

/// Boots `elf` with a network, in which this machine is 10.0.2.2, and shows its output until it ends or is ended. Who connects to
/// a port of this machine that is `forward`ed reaches the same port of the board.
pub(crate) fn boot_on_network(board: &Board, elf: &Path, forward: Option<u16>) -> Result<()> {
    run(&mut ends_with_us(on_network(board, elf, forward)?, "KILL"))
}

/// QEMU with `elf` and a network, as [`boot_on_network`] has it.
pub(crate) fn on_network(board: &Board, elf: &Path, forward: Option<u16>) -> Result<Command> {
    let mut command = start(board)?;
    let network = board.emulator.network;
    let network = match forward {
        Some(port) => {
            let user = format!("user,hostfwd=tcp:127.0.0.1:{port}-:{port}");
            network.replacen("user", &user, 1)
        }
        None => network.to_owned(),
    };
    command.args(network.split(' '));
    command.arg("-kernel").arg(elf);
    Ok(command)
}

/// Tells `command`, which runs tests, how to start each QEMU: the program, the folder of its files and those of its libraries, if it is not installed.
pub(crate) fn provide(command: &mut Command) -> Result<()> {
    for emulator in [ARM, RISCV] {
        let (qemu, variable) = (emulator.tool.ensure()?, emulator.variable);
        command.env(variable, qemu.program());
        if let Some(private) = qemu.private() {
            command.env(format!("{variable}_FILES"), private.join(FILES));
            let (_, libraries) = apt::library_path(private)?;
            command.env(format!("{variable}_LIBRARIES"), libraries);
        }
    }
    Ok(())
}

/// QEMU as this board, with its serial port here.
fn start(board: &Board) -> Result<Command> {
    let qemu = board.emulator.tool.ensure()?;
    let mut command = qemu.command()?;
    if let Some(private) = qemu.private() {
        command.arg("-L").arg(private.join(FILES));
    }
    command
        .args(["-M", board.machine])
        .args("-display none -monitor none -serial stdio".split(' '))
        .args(board.emulator.arguments.split(' '));
    Ok(command)
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
