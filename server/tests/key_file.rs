//! Key files, good and hostile.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ringwatch_server::storage::transform::{Field, KeyFileError, Problem, Transformer};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OTHER: &str = "Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=";

#[test]
fn entries_keep_their_order_and_comments_are_skipped() {
    let text = format!("# keys\r\n\n  2026.b\t{KEY} \r\nplain\n #\n2026-a_  {OTHER}");
    let keys = parse(&text).unwrap();
    assert_eq!(format!("{keys:?}"), r#"["2026.b", "plain", "2026-a_"]"#);
}

#[test]
fn errors_name_file_line_and_field() {
    let long = "n".repeat(65);
    let three = format!("a {KEY}\n\n");
    for (text, line, field, problem, words) in [
        (
            String::new(),
            None,
            None,
            Problem::NoEntry,
            "keys: no key, and no line `plain`",
        ),
        (
            "# a\n\n".into(),
            None,
            None,
            Problem::NoEntry,
            "keys: no key, and no line `plain`",
        ),
        (
            format!("{three}b"),
            Some(3),
            Some(Field::Key),
            Problem::Missing,
            "keys:3: key: missing",
        ),
        (
            format!("{three}a {OTHER}"),
            Some(3),
            Some(Field::Name),
            Problem::Repeated { line: 1 },
            "keys:3: name: the same as in line 1",
        ),
        (
            format!("{three}b {KEY}"),
            Some(3),
            Some(Field::Key),
            Problem::Repeated { line: 1 },
            "keys:3: key: the same as in line 1",
        ),
        (
            "plain\nplain".into(),
            Some(2),
            Some(Field::Name),
            Problem::Repeated { line: 1 },
            "keys:2: name: the same as in line 1",
        ),
        (
            format!("plain {KEY}"),
            Some(1),
            Some(Field::Key),
            Problem::Unexpected,
            "keys:1: key: nothing is expected here",
        ),
        (
            format!("a {KEY} # now"),
            Some(1),
            Some(Field::Rest),
            Problem::Unexpected,
            "keys:1: third field: nothing is expected here",
        ),
        (
            format!("{long} {KEY}"),
            Some(1),
            Some(Field::Name),
            Problem::NameSyntax,
            "keys:1: name: not 1 to 64 letters, digits, `-`, `_` or `.`",
        ),
        (
            "a AAAA*".into(),
            Some(1),
            Some(Field::Key),
            Problem::NotBase64,
            "keys:1: key: not base64 with padding",
        ),
        (
            "a AAAA".into(),
            Some(1),
            Some(Field::Key),
            Problem::Length,
            "keys:1: key: not 32 bytes",
        ),
        (
            format!("a {}", "A".repeat(43) + "="),
            Some(1),
            Some(Field::Key),
            Problem::Guessable,
            "keys:1: key: one byte over and over is not a key",
        ),
    ] {
        let error = parse(&text).unwrap_err();
        assert_eq!(error.to_string(), words, "{text:?}");
        let expected = KeyFileError {
            file: "keys".into(),
            line,
            field,
            problem,
        };
        assert_eq!(error, expected, "{text:?}");
    }
}

#[test]
fn hostile_text_is_refused_without_showing_it() {
    let secret = "bm90IGEga2V5";
    for text in [
        format!("a {secret}"),
        format!("a {KEY}{KEY}"),
        format!("a {}", KEY.trim_end_matches('=')),
        format!("a {}", KEY.replace('A', "-")),
        format!("a:b {secret}"),
        format!("\u{feff}a {KEY}"),
        format!("ä {KEY}"),
        format!("a\0 {KEY}"),
        format!("a {KEY}\u{a0}"),
        format!("{secret}\n"),
        "a ".to_owned() + &"A".repeat(10_000),
    ] {
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.starts_with("keys:1: "), "{text:?}: {error}");
        assert!(!error.contains(secret) && error.len() < 100, "{error}");
    }
    let bytes = Transformer::parse(Path::new("keys"), b"a \xff").unwrap_err();
    assert_eq!(bytes.problem, Problem::NotText);
    let large = parse(&"#".repeat(70_000)).unwrap_err();
    assert_eq!(large.problem, Problem::TooLarge);
    // 33 keys that differ in their first character.
    let many: String = ('A'..='Z')
        .chain('a'..='z')
        .take(33)
        .enumerate()
        .map(|(number, first)| format!("k{number} {first}{}\n", &KEY[1..]))
        .collect();
    let many = parse(&many).unwrap_err();
    assert_eq!(
        (many.line, many.problem),
        (Some(33), Problem::TooManyEntries)
    );
}

#[test]
fn keys_are_not_shown() {
    let keys = parse(&format!("a {KEY}")).unwrap();
    assert_eq!(format!("{keys:?}"), r#"["a"]"#);
}

#[test]
fn what_is_not_a_readable_file_is_refused() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    assert_eq!(problem(folder), Problem::NotAFile);
    let missing = problem(&folder.join("no such file"));
    assert!(matches!(missing, Problem::Unreadable(_)), "{missing:?}");
}

#[cfg(unix)]
#[test]
fn a_file_that_is_open_to_others_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let path = file("open-to-others", &format!("a {KEY}"));
    for mode in [0o600, 0o400, 0o640, 0o440] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(Transformer::load(&path).is_ok(), "{mode:o}");
    }
    for mode in [0o644, 0o604, 0o666, 0o602] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(problem(&path), Problem::OpenToOthers { mode });
    }
}

fn parse(text: &str) -> Result<Transformer, KeyFileError> {
    Transformer::parse(Path::new("keys"), text.as_bytes())
}

fn problem(path: &Path) -> Problem {
    let error = Transformer::load(path).unwrap_err();
    assert_eq!(error.file, path);
    error.problem
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path
}
