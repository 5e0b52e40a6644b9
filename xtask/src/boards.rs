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
    firmware::{self, Budget, Firmware},
    places, qemu,
    size::Sizes,
    test,
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
    for firmware in firmware::ALL {
        let sizes = Sizes::of(&firmware.build()?)?;
        over.extend(overruns(firmware, sizes));
        lines.push(row(firmware, sizes));
    }
    println!(
        "{:<16} {:<10} {:<14} {:>16} {:>16} {:>14}",
        "board", "chip", "image", "flash, KB", "static RAM, KB", "ours, KB"
    );
    lines.iter().for_each(|line| println!("{line}"));
    println!(
        "\nThe files are in {}.",
        firmware::target_folder().display()
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

/// Used, and of how much where there is a budget.
fn row(firmware: &Firmware, sizes: Sizes) -> String {
    let cell = |used: u64, budget: Option<u64>| match budget {
        Some(budget) => format!("{:.1} of {}", kilo(used), budget / 1024),
        None => format!("{:.1}", kilo(used)),
    };
    let Firmware { board, budget, .. } = firmware;
    let own = match sizes.own_ram {
        0 => String::new(),
        own => cell(own, budget.map(|budget| budget.own_ram)),
    };
    format!(
        "{:<16} {:<10} {:<14} {:>16} {:>16} {:>14}  {}",
        board.name,
        board.chip,
        firmware.binary,
        cell(sizes.flash, budget.map(|budget| budget.flash)),
        cell(sizes.ram, budget.map(|budget| budget.ram)),
        own,
        firmware.what
    )
}

fn kilo(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// What of a firmware is over its budget.
fn overruns(firmware: &Firmware, sizes: Sizes) -> Vec<String> {
    let Some(Budget {
        flash,
        ram,
        own_ram,
    }) = firmware.budget
    else {
        return Vec::new();
    };
    let what = [
        ("flash", sizes.flash, flash),
        ("static RAM", sizes.ram, ram),
        ("static RAM of ours", sizes.own_ram, own_ram),
    ];
    let mut over: Vec<_> = what
        .iter()
        .filter(|(_, used, budget)| used > budget)
        .map(|(what, used, budget)| {
            let (image, board) = (firmware.binary, firmware.board.name);
            format!("{image} on {board}: {what} {used} B of {budget} B")
        })
        .collect();
    // An image in which it was not found would meet any budget.
    if sizes.own_ram == 0 {
        over.push(format!("{}: it has no static MEMORY", firmware.binary));
    }
    over
}

pub(crate) fn run(task: Task) -> Result<()> {
    let (board, image, settings, forward) = match task {
        Task::Soak { minutes } => return test::soak(minutes),
        Task::Run {
            board,
            image,
            settings,
            forward,
        } => (board, image, settings, forward),
    };
    let firmware = find(&board, &image)?;
    let elf = provisioned(firmware, &settings)?;
    qemu::boot_on_network(firmware.board, &elf, forward)
}

/// Puts an image onto a board by `probe-rs`.
pub(crate) fn flash(board: &str, image: &str, settings: &Path) -> Result<()> {
    let firmware = find(board, image)?;
    if firmware.board.name.starts_with("qemu-") {
        return Err(Failure::new(format!(
            "{board} exists in QEMU only: `cargo xtask boards run {board} {image}`"
        )));
    }
    let elf = provisioned(firmware, settings)?;
    let Some(probe) = places::on_path("probe-rs") else {
        return Err(Failure::new(
            "`probe-rs` is needed and not on PATH: `cargo install probe-rs-tools`",
        ));
    };
    run_command(
        Command::new(probe)
            .args(["run", "--chip", firmware.board.chip])
            .arg(elf),
    )
}

/// A firmware with settings, by the names that people use: `node` is enough for `mps2-node`.
fn find(board: &str, image: &str) -> Result<&'static Firmware> {
    let images = || firmware::NODES.iter().map(|(_, firmware)| firmware);
    let is_meant = |firmware: &&Firmware| {
        let short = firmware.binary.rsplit('-').next();
        firmware.board.name == board && (firmware.binary == image || short == Some(image))
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
    let filled = elf.with_extension("provisioned.elf");
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
        assert!(overruns(&firmware::SELFCHECK, within).is_empty());
    }
}
