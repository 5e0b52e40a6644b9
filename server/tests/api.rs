//! What the server answers over HTTP, row by row, from the tables in `tests/golden/api`.
//!
//! Every test starts the real program on plain HTTP with storage in memory and asks it as any client would. A row is
//! a request and the answer, so that what the server promises can be read without reading code.

#[path = "api/describe.rs"]
mod describe;
#[path = "api/hostile.rs"]
mod hostile;
#[path = "api/http.rs"]
mod http;
#[path = "api/kinds.rs"]
mod kinds;
#[path = "api/list.rs"]
mod list;
#[path = "api/names.rs"]
mod names;
#[path = "api/notation.rs"]
mod notation;
#[path = "api/requests.rs"]
mod requests;
#[path = "api/rows.rs"]
mod rows;
#[path = "api/server.rs"]
mod server;
#[path = "api/settings.rs"]
mod settings;
#[path = "api/steps.rs"]
mod steps;
#[path = "api/watch.rs"]
mod watch;
