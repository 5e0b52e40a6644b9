//! Running other programs, and saying clearly which one failed.

use std::{
    fmt::{self, Display},
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

/// Why a task stopped: one message for the person at the terminal.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Names what was being done when an error without context came up.
pub(crate) trait Context<T> {
    fn context(self, doing: impl Display) -> Result<T>;
}

impl<T, E: Display> Context<T> for Result<T, E> {
    fn context(self, doing: impl Display) -> Result<T> {
        self.map_err(|error| Failure(format!("{doing}: {error}")))
    }
}

/// Runs `command` with this terminal as its input and output; anything but success is a failure.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().context(format!("`{}`", line(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure(format!("`{}` ended with {status}", line(command))))
    }
}

/// What `command` prints to its standard output. On failure, the message holds what it printed to
/// its standard error.
pub(crate) fn stdout(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Failure(format!(
            "`{}` ended with {}\n{}",
            line(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end(),
        )))
    }
}

/// Everything that `command` prints, whatever its exit code.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    command
        .stdin(Stdio::null())
        .output()
        .context(format!("`{}`", line(command)))
}

/// Whether `command` can be started and succeeds; it prints nothing.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    output(command).is_ok_and(|output| output.status.success())
}

/// How long to wait before something is fetched again: mirrors and networks have moments.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];

/// Fetches something, and tries again when that fails. What is left over from a failed try must not be in the way of the next.
pub(crate) fn persistently<T>(fetch: impl Fn() -> Result<T>) -> Result<T> {
    again(&PAUSES, fetch)
}

fn again<T>(pauses: &[Duration], fetch: impl Fn() -> Result<T>) -> Result<T> {
    for pause in pauses {
        match fetch() {
            Err(failure) => println!("    {failure}\n    trying again in {pause:?}"),
            fetched => return fetched,
        }
        thread::sleep(*pause);
    }
    fetch()
}

/// The command as a person would type it, with the folder if that is not the current one.
pub(crate) fn line(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    let words = words.join(" ");
    match command.get_current_dir() {
        Some(folder) => format!("cd {} && {words}", folder.display()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_failure_names_the_command() {
        let failure = run(Command::new("false").arg("--really")).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "`false --really` ended with exit status: 1"
        );
        let failure = run(&mut Command::new("no-such-program")).unwrap_err();
        assert!(failure.to_string().starts_with("`no-such-program`: "));
    }

    #[test]
    fn what_fails_is_fetched_again_but_not_for_ever() {
        let failing_until = |good: u32| {
            let tries = Cell::new(0);
            let fetched = again(&[Duration::ZERO; 2], || {
                tries.set(tries.get() + 1);
                if tries.get() < good {
                    return Err(Failure::new(format!("try {}", tries.get())));
                }
                Ok(tries.get())
            });
            fetched.map_err(|failure| failure.to_string())
        };
        assert_eq!(failing_until(1), Ok(1));
        assert_eq!(failing_until(3), Ok(3));
        assert_eq!(failing_until(4), Err("try 3".to_owned()));
    }

    #[test]
    fn a_failure_shows_what_the_command_complained_about() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo broken >&2; exit 3"]);
        let failure = stdout(&mut command).unwrap_err().to_string();
        assert!(failure.contains("exit status: 3") && failure.ends_with("broken"));
    }
}
