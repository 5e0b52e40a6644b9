//! Frames: what the two ends say to each other, and the bytes for it.
//!
//! A packet holds one or more frames, one after the other. [`Frame::decode`] takes the first and gives the rest; it
//! borrows from the packet and checks every length. What it refuses ends a session. The layout is
//! in `docs/node-link.md`; apart from events it is postcard's for these types.
//!
//! ```
//! use ringwatch_core::link::frame::{Control, Frame};
//!
//! let frame = Frame::Control(Control::Credit { sub: 1, bytes: 300 });
//! let mut buffer = [0; 8];
//! let len = frame.encode(&mut buffer)?;
//! assert_eq!(buffer[..len], [0x02, 1, 0xac, 0x02]);
//! assert_eq!(Frame::decode(&buffer[..len]), Ok((frame, &[][..])));
//! # Ok::<(), ringwatch_core::link::frame::NoRoom>(())
//! ```

mod bytes;
mod code;
mod event;
mod restart;

pub use code::Code;
pub use event::{Body, Event, KeyRef};
pub use restart::{Cause, MAX_DETAIL, MAX_WHOSE, Restart};

pub(super) use event::HEAD_MAX;

use core::error::Error;
use core::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::digest::{Digest, bucket_of, hash_key};
use crate::predicate::Scope;
use crate::revision::Revision;

/// Whatever can be in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Something happened to an object, or a snapshot shows it.
    Event(Event<'a>),
    /// Everything else.
    Control(Control<'a>),
}

/// A frame other than an event. Complete: another kind needs another version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Control<'a> {
    /// The node asks for objects.
    #[serde(borrow)]
    Subscribe(Subscribe<'a>),
    /// The node has had enough.
    Unsubscribe {
        /// Which subscription.
        sub: u8,
    },
    /// The node has room again.
    Credit {
        /// Which subscription.
        sub: u8,
        /// How many bytes more.
        bytes: u32,
    },
    /// What the node has, for a comparison.
    Buckets {
        /// Which subscription.
        sub: u8,
        /// Eight bytes for each bucket, its digest.
        #[serde(serialize_with = "whole")]
        digests: &'a [u8],
    },
    /// Are you there?
    Ping {
        /// To be sent back.
        token: u32,
    },
    /// I am.
    Pong {
        /// As it came.
        token: u32,
    },
    /// The last frame.
    Goodbye {
        /// Why.
        code: Code,
    },
    /// A subscription begins.
    Started {
        /// Which subscription.
        sub: u8,
        /// Which attempt at it.
        round: u8,
        /// Whose revisions follow.
        origin: Origin,
        /// Where it begins.
        revision: Revision,
        /// How.
        how: How,
    },
    /// The node is to say what it has.
    Compare {
        /// Which subscription.
        sub: u8,
        /// Which attempt at it.
        round: u8,
        /// Into how many buckets to sort it, 1 to 64.
        buckets: u8,
    },
    /// Everything up to here has been sent.
    Bookmark {
        /// Which subscription.
        sub: u8,
        /// Up to where.
        revision: Revision,
        /// Of all that the node should have; not always known.
        digest: Option<[u8; 8]>,
        /// How old the sender's own knowledge is, in milliseconds.
        age: u32,
        /// How many states of objects were left out since the last bookmark.
        skipped: u32,
        /// Whether a snapshot or difference is complete.
        ends_snapshot: bool,
    },
    /// The node's object with this key stays, or an event about it follows.
    Kept {
        /// Which subscription.
        sub: u8,
        /// The key.
        key: &'a str,
    },
    /// An object exists that the node cannot take.
    TooLarge {
        /// Which subscription.
        sub: u8,
        /// The object's revision.
        revision: Revision,
        /// Its key.
        key: &'a str,
        /// How long it is.
        size: u32,
    },
    /// More of the event before.
    Part {
        /// So much of its body.
        #[serde(serialize_with = "whole")]
        bytes: &'a [u8],
    },
    /// A subscription has ended, or never began.
    Failed {
        /// Which subscription.
        sub: u8,
        /// Which attempt at it.
        round: u8,
        /// Why.
        code: Code,
        /// More about it; see the code.
        detail: u32,
    },
    /// The node has restarted by itself, or one behind it has. From version 2 on.
    #[serde(borrow)]
    Restarted(Restart<'a>),
    /// Who is told of a restart has taken note of it. From version 2 on.
    Noted {
        /// Of that which led to this start.
        boot: u32,
    },
}

/// What a node asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscribe<'a> {
    /// The number that the node gives it.
    pub sub: u8,
    /// Which attempt at this number it is: answers say it, so that the node can tell those to an earlier one.
    pub round: u8,
    /// The resource, as in the API's paths.
    pub resource: &'a str,
    /// Which part of it.
    #[serde(borrow, with = "scope")]
    pub scope: Scope<&'a str>,
    /// What the labels must be.
    pub labels: &'a str,
    /// What the fields must be.
    pub fields: &'a str,
    /// Which fields to send; empty for whole objects.
    pub projection: &'a str,
    /// Which events to send.
    pub mode: Mode,
    /// Where to begin.
    #[serde(borrow)]
    pub start: Start<'a>,
    /// How often to send a bookmark, in milliseconds; 0 for only where one is needed.
    pub bookmark_every: u32,
    /// How many bytes may be sent before the node grants more; [`u32::MAX`] for any number.
    pub credit: u32,
}

/// Which events a subscription gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Mode {
    /// Every one.
    #[default]
    Every,
    /// States of an object that a later one replaces may be left out; bookmarks count them.
    Latest,
}

