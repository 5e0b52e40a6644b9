//! The firmware in `boards/`: what there is, and building it.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use crate::{
    command::{Context, Failure, Result, run, succeeds},
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
    /// Flags for cargo.
    features: &'static str,
    /// The workspace, below `boards/`; empty if it is that.
    workspace: &'static str,
}

/// The most bytes of each. RAM is statics and stack together, if the stack was measured.
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
    /// What the linker has to give away, in bytes.
    pub(crate) flash: u64,
    pub(crate) ram: u64,
    pub(crate) runs: Runs,
}

/// How firmware gets to run on a board.
#[derive(Debug)]
pub(crate) enum Runs {
    /// In QEMU, which has a name for it.
    Emulated {
        machine: &'static str,
        emulator: &'static Emulator,
    },
    /// Through a debug probe; this is what `probe-rs` calls the chip.
    Probe(&'static str),
    /// Copied to the drive as which the chip shows itself, as UF2.
    Drive,
    /// By `espflash`, over USB.
    Espflash,
}

const KB: u64 = 1024;

pub(crate) const MPS2: Board = Board {
    name: "qemu-mps2-an385",
    chip: "Cortex-M3",
    target: "thumbv7m-none-eabi",
    flash: 256 * KB,
    ram: 128 * KB,
    runs: Runs::Emulated {
        machine: "mps2-an385",
        emulator: &qemu::ARM,
    },
};
pub(crate) const MPS2_M4F: Board = Board {
    name: "qemu-mps2-an386",
    chip: "Cortex-M4F",
    target: "thumbv7em-none-eabihf",
    runs: Runs::Emulated {
        machine: "mps2-an386",
        emulator: &qemu::ARM,
    },
    ..MPS2
};
pub(crate) const RISCV: Board = Board {
    name: "qemu-riscv-virt",
    chip: "riscv32imac",
    target: "riscv32imac-unknown-none-elf",
    // One memory for both.
    flash: 512 * KB,
    ram: 512 * KB,
    runs: Runs::Emulated {
        machine: "virt",
        emulator: &qemu::RISCV,
    },
};
const W5500_EVB_PICO: Board = Board {
    name: "rp-w5500",
    chip: "RP2040",
    target: "thumbv6m-none-eabi",
    flash: (2048 - 16) * KB,
    ram: 256 * KB,
    runs: Runs::Drive,
};
const NUCLEO_H743ZI: Board = Board {
    name: "nucleo-h743zi",
    chip: "STM32H743",
    target: "thumbv7em-none-eabihf",
    flash: (2048 - 256) * KB,
    ram: 512 * KB,
    runs: Runs::Probe("STM32H743ZITx"),
};
const NUCLEO_F767ZI: Board = Board {
    name: "nucleo-f767zi",
    chip: "STM32F767",
    flash: (2048 - 512) * KB,
    runs: Runs::Probe("STM32F767ZITx"),
    ..NUCLEO_H743ZI
};
const ESP32C3: Board = Board {
    name: "esp32c3",
    chip: "ESP32-C3",
    target: "riscv32imc-unknown-none-elf",
    // From the usual partition table, and esp-hal's linker script.
    flash: (4096 - 64) * KB,
    ram: 313 * KB,
    runs: Runs::Espflash,
};

/// Those that the tests run firmware on.
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
    features: "",
    workspace: "",
};
pub(crate) const RESTARTS: Firmware = Firmware {
    package: "qemu-mps2",
    binary: "mps2-restarts",
    board: &MPS2,
    what: "breaks in three ways, and says why after each restart",
    ..SELFCHECK
};
pub(crate) const NODE: Firmware = Firmware {
    package: "qemu-mps2",
    binary: "mps2-node",
    board: &MPS2,
    what: "the node, with network and encryption",
    budget: Some(NODE_BUDGET),
    ..SELFCHECK
};
const BREAKING: Firmware = Firmware {
    binary: "mps2-breaking",
    what: "the node, with an output that breaks",
    budget: None,
    ..NODE
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
const BREAKING_RISCV: Firmware = Firmware {
    binary: "riscv-breaking",
    what: BREAKING.what,
    ..NODE_RISCV
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
    ..SELFCHECK
};
pub(crate) const BASELINE: Firmware = Firmware {
    package: "smallest-node",
    binary: "baseline",
    board: &MPS2,
    what: "the same without the core",
    ..SELFCHECK
};
const NODE_PICO: Firmware = Firmware {
    package: "rp-w5500",
    binary: "rp-w5500-node",
    board: &W5500_EVB_PICO,
    // Promised for a Cortex-M3, again. What a chip has is a bound in any case.
    budget: None,
    ..NODE
};
const NODE_H743ZI: Firmware = Firmware {
    package: "stm32-nucleo",
    binary: "nucleo-node",
    board: &NUCLEO_H743ZI,
    features: "--features h743zi",
    ..NODE_PICO
};
const NODE_F767ZI: Firmware = Firmware {
    board: &NUCLEO_F767ZI,
    features: "--features f767zi",
    ..NODE_H743ZI
};
const NODE_ESP32C3: Firmware = Firmware {
    package: "esp32c3-board",
    binary: "esp32c3-node",
    board: &ESP32C3,
    workspace: "esp32c3",
    what: "the node, with Wi-Fi, whose driver has an allocator",
    ..NODE_PICO
};

const RELAY_PICO: Firmware = Firmware {
    binary: "rp-w5500-relay",
    what: RELAY.what,
    ..NODE_PICO
};
const RELAY_H743ZI: Firmware = Firmware {
    binary: "nucleo-relay",
    what: RELAY.what,
    ..NODE_H743ZI
};
const RELAY_F767ZI: Firmware = Firmware {
    binary: "nucleo-relay",
    what: RELAY.what,
    ..NODE_F767ZI
};
const RELAY_ESP32C3: Firmware = Firmware {
    binary: "esp32c3-relay",
    what: "the relay, with Wi-Fi, whose driver has an allocator",
    ..NODE_ESP32C3
};

/// What is for chips and not for QEMU: built by `cargo xtask boards`, linted in the tests.
pub(crate) const ON_CHIPS: &[Firmware] = &[
    NODE_PICO,
    NODE_H743ZI,
    NODE_F767ZI,
    NODE_ESP32C3,
    RELAY_PICO,
    RELAY_H743ZI,
    RELAY_F767ZI,
    RELAY_ESP32C3,
];

/// What is for QEMU, or only measured.
pub(crate) const EMULATED: &[Firmware] = &[
    NODE,
    NODE_M4F,
    NODE_RISCV,
    RELAY,
    RELAY_M4F,
    RELAY_RISCV,
    SELFCHECK,
    RESTARTS,
    BREAKING,
    BREAKING_RISCV,
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
    ("RINGWATCH_BREAKING_MPS2_AN385", BREAKING),
    ("RINGWATCH_BREAKING_RISCV_VIRT", BREAKING_RISCV),
];

impl Firmware {
    /// Its name without that of the board: `node`, for `mps2-node`.
    pub(crate) fn image(&self) -> &'static str {
        let (_, short) = self.binary.rsplit_once('-').unwrap_or(("", self.binary));
        short
    }

    /// Builds it in the release profile; the path of the ELF file, which is that board's own.
    pub(crate) fn build(&self) -> Result<PathBuf> {
        let target = self.board.target;
        run(self.cargo("build")?.args(["--bin", self.binary]))?;
        let built = target_folder()
            .join(target)
            .join("release")
            .join(self.binary);
        // Two boards may have a target and the name of a binary in common.
        let image = self.path();
        let bytes = fs::read(&built).context(built.display())?;
        if fs::read(&image).is_ok_and(|old| old == bytes) {
            return Ok(image);
        }
        // Measured with another image. It need not be there.
        let _ = fs::remove_file(self.stack_record());
        let folder = images_folder();
        fs::create_dir_all(&folder).context(folder.display())?;
        fs::write(&image, bytes).context(image.display())?;
        Ok(image)
    }

    fn path(&self) -> PathBuf {
        let name = format!("{}-{}", self.board.name, self.binary);
        images_folder().join(name)
    }

    /// What the image has said of its stack when tests ran it: lines, each with a number of bytes.
    fn stack_record(&self) -> PathBuf {
        self.path().with_added_extension("stack")
    }

    /// How deep its stack was at most when tests ran this very image, if they did.
    pub(crate) fn deepest_stack(&self) -> Option<u64> {
        let record = fs::read_to_string(self.stack_record()).ok()?;
        record.lines().filter_map(|line| line.parse().ok()).max()
    }

    /// The linter, warnings denied.
    fn lint(&self) -> Result<()> {
        run(self.cargo("clippy")?.args(["--", "-D", "warnings"]))
    }

    /// `cargo`, told what of it is meant.
    fn cargo(&self, command: &str) -> Result<Command> {
        let mut cargo = cargo_in(self.workspace, self.board.target)?;
        cargo
            .args([command, "--release", "--package", self.package])
            .args(["--target", self.board.target])
            .args(self.features.split_whitespace());
        Ok(cargo)
    }

    /// Builds and boots it; fails unless it exits with 0 within `limit`.
    pub(crate) fn boot(&self, limit: Duration) -> Result<()> {
        let elf = self.build()?;
        let what = format!("firmware `{}` on {}", self.binary, self.board.name);
        qemu::boot(self.board, &elf, limit).context(what)
    }
}

