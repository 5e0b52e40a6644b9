//! Settings in a file, each as the flag it stands for.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, CommandFactory};
use toml::de::{DeTable, DeValue};

use super::SettingsError;
use super::flags::Flags;

/// The largest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// The settings of a file. The default has none.
#[derive(Debug, Default)]
pub(super) struct File {
    path: PathBuf,
    settings: BTreeMap<String, Setting>,
}

#[derive(Debug)]
struct Setting {
    line: usize,
    args: Vec<String>,
}

impl File {
    /// Reads a file. Every setting has been understood when this returns; whether they fit together is another question.
    pub(super) fn load(path: &Path) -> Result<Self, SettingsError> {
        let failed = |line, why: String| SettingsError::File {
            file: path.to_owned(),
            line,
            why,
        };
        let unreadable = |error| failed(0, format!("cannot be read: {error}"));
        if fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
            return Err(failed(0, format!("is larger than {MAX_BYTES} bytes")));
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let line = |span: Range<usize>| line_of(&text, span.start);
        let table = DeTable::parse(&text).map_err(|error| {
            let place = error.span().map_or(0, line);
            failed(place, error.message().to_owned())
        })?;
        let mut settings = BTreeMap::new();
        for (key, value) in table.get_ref() {
            let (name, line) = (key.get_ref().as_ref(), line(key.span()));
            let args = read(name, value.get_ref())
                .map_err(|why| failed(line, format!("{name}: {why}")))?;
            settings.insert(name.to_owned(), Setting { line, args });
        }
        Ok(Self {
            path: path.to_owned(),
            settings,
        })
    }

    /// The settings that `wanted` wants, as flags.
    pub(super) fn args(&self, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
        let settings = self.settings.iter();
        settings
            .filter(move |(name, _)| wanted(name))
            .flat_map(|(_, setting)| setting.args.iter().map(String::as_str))
    }

    /// The line that a setting is on.
    pub(super) fn line(&self, name: &str) -> Option<usize> {
        self.settings.get(name).map(|setting| setting.line)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    before.filter(|byte| **byte == b'\n').count() + 1
}

/// One setting as flags, or what is wrong with it.
fn read(name: &str, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let command = Flags::command();
    let arg = command
        .get_arguments()
        .find(|arg| arg.get_long() == Some(name));
    let args = match (arg, value) {
        (_, _) if name == "config" => return Err("a file cannot name another".to_owned()),
        (None, DeValue::Table(_)) => {
            return Err("is a table; settings stand one per line, without [sections]".to_owned());
        }
        (None, _) => return Err(unknown(name)),
        (Some(arg), value) => as_flags(name, arg, value)?,
    };
    // Read alone, so that what is wrong with it has this line's number.
    let words = std::iter::once("ringwatch-server").chain(args.iter().map(String::as_str));
    match Flags::command().try_get_matches_from(words) {
        Ok(_) => Ok(args),
        Err(error) => Err(explain(&error)),
    }
}

fn as_flags(name: &str, arg: &Arg, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, DeValue::Boolean(true)) => Ok(vec![format!("--{name}")]),
        (ArgAction::SetTrue, DeValue::Boolean(false)) => Ok(Vec::new()),
        (ArgAction::SetTrue, _) => Err("write true or false, without quotes".to_owned()),
        (ArgAction::Append, DeValue::Array(items)) => {
            let items = items.iter().map(|item| scalar(item.get_ref()));
            items
                .map(|item| item.map(|text| format!("--{name}={text}")))
                .collect()
        }
        (_, DeValue::Array(_)) => Err("takes one value, not a list".to_owned()),
        (_, value) => Ok(vec![format!("--{name}={}", scalar(value)?)]),
    }
}

fn scalar(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Boolean(flag) => Ok(flag.to_string()),
        _ => Err("write a text in quotes, a whole number, true or false".to_owned()),
    }
}

fn unknown(name: &str) -> String {
    let flag = format!("--{name}");
    let error = Flags::command().try_get_matches_from(["ringwatch-server", &flag]);
    let similar = error.err().and_then(|error| {
        let similar = error.get(ContextKind::SuggestedArg)?;
        Some(similar.to_string().trim_start_matches('-').to_owned())
    });
    match similar {
        Some(similar) => format!("there is no such setting; did you mean {similar}?"),
        None => "there is no such setting; --help lists them".to_owned(),
    }
}

/// The reason of a parser's error, without the flag and the usage around it.
fn explain(error: &clap::Error) -> String {
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(valid))) if !valid.is_empty() => {
            format!("write one of {}", valid.join(", "))
        }
        (kind, _) => kind.as_str().unwrap_or("cannot be understood").to_owned(),
    }
}
