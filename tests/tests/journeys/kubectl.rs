//! `kubectl`, an old and a recent one, each command as its users type it.
//!
//! Every journey runs four times: both programs, on the embedded store and on etcd. Those that read run twice more, on a relay behind the server.

mod apply;
mod change;
mod create;
mod delete;
mod describe;
mod discover;
mod kinds;
mod read;
mod server_side;
mod wait;
mod watch;

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use ringwatch_tests::etcd::Folder;
use serde_json::Value;

use crate::PATIENCE;
use crate::store::{Site, Store};

/// Which `kubectl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// 1.20: discovery group by group, OpenAPI v2.
    Old,
    /// 1.32: aggregated discovery, OpenAPI v3.
    New,
}

impl Client {
    fn program(self) -> PathBuf {
        let variable = match self {
            Self::Old => "RINGWATCH_KUBECTL_OLD",
            Self::New => "RINGWATCH_KUBECTL_NEW",
        };
        let named = env::var_os(variable).unwrap_or_else(|| {
            panic!("this test needs the kubectl that {variable} names: run `cargo xtask test`, which fetches it")
        });
        named.into()
    }
}

/// Where somebody types: a `kubectl` that asks one server or relay, and a home of its own.
pub(crate) struct Terminal {
    pub(crate) client: Client,
    home: Folder,
    kubeconfig: PathBuf,
}

/// A server and its admin at a terminal.
pub(crate) struct User {
    terminal: Terminal,
    pub(crate) site: Site,
}

impl User {
    pub(crate) fn new(client: Client, store: Store) -> Self {
        let site = Site::start(store);
        Self {
            terminal: Terminal::new(client, site.program.kubeconfig()),
            site,
        }
    }
}

impl Deref for User {
    type Target = Terminal;

    fn deref(&self) -> &Terminal {
        &self.terminal
    }
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub(crate) struct Printed {
    success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Terminal {
    /// One that uses this kubeconfig.
    pub(crate) fn new(client: Client, kubeconfig: PathBuf) -> Self {
        Self {
            client,
            home: Folder::new(),
            kubeconfig,
        }
    }

    /// What the command prints. It must succeed.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> String {
        self.run_with(line, "")
    }

    /// The same with this as its input.
    #[track_caller]
    pub(crate) fn run_with(&self, line: &str, input: &str) -> String {
        let printed = self.end_of(line, input);
        assert!(printed.success, "kubectl {line}: {printed:?}");
        printed.stdout
    }

    /// Runs the command until it succeeds, and gives what it then prints.
    #[track_caller]
    pub(crate) fn eventually(&self, line: &str) -> String {
        let begun = Instant::now();
        loop {
            let printed = self.end_of(line, "");
            if printed.success {
                return printed.stdout;
            }
            assert!(begun.elapsed() < PATIENCE, "kubectl {line}: {printed:?}");
        }
    }

    /// What the command complains of. It must fail.
    #[track_caller]
    pub(crate) fn fail(&self, line: &str) -> String {
        let printed = self.end_of(line, "");
        assert!(!printed.success, "kubectl {line}: {printed:?}");
        printed.stderr
    }

    /// What the command prints, as JSON.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> Value {
        let printed = self.run(&format!("{line} -o json"));
        serde_json::from_str(&printed)
            .unwrap_or_else(|why| panic!("kubectl {line}: {why}: {printed}"))
    }

    /// The columns of each line that the command prints, without those in which the age stands.
    #[track_caller]
    pub(crate) fn table(&self, line: &str) -> Vec<Vec<String>> {
        columns(&self.run(line))
    }

    /// Returns when who is asked here has as many watches of config maps, so that what follows is seen by them.
    pub(crate) fn until_watched(&self, watches: u32) {
        self.until_watching("configmaps", watches);
    }

    /// The same of another resource: its name, or its name and group with a dot between.
    pub(crate) fn until_watching(&self, resource: &str, watches: u32) {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        // In the words of the server and of the relay.
        let wanted = [
            format!("ringwatch_watches{{group=\"{group}\",resource=\"{plural}\"}} {watches}"),
            format!("ringwatch_edge_watches{{resource=\"{resource}\",namespace=\"\"}} {watches}"),
        ];
        let begun = Instant::now();
        while !self
            .run("get --raw /metrics")
            .lines()
            .any(|line| wanted.iter().any(|wanted| line == wanted))
        {
            assert!(begun.elapsed() < PATIENCE, "not {wanted:?}");
        }
    }

    /// A file in the user's home.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    }

