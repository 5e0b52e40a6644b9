//! The images of all boards: a table with budgets, running one in QEMU, flashing one.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Subcommand;
use ringwatch_settings::provision;

use crate::{
    command::{Context, Failure, Result, run as run_command},
    firmware::{self, Firmware, Runs},
    places, qemu,
    size::Sizes,
    test, uf2,
};

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Fifty changes a second through a relay to a node, both in QEMU; fails if one is lost, and says how deep the stacks were
    Soak {
        #[arg(long, default_value_t = 10)]
        minutes: u64,
    },
    /// Boot an image in QEMU with a network, in which this machine is 10.0.2.2
    Run {
        /// One of the first column of `cargo xtask boards`
        board: String,
        /// One of the second
        image: String,
        /// What the board is told: boards/node.toml explains it
        #[arg(long, value_name = "FILE")]
        settings: PathBuf,
        /// For a relay: who connects to this port of this machine reaches the same port of the board
        #[arg(long, value_name = "PORT")]
        forward: Option<u16>,
    },
}

/// Builds all firmware and lists it; fails if something is over its budget.
pub(crate) fn list() -> Result<()> {
    let mut lines = Vec::new();
    let mut over = Vec::new();
    for firmware in firmware::ON_CHIPS.iter().chain(firmware::EMULATED) {
        let sizes = Sizes::of(&firmware.build()?)?;
        over.extend(overruns(firmware, sizes));
        lines.push(row(firmware, sizes, firmware.deepest_stack()));
    }
    println!(
        "{:<16} {:<11} {:<14} {:>15} {:>14} {:>10} {:>10}",
        "board", "chip", "image", "flash, KB", "RAM, KB", "ours, KB", "stack, KB"
    );
    lines.iter().for_each(|line| println!("{line}"));
    println!(
        "\nOf: the budget where there is one, else what the chip has for it. RAM is what is static. The stack is the deepest that the last \
         `cargo xtask test --only firmware` has seen of this very image; `-` where nothing has measured it. The files are in {}.",
        firmware::images_folder().display()
    );
    if over.is_empty() {
        println!("all {} images are within their budgets", lines.len());
        return Ok(());
    }
    Err(Failure::new(format!("over budget: {}", over.join("; "))))
}

/// Fails if an image is over its budget.
pub(crate) fn hold_to_budget(firmware: &Firmware, elf: &Path) -> Result<()> {
    match overruns(firmware, Sizes::of(elf)?) {
        over if over.is_empty() => Ok(()),
        over => Err(Failure::new(format!("over budget: {}", over.join("; ")))),
    }
}

/// The most that a firmware may take of flash and RAM: what is promised, or else what the chip has.
fn limits(firmware: &Firmware) -> (u64, u64) {
    let (board, budget) = (firmware.board, firmware.budget);
    let limit = |promised: Option<u64>, there: u64| promised.unwrap_or(there).min(there);
    (
        limit(budget.map(|budget| budget.flash), board.flash),
        limit(budget.map(|budget| budget.ram), board.ram),
    )
}

/// Used, and of how much.
fn row(firmware: &Firmware, sizes: Sizes, stack: Option<u64>) -> String {
    let of = |used: u64, limit: u64| format!("{:.1} of {}", kilo(used), limit / 1024);
    let (flash, ram) = limits(firmware);
    let own = match (sizes.own_ram, firmware.budget) {
        (0, _) => String::new(),
        (own, Some(budget)) => of(own, budget.own_ram),
        (own, None) => format!("{:.1}", kilo(own)),
    };
    let stack = stack.map_or("-".to_owned(), |stack| format!("{:.1}", kilo(stack)));
    format!(
        "{:<16} {:<11} {:<14} {:>15} {:>14} {:>10} {:>10}  {}",
        firmware.board.name,
        firmware.board.chip,
        firmware.binary,
        of(sizes.flash, flash),
        of(sizes.ram, ram),
        own,
        stack,
        firmware.what
    )
}

