//! What a board is told before it starts: its name and key, the network, where to connect, what to watch.
//!
//! ```text
//!   node.toml + key file ──► provision ──► block in the image (ELF) ──► flashed, or run ──► Block::read
//! ```
//!
//! An image is built without any of it, and has a blank [`Block`]. Who flashes or runs the image fills the block (the feature `provision`): one
//! build serves every board, and keys are in no source, no build folder and no git.
#![cfg_attr(not(feature = "provision"), no_std)]

mod block;
#[cfg(feature = "provision")]
pub mod provision;

pub use block::{Block, Unset};

use heapless::Vec;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most addresses of an upstream.
pub const MAX_UPSTREAM: usize = 4;

/// Everything that one board is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings<'a> {
    /// Its name on the node link.
    pub name: &'a str,
    /// Its key there.
    pub key: [u8; 32],
    /// Random bytes of its own, for boards without a random number generator.
    pub seed: [u8; 32],
    /// How it gets an address.
    pub network: Network,
    /// Which Wi-Fi to join, on boards that have no wire. Two empty texts if there is none.
    #[serde(borrow)]
    pub wifi: Wifi<'a>,
    /// Where to connect, in this order.
    pub upstream: Vec<Endpoint, MAX_UPSTREAM>,
    /// What to watch.
    #[serde(borrow)]
    pub watch: Watch<'a>,
    /// How long the other end may be silent, in milliseconds.
    pub silence: u32,
    /// How often what was learned is saved at most, in milliseconds: flash wears out.
    pub save_every: u32,
}

/// The most nodes of a relay.
pub const MAX_NODES: usize = 32;

/// Everything that a relay is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelaySettings<'a> {
    /// What any board is. The projection of its watch is what the relay keeps of each object.
    #[serde(borrow)]
    pub board: Settings<'a>,
    /// Where nodes connect to.
    pub port: u16,
    /// Those that may.
    #[serde(borrow)]
    pub nodes: Vec<Permit<'a>, MAX_NODES>,
}

/// A node of a relay, and what it may have; empty texts permit anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its key, which stays where it is: in flash.
    #[serde(borrow)]
    pub key: Key<'a>,
    /// Of this namespace only.
    pub namespace: &'a str,
    /// What the labels must be.
    pub labels: &'a str,
    /// What the fields must be.
    pub fields: &'a str,
}

/// A key, where somebody else keeps it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key<'a>(pub &'a [u8; 32]);

impl core::fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Serialize for Key<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        let key = bytes
            .try_into()
            .map_err(|_| D::Error::custom("a key has 32 bytes"))?;
        Ok(Self(key))
    }
}

/// How a board gets an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// Somebody hands it out.
    Dhcp,
    /// It is told.
    Static {
        /// The address.
        address: [u8; 4],
        /// How many bits of it are the network's.
        prefix: u8,
        /// The way out, if there is one.
        gateway: Option<[u8; 4]>,
    },
}

/// A Wi-Fi network.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Wifi<'a> {
    /// Its name.
    pub ssid: &'a str,
    /// Its password.
    pub password: &'a str,
}

impl core::fmt::Debug for Wifi<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Wifi({:?}, ..)", self.ssid)
    }
}

/// An address and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// IPv4.
    pub address: [u8; 4],
    /// TCP.
    pub port: u16,
}

/// What to watch; empty texts ask for anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch<'a> {
    /// The resource, as in the API's paths.
    pub resource: &'a str,
    /// In this namespace only.
    pub namespace: &'a str,
    /// What the labels must be.
    pub labels: &'a str,
    /// What the fields must be.
    pub fields: &'a str,
    /// Where in an object the node finds what it reads, as a list of fields. Empty for the firmware's own.
    pub projection: &'a str,
}
