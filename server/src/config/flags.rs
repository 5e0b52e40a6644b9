//! The settings by name, with what `--help` says about them. Whether they fit together is not looked at here.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Parser, ValueEnum};
use tracing_subscriber::filter::Targets;

use super::units::{Size, Span};
use crate::serve::Limits;
use crate::tls::Name;

const EXAMPLES: &str = "\
Examples:
  Alone on this machine, objects in your data folder:
    ringwatch-server
    kubectl --kubeconfig ~/.local/share/ringwatch/admin.kubeconfig get namespaces

  For others, who reach it as api.example.org:
    ringwatch-server --listen 0.0.0.0:6443 --tls-san api.example.org --token-file users.csv

  One of several servers on an etcd cluster:
    ringwatch-server --etcd https://10.0.0.1:2379 --etcd https://10.0.0.2:2379 \\
        --etcd-ca etcd-ca.crt --etcd-cert etcd.crt --etcd-key etcd.key

  For tests and load, without certificates and tokens:
    ringwatch-server --in-memory --insecure-listen 127.0.0.1:8080

All settings but --config may stand in a file (--config FILE), one per line, without the dashes:
    listen = \"0.0.0.0:6443\"
    etcd = [\"https://10.0.0.1:2379\", \"https://10.0.0.2:2379\"]
    max-connections = 5000
Flags win over the file.";

/// A Kubernetes API server for list and watch, with its own storage or on etcd.
#[derive(Debug, Parser)]
#[command(name = "ringwatch-server", version, after_help = EXAMPLES, max_term_width = 110)]
pub(super) struct Flags {
    /// Read settings from this TOML file
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,

    /// Where to listen for HTTPS. Only this machine can connect, unless you name another address: 0.0.0.0:6443 for all
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:6443", help_heading = LISTENING, value_parser = address)]
    pub(super) listen: SocketAddr,

    /// Listen for plain HTTP too, without any authentication: whoever connects is admin. Loopback addresses only
    #[arg(long, value_name = "IP:PORT", help_heading = LISTENING, value_parser = address)]
    pub(super) insecure_listen: Option<SocketAddr>,

    /// Listen for nodes: microcontrollers and relays that watch by the node link. Needs --link-keys
    #[arg(long, value_name = "IP:PORT", help_heading = LINK, value_parser = address)]
    pub(super) link_listen: Option<SocketAddr>,

    /// The nodes that may come in, a section for each: [NAME], key = "64 hexadecimal digits", allow = ["pods", "devices.ringwatch.dev/hall"];
    /// read again when it changes
    #[arg(long, value_name = "FILE", help_heading = LINK)]
    pub(super) link_keys: Option<PathBuf>,

    /// The folder for objects, the authority's key and admin.kubeconfig [default: ringwatch in your data folder]
    #[arg(long, value_name = "FOLDER", help_heading = STORAGE)]
    pub(super) data_dir: Option<PathBuf>,

    /// Keep no objects: all are gone when the server stops
    #[arg(long, help_heading = STORAGE)]
    pub(super) in_memory: bool,

    /// Encrypt objects under the keys in this file; it says how it is written if it is wrong
    #[arg(long, value_name = "FILE", help_heading = STORAGE)]
    pub(super) encryption_keys: Option<PathBuf>,

    /// How long events are kept
    #[arg(long, value_name = "TIME", default_value = "1h", help_heading = STORAGE)]
    pub(super) event_ttl: Span,

    /// How long history is kept at least, for watches and pages to go on from; 0 keeps all of it
    #[arg(long, value_name = "TIME", default_value = "5m", help_heading = STORAGE)]
    pub(super) compaction_interval: Span,

    /// Keep objects in etcd; once for each member
    #[arg(long, value_name = "URL", action = ArgAction::Append, help_heading = ETCD)]
    pub(super) etcd: Vec<String>,

    /// What every key in etcd begins with
    #[arg(long, value_name = "PREFIX", default_value = "/registry", help_heading = ETCD)]
    pub(super) etcd_prefix: String,

    /// The authority that signed the certificates of etcd's members (PEM)
    #[arg(long, value_name = "FILE", help_heading = ETCD)]
    pub(super) etcd_ca: Option<PathBuf>,

    /// The certificate to show to etcd (PEM)
    #[arg(long, value_name = "FILE", help_heading = ETCD)]
    pub(super) etcd_cert: Option<PathBuf>,

    /// Its key (PEM)
    #[arg(long, value_name = "FILE", help_heading = ETCD)]
    pub(super) etcd_key: Option<PathBuf>,

    /// The user to log in to etcd as
    #[arg(long, value_name = "NAME", help_heading = ETCD)]
    pub(super) etcd_user: Option<String>,

    /// The file with that user's password, in its first line
    #[arg(long, value_name = "FILE", help_heading = ETCD)]
    pub(super) etcd_password_file: Option<PathBuf>,

    /// A certificate for this server, with those between it and its authority (PEM); read again when it changes. Without it,
    /// the server makes its own
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(super) tls_cert: Option<PathBuf>,

    /// The key of that certificate (PEM)
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(super) tls_key: Option<PathBuf>,

    /// One more name or address for the certificate that the server makes; once for each
    #[arg(long, value_name = "NAME", action = ArgAction::Append, help_heading = TLS)]
    pub(super) tls_san: Vec<Name>,

    /// Users besides the admin: lines of token,user,uid,"group1,group2"; read again when it changes. Who is in the group
    /// ringwatch:readers may only read
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(super) token_file: Option<PathBuf>,

    /// Whether to answer reads from memory; without it each read and watch goes to storage
    #[arg(long, value_name = "true|false", default_value_t = true, action = ArgAction::Set, help_heading = CACHE)]
    pub(super) watch_cache: bool,

    /// How many changes of a resource are remembered, as RESOURCE[.GROUP]=N, 0 for no cache; once for each, or separated by
    /// commas. Others are sized by how often they change
    #[arg(long, value_name = "RES=N", action = ArgAction::Append, help_heading = CACHE)]
    pub(super) watch_cache_size: Vec<String>,

    /// Connections at once; more are refused
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections, help_heading = LIMITS, value_parser = positive())]
    pub(super) max_connections: u32,

    /// The head of a request, URL included; 431 beyond it
    #[arg(long, value_name = "SIZE", default_value_t = Size(Limits::default().header_bytes), help_heading = LIMITS)]
    pub(super) max_header_bytes: Size,

    /// The URL of a request; 414 beyond it
    #[arg(long, value_name = "SIZE", default_value_t = Size(Limits::default().url_bytes), help_heading = LIMITS)]
    pub(super) max_url_bytes: Size,

    /// The body of a request; 413 beyond it
    #[arg(long, value_name = "SIZE", default_value_t = Size(Limits::default().body_bytes), help_heading = LIMITS)]
    pub(super) max_body_bytes: Size,

    /// What may wait in memory for a client that does not read, per watch
    #[arg(long, value_name = "SIZE", default_value_t = Size(Limits::default().buffer_bytes), help_heading = LIMITS)]
    pub(super) max_buffer_bytes: Size,

    /// For the TLS handshake of a connection
    #[arg(long, value_name = "TIME", default_value_t = Span(Limits::default().handshake_timeout), help_heading = LIMITS)]
    pub(super) handshake_timeout: Span,

    /// For the head of a request, from its first byte to its last
    #[arg(long, value_name = "TIME", default_value_t = Span(Limits::default().header_timeout), help_heading = LIMITS)]
    pub(super) header_timeout: Span,

    /// How long a connection may stay without a request
    #[arg(long, value_name = "TIME", default_value_t = Span(Limits::default().idle_timeout), help_heading = LIMITS)]
    pub(super) idle_timeout: Span,

    /// For a request that is not a watch
    #[arg(long, value_name = "TIME", default_value = "1m", help_heading = LIMITS)]
    pub(super) request_timeout: Span,

    /// How long a watch lasts that does not say how long; up to twice as long, by chance
    #[arg(long, value_name = "TIME", default_value = "30m", help_heading = LIMITS)]
    pub(super) min_request_timeout: Span,

    /// How long to wait for requests to finish when the server is told to stop
    #[arg(long, value_name = "TIME", default_value_t = Span(Limits::default().shutdown_timeout), help_heading = LIMITS)]
    pub(super) shutdown_timeout: Span,

    /// Requests that read, at once; 429 beyond it. Watches do not count
    #[arg(long, value_name = "N", default_value_t = Limits::default().reading, help_heading = LIMITS, value_parser = positive())]
    pub(super) max_requests_inflight: u32,

    /// Requests that write, at once; 429 beyond it
    #[arg(long, value_name = "N", default_value_t = Limits::default().writing, help_heading = LIMITS, value_parser = positive())]
    pub(super) max_mutating_requests_inflight: u32,

    /// Requests at once on one HTTP/2 connection, watches included
    #[arg(long, value_name = "N", default_value_t = Limits::default().streams, help_heading = LIMITS, value_parser = positive())]
    pub(super) http2_max_streams_per_connection: u32,

    /// HTTP/2 streams that a client may begin and take back at once, before it is cut off
    #[arg(long, value_name = "N", default_value_t = Limits::default().resets, help_heading = LIMITS, value_parser = positive())]
    pub(super) http2_max_resets: u32,

    /// How logs look, on the standard error
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = LOGS)]
    pub(super) log_format: LogFormat,

    /// What to log: error, warn, info, debug or trace; also by part: info,ringwatch_server::storage=debug
    #[arg(long, value_name = "LEVEL", default_value = "info", help_heading = LOGS, value_parser = levels)]
    pub(super) log_level: Targets,
}

const LISTENING: &str = "Listening";
const LINK: &str = "Node link";
const STORAGE: &str = "Storage";
const ETCD: &str = "Storage in etcd";
const TLS: &str = "Certificates and users";
const CACHE: &str = "Watch cache";
const LIMITS: &str = "Limits";
const LOGS: &str = "Logs";

/// How logs look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one JSON object per line.
    Json,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not an IP address with a port; write for example 127.0.0.1:6443 or [::]:6443")
    })
}

fn positive() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

fn levels(text: &str) -> Result<Targets, String> {
    text.parse().map_err(|_| {
        "write error, warn, info, debug or trace, or for a part info,ringwatch_server::storage=debug"
            .to_owned()
    })
}
