//! The node and the relay as a program of this machine, for debugging: breakpoints, sanitizers and print statements at hand, and the same code as on a board.
//!
//! It has a network stack of its own, as a board has, and needs a cable: a TAP device, which only root can make. The settings must give it an address in that network, such as
//! 10.0.3.15/24, and this machine's as upstream, 10.0.3.2.
//!
//! ```text
//! sudo ip tuntap add dev tap0 mode tap user $USER
//! sudo ip address add 10.0.3.2/24 dev tap0 && sudo ip link set tap0 up
//! cargo run --package host -- node tap0 node.toml        (in boards/)
//! ```
//!
//! Its flash is memory: each start is the first one.

#[cfg(target_os = "linux")]
mod app;

fn main() {
    #[cfg(target_os = "linux")]
    app::main();
}
