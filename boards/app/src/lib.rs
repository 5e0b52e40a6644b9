//! What networked boards share. A board brings a network driver, a clock, some flash and a place to print; the rest is here:
//!
//! ```text
//!   settings block ──► network ──► node::run ──► Session ══ TCP ══ server or relay
//!                                    │  ▲
//!                             Devices│  │restore, save
//!                                    ▼  │
//!                                  output, Keep (flash)
//! ```
//!
//! - [`network`]: addresses, from the settings or by DHCP
//! - [`node`]: the node: an informer on [`Device`](device::Device) objects over the sealed node link, which drives an output
//! - [`keep`]: the cursor and the last state in flash, through every loss of power
//! - [`restart`], [`flash`]: why a board has restarted, and flash, real or simulated
//! - [`stack`]: how deep the stack has been
//! - [`logger`], [`port`], [`light`]: printing, and an LED that shows a setpoint
//! - [`random`]: seeds for sessions, also on boards that have no source of randomness
//! - [`breaking`]: an output that breaks its board, for images that show what becomes of that
//!
//! There is no allocator. What the node needs is one value, [`node::Memory`], of which the board makes a static.
//!
//! # What it says
//!
//! One line for each thing that happens, by `log`; the tests read them too.
//!
//! ```text
//! node heater-1, boot 3
//! restarted after panicked at src/main.rs:40:9
//! restored 2 devices at 17
//! set hall/heater 21.5 auto hall
//! unset hall/heater
//! address 10.0.2.15/24
//! link to 10.0.2.2:6444 is open
//! the restart is noted upstream
//! stack 13804 B of 119404 B
//! watch begins: resumed
//! in step at 18: 2 devices, digest 0f1e2d3c4b5a6978
//! saved at 18: 2 written
//! link lost: ended by the peer: revoked
//! ```
#![cfg_attr(not(test), no_std)]
#![warn(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod apart;
pub mod breaking;
mod clock;
pub mod device;
pub mod flash;
pub mod image;
pub mod keep;
pub mod light;
pub mod logger;
pub mod network;
pub mod node;
pub mod port;
pub mod random;
pub mod relay;
pub mod restart;
pub mod stack;
mod upstream;
