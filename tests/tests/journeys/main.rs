//! Journeys: the server's program, used by the programs and libraries that people have. Those that read are run on a relay behind it, too.
//!
//! - `kubectl`: every command of which the requests are known, by an old and a recent `kubectl`
//! - `kube_rs`: watchers, reflectors and controllers in Rust
//! - `python`: list and watch by the official Python client
//! - `node_link`: a second implementation of the node link, in Python, in sessions with the server
//! - `http2`: list and watch over bare HTTP/2
//! - `suites`: what Kubernetes' own end-to-end suites ask, in JSON and in protobuf
//! - `relay`: the relay that journeys read from, and what only a relay has
//! - `unready`: a server that cannot read all of its storage yet
//! - `replicas`: several servers on one etcd, and clients that move between them
//!
//! Nothing is mocked: TLS, tokens and storage are those that a user gets.

mod http2;
mod kube_rs;
mod kubectl;
mod node_link;
mod program;
mod python;
mod relay;
mod replicas;
mod store;
mod suites;
mod unready;
mod wire;

use std::time::Duration;

/// Longer than anything here should take, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);