    /// The command, started, and what it prints line by line.
    pub(crate) fn follow(&self, line: &str) -> Following {
        let mut command = self.command(line);
        // What it complains of is shown when the test fails.
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("kubectl");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Following { child, lines }
    }

    pub(crate) fn end_of(&self, line: &str, input: &str) -> Printed {
        let mut child = self
            .command(line)
            .stdin(Stdio::piped())
            .spawn()
            .expect("kubectl");
        let mut stdin = child.stdin.take().expect("its input");
        // A command that reads no input may have closed it.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("an end");
        Printed {
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(self.client.program());
        command
            .args(words(line))
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("EDITOR", self.home.path().join("editor"))
            .current_dir(self.home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// A command that goes on.
pub(crate) struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    /// The next line.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("kubectl printed nothing more"),
            Err(RecvTimeoutError::Disconnected) => panic!("kubectl ended"),
        }
    }

    /// The columns of the next line.
    #[track_caller]
    pub(crate) fn row(&mut self) -> Vec<String> {
        columns(&self.line()).pop().unwrap_or_default()
    }

    /// Whether it ended well, and what else it had printed.
    #[track_caller]
    pub(crate) fn end(mut self) -> (bool, Vec<String>) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "kubectl does not end");
            thread::sleep(Duration::from_millis(5));
        };
        (status.success(), self.lines.iter().collect())
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The words of a command line; single quotes keep spaces.
fn words(line: &str) -> Vec<impl AsRef<OsStr> + use<>> {
    let mut words = Vec::new();
    for (position, part) in line.split('\'').enumerate() {
        if position % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(ToOwned::to_owned));
        }
    }
    words
}

/// The columns of each line, without ages.
fn columns(text: &str) -> Vec<Vec<String>> {
    let is_age = |word: &str| {
        word == "AGE" || word.ends_with('s') && word.trim_end_matches('s').parse::<u32>().is_ok()
    };
    text.lines()
        .map(|line| {
            let columns = line.split_whitespace().filter(|word| !is_age(word));
            columns.map(ToOwned::to_owned).collect()
        })
        .collect()
}

/// A module for each function, in which it is run by both programs on both stores.
macro_rules! journeys {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            crate::kubectl::on_both_stores!(|user| super::$name(user));
        }
    )*};
}

/// The same for functions that only read, each `after` one that writes what there is to read. They are run on a relay, too: while the server is there,
/// without it, and after the relay has been started again without it.
macro_rules! readings {
    ($($name:ident after $written:ident),* $(,)?) => {$(
        mod $name {
            crate::kubectl::on_both_stores!(|user| {
                super::$written(user);
                super::$name(user);
            });
            crate::kubectl::on_a_relay!(|client| {
                crate::relay::read_alone(client, super::$written, super::$name);
            });
        }
    )*};
}

/// The same for functions in which one terminal reads while the admin writes. They are run on a relay, too.
macro_rules! watchings {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            crate::kubectl::on_both_stores!(|user| super::$name(user, user));
            crate::kubectl::on_a_relay!(|client| crate::relay::read_along(client, super::$name));
        }
    )*};
}

macro_rules! on_both_stores {
    (|$user:ident| $journey:expr) => {
        fn on_a_server(client: crate::kubectl::Client, store: crate::store::Store) {
            let $user = &crate::kubectl::User::new(client, store);
            $journey
        }

        #[test]
        fn old_on_embedded() {
            on_a_server(crate::kubectl::Client::Old, crate::store::Store::Embedded);
        }

        #[test]
        fn new_on_embedded() {
            on_a_server(crate::kubectl::Client::New, crate::store::Store::Embedded);
        }

        #[test]
        fn old_on_etcd() {
            let store = crate::store::Store::Etcd(ringwatch_tests::etcd::Version::V3_4);
            on_a_server(crate::kubectl::Client::Old, store);
        }

        #[test]
        fn new_on_etcd() {
            let store = crate::store::Store::Etcd(ringwatch_tests::etcd::Version::V3_5);
            on_a_server(crate::kubectl::Client::New, store);
        }
    };
}

macro_rules! on_a_relay {
    (|$client:ident| $journey:expr) => {
        fn on_a_relay($client: crate::kubectl::Client) {
            $journey
        }

        #[test]
        fn old_on_a_relay() {
            on_a_relay(crate::kubectl::Client::Old);
        }

        #[test]
        fn new_on_a_relay() {
            on_a_relay(crate::kubectl::Client::New);
        }
    };
}

pub(crate) use {journeys, on_a_relay, on_both_stores, readings, watchings};
