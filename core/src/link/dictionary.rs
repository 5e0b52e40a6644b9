//! Keys that need not be written out again.
//!
//! The sender remembers a hash for each slot, the node the key. Which slot a key goes to is the sender's choice: it takes the
//! one that the hash points to, so that looking up is one comparison.

use core::hash::Hasher;

use siphasher::sip::SipHasher24;

use super::frame::KeyRef;

/// The sender's half: `N` slots at most.
#[derive(Debug)]
pub(super) struct Sent<const N: usize> {
    /// Zero for a slot that is free.
    hashes: [u64; N],
    /// Nobody who does not know it can make two keys look alike.
    secret: [u8; 16],
    /// As many as the node has.
    slots: u16,
    longest: u8,
}

impl<const N: usize> Sent<N> {
    pub(super) const fn new(secret: [u8; 16]) -> Self {
        Self {
            hashes: [0; N],
            secret,
            slots: 0,
            longest: 0,
        }
    }

    /// The node has so many slots for keys of at most this length.
    pub(super) fn agree(&mut self, slots: u16, longest: u8) {
        self.slots = slots.min(u16::try_from(N).unwrap_or(u16::MAX));
        self.longest = longest;
    }

    /// How to name a key. If that is [`KeyRef::New`] with a slot, [`enter`](Self::enter) it once it has been sent.
    pub(super) fn name<'a>(&self, key: &'a str) -> KeyRef<'a> {
        let Some((slot, hash)) = self.slot(key) else {
            return KeyRef::New { slot: None, key };
        };
        if self.hashes.get(usize::from(slot)) == Some(&hash) {
            KeyRef::Known(slot)
        } else {
            KeyRef::New {
                slot: Some(slot),
                key,
            }
        }
    }

    pub(super) fn enter(&mut self, key: KeyRef<'_>) {
        if let KeyRef::New {
            slot: Some(slot),
            key,
        } = key
            && let Some((_, hash)) = self.slot(key)
            && let Some(place) = self.hashes.get_mut(usize::from(slot))
        {
            *place = hash;
        }
    }

    fn slot(&self, key: &str) -> Option<(u16, u64)> {
        if key.len() > usize::from(self.longest) {
            return None;
        }
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write(key.as_bytes());
        let hash = hasher.finish().max(1);
        // The lowest 32 bits are enough to choose by, and cheap to divide on a 32-bit target.
        let slot = (hash as u32).checked_rem(self.slots.into())?;
        Some((slot as u16, hash))
    }
}

/// The node's half: `N` keys of at most `LEN` bytes.
#[derive(Debug)]
pub(super) struct Received<const N: usize, const LEN: usize> {
    keys: [heapless::String<LEN, u8>; N],
}

impl<const N: usize, const LEN: usize> Received<N, LEN> {
    pub(super) const fn new() -> Self {
        Self {
            keys: [const { heapless::String::new() }; N],
        }
    }

    pub(super) fn slots(&self) -> u16 {
        u16::try_from(N).unwrap_or(u16::MAX)
    }

    pub(super) fn longest(&self) -> u8 {
        u8::try_from(LEN).unwrap_or(u8::MAX)
    }

    /// The key that is meant; a new one is entered. `None` if the sender names what it may not.
    pub(super) fn resolve<'k>(&'k mut self, key: KeyRef<'k>) -> Option<&'k str> {
        match key {
            KeyRef::Known(slot) => {
                let key = self.keys.get(usize::from(slot))?;
                Some(key.as_str()).filter(|key| !key.is_empty())
            }
            KeyRef::New { slot: None, key } => Some(key),
            KeyRef::New {
                slot: Some(slot),
                key,
            } => {
                let place = self.keys.get_mut(usize::from(slot))?;
                place.clear();
                place.push_str(key).ok()?;
                Some(key)
            }
        }
    }
}
