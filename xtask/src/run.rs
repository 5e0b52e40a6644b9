//! `cargo xtask run`: everything on this machine, to look at.
//!
//! ```text
//!   kubectl ──► server, embedded store or etcd ══ node link ══► relay ══ node link ══► node: simulated, or firmware in QEMU
//! ```
//!
//! The programs are those that a user starts, built as the tests build them: a first start should not wait for an optimiser. What is
//! set up on the first start (keys, the kind `Device`, two devices) is found again by the next.

mod first;
pub(crate) mod smoke;

use std::{
    env, fs,
    io::{self, ErrorKind},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use clap::Args;
use first::{SERVER_NODES, install, key_file, prepare, relay_settings};

use crate::{
    boards,
    children::{Children, Heard},
    command::{Context, Failure, Result, run as run_command},
    firmware, kubectl, places, qemu,
};

/// How everything is started.
#[derive(Args)]
pub(crate) struct Flags {
    /// Keep objects in etcd, once for each member, instead of the server's own store
    #[arg(long, value_name = "URL")]
    etcd: Vec<String>,
    /// The node is firmware for a Cortex-M3, in QEMU
    #[arg(long)]
    qemu: bool,
    /// The first of four ports: server, its node link, the relay's node link, the relay's HTTP
    #[arg(long, default_value_t = 6443)]
    port: u16,
    /// Where objects, keys and logs are kept [default: ringwatch-demo in your data folder]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Start all on free ports and in a folder of its own, change a device, see that the node has it, stop, start again, see that it
    /// still has it; one line of verdict
    #[arg(long, conflicts_with_all = ["port", "data_dir"])]
    smoke: bool,
}

const SERVER: &str = "server";
const RELAY: &str = "relay";
const NODE: &str = "node";

/// The names of the relay at the server and of the node at the relay.
const GATEWAY: &str = "gateway-1";
const HEATER: &str = "heater-1";
const RESOURCE: &str = "devices.ringwatch.dev";
const FIELDS: &str = "spec.setpoint:f32,spec.mode:text(8),spec.site:text(16)";

/// Longer than a start takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long after kubectl's return a change may take to be at the node.
const PROMISED: Duration = Duration::from_secs(1);
/// What the second of the commands to try changes the boiler to.
const SETPOINT: &str = "71.5";

/// Builds everything and runs it until it is told to stop; or a trial of it.
pub(crate) fn run(flags: &Flags) -> Result<()> {
    if flags.smoke {
        return smoke::smoke(&Site::build(flags)?, flags);
    }
    // First, since a build takes longer than to say so.
    let ports = Ports::from(flags.port)?;
    let folder = match &flags.data_dir {
        Some(folder) => std::path::absolute(folder).context(folder.display())?,
        None => data_folder()?,
    };
    let site = Site::build(flags)?;
    let mut demo = Demo::start(&site, &folder, ports)?;
    println!("{}", demo.introduction(&site));
    let ended = demo.children.show_until_stopped();
    println!(
        "stopping; a new start goes on from what is in {}",
        folder.display()
    );
    ended.and(demo.children.stop())
}

/// What does not change between two starts.
struct Site<'a> {
    server: PathBuf,
    edge: PathBuf,
    kubectl: PathBuf,
    flags: &'a Flags,
}

impl<'a> Site<'a> {
    fn build(flags: &'a Flags) -> Result<Self> {
        println!("==> building server and relay: minutes the first time, seconds after");
        run_command(places::cargo_in("").args(["build", "--bins"]).args([
            "--package",
            "ringwatch-server",
            "--package",
            "ringwatch-edge",
        ]))?;
        // Beside this program, which `cargo xtask` builds in the same profile.
        let own = env::current_exe().context("this program's path")?;
        Ok(Self {
            server: own.with_file_name("ringwatch-server"),
            edge: own.with_file_name("ringwatch-edge"),
            kubectl: kubectl::any()?,
            flags,
        })
    }

    fn edge(&self) -> Command {
        let mut command = Command::new(&self.edge);
        // Its log is read here.
        command.env("NO_COLOR", "1");
        command
    }

    fn node(&self, folder: &Path, relay: SocketAddr) -> Result<Command> {
        if self.flags.qemu {
            return self.board(folder, relay);
        }
        let mut command = self.edge();
        command
            .args(["node", "--connect", &relay.to_string()])
            .args(["--name", HEATER, "--key-file"])
            .arg(folder.join(key_file(HEATER)))
            .args(["--resource", RESOURCE, "--show", FIELDS]);
        Ok(command)
    }

