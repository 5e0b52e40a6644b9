//! What the firmware's parts cost in RAM, measured on the target.

use core::fmt::Write;

use heapless::String;
use mps2::{stack, uart::Uart};
use ringwatch_core::{
    history::{Cursor, Entry, History},
    informer::{Held, Informer},
    selector::LabelSelector,
    slots::Place,
    store::Slot,
};

type Key = String<32>;
type Object = [u8; 64];
type Objects = Informer<Key, Object, [Slot<Key, Held<Object>>; 16]>;
type Ring = History<Object, [Place<Entry<Object>>; 16]>;

/// Types whose size is worth knowing on a 32-bit target, as `(name, bytes)`.
const SIZES: &[(&str, usize)] = &[
    ("informer, 16 x 64 B, keys 32 B", size_of::<Objects>()),
    ("ring, 16 x 64 B", size_of::<Ring>()),
    ("cursor", size_of::<Cursor>()),
    ("selector, 8 requirements", size_of::<LabelSelector<&str>>()),
];

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
