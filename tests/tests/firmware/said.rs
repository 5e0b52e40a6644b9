//! What a board prints, line by line.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use crate::programs::PATIENCE;

/// Lines that have come and are still to come.
pub(crate) struct Said {
    lines: Receiver<(Instant, String)>,
    said: Vec<String>,
}

impl Said {
    /// Reads all that there is, and shows each line to `see` as it comes.
    pub(crate) fn of(
        output: impl Read + Send + 'static,
        mut see: impl FnMut(&str) + Send + 'static,
    ) -> Self {
        let (sender, lines) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.for_each(|line| {
                see(&line);
                // Who does not listen any more has seen enough.
                drop(sender.send((Instant::now(), line.trim_end().to_owned())));
            });
        });
        Self {
            lines,
            said: Vec::new(),
        }
    }

    /// Waits until it says something with this text in it.
    pub(crate) fn until(&mut self, text: &str) {
        self.next_at(text);
    }

    /// What it has said last with this text in it: what comes after the text.
    pub(crate) fn last(&mut self, text: &str) -> &str {
        self.said
            .extend(self.lines.try_iter().map(|(_, line)| line));
        let mut said = self.said.iter().rev();
        said.find_map(|line| Some(line.split_once(text)?.1))
            .unwrap_or("not said")
    }

    /// How many lines it has said with this text in them.
    pub(crate) fn count(&mut self, text: &str) -> usize {
        self.said
            .extend(self.lines.try_iter().map(|(_, line)| line));
        self.said.iter().filter(|line| line.contains(text)).count()
    }

    /// The next line with this text in it, and when it came.
    pub(crate) fn next_at(&mut self, text: &str) -> (Instant, String) {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok((at, line)) = self.lines.recv_timeout(left) else {
                panic!("it does not say {text:?}, but:\n{}", self.said.join("\n"));
            };
            self.said.push(line.clone());
            if line.contains(text) {
                return (at, line);
            }
        }
    }
}
