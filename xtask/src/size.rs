//! What a node costs in flash and RAM, held against a budget.
//!
//! The numbers come from the ELF files' sections, not from a linker map or an estimate. The core's
//! share is the node firmware less the same firmware without the core.

use std::{fmt::Write, fs, path::Path};

use object::{
    Object, ObjectSection, ObjectSymbol, SectionFlags,
    elf::{SHF_ALLOC, SHF_WRITE, SHT_NOBITS},
    read::elf::{ElfFile32, ElfSection32},
};

use crate::{
    command::{Context, Failure, Result},
    firmware::{BASELINE, MPS2, SMALLEST},
    places,
    toolchain::Toolchain,
};

/// The core code that a node uses, in flash, at `opt-level = "z"`.
const CORE_FLASH_BUDGET: u64 = 16 * 1024;
/// An informer for 16 objects of 64 bytes and what decoding their events takes, in static RAM.
const INFORMER_RAM_BUDGET: u64 = 4 * 1024;

/// The static `MEMORY` of an image, as symbols are mangled.
const MEMORY: &str = "6MEMORY";

const BEGIN: &str = "<!-- size:begin -->";
const END: &str = "<!-- size:end -->";

/// What to do with the README's copy of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readme {
    Ignore,
    Check,
    Write,
}

/// Builds the node, prints the table, fails over budget.
pub(crate) fn report(readme: Readme) -> Result<()> {
    let node = Sizes::of(&SMALLEST.build()?)?;
    let baseline = Sizes::of(&BASELINE.build()?)?;
    let compiler = Toolchain::with_core(MPS2.target)?.version()?;
    let table = table(node, baseline, &compiler);
    println!("\n{table}");
    check_budget(node, baseline)?;
    let path = places::root().join("README.md");
    match readme {
        Readme::Ignore => Ok(()),
        Readme::Write => {
            let text = fs::read_to_string(&path).context(path.display())?;
            let (before, _, after) = split(&text)?;
            fs::write(&path, format!("{before}\n{table}{after}")).context(path.display())
        }
        Readme::Check => {
            let text = fs::read_to_string(&path).context(path.display())?;
            check_readme(&text, &table, &compiler)
        }
    }
}

/// A firmware's memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// What is stored: code, constants, and the initial values of statics.
    pub(crate) flash: u64,
    /// What is reserved before `main`: statics. The stack comes on top.
    pub(crate) ram: u64,
    /// Of which in the static `MEMORY`, if there is one: what is ours in a firmware that has more.
    pub(crate) own_ram: u64,
}

impl Sizes {
    pub(crate) fn of(elf: &Path) -> Result<Self> {
        let bytes = fs::read(elf).context(elf.display())?;
        let file: ElfFile32 = ElfFile32::parse(&*bytes).context(elf.display())?;
        let own = file
            .symbols()
            .filter(|symbol| symbol.name().is_ok_and(|name| name.contains(MEMORY)));
        let own_ram = own.map(|symbol| symbol.size()).sum();
        let sections = file.sections().map(|section| Self::of_section(&section));
        let none = Self {
            own_ram,
            ..Self::default()
        };
        Ok(sections.fold(none, |sum, one| Self {
            flash: sum.flash + one.flash,
            ram: sum.ram + one.ram,
            ..sum
        }))
    }

    fn of_section(section: &ElfSection32) -> Self {
        // Some runtimes reserve what is left for the stack, and call it a section.
        if matches!(section.name(), Ok(".stack" | ".heap")) {
            return Self::default();
        }
        let SectionFlags::Elf { sh_type, sh_flags } = section.flags() else {
            return Self::default();
        };
        // Code that an ESP32 copies there at its start.
        let runs_in_ram = section
            .name()
            .is_ok_and(|name| name == ".trap" || name.starts_with(".rwtext"));
        let has = |flag| sh_flags & flag == flag;
        let stored = sh_type != SHT_NOBITS;
        let bytes_if = |counted: bool| if counted { section.size() } else { 0 };
        Self {
            flash: bytes_if(has(SHF_ALLOC) && stored),
            ram: bytes_if(has(SHF_ALLOC) && (has(SHF_WRITE) || runs_in_ram)),
            own_ram: 0,
        }
    }
}

