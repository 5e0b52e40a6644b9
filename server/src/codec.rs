//! How the API's objects are written for the wire: the types of the built-in kinds, and the protobuf form of
//! their JSON.
//!
//! Pure functions over bytes and values. Objects live in the server as JSON; [`protobuf`] translates for clients that prefer it, and
//! [`omit`] knows what is not written at all.

pub mod omit;
pub mod protobuf;
pub mod schema;
