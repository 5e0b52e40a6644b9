//! What a rule is made of.

use std::sync::OnceLock;

use serde_json::Value;

use super::Rule;
use crate::schema::path::FieldPath;
use crate::validation::{Faults, Reason};

const KNOWN: [&str; 6] = [
    "fieldPath",
    "message",
    "messageExpression",
    "optionalOldSelf",
    "reason",
    "rule",
];

const REASONS: [(&str, Reason); 4] = [
    ("FieldValueDuplicate", Reason::Duplicate),
    ("FieldValueForbidden", Reason::Forbidden),
    ("FieldValueInvalid", Reason::Invalid),
    ("FieldValueRequired", Reason::Required),
];

impl Rule {
    /// Reads a rule; none if there is nothing to compile.
    pub(in crate::structural) fn read(
        rule: &Value,
        path: &FieldPath<'_>,
        faults: &mut Faults,
    ) -> Option<Self> {
        let Value::Object(map) = rule else {
            faults.invalid(path, rule, "must be an object");
            return None;
        };
        for word in map.keys().filter(|word| !KNOWN.contains(&word.as_str())) {
            faults.forbidden(path.field(word), &format!("{word} is not supported"));
        }
        let mut text = |word: &str| match map.get(word) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.as_str()),
            Some(other) => {
                faults.invalid(path.field(word), other, "must be a string");
                None
            }
        };
        let [source, message, expression, reason, field_path] = [
            "rule",
            "message",
            "messageExpression",
            "reason",
            "fieldPath",
        ]
        .map(&mut text);
        let source = source.unwrap_or_default();
        if source.trim().is_empty() {
            faults.required(path.field("rule"), "rule is not specified");
        }
        for (word, text) in [
            ("message", message),
            ("messageExpression", expression),
            ("fieldPath", field_path),
        ] {
            let Some(text) = text else { continue };
            let at = path.field(word);
            if text.trim().is_empty() {
                faults.invalid(
                    at,
                    &text.into(),
                    format!("{word} must be non-empty if specified"),
                );
            } else if word != "messageExpression" && text.trim().contains('\n') {
                faults.invalid(
                    at,
                    &text.into(),
                    format!("{word} must not contain line breaks"),
                );
            }
        }
        if source.trim().contains('\n') && message.is_none() && expression.is_none() {
            let detail =
                "message or messageExpression must be specified if rule contains line breaks";
            faults.required(path.field("message"), detail);
        }
        let reason = match reason {
            None => Reason::Invalid,
            Some(name) => match REASONS.iter().find(|(known, _)| *known == name) {
                Some((_, reason)) => *reason,
                None => {
                    let names = REASONS.map(|(name, _)| name);
                    faults.unsupported(path.field("reason"), &name.into(), &names);
                    Reason::Invalid
                }
            },
        };
        let optional_old = match map.get("optionalOldSelf") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                faults.invalid(path.field("optionalOldSelf"), other, "must be a boolean");
                false
            }
        };
        Some(Self {
            source: source.into(),
            message: message.map(Box::from),
            message_expression: expression.map(Box::from),
            reason,
            field_path: field_path.map(|text| text.trim().into()),
            optional_old,
            compiled: OnceLock::new(),
        })
    }
}
