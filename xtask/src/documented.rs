//! Every command in the README and in the quickstarts is run as it stands there, and prints what stands there.
//!
//! Each document has a home folder of its own, without settings, with real programs: `kubectl` and `etcd` as the other tests have them. Three things
//! are not as they stand: ports, which may be in use; `--release`, since the tests have built the other profile; and where `cargo xtask run` listens.

mod console;
#[cfg(test)]
mod mentions;

use std::{
    env, fs,
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use console::{Entry, shows};

use crate::{
    children::Children,
    command::{Context, Failure, Result, output},
    etcd, kubectl, places,
    toolchain::Toolchain,
    versioned::Versioned,
};

/// The documents for newcomers.
const DOCUMENTS: [&str; 4] = [
    "README.md",
    "docs/quickstart-datacentre.md",
    "docs/quickstart-gateway.md",
    "docs/quickstart-firmware.md",
];

/// All commands that are not tried, and why: a test compares.
#[cfg(test)]
const NOT_TRIED: &[(&str, &str)] = &[
    ("cargo xtask test", "it is what tries the others"),
    (
        "rustup target add thumbv7m-none-eabi",
        "where rustup cannot deliver, the tests have another compiler",
    ),
];

/// Longer than any command should take, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(300);

/// The ports in the documents: those of servers and relays, then etcd's.
const PORTS: [&str; 6] = ["6443", "6444", "6445", "6446", "2379", "2380"];

/// Runs the commands of all documents.
pub(crate) fn run_all() -> Result<()> {
    DOCUMENTS.iter().try_for_each(|name| {
        println!("{name}");
        run(name).context(name)
    })
}

fn run(name: &str) -> Result<()> {
    let path = places::root().join(name);
    let text = fs::read_to_string(&path).context(path.display())?;
    let mut shell = Shell::new()?;
    for entry in console::entries(&text) {
        if entry.is_tried() {
            shell.run(&entry).context(format!("line {}", entry.line))?;
        }
    }
    // What was to keep running has.
    match shell.children.fallen() {
        Some(failure) => Err(failure),
        None => shell.children.stop(),
    }
}

/// What stands for a person with some terminals.
struct Shell {
    home: tempfile::TempDir,
    children: Children,
    /// What commands so far have changed of the shell itself.
    state: String,
    first_port: u16,
    environment: Vec<(String, std::ffi::OsString)>,
}

impl Shell {
    fn new() -> Result<Self> {
        let home = tempfile::tempdir().context("a folder")?;
        let bin = home.path().join("bin");
        fs::create_dir(&bin).context(bin.display())?;
        for versions in [kubectl::VERSIONS, etcd::VERSIONS] {
            if let Some(recent) = versions.last() {
                link(recent, &bin)?;
            }
        }
        // Asks rustup for it, if need be.
        let toolchain = Toolchain::with_core("thumbv7m-none-eabi")?;
        let cargo = toolchain.cargo()?;
        let changed = cargo.get_envs();
        let mut environment: Vec<_> = changed
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_owned())))
            .collect();
        let path = environment.iter().find(|(name, _)| name == "PATH");
        let path = path
            .map(|(_, path)| path.clone())
            .or_else(|| env::var_os("PATH"));
        let folders = env::split_paths(&path.unwrap_or_default()).collect::<Vec<_>>();
        let path = env::join_paths([bin].into_iter().chain(folders)).context("PATH")?;
        let cache = places::cache()?;
        environment.extend([
            ("PATH".to_owned(), path),
            (
                "CARGO_HOME".to_owned(),
                beside_home("CARGO_HOME", ".cargo")?.into(),
            ),
            (
                "RUSTUP_HOME".to_owned(),
                beside_home("RUSTUP_HOME", ".rustup")?.into(),
            ),
            (
                "XDG_CACHE_HOME".to_owned(),
                cache.parent().unwrap_or(&cache).into(),
            ),
            ("NO_COLOR".to_owned(), "1".into()),
        ]);
        Ok(Self {
            home,
            children: Children::new()?,
            state: String::new(),
            first_port: free_ports()?,
            environment,
        })
    }

    fn run(&mut self, entry: &Entry) -> Result<()> {
        let text = self.adapted(&entry.command);
        println!("  $ {}", text.lines().next().unwrap_or_default());
        let shown: Vec<_> = entry.output.iter().map(|line| self.adapted(line)).collect();
        if entry.keeps_running() {
            return self.keep_running(entry.line, &text, &shown);
        }
        let limit = PATIENCE.as_secs().to_string();
        let mut command = Command::new("timeout");
        self.prepare(&mut command, &[&limit, "bash"], &text);
        let output = output(&mut command)?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let status = output.status;
            return Err(Failure::new(format!(
                "`{text}` ended with {status}\n{printed}"
            )));
        }
        let mut lines = printed.lines();
        for shown in &shown {
            if !lines.any(|line| shows(shown, line)) {
                return Err(Failure::new(format!(
                    "`{text}` did not print `{shown}`, but\n{printed}"
                )));
            }
        }
        if ["export ", "cd "]
            .iter()
            .any(|start| text.starts_with(start))
        {
            self.state += &format!("{text}\n");
        }
        Ok(())
    }

    fn keep_running(&mut self, line: usize, text: &str, shown: &[String]) -> Result<()> {
        // Its name is for messages, and documents are few.
        let name: &'static str = format!("command of line {line}").leak();
        let mut command = Command::new("bash");
        self.prepare(&mut command, &[], &format!("exec {text}"));
        let log = self.home.path().join(format!("log-{line}"));
        self.children.start(name, command, log)?;
        for shown in shown {
            let look = |line: &str| shows(shown, line).then_some(());
            let found = self.children.until(name, PATIENCE, look, |_, _| ());
            found.context(format!("`{shown}` is not printed"))?;
        }
        Ok(())
    }

    fn prepare(&self, command: &mut Command, before: &[&str], text: &str) {
        let script = format!("exec 2>&1\n{}{text}", self.state);
        command
            .args(before)
            .args(["-e", "-o", "pipefail", "-c", &script])
            .current_dir(places::root())
            .stdin(Stdio::null())
            .env("HOME", self.home.path());
        places::forget_ourselves(command);
        for name in ["KUBECONFIG", "XDG_DATA_HOME", "CARGO_TARGET_DIR"] {
            command.env_remove(name);
        }
        for (name, value) in &self.environment {
            command.env(name, value);
        }
    }

    /// The text with what cannot be as it stands.
    fn adapted(&self, text: &str) -> String {
        let text = with_ports(text, self.first_port)
            .replace(" --release", "")
            .replace("target/release", "target/debug");
        let run = "cargo xtask run";
        text.replace(run, &format!("{run} --port {}", self.first_port))
    }
}

