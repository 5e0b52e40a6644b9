//! One value, sealed and opened.

use std::fmt;

use bytes::Bytes;
use chacha20poly1305::{
    Tag, XChaCha20Poly1305, XNonce,
    aead::{AeadInOut, Generate},
};

use super::{Condition, StorageError};

/// What every sealed value begins with. No JSON, CBOR or protobuf envelope of Kubernetes does.
const MAGIC: &[u8] = b"ringwatch:enc:";
/// The version of what follows, with the end of its field.
const VERSION: &[u8] = b"1:";
const END_OF_NAME: u8 = b':';
const NONCE: usize = 24;
const TAG: usize = 16;
/// A beginning that differs from [`MAGIC`] in no more bytes than this is a damaged one, not a plain value.
const DAMAGED_BYTES: usize = 2;

/// Seals and opens values.
///
/// The cipher is XChaCha20-Poly1305. Nonces are random, since servers share keys and have no common counter. With the 24
/// bytes of this cipher a repetition is out of reach, however much is written; with the 12 bytes of AES-GCM a key would have to
/// be changed after some 2³² values, which a busy cluster writes in weeks and no one would count.
///
/// # Stored format, version 1
///
/// | bytes | what |
/// |---|---|
/// | 14 | `ringwatch:enc:` |
/// | 2 | the format's version and a colon: `1:` |
/// | 1 to 64 | the name of the key |
/// | 1 | `:` |
/// | 24 | nonce |
/// | length of the value | ciphertext |
/// | 16 | tag |
///
/// Everything before the nonce, followed by the storage key, is authenticated along with the value. The value `{}`
/// under the key named `2026` takes 63 bytes, which begin so:
///
/// ```text
/// 72 69 6e 67 77 61 74 63 68 3a 65 6e 63 3a 31 3a 32 30 32 36 3a ..
///  r  i  n  g  w  a  t  c  h  :  e  n  c  :  1  :  2  0  2  6  : nonce ..
/// ```
///
/// A value that begins otherwise is plain: readable, as [`Stale`](Condition::Stale), if the key file has the entry `plain`, and
/// [`Corrupt`](Condition::Corrupt) if not.
///
/// ```
/// use bytes::Bytes;
/// use ringwatch_server::storage::{Condition, transform::Transformer};
///
/// let keys = "2026 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// let keys = Transformer::parse("keys".as_ref(), keys.as_bytes())?;
/// let sealed = keys.seal("/pods/default/web", &Bytes::from("{}"))?;
/// assert_eq!(sealed.len(), 63);
/// assert_eq!(keys.open("/pods/default/web", &sealed), (Bytes::from("{}"), Condition::Sound));
/// assert_eq!(keys.open("/pods/default/db", &sealed), (sealed, Condition::Corrupt));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct Transformer {
    /// At least one. The first writes, all read.
    entries: Vec<Entry>,
}

/// A line of the key file.
pub(super) enum Entry {
    /// Values as they are.
    Plain,
    /// Values under a key. The cipher wipes the key when it is dropped.
    Key {
        name: Box<str>,
        cipher: Box<XChaCha20Poly1305>,
    },
}

impl Transformer {
    /// Leaves values as they are. One that was sealed before is [`Corrupt`](Condition::Corrupt), not garbage.
    pub fn plain() -> Self {
        Self::new(vec![Entry::Plain])
    }

    /// `entries` is not empty.
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        Self { entries }
    }

    /// The value as it is to be stored at `key`.
    pub fn seal(&self, key: &str, value: &Bytes) -> Result<Bytes, StorageError> {
        match self.entries.first() {
            Some(Entry::Key { name, cipher }) => seal(name, cipher, key, value),
            _ if looks_sealed(value) => Err(StorageError::Refused(
                "a plain value must not begin as encrypted ones do".into(),
            )),
            _ => Ok(value.clone()),
        }
    }

    /// The value of what was stored at `key`, or that itself if it cannot be opened.
    pub fn open(&self, key: &str, stored: &Bytes) -> (Bytes, Condition) {
        let condition = |place| match place {
            0 => Condition::Sound,
            _ => Condition::Stale,
        };
        if !looks_sealed(stored) {
            let plain = |entry: &Entry| matches!(entry, Entry::Plain);
            let place = self.entries.iter().position(plain);
            return (stored.clone(), place.map_or(Condition::Corrupt, condition));
        }
        match self.open_sealed(key, stored) {
            Some((value, place)) => (value, condition(place)),
            None => (stored.clone(), Condition::Corrupt),
        }
    }

    fn open_sealed(&self, key: &str, stored: &[u8]) -> Option<(Bytes, usize)> {
        let rest = stored.strip_prefix(MAGIC)?.strip_prefix(VERSION)?;
        let end = rest.iter().position(|byte| *byte == END_OF_NAME)?;
        let (wanted, rest) = (&rest[..end], &rest[end + 1..]);
        let header = &stored[..stored.len() - rest.len()];
        let (nonce, rest) = rest.split_first_chunk::<NONCE>()?;
        let (sealed, tag) = rest.split_last_chunk::<TAG>()?;
        let (place, cipher) = self
            .entries
            .iter()
            .enumerate()
            .find_map(|(at, e)| match e {
                Entry::Key { name, cipher } if name.as_bytes() == wanted => Some((at, cipher)),
                _ => None,
            })?;
        let mut value = sealed.to_vec();
        let authenticated = [header, key.as_bytes()].concat();
        cipher
            .decrypt_inout_detached(
                &XNonce::from(*nonce),
                &authenticated,
                value.as_mut_slice().into(),
                &Tag::from(*tag),
            )
            .ok()?;
        Some((value.into(), place))
    }
}

/// Shows the names and nothing of the keys.
impl fmt::Debug for Transformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.entries.iter().map(|entry| match entry {
            Entry::Plain => "plain",
            Entry::Key { name, .. } => name,
        });
        f.debug_list().entries(names).finish()
    }
}

fn seal(
    name: &str,
    cipher: &XChaCha20Poly1305,
    key: &str,
    value: &[u8],
) -> Result<Bytes, StorageError> {
    let nonce = XNonce::try_generate()
        .map_err(|error| StorageError::Unavailable(format!("no random bytes: {error}")))?;
    let mut stored = Vec::with_capacity(
        MAGIC.len() + VERSION.len() + name.len() + 1 + NONCE + value.len() + TAG,
    );
    stored.extend_from_slice(MAGIC);
    stored.extend_from_slice(VERSION);
    stored.extend_from_slice(name.as_bytes());
    stored.push(END_OF_NAME);
    let authenticated = [stored.as_slice(), key.as_bytes()].concat();
    stored.extend_from_slice(&nonce);
    let start = stored.len();
    stored.extend_from_slice(value);
    let tag = cipher
        .encrypt_inout_detached(&nonce, &authenticated, (&mut stored[start..]).into())
        .map_err(|_| StorageError::Refused("the value is too large to be encrypted".into()))?;
    stored.extend_from_slice(&tag);
    Ok(stored.into())
}

/// Whether a value is sealed, or was until some bits of its beginning were lost.
fn looks_sealed(stored: &[u8]) -> bool {
    let Some(start) = stored.get(..MAGIC.len()) else {
        return false;
    };
    let different = start.iter().zip(MAGIC).filter(|(a, b)| a != b).count();
    different <= DAMAGED_BYTES
}
