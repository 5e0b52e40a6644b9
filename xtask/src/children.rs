//! Programs that run beside this one: what they say, that they live, and that none is left behind.
//!
//! Each is in a process group of its own, so that Ctrl-C reaches this program alone, which then ends the others in order. If this program
//! is killed, the kernel ends them.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use crate::{
    command::{Context, Failure, Result, line},
    places::on_path,
};

/// How long one may take to stop before it is killed.
const STOPPING: Duration = Duration::from_secs(15);
/// How many of the last lines are shown of one that ended by itself.
const TAIL: usize = 12;

/// Programs that this one has started.
pub(crate) struct Children {
    running: Vec<Running>,
    sender: Sender<Event>,
    events: Receiver<Event>,
}

struct Running {
    name: &'static str,
    child: Child,
    log: PathBuf,
    /// Whether the end of its output was heard while somebody waited for another.
    ended: bool,
}

enum Event {
    Line(&'static str, String),
    /// Its output has ended, and so has it or will in a moment.
    Ended(&'static str),
    /// Somebody wants this program to stop.
    Stop,
}

/// What was heard.
pub(crate) enum Heard {
    /// A line of the child of this name.
    Line(&'static str, String),
    /// This program is to stop.
    Stop,
}

impl Children {
    /// None yet. From now on Ctrl-C and requests to terminate are [heard](Heard::Stop) here.
    pub(crate) fn new() -> Result<Self> {
        let (sender, events) = mpsc::channel();
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("signals")?;
        let stop = sender.clone();
        thread::spawn(move || {
            for _ in signals.forever() {
                // Who no longer listens is stopping already.
                let _ = stop.send(Event::Stop);
            }
        });
        Ok(Self {
            running: Vec::new(),
            sender,
            events,
        })
    }

    /// Starts one. What it says is heard here and is written to `log`.
    ///
    /// Only from the main thread: the kernel ends a child with the thread that has started it.
    pub(crate) fn start(
        &mut self,
        name: &'static str,
        command: Command,
        log: PathBuf,
    ) -> Result<()> {
        let mut command = ends_with_us(command, "TERM");
        let what = line(&command);
        let (output, writer) = io::pipe().context("pipe")?;
        let mut file = File::create(&log).context(log.display())?;
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stderr(writer.try_clone().context("pipe")?)
            .stdout(writer)
            .spawn()
            .context(format!("`{what}`"))?;
        // The command holds this side's writing end of the pipe: the reader ends only once it is gone.
        drop(command);
        let sender = self.sender.clone();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut bytes = Vec::new();
            while output.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
                // A full disk is no reason to stop listening.
                let _ = file.write_all(&bytes);
                let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
                if sender.send(Event::Line(name, text)).is_err() {
                    return;
                }
                bytes.clear();
            }
            let _ = sender.send(Event::Ended(name));
        });
        self.running.push(Running {
            name,
            child,
            log,
            ended: false,
        });
        Ok(())
    }

