//! How watches have begun: whoever reads this knows whether cursors are good for anything, or the rings are too short.

use ringwatch_core::link::frame::How;
use ringwatch_core::link::serve::Begin;

/// Counts watches by how they have begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// With all objects, or the rest of them.
    pub snapshots: u32,
    /// Where the reader was.
    pub resumed: u32,
    /// With what differs, since where the reader was is forgotten, or it had something else there.
    pub differences: u32,
}

impl Begun {
    /// None yet.
    pub const NONE: Self = Self {
        snapshots: 0,
        resumed: 0,
        differences: 0,
    };

    /// The upstream says how it begins.
    pub const fn by_upstream(&mut self, how: How) {
        let count = match how {
            How::Snapshot | How::Continued => &mut self.snapshots,
            How::Resumed => &mut self.resumed,
            How::Difference { .. } => &mut self.differences,
        };
        *count = count.wrapping_add(1);
    }

    /// A node's watch has begun.
    pub(super) const fn by_node(&mut self, begin: &Begin<'_>) {
        let count = match begin {
            Begin::State | Begin::Within { .. } => &mut self.snapshots,
            Begin::After(_) => &mut self.resumed,
            Begin::Now => &mut self.differences,
        };
        *count = count.wrapping_add(1);
    }
}
