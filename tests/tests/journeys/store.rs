//! Where the server of a journey keeps its objects.

use ringwatch_tests::etcd::{Server, Version};

use crate::program::Program;

/// A kind of store.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Store {
    /// The server's own, in its data folder.
    Embedded,
    /// An etcd beside it.
    Etcd(Version),
}

/// A server and what it needs.
pub(crate) struct Site {
    // Before etcd, since it is dropped first: it then need not wait for an etcd that has gone.
    pub(crate) program: Program,
    _etcd: Option<Server>,
}

impl Site {
    pub(crate) fn start(store: Store) -> Self {
        Self::start_with(store, &[])
    }

    /// The same with more flags.
    pub(crate) fn start_with(store: Store, flags: &[&str]) -> Self {
        match store {
            Store::Embedded => Self {
                program: Program::start(flags),
                _etcd: None,
            },
            Store::Etcd(version) => {
                let etcd = Server::start(version);
                let endpoint = etcd.endpoint();
                Self {
                    program: Program::start(&[&["--etcd", &endpoint], flags].concat()),
                    _etcd: Some(etcd),
                }
            }
        }
    }
}
