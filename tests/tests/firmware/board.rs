//! A board in QEMU: what it prints, its network cable, its reset button.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use ringwatch_tests::etcd::Folder;

use crate::given::variable;
use crate::programs::PATIENCE;
use crate::said::Said;

/// A board, as QEMU has it.
pub(crate) struct Machine {
    name: &'static str,
    pub(crate) chip: &'static str,
    /// How its QEMU is found.
    qemu: &'static str,
    arguments: &'static str,
    /// How its images are found.
    node: &'static str,
    relay: &'static str,
}

pub(crate) const AN385: Machine = Machine {
    name: "mps2-an385",
    chip: "Cortex-M3",
    qemu: "RINGWATCH_QEMU_ARM",
    arguments: "-nic user,model=lan9118,id=cable",
    node: "RINGWATCH_NODE_MPS2_AN385",
    relay: "RINGWATCH_RELAY_MPS2_AN385",
};
/// The same, whose node breaks when it is told to hold 1001, which is a panic, 1002, for which there is not enough stack, or 1003, which takes for ever and is for boards with a watchdog.
pub(crate) const BREAKING: Machine = Machine {
    node: "RINGWATCH_BREAKING_MPS2_AN385",
    ..AN385
};
/// The same on RISC-V, without a watchdog.
pub(crate) const BREAKING_RISCV: Machine = Machine {
    node: "RINGWATCH_BREAKING_RISCV_VIRT",
    ..RISCV
};
pub(crate) const AN386: Machine = Machine {
    name: "mps2-an386",
    chip: "Cortex-M4F",
    node: "RINGWATCH_NODE_MPS2_AN386",
    relay: "RINGWATCH_RELAY_MPS2_AN386",
    ..AN385
};
pub(crate) const RISCV: Machine = Machine {
    name: "virt",
    chip: "RISC-V",
    qemu: "RINGWATCH_QEMU_RISCV",
    arguments: "-m 32M -bios none -global virtio-mmio.force-legacy=false -netdev user,id=cable -device virtio-net-device,netdev=cable",
    node: "RINGWATCH_NODE_RISCV_VIRT",
    relay: "RINGWATCH_RELAY_RISCV_VIRT",
};

impl Machine {
    /// The image of its node, without settings.
    pub(crate) fn node(&self) -> PathBuf {
        variable(self.node)
    }

    /// That of its relay.
    pub(crate) fn relay(&self) -> PathBuf {
        variable(self.relay)
    }
}

/// A board that runs. It ends with this value.
pub(crate) struct Node {
    child: Child,
    said: Said,
    monitor: UnixStream,
    _folder: Folder,
}

impl Node {
    /// Boots an image on a network of its own, in which this machine is 10.0.2.2. Who connects to `port` of this machine, if there is one, reaches the
    /// same port of the board.
    pub(crate) fn boot(machine: &Machine, image: &Path, port: Option<u16>) -> Self {
        let arguments = match port {
            Some(port) => {
                let user = format!("user,hostfwd=tcp:127.0.0.1:{port}-:{port}");
                machine.arguments.replacen("user", &user, 1)
            }
            None => machine.arguments.to_owned(),
        };
        let folder = Folder::new();
        let monitor = folder.path().join("monitor");
        let mut command = Command::new(variable(machine.qemu));
        // Set if it is not installed.
        if let Some(files) = env::var_os(format!("{}_FILES", machine.qemu)) {
            command.arg("-L").arg(files);
        }
        if let Some(libraries) = env::var_os(format!("{}_LIBRARIES", machine.qemu)) {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        let mut child = command
            .args(["-M", machine.name, "-display", "none", "-serial", "stdio"])
            .args(arguments.split(' '))
            .arg("-monitor")
            .arg(format!("unix:{},server=on,wait=off", monitor.display()))
            .arg("-kernel")
            .arg(image)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("QEMU");
        let output = child.stdout.take().expect("its output");
        // Beside the image as it was built, not beside this copy with settings. Only relays are connected to.
        let built = port.map_or_else(|| machine.node(), |_| machine.relay());
        let record = built.with_added_extension("stack");
        let said = Said::of(output, move |line| record_stack(&record, line));
        let monitor = connect(&monitor);
        Self {
            child,
            said,
            monitor,
            _folder: folder,
        }
    }

    /// The number of QEMU's process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it says something with this text in it.
    pub(crate) fn until(&mut self, text: &str) {
        self.said.until(text);
    }

    /// What it has said last with this text in it: what comes after the text.
    pub(crate) fn last(&mut self, text: &str) -> &str {
        self.said.last(text)
    }

    /// How often it has said something with this text in it.
    pub(crate) fn count(&mut self, text: &str) -> usize {
        self.said.count(text)
    }

    /// The next line with this text in it.
    pub(crate) fn next(&mut self, text: &str) -> String {
        self.next_at(text).1
    }

    /// The same, and when it came.
    pub(crate) fn next_at(&mut self, text: &str) -> (Instant, String) {
        self.said.next_at(text)
    }

    /// Pulls its network cable.
    pub(crate) fn cut(&mut self) {
        self.command("set_link cable off");
    }

    /// Puts it back.
    pub(crate) fn mend(&mut self) {
        self.command("set_link cable on");
    }

    /// Presses its reset button.
    pub(crate) fn reset(&mut self) {
        self.command("system_reset");
    }

    fn command(&mut self, line: &str) {
        writeln!(self.monitor, "{line}").expect("QEMU's monitor");
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Notes how deep the stack was, if this line says so: `cargo xtask boards` prints the most.
fn record_stack(record: &Path, line: &str) {
    let Some((_, stack)) = line.split_once(" stack ") else {
        return;
    };
    let bytes = stack.split(' ').next().unwrap_or_default();
    let mut file = OpenOptions::new();
    let file = file.create(true).append(true).open(record);
    writeln!(file.expect("the stack's record"), "{bytes}").expect("the stack's record");
}

/// QEMU's monitor, as soon as it is there.
fn connect(path: &Path) -> UnixStream {
    let end = Instant::now() + PATIENCE;
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return stream,
            Err(error) if Instant::now() > end => panic!("{}: {error}", path.display()),
            Err(_) => thread::yield_now(),
        }
    }
}
