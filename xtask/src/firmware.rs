//! The firmware in `boards/`: what there is, and building it.

use std::{path::PathBuf, process::Command, time::Duration};

use crate::{
    command::{Context, Result, run},
    places,
    qemu::{self, Emulator},
    toolchain::Toolchain,
};

/// One program that runs on a board.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Firmware {
    pub(crate) package: &'static str,
    pub(crate) binary: &'static str,
    pub(crate) board: &'static Board,
    pub(crate) what: &'static str,
    /// What it may take, if that is promised.
    pub(crate) budget: Option<Budget>,
}

/// The most bytes of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) flash: u64,
    pub(crate) ram: u64,
    /// Of which in the static `MEMORY`, which is all that is ours.
    pub(crate) own_ram: u64,
}

/// Where firmware runs.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) name: &'static str,
    pub(crate) chip: &'static str,
    pub(crate) target: &'static str,
    /// QEMU's name for it.
    pub(crate) machine: &'static str,
    pub(crate) emulator: &'static Emulator,
}

pub(crate) const MPS2: Board = Board {
    name: "qemu-mps2-an385",
    chip: "Cortex-M3",
    target: "thumbv7m-none-eabi",
    machine: "mps2-an385",
    emulator: &qemu::ARM,
};
pub(crate) const MPS2_M4F: Board = Board {
    name: "qemu-mps2-an386",
    chip: "Cortex-M4F",
    target: "thumbv7em-none-eabihf",
    machine: "mps2-an386",
    emulator: &qemu::ARM,
};
pub(crate) const RISCV: Board = Board {
    name: "qemu-riscv-virt",
    chip: "riscv32imac",
    target: "riscv32imac-unknown-none-elf",
    machine: "virt",
    emulator: &qemu::RISCV,
};

pub(crate) const BOARDS: &[Board] = &[MPS2, MPS2_M4F, RISCV];

/// For 32 nodes, 256 changes and 128 objects of 128 B, and all of it is Ringwatch's but the network stack.
const RELAY_BUDGET: Budget = Budget {
    flash: 256 * 1024,
    ram: 128 * 1024,
    own_ram: 128 * 1024,
};
const NODE_BUDGET: Budget = Budget {
    flash: 160 * 1024,
    ram: 48 * 1024,
    own_ram: 8 * 1024,
};

pub(crate) const SELFCHECK: Firmware = Firmware {
    package: "selfcheck",
    binary: "selfcheck",
    board: &MPS2,
    what: "exercises the core, exits with 0 if all is well",
    budget: None,
};
pub(crate) const RESTARTS: Firmware = Firmware {
    package: "qemu-mps2",
    binary: "mps2-restarts",
    board: &MPS2,
    what: "breaks in three ways, and says why after each restart",
    budget: None,
};
pub(crate) const NODE: Firmware = Firmware {
    package: "qemu-mps2",
    binary: "mps2-node",
    board: &MPS2,
    what: "the node, with network and encryption",
    budget: Some(NODE_BUDGET),
};
pub(crate) const NODE_M4F: Firmware = Firmware {
    board: &MPS2_M4F,
    ..NODE
};
pub(crate) const NODE_RISCV: Firmware = Firmware {
    package: "qemu-riscv-virt",
    binary: "riscv-node",
    board: &RISCV,
    // The promise is for a Cortex-M3, whose code is denser.
    budget: None,
    ..NODE
};
pub(crate) const RELAY: Firmware = Firmware {
    binary: "mps2-relay",
    what: "the relay, for 32 nodes",
    budget: Some(RELAY_BUDGET),
    ..NODE
};
pub(crate) const RELAY_M4F: Firmware = Firmware {
    board: &MPS2_M4F,
    ..RELAY
};
pub(crate) const RELAY_RISCV: Firmware = Firmware {
    binary: "riscv-relay",
    what: RELAY.what,
    ..NODE_RISCV
};
pub(crate) const SMALLEST: Firmware = Firmware {
    package: "smallest-node",
    binary: "node",
    board: &MPS2,
    what: "the smallest node, for the size budget",
    budget: None,
};
pub(crate) const BASELINE: Firmware = Firmware {
    package: "smallest-node",
    binary: "baseline",
    board: &MPS2,
    what: "the same without the core",
    budget: None,
};

pub(crate) const ALL: &[Firmware] = &[
    NODE,
    NODE_M4F,
    NODE_RISCV,
    RELAY,
    RELAY_M4F,
    RELAY_RISCV,
    SELFCHECK,
    RESTARTS,
    SMALLEST,
    BASELINE,
];

/// The images that are told something, and how the tests learn where each is.
pub(crate) const NODES: &[(&str, Firmware)] = &[
    ("RINGWATCH_NODE_MPS2_AN385", NODE),
    ("RINGWATCH_NODE_MPS2_AN386", NODE_M4F),
    ("RINGWATCH_NODE_RISCV_VIRT", NODE_RISCV),
    ("RINGWATCH_RELAY_MPS2_AN385", RELAY),
    ("RINGWATCH_RELAY_MPS2_AN386", RELAY_M4F),
    ("RINGWATCH_RELAY_RISCV_VIRT", RELAY_RISCV),
];

impl Firmware {
    /// Builds it in the release profile; the path of the ELF file.
    pub(crate) fn build(&self) -> Result<PathBuf> {
        let target = self.board.target;
        run(cargo(target)?
            .args(["build", "--release", "--package", self.package])
            .args(["--bin", self.binary, "--target", target]))?;
        Ok(target_folder()
            .join(target)
            .join("release")
            .join(self.binary))
    }

    /// Builds and boots it; fails unless it exits with 0 within `limit`.
    pub(crate) fn boot(&self, limit: Duration) -> Result<()> {
        let elf = self.build()?;
        qemu::boot(self.board, &elf, limit).context(format!(
            "firmware `{}` on {}",
            self.binary, self.board.machine
        ))
    }
}

/// What is built for RISC-V only.
const RISCV_PACKAGES: [&str; 2] = ["riscv-virt", "qemu-riscv-virt"];

/// The linter over all firmware, warnings denied.
pub(crate) fn lint() -> Result<()> {
    let mut arm = cargo(MPS2.target)?;
    arm.args(["clippy", "--release", "--workspace"]);
    let mut riscv = cargo(RISCV.target)?;
    riscv.args(["clippy", "--release"]);
    for package in RISCV_PACKAGES {
        arm.args(["--exclude", package]);
        riscv.args(["--package", package]);
    }
    run(arm.args(["--target", MPS2.target, "--", "-D", "warnings"]))?;
    run(riscv.args(["--target", RISCV.target, "--", "-D", "warnings"]))
}

/// What of the firmware can be tested on this machine: settings, and what is kept through every loss of power.
pub(crate) fn host_tests() -> Result<()> {
    let mut cargo = Command::new("cargo");
    run(cargo
        .current_dir(places::root().join("boards"))
        .env("CARGO_TARGET_DIR", target_folder())
        .args(["test", "--package", "ringwatch-app"])
        .args(["--package", "ringwatch-settings"])
        .args(["--features", "ringwatch-settings/provision"]))
}

/// `cargo` in `boards/`, of a toolchain that can build for `target`. Its settings for the linker are
/// read from there, hence the current folder and not `--manifest-path`.
fn cargo(target: &str) -> Result<Command> {
    let mut cargo = Toolchain::with_core(target)?.cargo()?;
    cargo
        .current_dir(places::root().join("boards"))
        .env("CARGO_TARGET_DIR", target_folder());
    Ok(cargo)
}

pub(crate) fn target_folder() -> PathBuf {
    places::root().join("boards").join("target")
}
