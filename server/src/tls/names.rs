//! The names that a server may be asked for by.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// What every server is called: by itself, and by programs that run in a cluster.
const ALWAYS: [&str; 4] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
];

/// A name in a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// A DNS name, possibly with `*` as its first label.
    Dns(String),
    /// An address.
    Address(IpAddr),
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let rest = text.strip_prefix("*.").unwrap_or(text);
        let label = |label: &str| {
            let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            (1..=63).contains(&label.len())
                && label.bytes().all(inside)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        match text.len() <= 253 && rest.split('.').all(label) {
            true => Ok(Self::Dns(text.to_ascii_lowercase())),
            false => Err(BadName),
        }
    }
}

/// Neither a DNS name nor an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadName;

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("neither a DNS name (api.example.org) nor an IP address (192.0.2.1)")
    }
}

impl Error for BadName {}

/// The names of this server: what every server is called, the machine's own name, where it listens, and what was asked for.
pub fn of_this_server(listening: IpAddr, more: &[Name]) -> Vec<Name> {
    let mut names: Vec<Name> = ALWAYS.map(|name| Name::Dns(name.to_owned())).into();
    names.push(Name::Address(Ipv4Addr::LOCALHOST.into()));
    names.push(Name::Address(Ipv6Addr::LOCALHOST.into()));
    let machine = rustix::system::uname();
    // A machine may be called what no certificate can say.
    let machine = machine.nodename().to_str().ok();
    names.extend(machine.and_then(|name| name.parse().ok()));
    if !listening.is_unspecified() {
        names.push(Name::Address(listening));
    }
    names.extend(more.iter().cloned());
    let mut unique = Vec::with_capacity(names.len());
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}