/// The text with others in place of the documents' ports. Each number is looked at once and whole: a new one may have an old one's digits in it.
fn with_ports(text: &str, first: u16) -> String {
    text.split_inclusive(|c: char| !c.is_ascii_digit())
        .map(|part| {
            let number = part.trim_end_matches(|c: char| !c.is_ascii_digit());
            let offset = (0..).zip(PORTS).find(|(_, port)| *port == number);
            match offset {
                Some((offset, _)) => part.replace(number, &(first + offset).to_string()),
                None => part.to_owned(),
            }
        })
        .collect()
}

fn link(program: &Versioned, folder: &Path) -> Result<()> {
    let (from, to) = (program.ensure()?, folder.join(program.program));
    symlink(&from, &to).context(to.display())
}

/// A folder that is in the home folder unless a variable says otherwise.
fn beside_home(variable: &str, name: &str) -> Result<PathBuf> {
    match (env::var_os(variable), env::var_os("HOME")) {
        (Some(folder), _) => Ok(folder.into()),
        (None, Some(home)) => Ok(Path::new(&home).join(name)),
        (None, None) => Err(Failure::new("HOME is not set")),
    }
}

/// The first of as many ports in a row as are needed that nobody listens on: below those that the system hands out by itself.
fn free_ports() -> Result<u16> {
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    for _ in 0..100 {
        let mut random = [0; 2];
        getrandom::fill(&mut random).context("random bytes")?;
        let first = 20_000 + u16::from_le_bytes(random) % 12_000;
        if (0..PORTS.len() as u16).all(|offset| is_free(first + offset)) {
            return Ok(first);
        }
    }
    Err(Failure::new("no free ports"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_replaced_once_and_whole() {
        let text = "--listen 127.0.0.1:6443, 2379,2380 é 16443 6443";
        let replaced = "--listen 127.0.0.1:23796, 23800,23801 é 16443 23796";
        assert_eq!(with_ports(text, 23_796), replaced);
    }
}
