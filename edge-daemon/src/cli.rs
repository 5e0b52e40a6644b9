//! What the program can be told to do.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use ringwatch_core::link::MAX_NAME;
use ringwatch_core::link::node::Wanted;
use ringwatch_core::predicate::Scope;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use crate::config::{Config, read_key};
use crate::node::Simulated;
use crate::policy::Rules;
use crate::wire::{Address, Line};
use crate::{drive, memory, node};

const EXAMPLES: &str = "\
Examples:
  A key for this relay at the server, and one for a device at this relay:
    ringwatch-edge nodes add gateway-1 --file server-nodes.toml --allow devices.example.com
    ringwatch-edge nodes add heater-1 --file nodes.toml --allow devices.example.com/hall

  See that the settings are right and what memory they take, then run:
    ringwatch-edge check relay.toml
    ringwatch-edge memory relay.toml
    ringwatch-edge run relay.toml

  A device on this machine, which prints what happens:
    ringwatch-edge node --connect 127.0.0.1:7443 --name heater-1 --key-file heater-1.key \\
        --resource devices.example.com --namespace hall --show spec.setpoint:f32,spec.mode:text(8)

A file of settings looks like this:
    [upstream]
    link = \"10.0.0.1:7443\"
    name = \"gateway-1\"
    key-file = \"gateway-1.key\"
    [[watch]]
    resource = \"devices.example.com\"
    [listen]
    link = \"0.0.0.0:7443\"
    serial = [{ path = \"/dev/ttyUSB0\", baud = 115200 }]
    http = \"127.0.0.1:8080\"
    [nodes]
    file = \"nodes.toml\"
    [state]
    dir = \"/var/lib/ringwatch-edge\"";

/// A relay of Kubernetes-style watches: one watch upstream, any number of nodes behind it, also while the uplink is down.
#[derive(Debug, Parser)]
#[command(name = "ringwatch-edge", version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Command {
    #[command(subcommand)]
    what: What,

    /// What to log, on the standard error: error, warn, info, debug or trace
    #[arg(long, global = true, value_name = "LEVEL", default_value = "info")]
    log_level: Targets,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run the relay until it is told to stop; SIGHUP reads who may come in again
    Run {
        /// The settings (TOML)
        file: PathBuf,
    },
    /// See whether the settings and the nodes' file are right
    Check {
        /// The settings (TOML)
        file: PathBuf,
    },
    /// Print every bounded structure with its bytes
    Memory {
        /// The settings (TOML)
        file: PathBuf,
    },
    /// Add nodes, or list them
    #[command(subcommand)]
    Nodes(NodesCommand),
    /// Run simulated nodes, with the code that firmware has
    Node(NodeCommand),
}

#[derive(Debug, Subcommand)]
enum NodesCommand {
    /// Make a key for a node, enter it into the nodes' file, and print what to flash
    Add {
        /// What the node is called
        name: String,
        /// The nodes' file; made if there is none
        #[arg(long)]
        file: PathBuf,
        /// What it may read: RESOURCE, RESOURCE/NAMESPACE or *; once for each
        #[arg(long, required = true)]
        allow: Vec<String>,
        /// Write the key into this file too, for --key-file and key-file
        #[arg(long)]
        key_file: Option<PathBuf>,
    },
    /// List nodes with how far each is, how far that is behind, how long ago it was heard, and its last restart; asks the running relay
    List {
        /// The HTTP address of the relay
        #[arg(long, default_value = "127.0.0.1:8080")]
        http: String,
    },
}

#[derive(Debug, Args)]
struct NodeCommand {
    /// Where to connect, HOST:PORT; more than once to go on with the next when one does not answer
    #[arg(long, required_unless_present = "serial")]
    connect: Vec<String>,
    /// Connect by this serial line instead, which has a relay at its other end
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["connect", "count"])]
    serial: Option<PathBuf>,
    /// The speed of the serial line
    #[arg(long, requires = "serial", default_value_t = Line::usual_baud())]
    baud: u32,
    /// The node's name; with --count, NAME-0, NAME-1 and so on
    #[arg(long)]
    name: String,
    /// The file with its key; with --count, all have this one
    #[arg(long)]
    key_file: PathBuf,
    /// How many nodes
    #[arg(long, default_value_t = 1)]
    count: usize,
    /// What to watch
    #[arg(long)]
    resource: String,
    /// In one namespace only
    #[arg(long)]
    namespace: Option<String>,
    /// Only objects with such labels
    #[arg(long, default_value = "")]
    labels: String,
    /// Only objects with such fields
    #[arg(long, default_value = "")]
    fields: String,
    /// Only these fields of each, as PATH:TYPE,PATH:TYPE; whole objects without
    #[arg(long, default_value = "")]
    show: String,
    /// Places for objects in each node
    #[arg(long, default_value_t = 1000)]
    objects: usize,
    /// How often to be told that all is well, in seconds
    #[arg(long, default_value_t = 10.0)]
    bookmarks: f32,
    /// Print no events
    #[arg(long)]
    quiet: bool,
    /// Print a line whenever a node is in step: name, revision, objects, digests
    #[arg(long)]
    report: bool,
}

