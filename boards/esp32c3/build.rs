//! The linker script is esp-hal's.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Tlinkall.x");
}
