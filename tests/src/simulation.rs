//! A site in one thread: servers, relays and nodes as their real state machines, on lines that fail, under a clock that is a number.
//!
//! ```text
//!   World: every state there was, and when
//!     └─ follow ─► Server (store + history) ═ lines ═► Relay (its engine) ═ lines ═► Relay ═ lines ═► Node (session, mirror, handler)
//!                                                        └─ Judge               └─ Judge           └─ Judge: is it true, and is it all?
//! ```
//!
//! A seed decides everything: how large rings are, who watches what and through which lines, what is written, and what goes
//! wrong. After every step each reader is [judged](judge) by what really happened; in the end everything is repaired, and
//! everybody must come to hold exactly what there is. The same seed gives the same run, so a failure can be watched:
//! `cargo xtask sim --seed S --trace`.
//!
//! - [`world`]: the truth
//! - [`wish`]: what nodes watch
//! - [`link`]: a connection; [`mod@line`]: bytes on their way
//! - [`tap`]: what a line that is not sealed gives away: frames, credit
//! - [`hop`]: who serves: [`server`], [`relay`]
//! - [`node`]: who watches
//! - [`copy`]: what a node has
//! - [`judge`], [`findings`]: the properties
//! - [`site`]: all of it together, and what goes wrong

pub mod copy;
pub mod findings;
pub mod hop;
pub mod judge;
pub mod line;
pub mod link;
pub mod node;
pub mod relay;
pub mod server;
pub mod site;
pub mod tap;
pub mod wish;
pub mod world;

pub use findings::{Property, Violation};
pub use site::run;
