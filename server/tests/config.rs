//! Settings by flags and by file; what is wrong with them, case by case from a text file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use ringwatch_server::config::{Settings, SettingsError, Store};

#[path = "text/cases.rs"]
#[expect(dead_code, reason = "cases here have no JSON")]
mod text;
use text::cases;

fn settings(flags: &str, file: Option<&str>, folder: &Path) -> Result<Settings, SettingsError> {
    let mut args = vec!["ringwatch-server".to_owned()];
    args.extend(flags.split_ascii_whitespace().map(str::to_owned));
    if let Some(text) = file {
        let path = folder.join("config.toml");
        fs::write(&path, text).unwrap();
        args.push("--config".to_owned());
        args.push(path.display().to_string());
    }
    Settings::from_args(args)
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let mut differing = String::new();
    for case in cases(include_str!("cases/config.txt"), 35) {
        let file = case.line("file").map(|text| text.replace(';', "\n"));
        let flags = case.line("flags").unwrap_or_default();
        let said = match settings(flags, file.as_deref(), folder.path()) {
            Ok(_) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        };
        let path = folder.path().join("config.toml").display().to_string();
        let said = said.replace(&path, "FILE");
        let is_right = match (case.line("error"), case.line("error-begins")) {
            (Some(wanted), _) => said == wanted,
            (None, Some(wanted)) => said.starts_with(wanted),
            (None, None) => panic!("{}: nothing is expected", case.title),
        };
        if !is_right {
            writeln!(differing, "{}: {said}", case.title).unwrap();
        }
    }
    assert!(differing.is_empty(), "{differing}");
}

#[test]
fn flags_win_over_the_file_and_both_over_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let file = "listen = \"127.0.0.1:1\"\nmax-connections = 7\nevent-ttl = \"2h\"\nwatch-cache = true\n\
        etcd = [\"http://a:1\", \"http://b:1\"]\netcd-prefix = \"/x\"\ndata-dir = \"/d\"\n";
    let flags = "--listen 127.0.0.1:2 --etcd http://c:1 --watch-cache=false";
    let settings = settings(flags, Some(file), folder.path()).unwrap();
    assert_eq!(settings.listen, "127.0.0.1:2".parse().unwrap());
    assert_eq!(settings.limits.connections, 7);
    assert_eq!(settings.limits.writing, 200);
    assert_eq!(settings.event_ttl, Duration::from_secs(7200));
    assert_eq!(settings.data_dir, Path::new("/d"));
    assert!(settings.watch_cache.is_none());
    let Store::Etcd(etcd) = settings.store else {
        panic!("not in etcd");
    };
    assert_eq!(etcd.endpoints, ["http://c:1"]);
    assert_eq!(etcd.prefix, "/x");
}

#[test]
fn defaults_are_careful() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings("--data-dir /d", None, folder.path()).unwrap();
    assert!(settings.listen.ip().is_loopback());
    assert_eq!(settings.insecure_listen, None);
    assert!(matches!(settings.store, Store::Embedded));
    assert_eq!(settings.limits, ringwatch_server::serve::Limits::default());
    assert_eq!(settings.compaction_interval, Some(Duration::from_secs(300)));
}

/// Every setting can stand in a file: the list is taken from the help, so that a new one cannot be forgotten.
#[test]
fn all_flags_can_stand_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let Err(SettingsError::Usage(help)) = settings("--help", None, folder.path()) else {
        panic!("no help");
    };
    let help = help.to_string();
    let words = help
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--"));
    let names = words.filter_map(|words| words.split([' ', '\n']).next());
    let names: Vec<_> = names.filter(|name| *name != "config").collect();
    assert!(names.len() > 35, "only {names:?}");
    for name in names {
        let error = settings("", Some(&format!("{name} = {{}}")), folder.path()).unwrap_err();
        let error = error.to_string();
        assert!(
            !error.contains("no such setting") && !error.contains("is a table"),
            "{error}"
        );
    }
}