/// Where a subscription begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start<'a> {
    /// With all objects.
    Snapshot,
    /// In the middle of a snapshot.
    Continue {
        /// Whose revisions they are.
        origin: Origin,
        /// Objects up to the key are exact at this revision.
        revision: Revision,
        /// The last object that counts.
        key: &'a str,
    },
    /// After a revision.
    Resume {
        /// Whose revisions they are.
        origin: Origin,
        /// The node has everything up to here.
        revision: Revision,
        /// Of what it has; nothing if it knows that something is missing.
        digest: Option<[u8; 8]>,
    },
    /// With the difference to what the node has, which it does not trust.
    Repair {
        /// Whose revisions they are.
        origin: Origin,
    },
}

/// How a subscription begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum How {
    /// With all objects.
    Snapshot,
    /// With the rest of a snapshot.
    Continued,
    /// Where the node was.
    Resumed,
    /// With the objects that differ.
    Difference {
        /// The number of buckets, 1 to 64.
        buckets: u8,
        /// Bit *i* for bucket *i*.
        differing: u64,
    },
}

impl How {
    /// Whether an object with this key is named again if it is still there; what is named and does not come is gone.
    pub fn names(&self, key: &str) -> bool {
        self.names_hash(hash_key(key))
    }

    /// The same, of a key with this hash.
    pub(crate) fn names_hash(&self, hash: u64) -> bool {
        match *self {
            Self::Snapshot => true,
            Self::Continued | Self::Resumed => false,
            Self::Difference { buckets, differing } => {
                let bucket = bucket_of(hash, buckets) as u32;
                differing.checked_shr(bucket).unwrap_or(0) & 1 == 1
            }
        }
    }
}

/// Who counts the revisions: an etcd cluster, an embedded store. Hops that pass its objects on have the same origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Origin(pub [u8; 8]);

impl Origin {
    /// The origin that a Kubernetes cluster is: its identity is the `uid` of the namespace `kube-system`, so whoever can read that knows it.
    pub fn of_cluster(uid: &str) -> Self {
        let mut digest = Digest::EMPTY;
        digest.add(uid, Revision::ZERO);
        Self(digest.to_bits().to_le_bytes())
    }
}

impl<'a> Frame<'a> {
    /// Encodes into the front of `buffer`; how many bytes it took.
    ///
    /// # Errors
    ///
    /// [`NoRoom`] if the buffer is too short. Its content is then undefined.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, NoRoom> {
        match self {
            Self::Event(event) => event.encode(buffer),
            Self::Control(control) => control.encode(buffer),
        }
    }

    /// Decodes the frame at the front of a packet and gives the rest.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if there is no valid frame; the packet is of no use then.
    pub fn decode(packet: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        if packet.first().is_some_and(|kind| kind & 0x80 != 0) {
            let (event, rest) = Event::decode(packet)?;
            return Ok((Self::Event(event), rest));
        }
        let (control, rest) = postcard::take_from_bytes(packet).map_err(|_| Malformed)?;
        match control {
            Control::Restarted(restart) if !restart.is_sound() => Err(Malformed),
            control => Ok((Self::Control(control), rest)),
        }
    }
}

impl Control<'_> {
    /// As [`Frame::encode`].
    ///
    /// # Errors
    ///
    /// [`NoRoom`] if the buffer is too short.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, NoRoom> {
        postcard::to_slice(self, buffer)
            .map(|used| used.len())
            .map_err(|_| NoRoom)
    }
}

/// A frame does not fit its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("frame does not fit")
    }
}

impl Error for NoRoom {}

/// Bytes that are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a frame")
    }
}

impl Error for Malformed {}

/// Serializes a slice in one piece; serde's own way for slices goes byte by byte.
fn whole<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// A scope on the wire.
mod scope {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::predicate::Scope;

    #[derive(Serialize, Deserialize)]
    enum Wire<'a> {
        Resource,
        Namespace(&'a str),
        Object(&'a str),
    }

    pub(super) fn serialize<S: Serializer>(
        scope: &Scope<&str>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match *scope {
            Scope::Resource => Wire::Resource,
            Scope::Namespace(namespace) => Wire::Namespace(namespace),
            Scope::Object(key) => Wire::Object(key),
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de: 'a, 'a, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Scope<&'a str>, D::Error> {
        Ok(match Wire::deserialize(deserializer)? {
            Wire::Resource => Scope::Resource,
            Wire::Namespace(namespace) => Scope::Namespace(namespace),
            Wire::Object(key) => Scope::Object(key),
        })
    }
}
