//! Runs the cases of `json_cases.txt`.

use ringwatch_core::json::{Limits, Path, ScanError, scan};

const LIMITS: Limits = Limits {
    max_bytes: 4096,
    max_depth: 64,
};

#[test]
fn cases() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (number, line) in include_str!("json_cases.txt").lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        count += 1;
        let (word, rest) = line.split_once(' ').expect("a word and a space");
        let (expected, actual) = match word {
            "find" => find(rest),
            "dup" => duplicate(rest),
            verdict => (verdict.to_owned(), outcome(&bytes(rest), &[])),
        };
        if expected != actual {
            failures.push(format!(
                "line {}: {line}\n  expected {expected}, got {actual}",
                number + 1
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 100, "only {count} cases were read");
}

fn find(case: &str) -> (String, String) {
    let (path, rest) = case.split_once(" => ").expect("path => value");
    let (expected, text) = rest.split_once(" in ").expect("value in text");
    let text = bytes(text);
    let mut found = [None];
    let paths = [Path::parse(path).expect("a path")];
    let actual = match scan(&text, &LIMITS, &paths, &mut found) {
        Ok(()) => found[0].map_or("-", |value| {
            let start = value.offset();
            assert_eq!(
                &text[start..start + value.raw().len()],
                value.raw().as_bytes()
            );
            value.raw()
        }),
        Err(error) => &error.to_string(),
    };
    (expected.to_owned(), actual.to_owned())
}

fn duplicate(case: &str) -> (String, String) {
    let (path, rest) = case.split_once(" @").expect("path @offset");
    let (offset, text) = rest.split_once(" in ").expect("offset in text");
    (
        format!("Duplicate@{offset}"),
        outcome(&bytes(text), &[Path::parse(path).expect("a path")]),
    )
}

/// The verdict in the words of the cases.
fn outcome(text: &[u8], paths: &[Path<'_>]) -> String {
    let with = |name, offset| format!("{name}@{offset}");
    let mut found = [None; 4];
    let verdict = scan(text, &LIMITS, paths, &mut found);
    if paths.is_empty() {
        // Wanted or not, a text is valid or it is not: the walk and the skip must agree.
        let anything = [
            Path::parse("a.a.a").expect("a path"),
            Path::parse("a[0][0]").expect("a path"),
        ];
        let walked = scan(text, &LIMITS, &anything, &mut found);
        if !matches!(walked, Err(ScanError::Duplicate { .. })) {
            assert_eq!(walked, verdict, "{}", String::from_utf8_lossy(text));
        }
    }
    match verdict {
        Ok(()) => "ok".to_owned(),
        Err(ScanError::TooDeep { offset }) => with("TooDeep", offset),
        Err(ScanError::NotUtf8 { offset }) => with("NotUtf8", offset),
        Err(ScanError::NotAnObject { offset }) => with("NotAnObject", offset),
        Err(ScanError::Unexpected { offset }) => with("Unexpected", offset),
        Err(ScanError::Control { offset }) => with("Control", offset),
        Err(ScanError::BadEscape { offset }) => with("BadEscape", offset),
        Err(ScanError::LoneSurrogate { offset }) => with("LoneSurrogate", offset),
        Err(ScanError::BadNumber { offset }) => with("BadNumber", offset),
        Err(ScanError::Trailing { offset }) => with("Trailing", offset),
        Err(ScanError::Duplicate { offset }) => with("Duplicate", offset),
        Err(other) => other.to_string(),
    }
}

/// Replaces `⟦…⟧` by what it stands for.
fn bytes(case: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, part) in case.split('⟦').enumerate() {
        let rest = match part.split_once('⟧') {
            Some((inside, rest)) if index > 0 => {
                if let Some((times, text)) = inside.split_once('*') {
                    out.extend_from_slice(text.repeat(times.parse().expect("a count")).as_bytes());
                } else {
                    let hex = |byte| u8::from_str_radix(byte, 16).expect("hex digits");
                    out.extend(inside.split_whitespace().map(hex));
                }
                rest
            }
            _ => part,
        };
        out.extend_from_slice(rest.as_bytes());
    }
    out
}

#[test]
fn size_paths_and_depth_are_bounded() {
    let path = Path::parse("a").expect("a path");
    let scan = |text: &str, limits: &Limits, paths: usize, room: usize| {
        let mut found = vec![None; room];
        scan(text.as_bytes(), limits, &vec![path; paths], &mut found)
    };
    let exact = Limits {
        max_bytes: 7,
        max_depth: 1,
    };
    assert_eq!(scan(r#"{"a":1}"#, &exact, 0, 0), Ok(()));
    assert_eq!(
        scan(r#"{"a":1} "#, &exact, 0, 0),
        Err(ScanError::TooLarge { len: 8, max: 7 })
    );
    assert_eq!(
        scan(r#"{"a":{}"#, &exact, 0, 0),
        Err(ScanError::TooDeep { offset: 5 })
    );
    assert_eq!(
        scan(r#"{"a":{}"#, &exact, 1, 1),
        Err(ScanError::TooDeep { offset: 5 })
    );
    assert_eq!(
        scan(
            "{}",
            &Limits {
                max_bytes: 7,
                max_depth: 0
            },
            1,
            1
        ),
        Err(ScanError::TooDeep { offset: 0 })
    );
    assert_eq!(scan("{}", &LIMITS, 2, 1), Err(ScanError::Paths { room: 1 }));
    assert_eq!(
        scan("{}", &LIMITS, 65, 65),
        Err(ScanError::Paths { room: 64 })
    );
    assert_eq!(scan(r#"{"a":1}"#, &LIMITS, 64, 64), Ok(()));
    let nested = |depth: usize| {
        format!(
            "{}{{}}{}",
            r#"{"a":"#.repeat(depth - 1),
            "}".repeat(depth - 1)
        )
    };
    let unlimited = Limits {
        max_bytes: usize::MAX,
        max_depth: usize::MAX,
    };
    assert_eq!(scan(&nested(127), &unlimited, 0, 0), Ok(()));
    assert_eq!(
        scan(&nested(128), &unlimited, 1, 1),
        Err(ScanError::TooDeep { offset: 127 * 5 })
    );
}

#[test]
fn sixty_four_paths_are_told_apart() {
    let names: Vec<String> = (0..64).map(|index| format!("k{index}")).collect();
    let paths: Vec<Path<'_>> = names
        .iter()
        .map(|name| Path::parse(name).expect("a path"))
        .collect();
    let members: Vec<String> = names
        .iter()
        .rev()
        .map(|name| format!("\"{name}\":\"{name}!\""))
        .collect();
    let text = format!("{{{}}}", members.join(","));
    let mut found = [None; 64];
    scan(text.as_bytes(), &LIMITS, &paths, &mut found).expect("valid");
    for (name, value) in names.iter().zip(found) {
        assert_eq!(value.expect("found").raw(), format!("\"{name}!\""));
    }
}
