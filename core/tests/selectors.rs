//! Runs the table of selectors in `selectors.txt`, whose head explains its format.

use core::fmt::Write;

use ringwatch_core::selector::{FieldSelector, LabelSelector, SelectorError};

/// Fewer cases than this means that the table was cut, or that reading it went wrong.
const AT_LEAST: usize = 180;

#[test]
fn the_table_holds() {
    let cases = read_cases(include_str!("selectors.txt"));
    let mut report = String::new();
    for case in &cases {
        for (line, fault) in case.faults() {
            writeln!(report, "core/tests/selectors.txt:{line}: {fault}").unwrap();
        }
    }
    assert!(report.is_empty(), "\n{report}");
    let known = cases.len();
    assert!(known >= AT_LEAST, "{known} cases, expected {AT_LEAST}");
}

struct Case {
    line: usize,
    subject: Subject,
    text: String,
    expected: Expected,
    checks: Vec<(usize, Check)>,
}

#[derive(Clone, Copy)]
enum Subject {
    Label,
    Field,
}

enum Expected {
    Canonical(String),
    /// `error KIND @OFFSET`, the kind without spaces.
    Error(String),
}

enum Check {
    Matches(Pairs, bool),
    Terms(Pairs),
    Says(String),
}

type Pairs = Vec<(String, String)>;

impl Case {
    /// All that is wrong, each with the line that says otherwise.
    fn faults(&self) -> Vec<(usize, String)> {
        let parsed = self.subject.parse(&self.text);
        let mut faults = Vec::new();
        match (&parsed, &self.expected) {
            (Ok(found), Expected::Canonical(expected)) => {
                if found.canonical != *expected {
                    faults.push((self.line, format!("prints as `{}`", found.canonical)));
                }
                match self.subject.parse(expected) {
                    Ok(again) if again.canonical == *expected => {}
                    Ok(again) => {
                        let fault = format!("canonical text prints as `{}`", again.canonical);
                        faults.push((self.line, fault));
                    }
                    Err(error) => faults.push((self.line, format!("canonical text: {error:?}"))),
                }
            }
            (Err(error), Expected::Error(expected)) => {
                let found = without_spaces(&format!("error{:?}@{}", error.kind, error.offset));
                if found != without_spaces(expected) {
                    faults.push((self.line, format!("{error:?}")));
                }
            }
            (Ok(found), Expected::Error(_)) => {
                faults.push((self.line, format!("parses as `{}`", found.canonical)));
            }
            (Err(error), Expected::Canonical(_)) => {
                faults.push((self.line, format!("refused: {error:?}")));
            }
        }
        for (line, check) in &self.checks {
            if let Some(fault) = self.check(&parsed, check) {
                faults.push((*line, fault));
            }
        }
        faults
    }

    fn check(&self, parsed: &Result<Parsed<'_>, SelectorError>, check: &Check) -> Option<String> {
        match (parsed, check) {
            (Ok(found), Check::Matches(object, expected)) => {
                let canonical = self.subject.parse(&found.canonical).ok()?;
                let answers = [(found.matches)(object), (canonical.matches)(object)];
                (answers != [*expected; 2]).then(|| format!("text and canonical say {answers:?}"))
            }
            (Ok(found), Check::Terms(expected)) => {
                (found.terms != *expected).then(|| format!("terms are {:?}", found.terms))
            }
            (Err(error), Check::Says(expected)) => {
                let found = error.describe(&self.text).to_string();
                (found != *expected).then(|| format!("says {found}"))
            }
            (Ok(_), Check::Says(_)) => Some("parses, so it says nothing".into()),
            (Err(_), _) => Some("is refused, so it matches nothing".into()),
        }
    }
}

/// A selector of either sort, reduced to what the table talks about.
struct Parsed<'a> {
    canonical: String,
    terms: Pairs,
    matches: Box<dyn Fn(&Pairs) -> bool + 'a>,
}

