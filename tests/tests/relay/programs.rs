//! The programs as a user starts them, on ports that stay the same when they are started again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringwatch_tests::programs::executable;

use crate::http::Http;

/// Longer than anything here should take, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for something to be so.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

/// A program that can be killed and started again.
pub(crate) struct Program {
    name: &'static str,
    args: Vec<String>,
    environment: Vec<(&'static str, String)>,
    log: PathBuf,
    child: Option<Child>,
}

impl Program {
    pub(crate) fn new(
        name: &'static str,
        args: &[&str],
        environment: &[(&'static str, String)],
        log: PathBuf,
    ) -> Self {
        let mut program = Self {
            name,
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            environment: environment.to_vec(),
            log,
            child: None,
        };
        program.start();
        program
    }

    pub(crate) fn start(&mut self) {
        self.kill();
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log);
        let log = log.expect("a log");
        // Who writes more than it may is told so, as on a full disk, and not ended.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]);
        command.arg(executable(self.name)).args(&self.args);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        self.child = Some(command.spawn().expect("the program starts"));
    }

    /// As a power cut does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// It was not ended by anybody but this test.
    pub(crate) fn assert_runs(&mut self) {
        let child = self.child.as_mut().expect("it was started");
        let ended = child.try_wait().expect("it can be asked");
        assert_eq!(ended, None, "{} has ended by itself", self.log.display());
    }

    pub(crate) fn signal(&self, name: &str) {
        self.tell("kill", &["-s", name]);
    }

    /// From now on it can write no file beyond this length; the standard error is a file too.
    pub(crate) fn limit_files(&self, bytes: &str) {
        let limit = format!("--fsize={bytes}:unlimited");
        self.tell("prlimit", &[&limit, "--pid"]);
    }

    fn tell(&self, program: &str, args: &[&str]) {
        let id = self.child.as_ref().expect("it runs").id().to_string();
        let status = Command::new(program).args(args).arg(&id).status();
        assert!(status.is_ok_and(|status| status.success()), "{program}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let words = fs::read_to_string(&self.log).unwrap_or_default();
            let last: Vec<&str> = words.lines().rev().take(15).collect();
            eprintln!("{} said last:\n{}", self.log.display(), last.join("\n"));
        }
    }
}

/// The server, on its own store or on etcd, with a node link for relays.
pub(crate) struct Server {
    pub(crate) program: Program,
    pub(crate) http: u16,
    pub(crate) link: u16,
}

impl Server {
    pub(crate) fn start(folder: &Path, keys: &Path, etcd: Option<&str>) -> Self {
        let (https, http, link) = (free_port(), free_port(), free_port());
        let at = |port: u16| format!("127.0.0.1:{port}");
        let data = folder.join("server");
        let (data, keys) = (data.to_str().expect("UTF-8"), keys.to_str().expect("UTF-8"));
        let (https, plain, linked) = (at(https), at(http), at(link));
        let mut args = vec![
            "--data-dir",
            data,
            "--listen",
            &https,
            "--insecure-listen",
            &plain,
            "--link-listen",
            &linked,
            "--link-keys",
            keys,
            // Soon full, so that a relay that was away for long is told that it is too late.
            "--watch-cache-size",
            "configmaps=100",
        ];
        args.extend(etcd.iter().flat_map(|etcd| ["--etcd", etcd]));
        let server = Self {
            program: Program::new("ringwatch-server", &args, &[], folder.join("server.log")),
            http,
            link,
        };
        server.until_ready();
        server
    }

    pub(crate) fn until_ready(&self) {
        until("the server is ready", || {
            let (status, _) = Http::new(self.http).ask("GET", "/readyz", "")?;
            (status == 200).then_some(())
        });
    }
}

/// A relay.
pub(crate) struct Relay {
    pub(crate) program: Program,
    pub(crate) link: u16,
    pub(crate) http: u16,
    folder: PathBuf,
}

impl Relay {
    /// A relay in a folder of its own, whose upstream and watch are said by the lines.
    pub(crate) fn start(
        folder: &Path,
        (upstream, watch): (&str, &str),
        key: &str,
        nodes: &str,
        environment: &[(&'static str, String)],
    ) -> Self {
        fs::create_dir_all(folder).expect("a folder");
        let (link, http) = (free_port(), free_port());
        let settings = format!(
            "[upstream]\n{upstream}\n[[watch]]\n{watch}\nobjects = 400\nchanges = 200\n[listen]\nlink = \"127.0.0.1:{link}\"\nhttp = \"127.0.0.1:{http}\"\n[nodes]\nfile = \"nodes.toml\"\n[state]\ndir = \"state\"\nflush-ms = 100\n"
        );
        for (file, text) in [
            ("relay.toml", settings.as_str()),
            ("key", key),
            ("nodes.toml", nodes),
        ] {
            fs::write(folder.join(file), text).expect("a file");
        }
        let settings = folder.join("relay.toml");
        let args = ["run", settings.to_str().expect("UTF-8")];
        Self {
            program: Program::new("ringwatch-edge", &args, environment, folder.join("log")),
            link,
            http,
            folder: folder.to_owned(),
        }
    }

    /// Lets it read its nodes again.
    pub(crate) fn reload(&self, nodes: &str) {
        fs::write(self.folder.join("nodes.toml"), nodes).expect("a file");
        self.program.signal("HUP");
    }

    /// What one of its metrics says.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let (_, text) = Http::new(self.http).ask("GET", "/metrics", "")?;
        let name = format!("ringwatch_edge_{name}");
        let line = text.lines().find(|line| line.starts_with(&name))?;
        line.rsplit(' ').next()?.parse().ok()
    }
}

/// Simulated nodes and the last report of each.
pub(crate) struct Nodes {
    command: Command,
    child: Child,
    pub(crate) last: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Nodes {
    pub(crate) fn start(
        name: &str,
        key: &Path,
        count: usize,
        addresses: &[String],
        wants: &[&str],
    ) -> Self {
        let mut command = Command::new(executable("ringwatch-edge"));
        command.args(["node", "--report", "--quiet", "--bookmarks", "1"]);
        command.args(["--name", name, "--count", &count.to_string()]);
        command.args(wants).arg("--key-file").arg(key);
        for address in addresses {
            command.args(["--connect", address]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let last = Arc::default();
        let child = run(&mut command, &last);
        Self {
            command,
            child,
            last,
        }
    }

    /// What the last report of each counts under this word: `events`, `snapshots`, `resumed`, `differences`.
    pub(crate) fn counts(&self, what: &str) -> BTreeMap<String, u64> {
        let last = self.last.lock().expect("not poisoned");
        let counts = last.iter().map(|(name, line)| {
            let mut words = line.split(' ').skip_while(|word| *word != what).skip(1);
            let count = words.next().and_then(|count| count.parse().ok());
            (name.clone(), count.expect("a count in each report"))
        });
        counts.collect()
    }

    /// Kills them and starts them again, with nothing.
    pub(crate) fn restart(&mut self) {
        self.end();
        self.last.lock().expect("not poisoned").clear();
        self.child = run(&mut self.command, &self.last);
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status();
        assert!(status.is_ok_and(|status| status.success()));
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(command: &mut Command, last: &Arc<Mutex<BTreeMap<String, String>>>) -> Child {
    let mut child = command.spawn().expect("nodes start");
    let output = BufReader::new(child.stdout.take().expect("their words"));
    let last = last.clone();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if let Some((name, rest)) = line.split_once(' ') {
                let mut last = last.lock().expect("not poisoned");
                last.insert(name.to_owned(), rest.to_owned());
            }
        }
    });
    child
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.end();
    }
}