impl Command {
    /// Does it.
    pub fn run(self) -> ExitCode {
        let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        raise_descriptors();
        tracing_subscriber::registry()
            .with(self.log_level)
            .with(logs)
            .init();
        match self.what {
            What::Run { file } => match Config::load(&file) {
                Ok(config) => finish(drive::run(&file, config).map_err(|error| error.to_string())),
                Err(error) => wrong(&error),
            },
            What::Check { file } => match check(&file) {
                Ok(text) => said(&text),
                Err(error) => wrong(&error),
            },
            What::Memory { file } => match Config::load(&file) {
                Ok(config) => said(&memory::table(&config)),
                Err(error) => wrong(&error),
            },
            What::Nodes(NodesCommand::Add {
                name,
                file,
                allow,
                key_file,
            }) => match add(&name, &file, &allow, key_file.as_deref()) {
                Ok(text) => said(&text),
                Err(error) => wrong(&error),
            },
            What::Nodes(NodesCommand::List { http }) => finish(list(&http)),
            What::Node(command) => match command.simulated() {
                Ok(simulated) => finish(simulate(simulated)),
                Err(error) => wrong(&error),
            },
        }
    }
}

/// As many connections as the system allows without asking anybody.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // If it may not, there are fewer, which is said when they are used up.
    let _ = setrlimit(Resource::Nofile, most);
}

fn said(text: &str) -> ExitCode {
    print!("{text}");
    ExitCode::SUCCESS
}

fn wrong(error: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(2)
}

fn finish(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check(file: &Path) -> Result<String, String> {
    let config = Config::load(file).map_err(|error| error.to_string())?;
    let mut text = String::new();
    if let Some(nodes) = &config.nodes {
        let rules = Rules::load(nodes).map_err(|error| error.to_string())?;
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}: {} nodes", nodes.display(), rules.len());
    }
    for line in &config.serial {
        let state = match line.path.exists() {
            true => "is there",
            false => "is not there now; it is waited for",
        };
        let _ = writeln!(text, "{line}: {state}");
    }
    if let crate::config::Upstream::Link { key_file, .. } = &config.upstream {
        read_key(key_file).map_err(|error| error.to_string())?;
    }
    let _ = writeln!(text, "{}: all is well", file.display());
    Ok(text)
}

fn add(
    name: &str,
    file: &Path,
    allow: &[String],
    key_file: Option<&Path>,
) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
        return Err(format!(
            "{name}: a name has 1 to {MAX_NAME} letters, digits, dots, dashes"
        ));
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| format!("no random bytes: {error}"))?;
    let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let before = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    let gap = if before.is_empty() || before.ends_with("\n\n") {
        ""
    } else {
        "\n"
    };
    let allow: Vec<String> = allow.iter().map(|text| format!("{text:?}")).collect();
    let section = format!(
        "{gap}[{name:?}]\nkey = \"{hex}\"\nallow = [{}]\n",
        allow.join(", ")
    );
    let after = before + &section;
    // What is written must be readable, and the name new.
    Rules::parse(file, &after).map_err(|error| error.to_string())?;
    write_secret(file, &after, true).map_err(|error| format!("{}: {error}", file.display()))?;
    if let Some(key_file) = key_file {
        let text = format!("{hex}\n");
        write_secret(key_file, &text, false)
            .map_err(|error| format!("{}: {error}", key_file.display()))?;
    }
    let bytes: Vec<String> = key.iter().map(|byte| format!("0x{byte:02x}")).collect();
    Ok(format!(
        "{name} may come in; the running relay reads the file again at SIGHUP.\n\
         To flash:\n  name: {name}\n  key:  {hex}\n  in Rust: PresharedKey::new([{}])\n",
        bytes.join(", ")
    ))
}

/// Writes a file that only its owner can read, as a whole or not at all.
fn write_secret(file: &Path, text: &str, replaces: bool) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let beside = file.with_extension("new");
    let target = if replaces { &beside } else { file };
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    match replaces {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let mut out = options.open(target)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()?;
    match replaces {
        true => fs::rename(&beside, file),
        false => Ok(()),
    }
}

fn list(http: &str) -> Result<(), String> {
    use std::io::Read;
    let failed =
        |error: std::io::Error| format!("{http}: {error}; does the relay run, with listen.http?");
    let mut stream = std::net::TcpStream::connect(http).map_err(failed)?;
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .map_err(failed)?;
    let request = format!("GET /nodes HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    stream
        .take(16 << 20)
        .read_to_string(&mut answer)
        .map_err(failed)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("not an answer")?;
    print!("{body}");
    Ok(())
}

impl NodeCommand {
    fn simulated(self) -> Result<Simulated, String> {
        let key = read_key(&self.key_file).map_err(|error| error.to_string())?;
        let names: BTreeMap<_, _> = match self.count {
            1 => [(self.name, key)].into(),
            count => (0..count)
                .map(|index| (format!("{}-{index}", self.name), key))
                .collect(),
        };
        let addresses = match self.serial {
            Some(path) => {
                let baud = self.baud;
                vec![Address::Serial(Line { path, baud })]
            }
            None => self.connect.into_iter().map(Address::Tcp).collect(),
        };
        // They live as long as the program.
        let text = |text: String| -> &'static str { text.leak() };
        Ok(Simulated {
            addresses,
            nodes: names,
            wanted: Wanted {
                scope: self
                    .namespace
                    .map_or(Scope::Resource, |name| Scope::Namespace(text(name))),
                labels: text(self.labels),
                fields: text(self.fields),
                projection: text(self.show),
                bookmark_every: Duration::from_secs_f32(self.bookmarks.clamp(0.0, 4e6)),
                ..Wanted::all(text(self.resource))
            },
            objects: self.objects,
            prints: !self.quiet,
            reports: self.report,
        })
    }
}

fn simulate(simulated: Simulated) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    tokio::task::LocalSet::new().block_on(&runtime, node::run(simulated));
    Ok(())
}