impl Board {
    /// QEMU's name for it, and which QEMU.
    pub(crate) fn emulated(&self) -> Result<(&'static str, &'static Emulator)> {
        match self.runs {
            Runs::Emulated { machine, emulator } => Ok((machine, emulator)),
            _ => Err(Failure::new(format!(
                "QEMU has no {}: `cargo xtask flash {0}` puts an image on one",
                self.name
            ))),
        }
    }
}

/// Where images are, of all boards.
pub(crate) fn images_folder() -> PathBuf {
    target_folder().join("images")
}

/// What is built for RISC-V only.
const RISCV_PACKAGES: [&str; 2] = ["riscv-virt", "qemu-riscv-virt"];
/// What is for this machine or for a chip, and thus built by itself.
const BY_THEMSELVES: [&str; 3] = ["host", "rp-w5500", "stm32-nucleo"];

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
    for package in BY_THEMSELVES {
        arm.args(["--exclude", package]);
    }
    run(arm.args(["--target", MPS2.target, "--", "-D", "warnings"]))?;
    run(riscv.args(["--target", RISCV.target, "--", "-D", "warnings"]))?;
    run(on_this_machine("clippy").args(["--package", "host", "--", "-D", "warnings"]))?;
    ON_CHIPS.iter().try_for_each(Firmware::lint)
}

