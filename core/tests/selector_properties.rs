//! Selectors against a plain model, and against noise.
//!
//! The model knows what a selector should mean because it was there before its text: a list of conditions is
//! generated, rendered with random spaces, parsed, and asked about random objects.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseResult;
use ringwatch_core::selector::{FieldSelector, LabelSelector, SelectorError, SelectorErrorKind};

type Object = BTreeMap<String, String>;

proptest! {
    #[test]
    fn labels_match_as_the_model_does(
        conditions in vec(label_condition(), 0..=8),
        gaps in vec(gap(), 1..20),
        objects in vec(object(), 1..8),
    ) {
        let text = render_labels(&conditions, &gaps);
        let selector = LabelSelector::<&str>::parse(&text).unwrap();
        let canonical = selector.to_string();
        let again = LabelSelector::<&str>::parse(&canonical).unwrap();
        prop_assert_eq!(again.to_string(), canonical.as_str());
        prop_assert_eq!(selector.text(), text.as_str());
        prop_assert_eq!(selector.is_empty(), conditions.is_empty());
        for object in &objects {
            let expected = conditions.iter().all(|condition| condition.holds(object));
            let label = |key: &str| object.get(key).map(String::as_str);
            prop_assert_eq!(selector.matches(label), expected, "{:?} {:?}", text, object);
            prop_assert_eq!(again.matches(label), expected, "{:?} {:?}", canonical, object);
        }
    }

    #[test]
    fn canonical_labels_forget_order_and_repetition(
        conditions in vec(label_condition(), 0..=8).prop_flat_map(|conditions| {
            (Just(conditions.clone()), Just(conditions).prop_shuffle())
        }),
        gaps in vec(gap(), 1..20),
    ) {
        let (written, shuffled) = conditions;
        let text = render_labels(&written, &[""]);
        let mut other = shuffled.iter().map(LabelCondition::reversed).collect::<Vec<_>>();
        other.extend(other.first().filter(|_| other.len() < 8).cloned());
        let other = render_labels(&other, &gaps);
        let canonical = |text: &str| LabelSelector::<&str>::parse(text).unwrap().to_string();
        prop_assert_eq!(canonical(&text), canonical(&other));
    }

    // Longer than what printing sorts at once.
    #[test]
    fn long_lists_are_printed_sorted(values in vec("[a-c0-9]{1,3}", 1..150)) {
        let text = format!("k notin ({})", values.join(" , "));
        let selector = LabelSelector::<&str>::parse(&text).unwrap();
        let sorted: Vec<_> = BTreeSet::from_iter(values).into_iter().collect();
        prop_assert_eq!(selector.to_string(), format!("k notin ({})", sorted.join(",")));
    }

    #[test]
    fn label_terms_are_what_must_hold(conditions in vec(label_condition(), 0..=8)) {
        let text = render_labels(&conditions, &[" "]);
        let selector = LabelSelector::<&str>::parse(&text).unwrap();
        let expected: Vec<_> = conditions.iter().filter_map(LabelCondition::term).collect();
        let found: Vec<_> = selector.terms().collect();
        prop_assert_eq!(&found, &expected);
        for (key, _) in &expected {
            let first = expected.iter().find(|(other, _)| other == key).unwrap();
            prop_assert_eq!(selector.exact(key), Some(first.1));
        }
        prop_assert_eq!(selector.exact("never.a.key"), None);

        let boxed = selector.clone().map_table(|rows| rows.iter().copied().collect::<Box<[_]>>());
        prop_assert!(boxed.terms().eq(selector.terms()));
        for (requirement, condition) in boxed.requirements().zip(&conditions) {
            prop_assert_eq!(requirement.key(), condition.key.as_str());
            let values: Vec<_> = requirement.values().collect();
            prop_assert_eq!(&values, &condition.values);
        }
    }

    #[test]
    fn fields_match_as_the_model_does(
        conditions in vec(field_condition(), 0..=8),
        objects in vec(object(), 1..8),
        extra_commas in 0..3_usize,
    ) {
        let terms: Vec<_> = conditions.iter().map(FieldCondition::render).collect();
        let text = format!("{}{}", ",".repeat(extra_commas), terms.join(","));
        let selector = FieldSelector::<&str>::parse(&text).unwrap();
        let canonical = selector.to_string();
        let again = FieldSelector::<&str>::parse(&canonical).unwrap();
        prop_assert_eq!(again.to_string(), canonical.as_str());
        for object in &objects {
            let expected = conditions.iter().all(|condition| condition.holds(object));
            let field = |key: &str| object.get(key).map(String::as_str);
            prop_assert_eq!(selector.matches(field), expected, "{:?} {:?}", text, object);
            prop_assert_eq!(again.matches(field), expected, "{:?} {:?}", canonical, object);
        }

        let expected = conditions.iter().filter(|condition| condition.equal);
        let expected: Vec<_> = expected.map(|it| (it.key.as_str(), it.value.clone())).collect();
        let terms: Vec<_> = selector.terms().map(|(key, value)| (key, value.to_string())).collect();
        prop_assert_eq!(&terms, &expected);
        for ((_, value), (_, expected)) in selector.terms().zip(&expected) {
            prop_assert!(value == *expected.as_str());
            prop_assert!(value.chars().eq(expected.chars()));
            prop_assert!(value.plain().is_none_or(|plain| plain == expected));
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused_at_a_place_in_it(text in any::<String>(), other in noise()) {
        survives(&text, &other)?;
    }

    #[test]
    fn near_selectors_are_parsed_or_refused_at_a_place_in_them(text in noise(), other in noise()) {
        survives(&text, &other)?;
    }

    #[test]
    fn forged_errors_are_described_without_panic(
        text in noise(),
        offset in prop_oneof![0..50_usize, Just(usize::MAX), any::<usize>()],
        kind in select(ALL_KINDS),
    ) {
        let error = SelectorError { offset, kind };
        prop_assert!(!error.describe(&text).to_string().is_empty());
        prop_assert!(!error.to_string().is_empty());
    }
}

/// What must hold for any text whatsoever. `other` is a text the error is not about.
fn survives(text: &str, other: &str) -> TestCaseResult {
    match LabelSelector::<&str>::parse(text) {
        Ok(selector) => {
            let canonical = selector.to_string();
            let again = LabelSelector::<&str>::parse(&canonical).unwrap();
            prop_assert_eq!(again.to_string(), canonical.as_str());
            for value in [None, Some(""), Some("1"), Some("a"), Some(other)] {
                prop_assert_eq!(selector.matches(|_| value), again.matches(|_| value));
            }
        }
        Err(error) => refused(error, text, other)?,
    }
    match FieldSelector::<&str>::parse(text) {
        Ok(selector) => {
            let canonical = selector.to_string();
            let again = FieldSelector::<&str>::parse(&canonical).unwrap();
            prop_assert_eq!(again.to_string(), canonical.as_str());
            for value in [None, Some("1"), Some("a"), Some(other)] {
                prop_assert_eq!(selector.matches(|_| value), again.matches(|_| value));
            }
        }
        Err(error) => refused(error, text, other)?,
    }
    Ok(())
}

fn refused(error: SelectorError, text: &str, other: &str) -> TestCaseResult {
    prop_assert!(text.is_char_boundary(error.offset), "{:?}", error);
    prop_assert!(!error.describe(text).to_string().is_empty());
    prop_assert!(!error.describe(other).to_string().is_empty());
    Ok(())
}

#[derive(Clone, Debug)]
struct LabelCondition {
    key: String,
    /// As written in the selector; `""` and `"!"` for the existence operators.
    operator: &'static str,
    values: Vec<String>,
}

impl LabelCondition {
    fn holds(&self, object: &Object) -> bool {
        let value = object.get(&self.key);
        let listed = value.is_some_and(|value| self.values.contains(value));
        let integers = || -> Option<(i64, i64)> {
            Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
        };
        match self.operator {
            "" => value.is_some(),
            "!" => value.is_none(),
            "=" | "==" | "in" => listed,
            "!=" | "notin" => !listed,
            ">" => integers().is_some_and(|(value, bound)| value > bound),
            "<" => integers().is_some_and(|(value, bound)| value < bound),
            other => panic!("the model has no operator {other}"),
        }
    }

    fn term(&self) -> Option<(&str, &str)> {
        let first = self.values.first()?;
        let one = self.values.iter().all(|value| value == first);
        (one && matches!(self.operator, "=" | "==" | "in")).then_some((&self.key, first))
    }

    /// The same condition with its list turned round.
    fn reversed(&self) -> Self {
        let mut reversed = self.clone();
        reversed.values.reverse();
        reversed
    }
}

/// Writes the conditions with the gaps, in turn, wherever space is allowed.
fn render_labels(conditions: &[LabelCondition], gaps: &[&str]) -> String {
    let mut gaps = gaps.iter().cycle();
    let mut gap = || *gaps.next().unwrap();
    let mut text = String::from(gap());
    for (
        index,
        LabelCondition {
            key,
            operator,
            values,
        },
    ) in conditions.iter().enumerate()
    {
        let mut tokens: Vec<&str> = Vec::new();
        if index > 0 {
            tokens.push(",");
        }
        match *operator {
            "" => tokens.push(key),
            "!" => tokens.extend(["!", key]),
            "in" | "notin" => {
                tokens.extend([key, " ", operator, "("]);
                for (index, value) in values.iter().enumerate() {
                    tokens.extend((index > 0).then_some(","));
                    tokens.push(value);
                }
                tokens.push(")");
            }
            _ => tokens.extend([key.as_str(), operator, &values[0]]),
        }
        for token in tokens {
            text.push_str(token);
            text.push_str(gap());
        }
    }
    text
}

#[derive(Clone, Debug)]
struct FieldCondition {
    key: String,
    operator: &'static str,
    equal: bool,
    value: String,
}

impl FieldCondition {
    fn holds(&self, object: &Object) -> bool {
        let value = object.get(&self.key).cloned().unwrap_or_default();
        (value == self.value) == self.equal
    }

    fn render(&self) -> String {
        let value = self.value.replace('\\', r"\\");
        let value = value.replace(',', r"\,").replace('=', r"\=");
        format!("{}{}{value}", self.key, self.operator)
    }
}

fn label_condition() -> impl Strategy<Value = LabelCondition> {
    let list = prop_oneof![Just("in"), Just("notin")];
    let single = prop_oneof![Just("="), Just("=="), Just("!=")];
    let bare = prop_oneof![Just(""), Just("!")];
    let integer = prop_oneof![Just(">"), Just("<")];
    let bound = prop_oneof![0..12_i64, 0..=i64::MAX].prop_map(|bound| vec![bound.to_string()]);
    let parts = prop_oneof![
        (key(), list, vec(label_value(), 1..6)),
        (key(), single, vec(label_value(), 1)),
        (key(), bare, Just(Vec::new())),
        (key(), integer, bound),
    ];
    parts.prop_map(|(key, operator, values)| LabelCondition {
        key,
        operator,
        values,
    })
}

fn field_condition() -> impl Strategy<Value = FieldCondition> {
    let key = prop_oneof![key(), "[ a-z.!\u{e9}]{0,4}[a-z]", Just(String::new())];
    let operator = prop_oneof![Just("="), Just("=="), Just("!=")];
    (key, operator, field_value()).prop_map(|(key, operator, value)| FieldCondition {
        key,
        operator,
        equal: operator != "!=",
        value,
    })
}

/// Mostly a few keys, so that conditions and objects meet.
fn key() -> impl Strategy<Value = String> {
    let common = select(vec!["a", "b", "in", "notin", "example.com/a"]);
    prop_oneof![
        8 => common.prop_map(String::from),
        1 => "([a-z0-9]([-a-z0-9]{0,5}[a-z0-9])?(\\.[a-z]{1,3}){0,2}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?",
    ]
}

fn label_value() -> impl Strategy<Value = String> {
    let common = select(vec!["", "1", "2", "10", "a", "in", "notin"]);
    prop_oneof![
        8 => common.prop_map(String::from),
        1 => "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?",
    ]
}

fn field_value() -> impl Strategy<Value = String> {
    prop_oneof![label_value(), "[a1\\\\,=!\u{e9} ]{0,5}", any::<String>()]
}

fn object() -> impl Strategy<Value = Object> {
    let value = prop_oneof![
        4 => label_value(),
        1 => field_value(),
        1 => any::<i64>().prop_map(|value| value.to_string()),
        1 => (-3..15_i64).prop_map(|value| value.to_string()),
    ];
    btree_map(key(), value, 0..8)
}

fn gap() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", " ", "  ", "\t", "\n", "\r\n", " \t\r\n "])
}

/// Text out of the grammars' own pieces: often nearly right, sometimes right.
fn noise() -> impl Strategy<Value = String> {
    let pieces = vec![
        "a",
        "b",
        "1",
        "in",
        "notin",
        " in (",
        "=",
        "==",
        "!=",
        "!",
        "(",
        ")",
        ",",
        "<",
        ">",
        " ",
        "\t",
        "\n",
        "\0",
        "/",
        "-",
        ".",
        "_",
        "\\",
        "\\,",
        "\\=",
        "\u{e9}",
        "\u{65e5}",
        "\u{a0}",
        "\u{1f980}",
    ];
    vec(select(pieces), 0..16).prop_map(|pieces| pieces.concat())
}

const ALL_KINDS: &[SelectorErrorKind] = &[
    SelectorErrorKind::TextTooLong,
    SelectorErrorKind::TooManyRequirements { limit: 1 },
    SelectorErrorKind::ExpectedRequirement,
    SelectorErrorKind::ExpectedRequirementAfterComma,
    SelectorErrorKind::ExpectedIdentifier,
    SelectorErrorKind::ExpectedOperator,
    SelectorErrorKind::ExpectedOpen,
    SelectorErrorKind::ExpectedValue,
    SelectorErrorKind::ExpectedCommaOrClose,
    SelectorErrorKind::ExpectedCommaOrEnd,
    SelectorErrorKind::KeyHasManySlashes,
    SelectorErrorKind::KeyPrefixTooLong,
    SelectorErrorKind::KeyPrefixInvalid,
    SelectorErrorKind::KeyNameTooLong,
    SelectorErrorKind::KeyNameInvalid,
    SelectorErrorKind::ValueTooLong,
    SelectorErrorKind::ValueInvalid,
    SelectorErrorKind::NotAnInteger,
    SelectorErrorKind::InvalidEscape,
    SelectorErrorKind::UnescapedEquals,
    SelectorErrorKind::NoOperator,
];
