//! What the relay's program takes: built as it is shipped, one static file, and measured by a bench of its package.

use std::{env::consts::ARCH, path::PathBuf};

use crate::{
    command::{Failure, Result, run},
    places::{self, cargo_in},
    toolchain,
};

/// How the bench learns which program to measure.
const VARIABLE: &str = "RINGWATCH_EDGE";

/// Builds the relay, measures it, and fails over budget.
pub(crate) fn measure() -> Result<()> {
    let mut bench = cargo_in("");
    bench.args([
        "bench",
        "--package",
        "ringwatch-edge",
        "--bench",
        "footprint",
    ]);
    match build(&target(ARCH)) {
        Ok(program) => {
            println!("measured: {}, static", program.display());
            bench.env(VARIABLE, program);
        }
        Err(why) => println!(
            "NOT the static program, which could not be built; measured instead: one that uses this machine's C library\n{why}"
        ),
    }
    run(&mut bench)
}

fn target(arch: &str) -> String {
    format!("{arch}-unknown-linux-musl")
}

/// Builds the relay without any library of the machine, and without symbols.
fn build(target: &str) -> Result<PathBuf> {
    toolchain::standard_library(target)?;
    // The cryptography of TLS has some C, which needs no C library: any compiler for this processor will do.
    let compiler = places::on_path("cc")
        .ok_or_else(|| Failure::new("a C compiler is needed: `cc`, in Debian's package gcc"))?;
    let name = target.replace('-', "_");
    run(cargo_in("")
        .args(["build", "--release", "--package", "ringwatch-edge"])
        .args(["--target", target])
        .env(format!("CC_{name}"), compiler)
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols"))?;
    let folder = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| places::root().join("target"), PathBuf::from);
    Ok(folder.join(target).join("release/ringwatch-edge"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_this_processor_without_a_c_library() {
        assert_eq!(target("x86_64"), "x86_64-unknown-linux-musl");
        assert_eq!(target("aarch64"), "aarch64-unknown-linux-musl");
    }
}
