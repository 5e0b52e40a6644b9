//! Several servers, one compaction.
//!
//! Every server runs this loop. At each tick all of them try to replace the same key, on condition that it was written as often
//! as they last saw. One succeeds; it compacts what was the newest revision one tick ago. The others learn from the
//! key what they missed, and tell it by [`Storage::compacted`]. History thus lives between one and two intervals, however many servers there are.
//!
//! The key, its place outside the prefix and its value are those of Kubernetes' API server, so that both can share a store.

use std::time::Duration;

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use tokio::time::{MissedTickBehavior, interval};

use super::Etcd;
use super::client::{Committed, Expected, Lease, Operation};
use crate::storage::{Storage, StorageError};

const KEY: &[u8] = b"compact_rev_key";

/// Keeps a store's history short, together with its peers.
#[derive(Debug)]
pub struct Compactor {
    etcd: Etcd,
    turns: Turns,
}

impl Compactor {
    /// A compactor that knows nothing yet: its first turn only takes notes.
    pub fn new(etcd: Etcd) -> Self {
        Self {
            etcd,
            turns: Turns::default(),
        }
    }

    /// Takes a turn every `interval`, the first at once, until `shutdown` completes. A turn that fails is left out.
    pub async fn run(mut self, every: Duration, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = &mut shutdown => return,
                _ = ticks.tick() => {}
            }
            tokio::select! {
                () = &mut shutdown => return,
                turn = self.turn() => match turn {
                    Ok(Some(revision)) => tracing::info!(%revision, "etcd's history compacted"),
                    Ok(None) => {}
                    Err(error) => tracing::warn!(%error, "turn at compacting etcd's history failed"),
                },
            }
        }
    }

    /// One turn. Returns the revision that this server compacted to, if it was its turn and there was one.
    pub async fn turn(&mut self) -> Result<Option<Revision>, StorageError> {
        let attempt = self.turns.attempt();
        let operation = Operation {
            key: KEY.to_vec(),
            expected: Expected::Version(attempt.version),
            value: Some(Bytes::from(attempt.revision.to_string())),
            lease: Lease::None,
        };
        let seen = match self.etcd.client.commit(&[operation]).await? {
            Committed::Yes(newest) => Seen::Ours { newest },
            Committed::No(found, newest) => {
                let found = found.into_iter().next().flatten();
                Seen::Theirs {
                    version: found.as_ref().map_or(0, |key| key.version),
                    revision: found
                        .and_then(|key| str::from_utf8(&key.value).ok()?.parse().ok())
                        .unwrap_or_default(),
                    newest,
                }
            }
        };
        let todo = self.turns.seen(attempt, seen);
        self.etcd.set_compacted(self.turns.compacted);
        let Todo::Compact(revision) = todo else {
            return Ok(None);
        };
        self.etcd.compact(revision).await?;
        Ok(Some(revision))
    }
}

/// What is known of whose turn it was. No I/O.
#[derive(Debug, Default)]
struct Turns {
    /// How often the key was written, as far as we know.
    version: i64,
    /// The newest revision at the turn before.
    noted: Revision,
    /// What was, or is being, compacted to, as far as we know.
    compacted: Revision,
}

/// A try to be the one whose turn it is: replace the key by `revision` if it has `version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Attempt {
    version: i64,
    revision: Revision,
}

/// What the attempt showed.
#[derive(Debug, Clone, Copy)]
enum Seen {
    Ours {
        newest: Revision,
    },
    Theirs {
        version: i64,
        revision: Revision,
        newest: Revision,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Todo {
    Compact(Revision),
    Nothing,
}

impl Turns {
    fn attempt(&self) -> Attempt {
        Attempt {
            version: self.version,
            revision: self.noted,
        }
    }

    fn seen(&mut self, attempt: Attempt, seen: Seen) -> Todo {
        match seen {
            Seen::Ours { newest } => {
                self.version = attempt.version + 1;
                self.noted = newest;
                // Zero on the first turn of the first server: no note was taken before.
                if attempt.revision == Revision::ZERO {
                    return Todo::Nothing;
                }
                self.compacted = attempt.revision;
                Todo::Compact(attempt.revision)
            }
            Seen::Theirs {
                version,
                revision,
                newest,
            } => {
                self.version = version;
                self.noted = newest;
                self.compacted = self.compacted.max(revision);
                Todo::Nothing
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key in the store.
    #[derive(Default)]
    struct Store {
        version: i64,
        value: Revision,
        newest: u64,
    }

    impl Store {
        fn turn(&mut self, server: &mut Turns) -> Todo {
            let attempt = server.attempt();
            let ours = attempt.version == self.version;
            if ours {
                self.version += 1;
                self.value = attempt.revision;
                self.newest += 1;
            }
            let newest = Revision::new(self.newest);
            let seen = match ours {
                true => Seen::Ours { newest },
                false => Seen::Theirs {
                    version: self.version,
                    revision: self.value,
                    newest,
                },
            };
            server.seen(attempt, seen)
        }
    }

    #[test]
    fn the_first_turn_only_takes_notes() {
        let mut store = Store::default();
        let mut server = Turns::default();
        assert_eq!(store.turn(&mut server), Todo::Nothing);
        store.newest = 100;
        assert_eq!(store.turn(&mut server), Todo::Compact(Revision::new(1)));
        assert_eq!(
            store.turn(&mut server),
            Todo::Compact(Revision::new(101)),
            "what was newest one turn ago"
        );
    }

    #[test]
    fn of_several_servers_one_compacts_each_interval() {
        let mut store = Store::default();
        let mut servers: [Turns; 3] = Default::default();
        let mut last = Revision::ZERO;
        for round in 1..20 {
            store.newest += 100;
            // Whoever comes first, in changing order.
            let done: Vec<_> = (0..3)
                .map(|n| store.turn(&mut servers[(n + round) % 3]))
                .filter_map(|todo| match todo {
                    Todo::Compact(revision) => Some(revision),
                    Todo::Nothing => None,
                })
                .collect();
            match round {
                1 => assert_eq!(done, []),
                _ => {
                    let [revision] = done[..] else {
                        panic!("round {round}: {done:?}");
                    };
                    assert!(last < revision && revision.get() < store.newest - 50);
                    last = revision;
                }
            }
            assert!(servers.iter().all(|server| server.version == store.version));
            assert!(servers.iter().all(|server| server.compacted == last));
        }
    }

    #[test]
    fn a_server_that_comes_late_does_not_compact_at_once() {
        let mut store = Store::default();
        let mut first = Turns::default();
        store.turn(&mut first);
        store.newest = 500;
        store.turn(&mut first);
        let mut late = Turns::default();
        assert_eq!(store.turn(&mut late), Todo::Nothing);
        assert_eq!(late.compacted, Revision::new(1));
        assert!(late.noted >= Revision::new(500));
    }
}
