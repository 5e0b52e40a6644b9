//! The settings: a TOML file, and flags that win over it. What is wrong is named by file, line and field.
//!
//! ```toml
//! [upstream]                                  # where objects come from: the node link of a server or relay …
//! link = ["10.0.0.1:7443", "10.0.0.2:7443"]   # the next one is tried when one does not answer
//! name = "gateway-1"
//! key-file = "gateway-1.key"                  # 64 hexadecimal digits
//! # serial = { path = "/dev/ttyS1" }          # … or the same over a serial line, instead of link
//! # kubeconfig = "relay.kubeconfig"           # … or any Kubernetes API
//! # url = "https://10.0.0.1:6443"             # the same without a kubeconfig: with token-file, ca-file, cert-file, cert-key-file
//!
//! [[watch]]                                   # what is relayed; nothing else is asked for
//! resource = "devices.example.com"
//! namespace = "hall"                          # all of them if left out
//! labels = "kind=heater"                      # upstream sends no others
//! objects = 1000                              # places for objects; what does not fit is left out and reported
//! changes = 1000                              # places for changes: how far behind a node may be and still resume
//! columns = [{ name = "Site", path = ".spec.site" }]   # what kubectl shows; if left out, what upstream says of the kind
//!
//! [listen]
//! link = "0.0.0.0:7443"                       # for nodes
//! serial = [{ path = "/dev/ttyUSB0", baud = 115200 }]   # for a node on each line
//! http = "127.0.0.1:8080"                     # for kubectl and programs on this machine, read-only
//!
//! [nodes]
//! file = "nodes.toml"                         # who may come in; see `ringwatch-edge nodes --help`
//!
//! [state]
//! dir = "/var/lib/ringwatch-edge"             # survives power cuts; without it a restart begins with nothing
//! ```

use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use ringwatch_core::link::MAX_NAME;
use ringwatch_core::selector::{FieldSelector, LabelSelector};
use serde::Deserialize;
use toml::Spanned;

use crate::definition::{Column, MAX_COLUMNS};
use crate::policy::{line_of, parse_key};
use crate::wire::{Address, Line};

/// The most watches: as many as one session with the upstream has subscriptions.
pub const MAX_WATCHES: usize = 16;
/// The most serial lines.
pub const MAX_LINES: usize = 32;

/// What the program is to do.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where objects come from.
    pub upstream: Upstream,
    /// What is relayed.
    pub watches: Vec<Watch>,
    /// Where nodes connect.
    pub link: Option<SocketAddr>,
    /// Serial lines, with a node on each.
    pub serial: Vec<Line>,
    /// Where programs connect.
    pub http: Option<SocketAddr>,
    /// How many of both at once, serial lines aside.
    pub connections: usize,
    /// Who may come in.
    pub nodes: Option<PathBuf>,
    /// How many nodes are remembered.
    pub known: usize,
    /// Where state survives.
    pub state: Option<PathBuf>,
    /// How long changes may wait to be written together.
    pub flush: Duration,
}

/// Where objects come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// The node link of a server or relay.
    Link {
        /// Each is tried in turn.
        addresses: Vec<Address>,
        /// As which node.
        name: String,
        /// The file with its key.
        key_file: PathBuf,
    },
    /// A Kubernetes API, by a kubeconfig.
    Kubeconfig {
        /// The file.
        file: PathBuf,
        /// Which of its contexts; the current one if none.
        context: Option<String>,
    },
    /// A Kubernetes API.
    Url {
        /// Where.
        url: String,
        /// The file with the token; read again for every request.
        token_file: Option<PathBuf>,
        /// Who signed its certificate.
        ca_file: Option<PathBuf>,
        /// The certificate to show, and its key.
        cert: Option<(PathBuf, PathBuf)>,
    },
}

/// One thing that is relayed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Watch {
    /// The resource, as in the API's paths.
    pub resource: String,
    /// In one namespace only.
    pub namespace: Option<String>,
    /// What upstream is asked for.
    #[serde(default)]
    pub labels: String,
    /// What upstream is asked for.
    #[serde(default)]
    pub fields: String,
    /// Places for objects.
    #[serde(default = "thousand")]
    pub objects: usize,
    /// Places for changes.
    #[serde(default = "thousand")]
    pub changes: usize,
    /// The longest object, in bytes.
    #[serde(default = "longest")]
    pub object_bytes: usize,
    /// The API version, where nobody can be asked for it.
    pub version: Option<String>,
    /// The kind, where nobody can be asked for it.
    pub kind: Option<String>,
    /// The columns of its tables, besides the name; those of its definition if there are none here.
    #[serde(default)]
    pub columns: Vec<Column>,
}

