//! Random JSON trees and their texts, shared by the property tests.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// A JSON value that remembers how its numbers are written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// The text, with white space and escapes where `choices` says so.
    pub(crate) fn text(&self, choices: &[u8]) -> String {
        let mut writer = Writer {
            out: String::new(),
            choices: choices.iter().cycle(),
        };
        writer.value(self);
        writer.out
    }

    /// Every value below this one with the text of its path, as far as paths reach.
    pub(crate) fn paths(&self) -> Vec<(String, &Tree)> {
        let mut all = Vec::new();
        collect(self, "", 0, &mut all);
        all
    }
}

/// Any value, not deep and not large.
pub(crate) fn tree() -> impl Strategy<Value = Tree> {
    scalar().prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            2 => object_of(inner.clone()),
            1 => vec(inner, 0..5).prop_map(Tree::Array),
        ]
    })
}

/// An object without duplicate keys.
pub(crate) fn object() -> impl Strategy<Value = Tree> {
    object_of(tree())
}

/// What decides about white space and escapes.
pub(crate) fn choices() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(vec![0xff]), vec(any::<u8>(), 1..40)]
}

fn object_of(inner: impl Strategy<Value = Tree>) -> impl Strategy<Value = Tree> {
    let keys = prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "c", "metadata", "resourceVersion"]).prop_map(String::from),
        1 => "[a-z.\\[\\]\\\\:,\"é😀 \n]{0,20}",
    ];
    btree_map(keys, inner, 0..6)
        .prop_map(|members| members.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
        .prop_map(Tree::Object)
}

fn scalar() -> impl Strategy<Value = Tree> {
    let number = prop_oneof![
        (-200_i64..200).prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        any::<i32>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?",
    ];
    let text = prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,30}",
        any::<String>(),
        "[a\"\\\\\n\u{1}é😀]{0,20}",
    ];
    prop_oneof![
        1 => Just(Tree::Null),
        1 => any::<bool>().prop_map(Tree::Bool),
        4 => number.prop_map(Tree::Number),
        4 => text.prop_map(Tree::Text),
    ]
}

fn collect<'t>(tree: &'t Tree, path: &str, depth: usize, all: &mut Vec<(String, &'t Tree)>) {
    if depth == 8 {
        return;
    }
    match tree {
        Tree::Object(members) => {
            for (key, value) in members.iter().filter(|(key, _)| !key.is_empty()) {
                let mut inner = format!("{path}.");
                for c in key.chars() {
                    if ".[],: \\".contains(c) {
                        inner.push('\\');
                    }
                    inner.push(c);
                }
                all.push((inner.clone(), value));
                collect(value, &inner, depth + 1, all);
            }
        }
        Tree::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                let inner = format!("{path}[{index}]");
                all.push((inner.clone(), value));
                collect(value, &inner, depth + 1, all);
            }
        }
        _ => {}
    }
}

struct Writer<'c> {
    out: String,
    choices: core::iter::Cycle<core::slice::Iter<'c, u8>>,
}

impl Writer<'_> {
    fn choice(&mut self) -> u8 {
        *self.choices.next().unwrap_or(&0xff)
    }

    fn blank(&mut self) {
        match self.choice() {
            0..=15 => self.out.push(' '),
            16..=31 => self.out.push_str("\n\t "),
            32..=39 => self.out.push_str("\r\n"),
            _ => {}
        }
    }

    fn value(&mut self, tree: &Tree) {
        self.blank();
        match tree {
            Tree::Null => self.out.push_str("null"),
            Tree::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Tree::Number(literal) => self.out.push_str(literal),
            Tree::Text(text) => self.string(text),
            Tree::Array(elements) => {
                self.out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.value(element);
                }
                self.blank();
                self.out.push(']');
            }
            Tree::Object(members) => {
                self.out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.blank();
                    self.string(key);
                    self.blank();
                    self.out.push(':');
                    self.value(value);
                }
                self.blank();
                self.out.push('}');
            }
        }
        self.blank();
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            let choice = self.choice();
            let short = match c {
                '"' => Some('"'),
                '\\' => Some('\\'),
                '/' => Some('/'),
                '\u{8}' => Some('b'),
                '\u{c}' => Some('f'),
                '\n' => Some('n'),
                '\r' => Some('r'),
                '\t' => Some('t'),
                _ => None,
            };
            let must = matches!(c, '"' | '\\' | '\0'..='\u{1f}');
            match short {
                Some(letter) if must && choice >= 30 || choice < 10 => {
                    self.out.extend(['\\', letter])
                }
                _ if must || choice < 30 => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let hex = format!("\\u{unit:04x}");
                        self.out.push_str(&if choice.is_multiple_of(2) {
                            hex
                        } else {
                            hex.to_uppercase().replace('U', "u")
                        });
                    }
                }
                _ => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}
