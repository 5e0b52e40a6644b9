//! From a request's headers to its caller.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use http::HeaderMap;
use http::header::HOST;
use rustls::crypto::ring::default_provider;
use sha2::{Digest, Sha256};

use super::{Caller, Users, bearer};
use crate::serve::Peer;
use crate::status::Failure;

/// Knows who has which token.
///
/// Tokens are found by a hash under a key that is drawn at each start: what a comparison of hashes takes tells nothing
/// about a token, and no token stays in memory.
pub struct Authenticator {
    key: [u8; 32],
    admin: Digested,
    /// Replaced whole when the file changes. A lock, since it is held for a look or an exchange and never while waiting.
    callers: RwLock<Arc<HashMap<Digested, Caller>>>,
}

type Digested = [u8; 32];

/// The system gives no random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRandomness;

impl Authenticator {
    /// Knows the admin by `admin_token`, and the users by theirs.
    pub fn new(admin_token: &str, users: Users) -> Result<Self, NoRandomness> {
        let mut key = [0; 32];
        let random = default_provider().secure_random;
        random.fill(&mut key).map_err(|_| NoRandomness)?;
        let authenticator = Self {
            key,
            admin: digest(&key, admin_token),
            callers: RwLock::default(),
        };
        authenticator.replace(users);
        Ok(authenticator)
    }

    /// From now on, these are the users. The admin stays.
    pub fn replace(&self, users: Users) {
        let users = users.by_token.into_iter();
        let mut callers: HashMap<_, _> = users
            .map(|(token, caller)| (digest(&self.key, &token), caller))
            .collect();
        callers.insert(self.admin, Caller::admin());
        let mut place = self.callers.write().unwrap_or_else(PoisonError::into_inner);
        *place = Arc::new(callers);
    }

    /// Who asks. 401 if there is a token that nobody has, or something that is none.
    ///
    /// A token among the WebSocket subprotocols is removed from the headers.
    pub fn identify(&self, headers: &mut HeaderMap, peer: &Peer) -> Result<Caller, Failure> {
        let token = bearer::take(headers);
        if !peer.secure {
            return match is_local(headers) {
                true => Ok(Caller::admin()),
                false => Err(not_local()),
            };
        }
        match token {
            Err(bearer::Malformed) => Err(Failure::unauthorized()),
            Ok(None) => Ok(Caller::anonymous()),
            Ok(Some(token)) => {
                let callers = self.callers.read().unwrap_or_else(PoisonError::into_inner);
                let caller = callers.get(&digest(&self.key, &token));
                caller.cloned().ok_or_else(Failure::unauthorized)
            }
        }
    }
}

/// Whether the client asked for this machine by a name that nobody else can give it. A page in a browser could otherwise give
/// its own name this machine's address, and would be admin.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else {
        return true;
    };
    let Ok(host) = host.to_str() else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

fn not_local() -> Failure {
    let message = "the plain listener is for this machine only: ask for localhost or an IP address";
    Failure::new(403, "Forbidden", message)
}

fn digest(key: &[u8; 32], token: &str) -> Digested {
    Sha256::new()
        .chain_update(key)
        .chain_update(token)
        .finalize()
        .into()
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").finish_non_exhaustive()
    }
}

impl fmt::Display for NoRandomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the system gives no random numbers")
    }
}

impl Error for NoRandomness {}
