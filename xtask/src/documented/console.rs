//! Commands in documents: what is in blocks marked `console`.
//!
//! ```text
//! $ a command                      # what it is for
//! a line of what it prints         with … for anything
//! $ another one                    # keeps running: …
//! ```
//!
//! A command goes on as long as a here-document or a backslash makes it. What is marked [`KEEPS_RUNNING`] is left running while the next ones are
//! run, what is marked [`NOT_TRIED`] is not run.

/// Marks a command that ends when it is told to.
pub(crate) const KEEPS_RUNNING: &str = "# keeps running";
/// Marks a command that the tests do not run.
pub(crate) const NOT_TRIED: &str = "# not tried by the tests";

/// A command, and what the document says that it prints.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where it is, from 1.
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) output: Vec<String>,
}

impl Entry {
    pub(crate) fn keeps_running(&self) -> bool {
        self.command.contains(KEEPS_RUNNING)
    }

    pub(crate) fn is_tried(&self) -> bool {
        !self.command.contains(NOT_TRIED)
    }
}

/// All commands of a document.
pub(crate) fn entries(document: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let mut inside = false;
    let mut lines = document.lines().enumerate();
    while let Some((index, text)) = lines.next() {
        if let Some(language) = text.strip_prefix("```") {
            inside = language == "console";
        } else if !inside {
        } else if let Some(command) = text.strip_prefix("$ ") {
            let mut command = command.to_owned();
            let here = command.split_once("<<").map(|(_, word)| {
                word.split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .trim_matches('\'')
                    .to_owned()
            });
            let mut goes_on = |command: &mut String| {
                let line = lines.next().map_or("", |(_, line)| line);
                *command += "\n";
                *command += line;
                line.to_owned()
            };
            if let Some(end) = here {
                while goes_on(&mut command) != end && !command.ends_with("\n```") {}
            }
            while command.ends_with('\\') {
                goes_on(&mut command);
            }
            found.push(Entry {
                line: index + 1,
                command,
                output: Vec::new(),
            });
        } else if let Some(last) = found.last_mut() {
            last.output.push(text.to_owned());
        }
    }
    found
}

/// Whether a printed line is what a document shows: the same words, with `…` for anything.
pub(crate) fn shows(shown: &str, printed: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed = words(printed);
    let shown = words(shown);
    let mut parts = shown.split('…').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else {
        return false;
    };
    let mut open = false;
    for part in parts {
        open = true;
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
        open &= part.is_empty();
    }
    open || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_what_they_print() {
        let document = "text\n```sh\n$ no\n```\n```console\n$ cat > a <<'END'\n[x]\n$ y\nEND\nfine\n$ b \\\n  c   # keeps running\n```\n$ no\n```console\n$ d # not tried by the tests\n```\n";
        let entry = |line, command: &str, output: &[&str]| Entry {
            line,
            command: command.to_owned(),
            output: output.iter().map(ToString::to_string).collect(),
        };
        let found = entries(document);
        assert_eq!(
            found,
            [
                entry(6, "cat > a <<'END'\n[x]\n$ y\nEND", &["fine"]),
                entry(11, "b \\\n  c   # keeps running", &[]),
                entry(16, "d # not tried by the tests", &[]),
            ]
        );
        let kinds: Vec<_> = found
            .iter()
            .map(|it| (it.keeps_running(), it.is_tried()))
            .collect();
        assert_eq!(kinds, [(false, true), (true, true), (false, false)]);
    }

    #[test]
    fn a_line_is_what_was_shown_or_not() {
        for (shown, printed) in [
            ("a b", "a   b"),
            ("a … d", "a b c d"),
            ("a …", "a b"),
            ("…listens on…", "x listens on y"),
            ("…", ""),
        ] {
            assert!(shows(shown, printed), "{shown}: {printed}");
        }
        for (shown, printed) in [
            ("a b", "a b c"),
            ("a … d", "a b c"),
            ("b", "a b"),
            ("… b", "a b c"),
        ] {
            assert!(!shows(shown, printed), "{shown}: {printed}");
        }
    }
}
