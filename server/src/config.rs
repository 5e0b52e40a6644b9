//! What the server is told: by flags, by a file, and by default; in this order of importance.
//!
//! ```text
//!   command line ──┬───────────────► flags ──► settings
//!   --config FILE ─┴─► as flags ──────┘          (typed, and fitting together)
//! ```
//!
//! There is one list of settings, that of the flags. A file has the same names without the dashes, and each of its
//! lines is read as the flag it stands for; so a name, its meaning and its check exist once. What is wrong is said with
//! its place: the flag, or file, line and name.

mod file;
mod flags;
mod resolve;
mod units;

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};

use crate::cache::Sizes;
use crate::serve::Limits;
use crate::tls::{Given, Name};

use self::file::File;
use self::flags::Flags;

pub use self::flags::LogFormat;

/// All that the server is told, checked as far as it can be without opening anything.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen for HTTPS.
    pub listen: SocketAddr,
    /// Where to listen for plain HTTP, on this machine only.
    pub insecure_listen: Option<SocketAddr>,
    /// Where to listen for nodes, and the file with their keys.
    pub link: Option<(SocketAddr, PathBuf)>,
    /// The folder of all that is kept.
    pub data_dir: PathBuf,
    /// Where objects are kept.
    pub store: Store,
    /// The keys under which objects are encrypted.
    pub encryption_keys: Option<PathBuf>,
    /// How much is cached of each resource; `None` for nothing at all.
    pub watch_cache: Option<Sizes>,
    /// A certificate that somebody else takes care of.
    pub certificate: Option<Given>,
    /// More names for a certificate of our own.
    pub names: Vec<Name>,
    /// Users and their tokens.
    pub token_file: Option<PathBuf>,
    /// Limits of connections and requests.
    pub limits: Limits,
    /// How long a request may take that does not watch.
    pub request_timeout: Duration,
    /// How long a watch lasts at least that names no time; at most twice as long.
    pub min_request_timeout: Duration,
    /// How long events are kept.
    pub event_ttl: Duration,
    /// How long history is kept at least; at most twice as long. `None` for all of it.
    pub compaction_interval: Option<Duration>,
    /// How logs look.
    pub log_format: LogFormat,
    /// What is logged.
    pub log_level: tracing_subscriber::filter::Targets,
}

/// Where objects are kept.
#[derive(Debug, Clone)]
pub enum Store {
    /// In the data folder.
    Embedded,
    /// Nowhere: they end with the process.
    InMemory,
    /// In etcd.
    Etcd(EtcdSettings),
}

/// How to reach etcd.
#[derive(Debug, Clone)]
pub struct EtcdSettings {
    /// Where its members are.
    pub endpoints: Vec<String>,
    /// What every key begins with.
    pub prefix: String,
    /// The file with the authority of its members' certificates.
    pub authority: Option<PathBuf>,
    /// The files with the certificate and key to show to it.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The user to log in as, and the file with the password.
    pub user: Option<(String, PathBuf)>,
}

impl Settings {
    /// Reads a command line, its first word being the program, and the file that it names.
    pub fn from_args(
        args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, SettingsError> {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        let command_line = Flags::command().try_get_matches_from(&args)?;
        let path = command_line.get_one::<PathBuf>("config");
        let file = match path {
            None => File::default(),
            Some(path) => File::load(path)?,
        };
        let given = |name: &str| is_from_command_line(&command_line, name);
        let (program, rest) = args.split_at(args.len().min(1));
        let from_file = file.args(|name| !given(name)).map(OsString::from);
        let all = program.iter().cloned().chain(from_file);
        let all = all.chain(rest.iter().cloned());
        let matches = Flags::command().try_get_matches_from(all)?;
        let flags = Flags::from_arg_matches(&matches)?;
        resolve::resolve(flags).map_err(|problem| {
            let place = match given(problem.name) {
                true => None,
                false => file.line(problem.name),
            };
            SettingsError::Wrong {
                place: place.map(|line| (file.path().to_owned(), line)),
                name: problem.name.to_owned(),
                why: problem.why,
            }
        })
    }
}

fn is_from_command_line(matches: &ArgMatches, name: &str) -> bool {
    let id = name.replace('-', "_");
    let source = matches
        .try_contains_id(&id)
        .ok()
        .and_then(|_| matches.value_source(&id));
    source == Some(ValueSource::CommandLine)
}

/// What is wrong with the settings, or that help or the version was asked for.
#[derive(Debug)]
pub enum SettingsError {
    /// A command line that cannot be read, or help: prints itself as it should be.
    Usage(clap::Error),
    /// A file that cannot be read.
    File {
        /// The file.
        file: PathBuf,
        /// Where in it; 0 for the file as a whole.
        line: usize,
        /// What, and how to fix it.
        why: String,
    },
    /// A setting that makes no sense, or not together with others.
    Wrong {
        /// The file and line it comes from; `None` for the command line.
        place: Option<(PathBuf, usize)>,
        /// The setting.
        name: String,
        /// What, and how to fix it.
        why: String,
    },
}

impl SettingsError {
    /// Prints it, help to the standard output and faults to the standard error, and says how to exit: 0 after help, 2 otherwise.
    pub fn print(&self) -> u8 {
        match self {
            Self::Usage(error) => {
                // There is nowhere else to complain to.
                let _ = error.print();
                u8::try_from(error.exit_code()).unwrap_or(2)
            }
            other => {
                eprintln!("error: {other}\n\nFor more information, try '--help'.");
                2
            }
        }
    }
}

impl From<clap::Error> for SettingsError {
    fn from(error: clap::Error) -> Self {
        Self::Usage(error)
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(error) => error.fmt(f),
            Self::File { file, line: 0, why } => write!(f, "{}: {why}", file.display()),
            Self::File { file, line, why } => write!(f, "{}:{line}: {why}", file.display()),
            Self::Wrong {
                place: Some((file, line)),
                name,
                why,
            } => write!(f, "{}:{line}: {name}: {why}", file.display()),
            Self::Wrong {
                place: None,
                name,
                why,
            } => write!(f, "--{name}: {why}"),
        }
    }
}

impl Error for SettingsError {}