impl Subject {
    fn parse(self, text: &str) -> Result<Parsed<'_>, SelectorError> {
        let owned = |(key, value): (&str, String)| (key.to_owned(), value);
        Ok(match self {
            Self::Label => {
                let selector = LabelSelector::<&str>::parse(text)?;
                let terms = selector.terms().map(|(key, value)| (key, value.to_owned()));
                let terms: Pairs = terms.map(owned).collect();
                for (key, _) in &terms {
                    let first = terms.iter().find(|(other, _)| other == key).unwrap();
                    assert_eq!(selector.exact(key), Some(first.1.as_str()));
                }
                Parsed {
                    canonical: selector.to_string(),
                    terms,
                    matches: Box::new(move |object| selector.matches(|key| lookup(object, key))),
                }
            }
            Self::Field => {
                let selector = FieldSelector::<&str>::parse(text)?;
                let terms = selector
                    .terms()
                    .map(|(key, value)| (key, value.to_string()));
                let terms: Pairs = terms.map(owned).collect();
                for (key, _) in &terms {
                    let first = terms.iter().find(|(other, _)| other == key).unwrap();
                    assert!(selector.exact(key).unwrap() == *first.1);
                }
                Parsed {
                    canonical: selector.to_string(),
                    terms,
                    matches: Box::new(move |object| selector.matches(|key| lookup(object, key))),
                }
            }
        })
    }
}

fn lookup<'a>(object: &'a Pairs, key: &str) -> Option<&'a str> {
    let found = object.iter().find(|(name, _)| name == key);
    found.map(|(_, value)| value.as_str())
}

fn read_cases(table: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (index, line) in table.lines().enumerate() {
        let number = index + 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let read = if line.starts_with(' ') {
            let check = read_check(line.trim());
            check
                .zip(cases.last_mut())
                .map(|(check, case)| case.checks.push((number, check)))
        } else {
            read_case(number, line).map(|case| cases.push(case))
        };
        read.unwrap_or_else(|| panic!("core/tests/selectors.txt:{number}: cannot read {line:?}"));
    }
    cases
}

fn read_case(line: usize, text: &str) -> Option<Case> {
    let (subject, rest) = text.split_once(" `")?;
    let subject = match subject.trim() {
        "label" => Subject::Label,
        "field" => Subject::Field,
        _ => return None,
    };
    let (text, expected) = rest.split_once("` => ")?;
    let expected = match expected.strip_prefix('`') {
        Some(canonical) => Expected::Canonical(expand(canonical.strip_suffix('`')?)),
        None => Expected::Error(
            expected
                .strip_prefix("error ")
                .map(|_| expected.to_owned())?,
        ),
    };
    Some(Case {
        line,
        subject,
        text: expand(text),
        expected,
        checks: Vec::new(),
    })
}

fn read_check(line: &str) -> Option<Check> {
    if let Some(words) = line.strip_prefix("says ") {
        return Some(Check::Says(expand(words)));
    }
    if let Some(terms) = line.strip_prefix("terms ") {
        return Some(Check::Terms(read_pairs(terms)?));
    }
    let (object, answer) = line.rsplit_once("->")?;
    let matches = match answer.trim() {
        "match" => true,
        "no" => false,
        _ => return None,
    };
    Some(Check::Matches(read_pairs(object)?, matches))
}

fn read_pairs(text: &str) -> Option<Pairs> {
    if text.trim() == "-" {
        return Some(Vec::new());
    }
    text.split_whitespace()
        .map(|pair| {
            let (key, value) = pair.split_once('=')?;
            Some((expand(key), expand(value)))
        })
        .collect()
}

fn expand(text: &str) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (unit, after) = after.split_once('*').expect("{unit*count}");
        let (count, after) = after.split_once('}').expect("{unit*count}");
        expanded.push_str(before);
        expanded.push_str(&unit.repeat(count.parse().expect("a count")));
        rest = after;
    }
    expanded.push_str(rest);
    let pictures = [
        ('␠', " "),
        ('␉', "\t"),
        ('␊', "\n"),
        ('␍', "\r"),
        ('␀', "\0"),
        ('⍽', "\u{a0}"),
    ];
    pictures.iter().fold(expanded, |text, (picture, meant)| {
        text.replace(*picture, meant)
    })
}

fn without_spaces(text: &str) -> String {
    text.replace(' ', "")
}
