//! From what a client sent to a new object. No I/O: the time and what is made at random are arguments.

use jiff::Timestamp;
use serde_json::Value;

use super::{body, meta};
use crate::defaults;
use crate::resources::Resource;
use crate::status::Failure;
use crate::validation;

/// What a new object gets that it does not bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The moment.
    pub now: Timestamp,
    /// Its uid.
    pub uid: String,
    /// What follows a `generateName`.
    pub suffix: String,
}

/// How many random bytes a [`Stamp`] takes.
pub const RANDOM: usize = 16 + SUFFIX;
/// How many characters follow a `generateName`.
const SUFFIX: usize = 5;
/// How many bytes of a `generateName` are used.
const MAX_PREFIX: usize = 58;
/// Without vowels and what looks alike, so that no words come about.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

impl Stamp {
    /// A stamp from random bytes.
    pub fn new(now: Timestamp, random: [u8; RANDOM]) -> Self {
        let [suffix @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = random;
        let [_, _, _, _, _, uid @ ..] = random;
        let letter = |byte: u8| ALPHABET.get(usize::from(byte) % ALPHABET.len());
        let letters = suffix.iter().filter_map(|byte| letter(*byte));
        Self {
            now,
            uid: uuid(uid),
            suffix: letters.copied().map(char::from).collect(),
        }
    }
}

/// A random UUID (version 4).
pub fn uuid(bytes: [u8; 16]) -> String {
    let number = u128::from_be_bytes(bytes);
    let marked = number & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{marked:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
    parts
        .map(|part| hex.get(part).unwrap_or_default())
        .join("-")
}

/// Puts an object into the namespace of the request, or says that it is in another.
///
/// # Errors
///
/// A 400 if the object names another namespace.
pub fn place(
    resource: &Resource,
    namespace: Option<&str>,
    object: &mut Value,
) -> Result<(), Failure> {
    let wanted = namespace
        .filter(|_| resource.is_namespaced())
        .unwrap_or_default();
    let found = meta::text(object, "namespace");
    if !found.is_empty() && !wanted.is_empty() && found != wanted {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let namespace = (!wanted.is_empty()).then(|| wanted.into());
    meta::set(object, "namespace", namespace);
    Ok(())
}

/// Whether the server makes up the object's name.
pub fn wants_name(object: &Value) -> bool {
    meta::text(object, "name").is_empty() && !meta::text(object, "generateName").is_empty()
}

/// The name that the object is to have, or what its name is to begin with.
pub(super) fn wanted_name(object: &Value) -> &str {
    match meta::text(object, "name") {
        "" => meta::text(object, "generateName"),
        name => name,
    }
}

/// Makes a decoded object in its [place] one that may be stored, and returns what to warn of.
///
/// # Errors
///
/// A 422 for what the kind does not allow, a 400 for a resourceVersion.
pub fn prepare(
    resource: &Resource,
    object: &mut Value,
    stamp: &Stamp,
) -> Result<Vec<String>, Failure> {
    if wants_name(object) {
        let name = generate_name(meta::text(object, "generateName"), &stamp.suffix);
        meta::set(object, "name", Some(name.into()));
    }
    for field in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        meta::set(object, field, None);
    }
    meta::set(object, "uid", Some(stamp.uid.as_str().into()));
    let now = meta::moment(stamp.now);
    meta::set(object, "creationTimestamp", Some(now.into()));
    let generation = resource.update.generation.then(|| 1.into());
    meta::set(object, "generation", generation);
    let mut warnings = body::finalizer_warnings(resource, object, None);
    warnings.extend(body::remove_duplicate_owners(object));

    defaults::apply(resource, object);
    defaults::apply_custom(resource, object)
        .map_err(|fault| Failure::invalid(resource, meta::text(object, "name"), &[fault]))?;
    defaults::prepare_create(resource, object);
    let name = meta::text(object, "name");
    match validation::create(resource, object).as_slice() {
        [] => {}
        faults => return Err(Failure::invalid(resource, name, faults)),
    }
    if !["", "0"].contains(&meta::text(object, "resourceVersion")) {
        return Err(Failure::bad_request(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    meta::set(object, "resourceVersion", None);
    Ok(warnings)
}

fn generate_name(prefix: &str, suffix: &str) -> String {
    let mut end = prefix.len().min(MAX_PREFIX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{suffix}", prefix.get(..end).unwrap_or_default())
}