fn table(node: Sizes, baseline: Sizes, compiler: &str) -> String {
    let mut table =
        format!("| Cortex-M3, rustc {compiler} | flash | static RAM |\n|---|---:|---:|\n");
    let mut row = |name: &str, flash: String, ram: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "| {name} | {flash} | {ram} |");
    };
    let bytes = |n: u64| format!("{n} B");
    row("the smallest node", bytes(node.flash), bytes(node.ram));
    row(
        "the same without the core",
        bytes(baseline.flash),
        bytes(baseline.ram),
    );
    row(
        "**the core's share**",
        bytes(node.flash.saturating_sub(baseline.flash)),
        bytes(node.ram.saturating_sub(baseline.ram)),
    );
    row(
        "budget",
        bytes(CORE_FLASH_BUDGET),
        bytes(INFORMER_RAM_BUDGET),
    );
    table
}

fn check_budget(node: Sizes, baseline: Sizes) -> Result<()> {
    // A node from which the compiler removed the core would meet any budget.
    if node.flash <= baseline.flash || node.ram <= baseline.ram {
        return Err(Failure::new(
            "the node is no larger than the baseline: it does not use the core",
        ));
    }
    for (what, with, without, budget) in [
        (
            "core code used by a node, flash",
            node.flash,
            baseline.flash,
            CORE_FLASH_BUDGET,
        ),
        (
            "informer and decoding, static RAM",
            node.ram,
            baseline.ram,
            INFORMER_RAM_BUDGET,
        ),
    ] {
        let used = with.saturating_sub(without);
        if used > budget {
            return Err(Failure::new(format!(
                "{what}: {used} B, {} B over the budget of {budget} B",
                used - budget
            )));
        }
    }
    Ok(())
}

/// Compares exactly, but only numbers of the same compiler: another one gives other sizes, which is
/// no mistake in the README.
fn check_readme(readme: &str, table: &str, compiler: &str) -> Result<()> {
    let (_, written, _) = split(readme)?;
    if written.trim() == table.trim() {
        return Ok(());
    }
    if !written.contains(&format!("rustc {compiler} ")) {
        println!("    README.md: numbers of another compiler than {compiler}, not compared");
        return Ok(());
    }
    Err(Failure::new(
        "the sizes in README.md are not those measured: run `cargo xtask size --write-readme`",
    ))
}

/// The README up to and with the begin mark, between the marks, and from the end mark on.
fn split(readme: &str) -> Result<(&str, &str, &str)> {
    let marks = || {
        let begin = readme.find(BEGIN)? + BEGIN.len();
        let end = begin + readme.get(begin..)?.find(END)?;
        Some((&readme[..begin], &readme[begin..end], &readme[end..]))
    };
    marks().ok_or_else(|| Failure::new(format!("README.md has no {BEGIN} … {END}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Sizes = Sizes {
        flash: 9000,
        ram: 2000,
        own_ram: 0,
    };
    const BASELINE: Sizes = Sizes {
        flash: 1000,
        ram: 200,
        own_ram: 0,
    };

    #[test]
    fn the_core_is_the_difference() {
        let table = table(NODE, BASELINE, "1.0.0");
        assert!(
            table.contains("| **the core's share** | 8000 B | 1800 B |"),
            "{table}"
        );
    }

    #[test]
    fn one_byte_over_budget_fails() {
        let at = Sizes {
            flash: 1000 + CORE_FLASH_BUDGET,
            ram: 200 + INFORMER_RAM_BUDGET,
            own_ram: 0,
        };
        check_budget(at, BASELINE).unwrap();
        let flash = Sizes {
            flash: at.flash + 1,
            ..at
        };
        let ram = Sizes {
            ram: at.ram + 1,
            ..at
        };
        assert!(
            check_budget(flash, BASELINE)
                .unwrap_err()
                .to_string()
                .contains("flash")
        );
        assert!(
            check_budget(ram, BASELINE)
                .unwrap_err()
                .to_string()
                .contains("RAM")
        );
    }

    #[test]
    fn a_node_without_the_core_fails() {
        assert!(check_budget(BASELINE, BASELINE).is_err());
    }

    #[test]
    fn the_readme_must_hold_the_same_numbers() {
        let table = table(NODE, BASELINE, "1.0.0");
        let readme = |table: &str| format!("# Title\n{BEGIN}\n{table}{END}\nmore\n");
        check_readme(&readme(&table), &table, "1.0.0").unwrap();
        let old = table.replace("8000", "7000");
        check_readme(&readme(&old), &table, "1.0.0").unwrap_err();
        check_readme(&readme(&old.replace("1.0.0", "0.9.0")), &table, "1.0.0").unwrap();
        check_readme("no marks", &table, "1.0.0").unwrap_err();
    }
}
