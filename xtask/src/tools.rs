//! The programs that are neither Rust nor ours: found on `PATH`, or fetched.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    apt,
    command::{Failure, Result},
    places,
};

/// A program, the Debian package that holds it, and what it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) command: &'static str,
    pub(crate) package: &'static str,
    pub(crate) why: &'static str,
}

const fn tool(command: &'static str, package: &'static str, why: &'static str) -> Tool {
    Tool {
        command,
        package,
        why,
    }
}

pub(crate) const QEMU_ARM: Tool = tool(
    "qemu-system-arm",
    "qemu-system-arm",
    "boots the Cortex-M firmware",
);
pub(crate) const QEMU_RISCV: Tool = tool(
    "qemu-system-riscv32",
    "qemu-system-misc",
    "boots the RISC-V firmware",
);
pub(crate) const VALGRIND: Tool = tool("valgrind", "valgrind", "counts instructions in benchmarks");
pub(crate) const CXX: Tool = tool("c++", "g++", "compiles libFuzzer");
pub(crate) const FAKETIME: Tool = tool("faketime", "faketime", "makes clocks jump in tests");

/// Every tool that a task may ask for; `setup` fetches them all.
pub(crate) const TOOLS: &[Tool] = &[QEMU_ARM, QEMU_RISCV, VALGRIND, CXX, FAKETIME];

/// A tool that is there.
#[derive(Debug)]
pub(crate) struct Found {
    program: PathBuf,
    /// Where the tool was unpacked, if it is not installed.
    private: Option<PathBuf>,
}

impl Tool {
    /// Finds the tool, or fetches it first.
    pub(crate) fn ensure(&self) -> Result<Found> {
        let private = places::cache()?.join("debian").join(self.package);
        if let Some(found) = self.find(&private) {
            return Ok(found);
        }
        println!(
            "    {} is missing ({}): fetching Debian's {}",
            self.command, self.why, self.package
        );
        apt::provide(&[self.package], &private).map_err(|why| self.unavailable(&why))?;
        self.find(&private)
            .ok_or_else(|| self.unavailable(&Failure::new("the package does not contain it")))
    }

    fn find(&self, private: &Path) -> Option<Found> {
        if let Some(program) = places::on_path(self.command) {
            return Some(Found {
                program,
                private: None,
            });
        }
        let program = private.join("usr/bin").join(self.command);
        program.exists().then(|| Found {
            program,
            private: Some(private.to_path_buf()),
        })
    }

    fn unavailable(&self, why: &Failure) -> Failure {
        Failure::new(format!(
            "`{}` is needed ({}), is not on PATH, and could not be fetched.\n\
             On Debian it is in the package `{}`.\n{why}",
            self.command, self.why, self.package
        ))
    }
}

impl Found {
    pub(crate) fn command(&self) -> Result<Command> {
        let mut command = Command::new(&self.program);
        if let Some(private) = &self.private {
            let (name, value) = apt::library_path(private)?;
            command.env(name, value);
        }
        Ok(command)
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// The folder that stands for `/` in the paths compiled into the tool, if it was unpacked
    /// privately.
    pub(crate) fn private(&self) -> Option<&Path> {
        self.private.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_cannot_be_had_is_named_with_its_package() {
        let missing = tool(
            "ringwatch-no-such-tool",
            "ringwatch-no-such-package",
            "tests",
        );
        let message = missing.unavailable(&Failure::new("reason")).to_string();
        for part in [missing.command, missing.package, missing.why, "reason"] {
            assert!(message.contains(part), "{message}");
        }
        assert!(missing.find(Path::new("nowhere")).is_none());
    }
}
