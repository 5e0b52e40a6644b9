//! What the firmware's parts cost in RAM, measured on the target.

use core::fmt::Write;

use mps2::{stack, uart::Uart};

/// Types whose size is worth knowing on a 32-bit target, as `(name, bytes)`.
const SIZES: &[(&str, usize)] = &[];

/// Prints one `size` line per entry, then the stack's high-water mark.
pub(crate) fn print(out: &mut Uart) {
    // The UART cannot fail; `write!` has a result only because formatting in general may.
    for (name, bytes) in SIZES {
        let _ = writeln!(out, "size {name:<32} {bytes:>6} B");
    }
    let stack = stack::measure();
    let _ = writeln!(
        out,
        "size {:<32} {:>6} B of {} B",
        "stack, deepest", stack.used, stack.available
    );
}