fn thousand() -> usize {
    1000
}

fn longest() -> usize {
    1 << 20
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    upstream: Spanned<UpstreamText>,
    #[serde(default)]
    watch: Vec<Spanned<Watch>>,
    #[serde(default)]
    listen: Listen,
    #[serde(default)]
    nodes: Nodes,
    #[serde(default)]
    state: State,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct UpstreamText {
    link: Option<OneOrMore>,
    serial: Option<Line>,
    name: Option<String>,
    key_file: Option<PathBuf>,
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
    url: Option<String>,
    token_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    cert_file: Option<PathBuf>,
    cert_key_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Listen {
    link: Option<SocketAddr>,
    serial: Option<Spanned<Vec<Line>>>,
    http: Option<Spanned<SocketAddr>>,
    connections: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Nodes {
    file: Option<PathBuf>,
    known: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct State {
    dir: Option<PathBuf>,
    flush_ms: Option<u64>,
}

/// What is wrong with the settings, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Which file.
    pub file: PathBuf,
    /// Which line, from 1; 0 for none.
    pub line: usize,
    /// What.
    pub why: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file.display(), self.why),
            line => write!(f, "{}:{line}: {}", self.file.display(), self.why),
        }
    }
}

impl Error for ConfigError {}

impl Config {
    /// Reads a file.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(file).map_err(|error| ConfigError {
            file: file.to_owned(),
            line: 0,
            why: format!("cannot be read: {error}"),
        })?;
        Self::parse(file, &text)
    }

    /// Reads a file's text. Paths in it are relative to the file.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let failed = |at: usize, why: String| ConfigError {
            file: file.to_owned(),
            line: line_of(text, at),
            why,
        };
        let read: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            failed(at, error.message().to_owned())
        })?;
        let base = file.parent().unwrap_or(Path::new(""));
        let path = |path: PathBuf| base.join(path);
        let at = read.upstream.span().start;
        let upstream = read.upstream.into_inner().check(&path);
        let upstream = upstream.map_err(|why| failed(at, format!("upstream: {why}")))?;
        if read.watch.is_empty() || read.watch.len() > MAX_WATCHES {
            let why = format!("watch: there must be 1 to {MAX_WATCHES} sections [[watch]]");
            return Err(failed(text.len(), why));
        }
        let mut watches: Vec<Watch> = Vec::new();
        for watch in read.watch {
            let at = watch.span().start;
            let watch = watch.into_inner();
            let twice = |other: &&Watch| {
                (&other.resource, &other.namespace) == (&watch.resource, &watch.namespace)
            };
            if watches.iter().find(twice).is_some() {
                let why = format!("watch: {} is there twice", watch.resource);
                return Err(failed(at, why));
            }
            watch
                .check()
                .map_err(|why| failed(at, format!("watch: {why}")))?;
            watches.push(watch);
        }
        let lines = read.listen.serial.as_ref();
        let at = lines.map_or(0, |lines| lines.span().start);
        let serial = read.listen.serial.map_or(Vec::new(), Spanned::into_inner);
        check_lines(&serial).map_err(|why| failed(at, format!("listen.serial: {why}")))?;
        if (read.listen.link.is_some() || !serial.is_empty()) && read.nodes.file.is_none() {
            let why = "nodes.file: say who may come in by listen.link and listen.serial".to_owned();
            return Err(failed(text.len(), why));
        }
        if let Some(http) = &read.listen.http
            && !http.get_ref().ip().is_loopback()
        {
            let why = format!(
                "listen.http: {} can be reached from elsewhere, and whoever reaches it can read all; use a loopback address",
                http.get_ref()
            );
            return Err(failed(http.span().start, why));
        }
        Ok(Self {
            upstream,
            watches,
            link: read.listen.link,
            serial,
            http: read.listen.http.map(Spanned::into_inner),
            connections: read.listen.connections.unwrap_or(2000),
            nodes: read.nodes.file.map(path),
            known: read.nodes.known.unwrap_or(1000),
            state: read.state.dir.map(path),
            flush: Duration::from_millis(read.state.flush_ms.unwrap_or(1000)),
        })
    }
}