    /// The node as firmware. In QEMU's network this machine is 10.0.2.2.
    fn board(&self, folder: &Path, relay: SocketAddr) -> Result<Command> {
        let settings = folder.join("node.toml");
        let text = format!(
            "name = \"{HEATER}\"\nkey-file = \"{}\"\nupstream = [\"10.0.2.2:{}\"]\n[watch]\nresource = \"{RESOURCE}\"\n",
            key_file(HEATER),
            relay.port()
        );
        fs::write(&settings, text).context(settings.display())?;
        let image = boards::provisioned(&firmware::NODE, &settings)?;
        qemu::on_network(firmware::NODE.board, &image, None)
    }
}

/// Where to listen; 0 for any free port.
#[derive(Clone, Copy)]
struct Ports {
    server: u16,
    link: u16,
    relay: u16,
    http: u16,
}

impl Ports {
    const ANY: Self = Self {
        server: 0,
        link: 0,
        relay: 0,
        http: 0,
    };

    /// Four in a row, if nobody listens there.
    fn from(first: u16) -> Result<Self> {
        let port = |offset| {
            let port = first.checked_add(offset);
            let port =
                port.ok_or_else(|| Failure::new("--port: there is no room for four ports"))?;
            match TcpListener::bind(local(port)) {
                Err(error) if error.kind() == ErrorKind::AddrInUse => Err(Failure::new(format!(
                    "port {port} is in use: stop what listens there, or choose four others (--port {})",
                    first.saturating_add(1000)
                ))),
                bound => bound.map(|_| port).context(local(port)),
            }
        };
        Ok(Self {
            server: port(0)?,
            link: port(1)?,
            relay: port(2)?,
            http: port(3)?,
        })
    }
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Everything, running. It ends with this value.
struct Demo {
    children: Children,
    running: Running,
    folder: PathBuf,
}

/// What is known once it runs.
struct Running {
    server: String,
    kubeconfig: PathBuf,
    relay: SocketAddr,
    http: SocketAddr,
    /// What the node has said until it had the first device.
    said: Vec<String>,
}

impl Demo {
    /// Starts all of it; if a part cannot, what runs already is stopped.
    fn start(site: &Site<'_>, folder: &Path, ports: Ports) -> Result<Self> {
        prepare(site, folder)?;
        let mut children = Children::new()?;
        match Self::start_all(site, folder, ports, &mut children) {
            Ok(running) => Ok(Self {
                children,
                running,
                folder: folder.to_owned(),
            }),
            // A child that has died is the reason for what failed after it.
            Err(failure) => Err(children.fallen().unwrap_or(failure)),
        }
    }

    fn start_all(
        site: &Site<'_>,
        folder: &Path,
        ports: Ports,
        children: &mut Children,
    ) -> Result<Running> {
        println!("==> server");
        let mut server = Command::new(&site.server);
        server
            .arg("--data-dir")
            .arg(folder.join("server"))
            .args(["--listen", &local(ports.server).to_string()])
            .args(["--link-listen", &local(ports.link).to_string()])
            .arg("--link-keys")
            .arg(folder.join(SERVER_NODES))
            .args(site.flags.etcd.iter().flat_map(|url| ["--etcd", url]));
        children.start(SERVER, server, folder.join("server.log"))?;
        let url = children.word_after(SERVER, "listens on ")?;
        let link = children.word_after(SERVER, "node link: ")?;
        children.word_after(SERVER, "admin.kubeconfig: ")?;
        let kubeconfig = folder.join("server/admin.kubeconfig");
        install(site, &kubeconfig)?;

        println!("==> relay");
        let settings = folder.join("relay.toml");
        fs::write(&settings, relay_settings(&link, ports)).context(settings.display())?;
        let mut relay = site.edge();
        relay.arg("run").arg(settings);
        children.start(RELAY, relay, folder.join("relay.log"))?;
        let address = |text: String| text.parse::<SocketAddr>().context(text);
        let relay = address(children.word_after(RELAY, "listening for nodes address=")?)?;
        let http = address(children.word_after(RELAY, "listening for programs address=")?)?;

        println!("==> node");
        children.start(NODE, site.node(folder, relay)?, folder.join("node.log"))?;
        let mut said = Vec::new();
        // Said by the simulated node, and by firmware.
        let device = |line: &str| {
            let said = |words| line.contains(words);
            (said(" added ") || said(" set ")).then_some(())
        };
        children.until(NODE, PATIENCE, device, |name, line| {
            say(name, line);
            said.push(line.to_owned());
        })?;
        Ok(Running {
            server: url,
            kubeconfig,
            relay,
            http,
            said,
        })
    }

