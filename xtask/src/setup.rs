//! Fetching everything that the other tasks would fetch when they need it.

use crate::{
    command::Result,
    etcd, firmware, fuzz, kubectl, python,
    toolchain::{self, Toolchain},
    tools::TOOLS,
};

pub(crate) fn everything() -> Result<()> {
    for (name, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        toolchain::component(name, subcommand)?;
        println!("ok      cargo {subcommand}");
    }
    for tool in TOOLS {
        let found = tool.ensure()?;
        println!("ok      {} ({})", found.program().display(), tool.why);
    }
    for program in etcd::VERSIONS.iter().chain(kubectl::VERSIONS) {
        let program = program.ensure()?;
        println!("ok      {} (for the tests)", program.display());
    }
    println!("ok      {} (for the tests)", python::ensure()?.display());
    for board in firmware::BOARDS {
        let toolchain = Toolchain::with_core(board.target)?;
        println!("ok      {} (rustc {})", board.target, toolchain.version()?);
    }
    match fuzz::prepare() {
        Ok(()) => println!("ok      cargo-fuzz on nightly"),
        Err(why) => println!("without coverage-guided fuzzing: {why}"),
    }
    Ok(())
}
