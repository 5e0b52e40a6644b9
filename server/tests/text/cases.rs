//! Cases in text files: a title, then lines that begin with a word.

/// A case: its title, and its lines by their first word.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    /// What it is about.
    pub(crate) title: &'a str,
    /// The first word of each line, and the rest.
    pub(crate) lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Case<'a> {
    /// What stands after this word.
    pub(crate) fn line(&self, word: &str) -> Option<&'a str> {
        self.lines
            .iter()
            .find(|(first, _)| *first == word)
            .map(|(_, rest)| *rest)
    }

    /// The JSON that stands after this word.
    pub(crate) fn value(&self, word: &str) -> serde_json::Value {
        let text = self.line(word).expect("a line of the case");
        serde_json::from_str(text).expect("JSON")
    }
}

/// The cases of a file, which has at least so many.
pub(crate) fn cases(text: &str, at_least: usize) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.strip_prefix("  ") {
            None => cases.push(Case {
                title: line,
                lines: Vec::new(),
            }),
            Some(line) => {
                let (word, rest) = line.split_once(' ').expect("a word and the rest");
                let case = cases.last_mut().expect("a title");
                case.lines.push((word, rest.trim_start()));
            }
        }
    }
    assert!(cases.len() >= at_least, "only {} cases", cases.len());
    cases
}
