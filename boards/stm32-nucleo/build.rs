//! Hands the chip's memory to the linker.

use std::{env, fs, path::PathBuf};

fn main() {
    let chips = [("H743ZI", "h743zi.x"), ("F767ZI", "f767zi.x")];
    let is_chosen =
        |(chip, _): &&(&str, &str)| env::var_os(format!("CARGO_FEATURE_{chip}")).is_some();
    let (_, memory) = chips
        .iter()
        .find(is_chosen)
        .expect("a chip, as in `--features h743zi`");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::copy(memory, out.join("memory.x")).expect("memory.x is copied to OUT_DIR");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rerun-if-changed={memory}");
}
