//! Who asks, and what they may do.
//!
//! ```text
//!   Authorization, Sec-WebSocket-Protocol, Peer ──► Authenticator ──► Caller ──► check(Access) ──► go on, or 401, 403
//! ```
//!
//! - A bearer token names a user of the token file, or the admin. A token that nobody has is refused even where none is needed.
//! - Without a token one is anonymous, and may only see whether the server is well, and its version.
//! - Over the plain listener, which only the machine itself reaches, everyone is admin.
//! - Users may do everything, except those in the group [`READERS`], who may only read.
//!
//! ```
//! use http::HeaderMap;
//! use ringwatch_server::auth::{Access, Authenticator, Users};
//! use ringwatch_server::serve::Peer;
//!
//! let users = Users::parse("users.csv".as_ref(), "s3cret,ada,42,\"ops,ringwatch:readers\"\n")?;
//! let authenticator = Authenticator::new("admin-token", users)?;
//! let peer = Peer { address: "192.0.2.1:5000".parse().unwrap(), secure: true };
//! let mut headers = HeaderMap::new();
//! headers.insert("authorization", "Bearer s3cret".parse().unwrap());
//!
//! let ada = authenticator.identify(&mut headers, &peer).unwrap();
//! assert_eq!(ada.name(), "ada");
//! assert!(ada.check(&Access::path("get", "/api")).is_ok());
//! assert_eq!(ada.check(&Access::path("post", "/api")).unwrap_err().code, 403);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod authenticator;
mod bearer;
mod caller;
mod csv;
mod users;

pub use self::access::Access;
pub use self::authenticator::{Authenticator, NoRandomness};
pub use self::caller::{Caller, READERS, Rights};
pub use self::users::{UserFileError, Users};
