//! `kubectl`, an old and a recent one, each command as its users type it.
//!
//! Every test runs four times: both programs, on the embedded store and on etcd.

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

/// A user at a terminal: a server, a `kubectl`, and a home of their own.
pub(crate) struct User {
    pub(crate) client: Client,
    home: Folder,
    pub(crate) site: Site,
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub(crate) struct Printed {
    success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl User {
    pub(crate) fn new(client: Client, store: Store) -> Self {
        Self {
            client,
            home: Folder::new(),
            site: Site::start(store),
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

    /// Returns when the server has as many watches of config maps, so that what follows is seen by them.
    pub(crate) fn until_watched(&self, watches: u32) {
        self.until_watching("configmaps", watches);
    }

    /// The same of another resource: its name, or its name and group with a dot between.
    pub(crate) fn until_watching(&self, resource: &str, watches: u32) {
        let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
        let wanted =
            format!("ringwatch_watches{{group=\"{group}\",resource=\"{resource}\"}} {watches}");
        let begun = Instant::now();
        while !self
            .run("get --raw /metrics")
            .lines()
            .any(|line| line == wanted)
        {
            assert!(begun.elapsed() < PATIENCE, "not {wanted}");
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
        let mut child = command.stdin(Stdio::null()).spawn().expect("kubectl");
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
            .env("KUBECONFIG", self.site.program.kubeconfig())
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
            use ringwatch_tests::etcd::Version;
            use crate::kubectl::{Client, User};
            use crate::store::Store;

            #[test]
            fn old_on_embedded() {
                super::$name(&User::new(Client::Old, Store::Embedded));
            }

            #[test]
            fn new_on_embedded() {
                super::$name(&User::new(Client::New, Store::Embedded));
            }

            #[test]
            fn old_on_etcd() {
                super::$name(&User::new(Client::Old, Store::Etcd(Version::V3_4)));
            }

            #[test]
            fn new_on_etcd() {
                super::$name(&User::new(Client::New, Store::Etcd(Version::V3_5)));
            }
        }
    )*};
}

pub(crate) use journeys;
