//! Hands `memory.x` to the linker, and embassy-rp's script for what the boot ROM loads first.

use std::{env, fs, path::PathBuf};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::copy("memory.x", out.join("memory.x")).expect("memory.x is copied to OUT_DIR");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rustc-link-arg-bins=-Tlink-rp.x");
    println!("cargo:rerun-if-changed=memory.x");
}