    /// Waits for what comes next, or for the deadline. One that ends by itself is a failure.
    pub(crate) fn next(&mut self, deadline: Option<Instant>) -> Result<Option<Heard>> {
        let event = match deadline {
            // This side has a sender too, so that the channel has no end.
            None => self.events.recv().ok(),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                self.events.recv_timeout(left).ok()
            }
        };
        match event {
            None => Ok(None),
            Some(Event::Line(name, text)) => Ok(Some(Heard::Line(name, text))),
            Some(Event::Stop) => Ok(Some(Heard::Stop)),
            Some(Event::Ended(name)) => Err(self.obituary(name)),
        }
    }

    /// Waits until the child called `name` says something that `look` is content with; `hear` gets every line on the way.
    pub(crate) fn until<T>(
        &mut self,
        name: &'static str,
        limit: Duration,
        mut look: impl FnMut(&str) -> Option<T>,
        mut hear: impl FnMut(&'static str, &str),
    ) -> Result<T> {
        let deadline = Instant::now() + limit;
        loop {
            match self.next(Some(deadline))? {
                Some(Heard::Line(who, text)) => {
                    hear(who, &text);
                    if who == name
                        && let Some(found) = look(&text)
                    {
                        return Ok(found);
                    }
                }
                Some(Heard::Stop) => return Err(Failure::new("told to stop")),
                None => {
                    return Err(Failure::new(format!(
                        "the {name} has not said what was waited for within {limit:?}"
                    )));
                }
            }
        }
    }

    /// Waits until one has ended by itself, and well; what it said is given line by line.
    pub(crate) fn finish(&mut self, name: &'static str, mut hear: impl FnMut(&str)) -> Result<()> {
        let at = self.running.iter().position(|it| it.name == name);
        let at = at.ok_or_else(|| Failure::new(format!("there is no {name}")))?;
        while !self.running[at].ended {
            match self.events.recv() {
                Ok(Event::Line(who, text)) if who == name => hear(&text),
                Ok(Event::Stop) => return Err(Failure::new("told to stop")),
                // Perhaps another, which may be waited for later.
                Ok(Event::Ended(who)) => {
                    let ended = self.running.iter_mut().filter(|it| it.name == who);
                    ended.for_each(|it| it.ended = true);
                }
                // This side has a sender too, so that the channel has no end.
                _ => {}
            }
        }
        let running = &mut self.running[at];
        match running.child.wait() {
            Ok(status) if status.success() => Ok(()),
            _ => Err(self.obituary(name)),
        }
    }

    /// How one that has ended by itself did, if there is one: the reason for whatever else went wrong.
    pub(crate) fn fallen(&mut self) -> Option<Failure> {
        let ended = |running: &mut Running| matches!(running.child.try_wait(), Ok(Some(_)));
        let name = self
            .running
            .iter_mut()
            .find_map(|it| ended(it).then_some(it.name))?;
        Some(self.obituary(name))
    }

    fn obituary(&mut self, name: &'static str) -> Failure {
        let Some(running) = self.running.iter_mut().find(|it| it.name == name) else {
            return Failure::new(format!("the {name} ended"));
        };
        let status = running.child.wait();
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let words = fs::read(&running.log).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        let lines: Vec<_> = words.lines().collect();
        let last = lines
            .get(lines.len().saturating_sub(TAIL)..)
            .unwrap_or_default();
        Failure::new(format!(
            "the {name} ended with {status}; its last lines:\n    {}",
            last.join("\n    ")
        ))
    }

    /// Ends all, the last one first, and waits for each. One that has to be killed is a failure.
    pub(crate) fn stop(&mut self) -> Result<()> {
        let mut killed = Vec::new();
        while let Some(mut running) = self.running.pop() {
            if !ends(&mut running.child) {
                // It may have ended this very moment.
                let _ = running.child.kill();
                let _ = running.child.wait();
                killed.push(running.name);
            }
        }
        match &*killed {
            [] => Ok(()),
            names => Err(Failure::new(format!(
                "killed, since it did not stop in {} s: {}",
                STOPPING.as_secs(),
                names.join(", ")
            ))),
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        // Whoever wants to know has called it.
        let _ = self.stop();
    }
}

/// Tells it to end; whether it did.
fn ends(child: &mut Child) -> bool {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return false;
    };
    // Not waited for yet, so that the number is still its own.
    if !matches!(child.try_wait(), Ok(None)) {
        return true;
    }
    // With all that it has started itself.
    let _ = kill_process_group(pid, Signal::TERM);
    let deadline = Instant::now() + STOPPING;
    while Instant::now() < deadline {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Wraps a command so that the kernel sends it `signal` when this program ends in any way, where the small Linux helper for that exists.
pub(crate) fn ends_with_us(command: Command, signal: &str) -> Command {
    let Some(setpriv) = on_path("setpriv") else {
        return command;
    };
    let mut wrapped = Command::new(setpriv);
    wrapped
        .args(["--pdeathsig", signal, "--"])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const LIMIT: Duration = Duration::from_secs(60);

    fn start(children: &mut Children, folder: &Path, name: &'static str, script: &str) {
        let log = folder.join(name);
        children.start(name, shell(script), log).expect("it starts");
    }

    #[test]
    fn what_one_says_is_heard_and_kept_and_none_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut children = Children::new().expect("signals");
        start(&mut children, folder.path(), "quiet", "exec sleep 600");
        start(
            &mut children,
            folder.path(),
            "loud",
            "echo one; echo two >&2; exec sleep 600",
        );
        let mut all = Vec::new();
        let two = |line: &str| (line == "two").then_some(2);
        let heard = children.until("loud", LIMIT, two, |who, line| {
            all.push((who, line.to_owned()))
        });
        assert_eq!(heard.map_err(|failure| failure.to_string()), Ok(2));
        assert_eq!(
            all,
            [("loud", "one".to_owned()), ("loud", "two".to_owned())]
        );
        assert!(children.fallen().is_none());
        let ids: Vec<_> = children.running.iter().map(|it| it.child.id()).collect();
        children.stop().expect("both stop");
        for id in ids {
            assert!(!Path::new(&format!("/proc/{id}")).exists(), "{id} is left");
        }
        let log = fs::read_to_string(folder.path().join("loud")).expect("a log");
        assert_eq!(log, "one\ntwo\n");
    }

    #[test]
    fn one_that_dies_is_told_with_its_last_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut children = Children::new().expect("signals");
        start(
            &mut children,
            folder.path(),
            "server",
            "seq 30; echo 'error: no disk' >&2; exit 3",
        );
        let failure = children
            .until("server", LIMIT, |_| None::<()>, |_, _| ())
            .unwrap_err();
        let failure = failure.to_string();
        assert!(
            failure.contains("the server ended with exit status: 3"),
            "{failure}"
        );
        assert!(
            failure.ends_with("error: no disk") && !failure.contains(" 10\n"),
            "{failure}"
        );
        assert!(children.fallen().is_some());
    }

    #[test]
    fn one_that_is_to_end_by_itself_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut children = Children::new().expect("signals");
        start(&mut children, folder.path(), "bad", "echo three; exit 4");
        // It has ended long before the other does, which is waited for first.
        let waits = "echo one; sleep 0.2; echo two";
        start(&mut children, folder.path(), "good", waits);
        let mut said = Vec::new();
        let good = children.finish("good", |line| said.push(line.to_owned()));
        assert!(good.is_ok() && said == ["one", "two"], "{said:?}");
        let bad = children.finish("bad", |_| ()).unwrap_err().to_string();
        assert!(bad.contains("the bad ended with exit status: 4"), "{bad}");
    }

    #[test]
    fn what_one_has_started_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut children = Children::new().expect("signals");
        let script = "sleep 600 & echo $!; wait";
        start(&mut children, folder.path(), "parent", script);
        let number = |line: &str| line.parse::<u32>().ok();
        let child = children.until("parent", LIMIT, number, |_, _| ());
        let child = child.expect("a number");
        children.stop().expect("it stops");
        // Somebody else has to take note of its end, which takes a moment.
        let deadline = Instant::now() + LIMIT;
        let runs = || {
            let status = fs::read_to_string(format!("/proc/{child}/status"));
            status.is_ok_and(|status| !status.contains("State:\tZ"))
        };
        while runs() {
            assert!(Instant::now() < deadline, "{child} is left");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn silence_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut children = Children::new().expect("signals");
        start(&mut children, folder.path(), "node", "exec sleep 600");
        let limit = Duration::from_millis(50);
        let failure = children
            .until("node", limit, |_| None::<()>, |_, _| ())
            .unwrap_err();
        assert!(failure.to_string().starts_with("the node has not said"));
    }
}
