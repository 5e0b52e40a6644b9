//! `cargo xtask run --smoke`: a trial of the whole, with a verdict.

use std::{process::Command, time::Instant};

use super::{Demo, Flags, NODE, PATIENCE, PROMISED, Ports, SETPOINT, Site, run, say};
use crate::command::{Context, Failure, Result, stdout};

/// What `--smoke` does, with either node.
pub(crate) fn both() -> Result<()> {
    [false, true].into_iter().try_for_each(|qemu| {
        run(&Flags {
            etcd: Vec::new(),
            qemu,
            port: 0,
            data_dir: None,
            smoke: true,
        })
    })
}

/// Starts all, does what a newcomer is told to try, and sees that the node follows; twice.
pub(super) fn smoke(site: &Site<'_>, flags: &Flags) -> Result<()> {
    let folder = tempfile::tempdir().context("a folder")?;
    let mut demo = Demo::start(site, folder.path(), Ports::ANY)?;
    let [see, change, at_relay] = demo.commands(site);
    shell(&see, "boiler")?;
    shell(&change, "device.ringwatch.dev/boiler patched")?;
    let acknowledged = Instant::now();
    demo.has_the_setpoint()?;
    let took = acknowledged.elapsed();
    if took > PROMISED {
        return Err(Failure::new(format!(
            "the change was at the node only after {took:?}"
        )));
    }
    shell(&at_relay, "boiler")?;
    demo.children.stop()?;
    let mut again = Demo::start(site, folder.path(), Ports::ANY)?;
    again.has_the_setpoint()?;
    again.children.stop()?;
    let node = if flags.qemu {
        "firmware in QEMU"
    } else {
        "the simulated node"
    };
    println!(
        "smoke: passed: a change by kubectl was at {node} {} ms after the server had taken it, and is there after a restart",
        took.as_millis()
    );
    Ok(())
}

impl Demo {
    fn has_the_setpoint(&mut self) -> Result<()> {
        let changed = |line: &str| {
            let (_, rest) = line.split_once("default/boiler ")?;
            rest.contains(SETPOINT).then_some(())
        };
        match self.running.said.iter().find_map(|line| changed(line)) {
            Some(()) => Ok(()),
            None => self.children.until(NODE, PATIENCE, changed, say),
        }
    }
}

/// Runs a command as it would be pasted; its output must have `expected` in it.
fn shell(command: &str, expected: &str) -> Result<()> {
    println!("  $ {command}");
    let output = stdout(Command::new("sh").args(["-c", command]))?;
    output.lines().for_each(|line| println!("  {line}"));
    match output.contains(expected) {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "`{command}` did not print `{expected}`"
        ))),
    }
}
