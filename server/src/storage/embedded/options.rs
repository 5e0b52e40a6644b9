//! How an embedded store behaves, and what it may take of memory.

/// When a write is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on the disk: it survives the loss of power.
    #[default]
    Fsync,
    /// When the operating system has it: it survives the end of the process, however sudden, but the loss of power may
    /// take the last seconds. What is left is a state that once was.
    None,
}

/// The settings of an embedded store.
///
/// ```
/// use ringwatch_server::storage::embedded::{Durability, Options};
///
/// let options = Options::default()
///     .durability(Durability::None)
///     .max_value_bytes(64 * 1024);
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    pub(super) durability: Durability,
    pub(super) max_value_bytes: usize,
    pub(super) values_in_memory: usize,
    pub(super) history_in_memory: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            max_value_bytes: 3 * 512 * 1024,
            values_in_memory: 256 * 1024 * 1024,
            history_in_memory: 64 * 1024 * 1024,
        }
    }
}

impl Options {
    /// When a write is acknowledged; when it is on the disk unless said otherwise.
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// The largest value that is taken; 1.5 MiB unless said otherwise, as with etcd.
    pub fn max_value_bytes(self, bytes: usize) -> Self {
        Self {
            max_value_bytes: bytes,
            ..self
        }
    }

    /// How many bytes of newest values are kept in memory; 256 MiB unless said otherwise. The others are read from
    /// the disk when they are asked for. Keys are always in memory.
    pub fn values_in_memory(self, bytes: usize) -> Self {
        Self {
            values_in_memory: bytes,
            ..self
        }
    }

    /// How many bytes of recent changes are kept in memory for watches; 64 MiB unless said otherwise. A watch
    /// that is further behind reads from the disk.
    pub fn history_in_memory(self, bytes: usize) -> Self {
        Self {
            history_in_memory: bytes,
            ..self
        }
    }
}