impl UpstreamText {
    fn check(self, path: &impl Fn(PathBuf) -> PathBuf) -> Result<Upstream, String> {
        let ways = [
            self.link.is_some(),
            self.serial.is_some(),
            self.kubeconfig.is_some(),
            self.url.is_some(),
        ];
        if ways.iter().filter(|way| **way).count() != 1 {
            return Err("give one of link, serial, kubeconfig and url".to_owned());
        }
        let addresses = match (self.link, self.serial) {
            (Some(OneOrMore::One(one)), _) => Some(vec![Address::Tcp(one)]),
            (Some(OneOrMore::More(more)), _) => Some(more.into_iter().map(Address::Tcp).collect()),
            (None, Some(line)) => Some(vec![Address::Serial(line)]),
            (None, None) => None,
        };
        if let Some(addresses) = addresses {
            for address in &addresses {
                match address {
                    Address::Tcp(text) if !text.contains(':') => {
                        return Err(format!("link: `{text}` is not HOST:PORT"));
                    }
                    Address::Tcp(_) => {}
                    Address::Serial(line) => check_lines(std::slice::from_ref(line))
                        .map_err(|why| format!("serial: {why}"))?,
                }
            }
            if addresses.is_empty() {
                return Err("link: give at least one HOST:PORT".to_owned());
            }
            let name = self.name.ok_or("name: say as which node to come in")?;
            if name.is_empty() || name.len() > MAX_NAME {
                return Err(format!("name: 1 to {MAX_NAME} bytes"));
            }
            let key_file = self.key_file.ok_or("key-file: the node's key is needed")?;
            return Ok(Upstream::Link {
                addresses,
                name,
                key_file: path(key_file),
            });
        }
        if let Some(file) = self.kubeconfig {
            return Ok(Upstream::Kubeconfig {
                file: path(file),
                context: self.context,
            });
        }
        let url = self.url.unwrap_or_default();
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err("url: must begin with https:// or http://".to_owned());
        }
        let cert = match (self.cert_file, self.cert_key_file) {
            (Some(cert), Some(key)) => Some((path(cert), path(key))),
            (None, None) => None,
            _ => return Err("cert-file and cert-key-file: give both".to_owned()),
        };
        Ok(Upstream::Url {
            url,
            token_file: self.token_file.map(path),
            ca_file: self.ca_file.map(path),
            cert,
        })
    }
}

/// Lines that can be opened, each once.
fn check_lines(lines: &[Line]) -> Result<(), String> {
    if lines.len() > MAX_LINES {
        return Err(format!("at most {MAX_LINES} lines"));
    }
    for (index, line) in lines.iter().enumerate() {
        let before = lines.get(..index).unwrap_or_default();
        if before.iter().any(|other| other.path == line.path) {
            return Err(format!("{line} is there twice"));
        }
        if !line.path.is_absolute() {
            return Err(format!("{line}: name the device by its whole path"));
        }
        if !(300..=4_000_000).contains(&line.baud) {
            return Err(format!("{line}: baud is from 300 to 4000000"));
        }
    }
    Ok(())
}

impl Watch {
    fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        let names = |text: &str| !text.is_empty() && text.chars().all(plain);
        if !names(&self.resource) {
            return Err(format!(
                "resource: `{}` is none; write for example pods or devices.example.com",
                self.resource
            ));
        }
        if self.namespace.as_deref().is_some_and(|name| !names(name)) {
            return Err("namespace: not a name".to_owned());
        }
        LabelSelector::<_>::parse(self.labels.as_str())
            .map_err(|error| format!("labels: {error}"))?;
        FieldSelector::<_>::parse(self.fields.as_str())
            .map_err(|error| format!("fields: {error}"))?;
        if self.columns.len() > MAX_COLUMNS {
            return Err(format!("columns: at most {MAX_COLUMNS}"));
        }
        if self.objects == 0 || self.changes == 0 || self.object_bytes < 256 {
            return Err("objects and changes: at least 1; object-bytes: at least 256".to_owned());
        }
        Ok(())
    }
}

/// Reads the key of a node from its file.
pub fn read_key(file: &Path) -> Result<[u8; 32], ConfigError> {
    let failed = |why: String| ConfigError {
        file: file.to_owned(),
        line: 0,
        why,
    };
    let text =
        fs::read_to_string(file).map_err(|error| failed(format!("cannot be read: {error}")))?;
    parse_key(&text).ok_or_else(|| failed("is not a key: 64 hexadecimal digits".to_owned()))
}
