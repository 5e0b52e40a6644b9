//! What a serving end keeps of a node that is not connected.

use crate::digest::Digest;
use crate::link::seal::PresharedKey;
use crate::revision::Revision;
use crate::time::Instant;

/// A node that may come, and how far it was when it last left. All that is needed to go on is with the node; this is its key, and
/// for whoever looks after it.
#[derive(Debug, Clone)]
pub struct KnownNode {
    /// The secret that it shares.
    pub key: PresharedKey,
    /// When it was last heard; [`Instant::NEVER`] if not yet.
    pub seen: Instant,
    /// Up to where it had everything.
    pub revision: Revision,
    /// Of what it had.
    pub digest: Digest,
}

/// For a sleepy node, the whole memory bill while it sleeps.
const _: () = assert!(size_of::<KnownNode>() <= 64);
