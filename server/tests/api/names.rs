//! Names for what a table cannot know: revisions, uids, tokens.

/// Values by name. `{name}` in a table stands for the value.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<(String, String)>);

impl Names {
    /// Names a value; a later one replaces an earlier one.
    pub(crate) fn set(&mut self, name: &str, value: impl ToString) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value.to_string()));
    }

    /// Puts the values in.
    pub(crate) fn fill(&self, text: &str) -> String {
        let fill = |text: String, (name, value): &(String, String)| {
            text.replace(&format!("{{{name}}}"), value)
        };
        self.0.iter().fold(text.to_owned(), fill)
    }

    /// Puts the names back, so that what was found can be compared with the table by eye.
    pub(crate) fn restore(&self, text: &str) -> String {
        let mut known: Vec<_> = self.0.iter().collect();
        known.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        let restore = |text: String, (name, value): &(String, String)| {
            text.replace(value, &format!("{{{name}}}"))
        };
        known.into_iter().fold(text.to_owned(), restore)
    }
}
