//! The program on a device: it believes what it is told, and objects to what makes no sense.

use std::collections::BTreeMap;

use ringwatch_core::informer::Handler;

#[derive(Debug, Default)]
pub(super) struct Listener {
    /// How many more notices it has time for.
    pub(super) room: usize,
    pub(super) told: BTreeMap<String, u8>,
}

impl Listener {
    /// Takes a notice, and gives what was known before.
    fn learn(&mut self, key: &str, level: Option<&u8>) -> Option<u8> {
        assert_ne!(self.room, 0, "told while busy");
        self.room -= 1;
        match level {
            Some(level) => self.told.insert(key.to_owned(), *level),
            None => self.told.remove(key),
        }
    }
}

impl Handler<u8> for Listener {
    fn is_ready(&mut self) -> bool {
        self.room > 0
    }

    fn on_add(&mut self, key: &str, new: &u8) {
        assert_eq!(self.learn(key, Some(new)), None, "{key} was added before");
    }

    fn on_update(&mut self, key: &str, old: Option<&u8>, new: &u8) {
        let known = self.learn(key, Some(new));
        assert!(known.is_some(), "{key} was not added before");
        assert!(
            old.is_none() || old == known.as_ref(),
            "{key} was not {old:?}"
        );
    }

    fn on_delete(&mut self, key: &str, _: &u8) {
        assert!(self.learn(key, None).is_some(), "{key} was not there");
    }
}
