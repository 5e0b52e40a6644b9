//! What the firmware's parts cost in RAM, measured on the target.

use core::fmt::Write;

use heapless::String;
use mps2::{stack, uart::Uart};
use ringwatch_core::{
    compact::CompactEvent,
    history::{Cursor, Entry, History},
    informer::{Held, Informer},
    link::{
        node,
        serve::{self, LocalWatch},
    },
    predicate::Predicate,
    projection::Projection,
    selector::LabelSelector,
    slots::Place,
    store::{Slot, Store},
    watcher::Watcher,
};

type Key = String<32>;
type Object = [u8; 64];
type View = Informer<Key, Object, [Slot<Key, Held<Object>>; 16]>;
type Objects = Store<Key, Object, [Slot<Key, Object>; 16]>;
type Watch = Watcher<Predicate<&'static str>, Key>;
type Ring = History<Object, [Place<Entry<Object>>; 16]>;

type LinkWatch = LocalWatch<Key, 32>;
type Node<const SUBS: usize> = node::Session<'static, SUBS, 256, 0, 0>;
type Serving<const SUBS: usize> = serve::Session<LinkWatch, Object, SUBS, 512, 0>;

/// What one more subscription costs either end of a link, besides what the source keeps for its watch.
const NODE_SUBSCRIPTION: usize = size_of::<Node<2>>() - size_of::<Node<1>>();
const SERVING_SUBSCRIPTION: usize =
    size_of::<Serving<2>>() - size_of::<Serving<1>>() - size_of::<LinkWatch>();
const _: () = assert!(NODE_SUBSCRIPTION <= 512 && SERVING_SUBSCRIPTION <= 512);

/// Types whose size is worth knowing on a 32-bit target, as `(name, bytes)`.
const SIZES: &[(&str, usize)] = &[
    ("informer, 16 x 64 B, keys 32 B", size_of::<View>()),
    ("ring, 16 x 64 B", size_of::<Ring>()),
    ("cursor", size_of::<Cursor>()),
    ("store, 16 x 64 B, keys 32 B", size_of::<Objects>()),
    ("watcher, 2 x 8 requirements", size_of::<Watch>()),
    ("selector, 8 requirements", size_of::<LabelSelector<&str>>()),
    ("projection, 8 fields", size_of::<Projection<&str>>()),
    ("compact event, decoded", size_of::<CompactEvent>()),
    ("link, node: 2 packets of 256 B", size_of::<Node<1>>()),
    ("link, node: a subscription", NODE_SUBSCRIPTION),
    ("link, serving: 2 packets of 512 B", size_of::<Serving<1>>()),
    ("link, serving: a subscription", SERVING_SUBSCRIPTION),
    ("link, serving: its watch", size_of::<LinkWatch>()),
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