fn kilo(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// What of a firmware is over its budget, or does not fit.
fn overruns(firmware: &Firmware, sizes: Sizes) -> Vec<String> {
    let (flash, ram) = limits(firmware);
    let own = firmware.budget.map_or(ram, |budget| budget.own_ram);
    let what = [
        ("flash", sizes.flash, flash),
        ("static RAM", sizes.ram, ram),
        ("static RAM of ours", sizes.own_ram, own),
    ];
    let mut over: Vec<_> = what
        .iter()
        .filter(|(_, used, limit)| used > limit)
        .map(|(what, used, limit)| {
            let (image, board) = (firmware.binary, firmware.board.name);
            format!("{image} on {board}: {what} {used} B of {limit} B")
        })
        .collect();
    // An image in which it was not found would meet any budget.
    if firmware.budget.is_some() && sizes.own_ram == 0 {
        over.push(format!("{}: it has no static MEMORY", firmware.binary));
    }
    over
}

pub(crate) fn run(task: Task) -> Result<()> {
    let (board, image, settings, forward) = match task {
        Task::Soak { minutes } => return run_command(&mut test::soak(minutes)?),
        Task::Run {
            board,
            image,
            settings,
            forward,
        } => (board, image, settings, forward),
    };
    let firmware = find(&board, &image)?;
    // Before minutes are spent on building it.
    firmware.board.emulated()?;
    let elf = provisioned(firmware, &settings)?;
    qemu::boot_on_network(firmware.board, &elf, forward)
}

/// Puts an image onto a board, by what the board takes it from.
pub(crate) fn flash(board: &str, image: &str, settings: &Path) -> Result<()> {
    let firmware = find(board, image)?;
    match firmware.board.runs {
        Runs::Emulated { .. } => Err(Failure::new(format!(
            "{board} exists in QEMU only: `cargo xtask boards run {board} {image}`"
        ))),
        Runs::Probe(chip) => {
            let probe = needed("probe-rs", "cargo install probe-rs-tools")?;
            let elf = provisioned(firmware, settings)?;
            run_command(Command::new(probe).args(["run", "--chip", chip]).arg(elf))
        }
        Runs::Espflash => {
            let espflash = needed("espflash", "cargo install espflash")?;
            let elf = provisioned(firmware, settings)?;
            run_command(Command::new(espflash).args(["flash", "--monitor"]).arg(elf))
        }
        Runs::Drive => {
            let elf = provisioned(firmware, settings)?;
            let file = elf.with_extension("uf2");
            let image = uf2::from_elf(&fs::read(&elf).context(elf.display())?)?;
            fs::write(&file, image).context(file.display())?;
            onto_drive(&file)
        }
    }
}

/// A program that is on `PATH`, or else how it gets there.
fn needed(program: &str, how: &str) -> Result<PathBuf> {
    places::on_path(program)
        .ok_or_else(|| Failure::new(format!("`{program}` is needed and not on PATH: `{how}`")))
}

/// Copies a file to the drive of a boot loader, if there is one.
fn onto_drive(file: &Path) -> Result<()> {
    // With this file it says what it is.
    let is_boot_loader = |folder: &PathBuf| folder.join("INFO_UF2.TXT").is_file();
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mut folders = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    let Some(drive) = folders.by_ref().map(PathBuf::from).find(is_boot_loader) else {
        return Err(Failure::new(format!(
            "no drive of a boot loader: hold BOOTSEL while connecting the board, mount the drive, and copy {} there or do this again",
            file.display()
        )));
    };
    let to = drive.join("ringwatch.uf2");
    fs::copy(file, &to).context(to.display())?;
    println!("copied to {}; the board starts by itself", drive.display());
    Ok(())
}

/// A firmware with settings, by the names that people use: `node` is enough for `mps2-node`.
fn find(board: &str, image: &str) -> Result<&'static Firmware> {
    let emulated = firmware::NODES.iter().map(|(_, firmware)| firmware);
    let images = || emulated.clone().chain(firmware::ON_CHIPS);
    let is_meant = |firmware: &&Firmware| {
        firmware.board.name == board && [firmware.binary, firmware.image()].contains(&image)
    };
    images().find(is_meant).ok_or_else(|| {
        let all = images().map(|it| format!("{} {}", it.board.name, it.binary));
        let all: Vec<_> = all.collect();
        Failure::new(format!(
            "no image {image} for {board}; there are:\n{}",
            all.join("\n")
        ))
    })
}

/// Builds an image and fills a copy of it with settings. The copy has the board's key in it.
pub(crate) fn provisioned(firmware: &Firmware, settings: &Path) -> Result<PathBuf> {
    let elf = firmware.build()?;
    let mut image = fs::read(&elf).context(elf.display())?;
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).context("random bytes")?;
    provision::from_file(&mut image, settings, seed).context("settings")?;
    let filled = elf.with_added_extension("provisioned.elf");
    fs::write(&filled, image).context(filled.display())?;
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_found_by_its_short_name() {
        let node = find("qemu-mps2-an386", "node").unwrap();
        assert_eq!(node.board.target, "thumbv7em-none-eabihf");
        let node = find("nucleo-f767zi", "node").unwrap();
        assert_eq!(node.binary, "nucleo-node");
        let failure = find("qemu-mps2-an385", "toaster").unwrap_err().to_string();
        assert!(failure.contains("qemu-mps2-an385 mps2-node"), "{failure}");
    }

    #[test]
    fn what_is_over_budget_is_named() {
        let within = Sizes {
            flash: 160 * 1024,
            ram: 48 * 1024,
            own_ram: 8 * 1024,
        };
        assert!(overruns(&firmware::NODE, within).is_empty());
        let over = Sizes {
            flash: 160 * 1024 + 1,
            own_ram: 0,
            ..within
        };
        let over = overruns(&firmware::NODE, over).join("; ");
        assert!(
            over.contains("flash 163841 B") && over.contains("MEMORY"),
            "{over}"
        );
        let small = Sizes {
            flash: 1024,
            ram: 1024,
            own_ram: 0,
        };
        assert!(overruns(&firmware::SELFCHECK, small).is_empty());
        // Without a budget, what the chip has is one.
        let over = overruns(
            &firmware::SELFCHECK,
            Sizes {
                ram: 257 * 1024,
                ..small
            },
        );
        assert!(
            over.join("").contains("RAM 263168 B of 262144 B"),
            "{over:?}"
        );
    }

    #[test]
    fn what_was_measured_is_in_the_row_and_what_was_not_is_said() {
        let sizes = Sizes {
            flash: 2048,
            ram: 1024,
            own_ram: 512,
        };
        let measured = row(&firmware::NODE, sizes, Some(22 * 1024));
        assert!(
            measured.contains("2.0 of 160") && measured.contains(" 22.0 "),
            "{measured}"
        );
        assert!(row(&firmware::NODE, sizes, None).contains(" - "));
    }
}
