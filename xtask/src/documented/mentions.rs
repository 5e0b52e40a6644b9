//! What documents mention is there: files, folders, links, commands of `cargo xtask`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Parser;

use super::{DOCUMENTS, NOT_TRIED, console};
use crate::{Cli, places};

/// All documents of the project, with their text.
fn documents() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for folder in ["", "docs", "boards", "core"] {
        let folder = places::root().join(folder);
        for entry in fs::read_dir(&folder).expect("a folder of the project") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(&path).expect("a text");
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 8, "documents are missing");
    found
}

/// What stands between backticks, outside of blocks.
fn quoted(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut block = false;
    for line in text.lines() {
        if line.starts_with("```") {
            block = !block;
        } else if !block {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

/// Whether a quoted text can only be a path of this project: it has a slash and begins with one of its folders, or ends as its files do.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let Some((first, rest)) = text.split_once('/') else {
        return false;
    };
    let folders = [
        "core",
        "server",
        "edge-daemon",
        "boards",
        "tests",
        "xtask",
        "docs",
        "examples",
    ];
    let ours = folders.contains(&first);
    let file = [".rs", ".md", ".toml", ".yaml"]
        .iter()
        .any(|end| rest.ends_with(end));
    text.chars().all(plain) && !first.is_empty() && (ours || file)
}

#[test]
fn every_path_and_link_leads_somewhere() {
    let mut lost = Vec::new();
    let mut seen = 0;
    for (document, text) in documents() {
        let folder = document.parent().expect("a folder");
        // A path may be said from the project, from the document, or from a crate's sources.
        let bases = [
            places::root(),
            folder.to_owned(),
            places::root().join("server/src"),
            folder.join("src"),
        ];
        let exists = |path: &str, bases: &[PathBuf]| seen_by(path.trim_end_matches('/'), bases);
        for path in quoted(&text).into_iter().filter(|text| is_path(text)) {
            seen += 1;
            if !exists(path, &bases) {
                lost.push(format!("{}: `{path}`", document.display()));
            }
        }
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let link = link.split('#').next().unwrap_or_default();
            if link.is_empty() || link.contains("://") {
                continue;
            }
            seen += 1;
            if !exists(link, &[folder.to_owned()]) {
                lost.push(format!("{}: ({link})", document.display()));
            }
        }
    }
    assert!(seen > 50, "only {seen} paths were found");
    assert!(lost.is_empty(), "these lead nowhere:\n{}", lost.join("\n"));
}

fn seen_by(path: &str, bases: &[PathBuf]) -> bool {
    bases
        .iter()
        .any(|base: &PathBuf| Path::new(base).join(path).exists())
}

#[test]
fn every_task_that_is_mentioned_is_understood() {
    let mut wrong = Vec::new();
    for (document, text) in documents() {
        let commands = console::entries(&text);
        let commands = commands.iter().map(|entry| entry.command.as_str());
        for mention in quoted(&text).into_iter().chain(commands) {
            let Some(task) = mention.strip_prefix("cargo xtask ") else {
                continue;
            };
            let task = task.split('#').next().unwrap_or_default();
            let words = ["cargo xtask"].into_iter().chain(task.split_whitespace());
            if let Err(error) = Cli::try_parse_from(words)
                && error.exit_code() != 0
                && !is_incomplete(&error)
            {
                wrong.push(format!("{}: `{mention}`: {error}", document.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is said without all that it needs is still a name; but a task, a flag or a value that is not there is wrong.
fn is_incomplete(error: &clap::Error) -> bool {
    error.kind() == clap::error::ErrorKind::MissingRequiredArgument
}

#[test]
fn all_commands_are_tried_but_the_named_few() {
    let mut left_out = Vec::new();
    for name in DOCUMENTS {
        let text = fs::read_to_string(places::root().join(name)).expect(name);
        let entries = console::entries(&text);
        assert!(!entries.is_empty(), "{name} has no commands");
        for entry in entries {
            if !entry.is_tried() {
                let command = entry.command.split('#').next().unwrap_or_default();
                left_out.push(command.trim().to_owned());
            } else if entry.keeps_running() {
                // Nobody would wait for it otherwise.
                assert!(
                    !entry.output.is_empty(),
                    "{name}: line {}: what does it print?",
                    entry.line
                );
            }
        }
    }
    let named: Vec<_> = NOT_TRIED
        .iter()
        .map(|(command, _)| command.to_string())
        .collect();
    assert_eq!(left_out, named);
}