    /// Three commands to try. Pasted into a shell they work as they are, whatever the shell's settings.
    fn commands(&self, site: &Site<'_>) -> [String; 3] {
        let kubectl = match places::on_path("kubectl") {
            Some(_) => "kubectl".to_owned(),
            None => quoted(&site.kubectl),
        };
        let admin = format!(
            "{kubectl} --kubeconfig {}",
            quoted(&self.running.kubeconfig)
        );
        [
            format!("{admin} get devices"),
            format!(
                "{admin} patch device boiler --type merge --patch '{{\"spec\":{{\"setpoint\":{SETPOINT}}}}}'"
            ),
            format!(
                "{kubectl} --kubeconfig /dev/null --server http://{} get devices",
                self.running.http
            ),
        ]
    }

    fn introduction(&self, site: &Site<'_>) -> String {
        let [see, change, at_relay] = self.commands(site);
        let node = match site.flags.qemu {
            true => "Cortex-M3 firmware in QEMU",
            false => "simulated, with the code that firmware has",
        };
        format!(
            "
everything runs; Ctrl-C stops it
  server      {}
  kubeconfig  {}
  relay       nodes: {}, programs: http://{}
  node        {HEATER}, {node}
  data, logs  {}

try, in another terminal:
  {see}
  {change}
  {at_relay}

what the node says, changes within a second:",
            self.running.server,
            self.running.kubeconfig.display(),
            self.running.relay,
            self.running.http,
            self.folder.display(),
        )
    }
}

impl Children {
    /// The word after `mark` in the next line of a child that has it.
    fn word_after(&mut self, name: &'static str, mark: &str) -> Result<String> {
        let word = |line: &str| {
            let (_, rest) = line.split_once(mark)?;
            rest.split_whitespace().next().map(str::to_owned)
        };
        self.until(name, PATIENCE, word, say)
    }

    fn show_until_stopped(&mut self) -> Result<()> {
        loop {
            match self.next(None)? {
                Some(Heard::Line(name, line)) => say(name, &line),
                Some(Heard::Stop) => return Ok(()),
                None => {}
            }
        }
    }
}

/// Shows what the node says; what the others say is in their logs.
fn say(name: &str, line: &str) {
    if name == NODE {
        let line = line.strip_prefix(HEATER).unwrap_or(line).trim_start();
        // A closed terminal is no reason to fail.
        let _ = io::Write::write_fmt(&mut io::stdout(), format_args!("  {HEATER} {line}\n"));
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

fn data_folder() -> Result<PathBuf> {
    let base = match (env::var_os("XDG_DATA_HOME"), env::var_os("HOME")) {
        (Some(data), _) if !data.is_empty() => PathBuf::from(data),
        (_, Some(home)) => PathBuf::from(home).join(".local/share"),
        _ => {
            return Err(Failure::new(
                "neither XDG_DATA_HOME nor HOME is set: give --data-dir",
            ));
        }
    };
    Ok(base.join("ringwatch-demo"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::stdout;

    #[test]
    fn a_port_in_use_is_named_with_a_way_out() {
        let taken = TcpListener::bind(local(0)).expect("a port");
        let port = taken.local_addr().expect("its address").port();
        let failure = Ports::from(port).err().expect("it is in use").to_string();
        assert!(
            failure.contains(&format!("port {port} is in use")),
            "{failure}"
        );
        assert!(failure.contains("--port"), "{failure}");
        assert!(Ports::from(u16::MAX).is_err());
    }

    #[test]
    fn a_path_is_pasted_as_it_is() {
        assert_eq!(quoted(Path::new("/a/b-c.d")), "/a/b-c.d");
        let odd = Path::new("/it's here/$HOME");
        let echoed = stdout(Command::new("sh").args(["-c", &format!("printf %s {}", quoted(odd))]));
        assert_eq!(echoed.expect("it prints"), odd.display().to_string());
    }
}
