//! The firmware in `boards/`: what there is, and building it.

use std::{path::PathBuf, process::Command, time::Duration};

use crate::{
    command::{Context, Result, run},
    places, qemu,
    size::Sizes,
    toolchain::Toolchain,
};

/// One program that runs on a board.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Firmware {
    pub(crate) package: &'static str,
    pub(crate) binary: &'static str,
    pub(crate) board: &'static Board,
    pub(crate) what: &'static str,
}

/// Where firmware runs.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) target: &'static str,
    /// QEMU's name for it.
    pub(crate) machine: &'static str,
}

pub(crate) const MPS2: Board = Board {
    target: "thumbv7m-none-eabi",
    machine: "mps2-an385",
};

pub(crate) const BOARDS: &[Board] = &[MPS2];

pub(crate) const SELFCHECK: Firmware = Firmware {
    package: "selfcheck",
    binary: "selfcheck",
    board: &MPS2,
    what: "exercises the core, exits with 0 if all is well",
};
pub(crate) const NODE: Firmware = Firmware {
    package: "smallest-node",
    binary: "node",
    board: &MPS2,
    what: "the smallest node, for the size budget",
};
pub(crate) const BASELINE: Firmware = Firmware {
    package: "smallest-node",
    binary: "baseline",
    board: &MPS2,
    what: "the same without the core",
};

pub(crate) const ALL: &[Firmware] = &[SELFCHECK, NODE, BASELINE];

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
        qemu::boot(self.board.machine, &elf, limit).context(format!(
            "firmware `{}` on {}",
            self.binary, self.board.machine
        ))
    }
}

/// Builds all firmware and lists it.
pub(crate) fn list() -> Result<()> {
    let mut lines = Vec::new();
    for firmware in ALL {
        let sizes = Sizes::of(&firmware.build()?)?;
        lines.push(format!(
            "{:<10} {:<20} {:<11} {:>7} B {:>7} B  {}",
            firmware.binary,
            firmware.board.target,
            firmware.board.machine,
            sizes.flash,
            sizes.ram,
            firmware.what
        ));
    }
    println!(
        "{:<10} {:<20} {:<11} {:>9} {:>9}",
        "firmware", "target", "QEMU", "flash", "RAM"
    );
    lines.iter().for_each(|line| println!("{line}"));
    println!("\nThe files are in {}.", target_folder().display());
    Ok(())
}

/// The linter over all firmware, warnings denied.
pub(crate) fn lint() -> Result<()> {
    run(cargo(MPS2.target)?
        .args(["clippy", "--release", "--workspace"])
        .args(["--target", MPS2.target, "--", "-D", "warnings"]))
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

fn target_folder() -> PathBuf {
    places::root().join("boards").join("target")
}
