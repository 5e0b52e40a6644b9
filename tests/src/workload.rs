//! A busy resource: many writers and many watchers of a cache, all of it recorded.
//!
//! ```text
//!   Writers ──► storage ──► Tap ──► Cache ──► Watchers ──► sessions ─┐
//!                  │          └ relists ─► bridges ──────────────────┼─► recorder::check
//!                  └──► Follower ──► history ────────────────────────┘
//! ```
//!
//! Writers and the follower go to the storage directly. What the cache reads goes through the [`Tap`], which knows when the cache
//! had to list anew, and can be cut. A test brings the storage and the faults.

mod devices;
mod follower;
mod site;
mod tap;
mod watcher;
mod writer;

pub use devices::{PREFIX, predicate, selection};
pub use follower::Follower;
pub use site::{Report, Site};
pub use tap::Tap;
pub use watcher::{Habit, Pace, Resume, Watcher};
pub use writer::{Acknowledged, Writer, Writers};