/// What of the firmware can be tested on this machine: settings, and what is kept through every loss of power. Also builds the node as a program, for a test that needs a
/// network of its own, and says if it will not get one.
pub(crate) fn host_tests() -> Result<()> {
    run(on_this_machine("build").args(["--package", "host"]))?;
    let mut cable = Command::new("unshare");
    cable.args(["--user", "--map-root-user", "--net"]);
    if !succeeds(cable.args(["ip", "tuntap", "add", "dev", "tap0", "mode", "tap"])) {
        println!(
            "    NOT RUN here: the node as a program of this machine, since `unshare` or `ip` cannot make a network with a TAP device"
        );
    }
    run(on_this_machine("test")
        .args(["--package", "ringwatch-app"])
        .args(["--package", "ringwatch-settings"])
        .args(["--features", "ringwatch-settings/provision"]))
}

/// `cargo` in `boards/`, for what runs on this machine.
fn on_this_machine(command: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(places::root().join("boards"))
        .env("CARGO_TARGET_DIR", target_folder())
        .arg(command);
    cargo
}

/// `cargo` in `boards/`, of a toolchain that can build for `target`. Its settings for the linker are
/// read from there, hence the current folder and not `--manifest-path`.
fn cargo(target: &str) -> Result<Command> {
    cargo_in("", target)
}

/// The same in a workspace below `boards/`.
fn cargo_in(workspace: &str, target: &str) -> Result<Command> {
    let mut cargo = Toolchain::with_core(target)?.cargo()?;
    cargo
        .current_dir(places::root().join("boards").join(workspace))
        .env("CARGO_TARGET_DIR", target_folder());
    Ok(cargo)
}

pub(crate) fn target_folder() -> PathBuf {
    places::root().join("boards").join("target")
}
