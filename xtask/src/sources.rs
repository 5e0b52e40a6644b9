//! This machine's package sources, for another Debian release.
//!
//! Which mirror to ask, and whom to trust, stays as the machine has it; only the name of the release changes.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::command::{Context, Failure, Result, run};

/// Options for apt that make it see the packages of `suite` and nothing else. All that it writes goes into
/// `folder`; the machine's own lists stay as they are.
pub(crate) fn options_for(suite: &str, folder: &Path, root: bool) -> Result<Vec<OsString>> {
    let sources = folder.join("sources");
    for name in ["sources", "lists/partial", "cache/archives/partial"] {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).context(folder.display())?;
    }
    let codename = codename()?;
    let mut any = false;
    for (path, text) in files() {
        let changed = match path.extension().is_some_and(|end| end == "sources") {
            true => stanzas(&text, &codename, suite),
            false => lines(&text, &codename, suite),
        };
        if let Some(name) = path.file_name().filter(|_| !changed.is_empty()) {
            any = true;
            let path = sources.join(name);
            fs::write(&path, changed).context(path.display())?;
        }
    }
    if !any {
        return Err(Failure::new(format!(
            "no package source of this machine names its release, {codename}"
        )));
    }
    // Nothing counts as installed; else apt would ask for the version that the machine has, which the release may lack.
    let status = folder.join("status");
    fs::write(&status, "").context(status.display())?;
    let mut options = Vec::new();
    for (name, value) in [
        ("Dir::Etc::sourcelist", Path::new("/dev/null").into()),
        ("Dir::Etc::sourceparts", sources),
        ("Dir::State::lists", folder.join("lists")),
        ("Dir::State::status", status),
        ("Dir::Cache", folder.join("cache")),
    ] {
        let mut option = OsString::from(format!("{name}="));
        option.push(value);
        options.extend([OsString::from("-o"), option]);
    }
    options.extend(["-o", "Acquire::Languages=none"].map(OsString::from));
    if root {
        // Otherwise apt wants to drop to a user that may not write to the folder.
        options.extend(["-o", "APT::Sandbox::User=root"].map(OsString::from));
    }
    run(Command::new("apt-get")
        .args(&options)
        .args(["-qq", "update"]))?;
    Ok(options)
}

fn codename() -> Result<String> {
    let release = fs::read_to_string("/etc/os-release").context("/etc/os-release")?;
    release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .map(|name| name.trim_matches('"').to_owned())
        .ok_or_else(|| Failure::new("this machine's release has no name"))
}

fn files() -> Vec<(PathBuf, String)> {
    let mut paths = vec!["/etc/apt/sources.list".into()];
    if let Ok(entries) = fs::read_dir("/etc/apt/sources.list.d") {
        paths.extend(entries.flatten().map(|entry| entry.path()));
    }
    // What apt itself would not read is left out.
    paths.retain(|path: &PathBuf| {
        path.extension()
            .is_some_and(|end| end == "list" || end == "sources")
    });
    paths
        .into_iter()
        .filter_map(|path| {
            let text = fs::read_to_string(&path).ok()?;
            Some((path, text))
        })
        .collect()
}

/// The stanzas that name the release, with the other name instead.
fn stanzas(text: &str, codename: &str, suite: &str) -> String {
    let mut changed = String::new();
    for stanza in text.split("\n\n") {
        let names = |line: &str| {
            line.strip_prefix("Suites:")
                .is_some_and(|suites| suites.split_whitespace().any(|word| word == codename))
        };
        if !stanza.lines().any(names) {
            continue;
        }
        for line in stanza.lines() {
            match names(line) {
                true => changed.push_str(&format!("Suites: {suite}")),
                false => changed.push_str(line),
            }
            changed.push('\n');
        }
        changed.push('\n');
    }
    changed
}

/// The lines that name the release, with the other name instead.
fn lines(text: &str, codename: &str, suite: &str) -> String {
    let mut changed = String::new();
    for line in text.lines().filter(|line| line.starts_with("deb ")) {
        if line.split_whitespace().any(|word| word == codename) {
            let words: Vec<_> = line
                .split_whitespace()
                .map(|word| if word == codename { suite } else { word })
                .collect();
            changed.push_str(&words.join(" "));
            changed.push('\n');
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_of_the_release_are_taken_over() {
        let text = "Types: deb\nURIs: http://mirror/debian\nSuites: old old-updates\nSigned-By: /key\n\n\
                    Types: deb\nURIs: http://mirror/security\nSuites: old-security\n\n\
                    Types: deb\nURIs: http://vendor\nSuites: any\n";
        assert_eq!(
            stanzas(text, "old", "new"),
            "Types: deb\nURIs: http://mirror/debian\nSuites: new\nSigned-By: /key\n\n"
        );
        let text = "# deb http://mirror/debian old main\n\
                    deb [signed-by=/key] http://mirror/debian old main\n\
                    deb-src http://mirror/debian old main\n\
                    deb http://mirror/security old-security main\n";
        assert_eq!(
            lines(text, "old", "new"),
            "deb [signed-by=/key] http://mirror/debian new main\n"
        );
    }
}
