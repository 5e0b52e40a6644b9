//! The smallest object that can be sent.

use ringwatch_core::key::Key;
use ringwatch_core::link::serve::Content;
use ringwatch_core::object::Object;
use ringwatch_core::revision::Revision;

#[derive(Debug, Clone)]
pub(crate) struct Lamp {
    pub(crate) key: &'static str,
    pub(crate) revision: u64,
    pub(crate) json: &'static str,
}

impl Lamp {
    /// One that has nothing but a name.
    #[allow(dead_code, reason = "some tests want more of one")]
    pub(crate) const PLAIN: Self = Self {
        key: "hall/lamp",
        revision: 1,
        json: "{}",
    };
}

impl Object for Lamp {
    fn key(&self) -> Key<'_> {
        Key::checked_before(self.key)
    }
    fn revision(&self) -> Revision {
        Revision::new(self.revision)
    }
    fn label(&self, _: &str) -> Option<&str> {
        None
    }
    fn field(&self, _: &str) -> Option<&str> {
        None
    }
}

impl Content for Lamp {
    fn json(&self) -> &[u8] {
        self.json.as_bytes()
    }
}
