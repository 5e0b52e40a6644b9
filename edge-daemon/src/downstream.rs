//! Who reads from the relay: nodes by the node link, programs by HTTP.

pub mod http;
pub mod link;
pub mod serial;
