//! The relay's program against an API server that misbehaves as real ones do, and through cuts, kills and reloads.

mod bodies;
mod credentials;
mod hostile;
mod http;
mod nodes;
mod offline;
mod operating;
mod replay;
mod restarts;
mod serial;
mod support;
mod tls;
mod upstream;
