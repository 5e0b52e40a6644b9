//! What an object must be beyond its types, and how it is told what is wrong.
//!
//! The rules are those that users of kube-apiserver meet first, in its words: tables where a rule is a line, functions
//! where it is more. They are fewer than upstream's on purpose: an object that passes may still be one that kube-apiserver
//! refuses, but nothing is meant to be refused here that is accepted there.

use std::fmt;

use serde_json::Value;

use crate::defaults;
use crate::resources::Resource;
use crate::schema::path::FieldPath;
use crate::schema::pattern::at;

mod kinds;
mod metadata;
pub mod names;
mod pods;
mod tables;
mod workloads;

/// Something wrong with a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Invalid {
    /// The field, as `spec.containers[0].name`.
    pub field: String,
    /// In what way.
    pub reason: Reason,
    /// What the field holds, where the message shows it.
    pub value: Option<Value>,
    /// What it should be.
    pub detail: String,
}

/// In what way a field is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It must be there.
    Required,
    /// It must not be what it is.
    Invalid,
    /// It must be one of a few values.
    NotSupported,
    /// It must not be there, or not be changed.
    Forbidden,
    /// It is there twice.
    Duplicate,
    /// It names something that is not there.
    NotFound,
    /// It is too long.
    TooLong,
}

impl Reason {
    /// The reason in a Status' cause.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotFound => "FieldValueNotFound",
            Self::TooLong => "FieldValueTooLong",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::Duplicate => "Duplicate value",
            Self::NotFound => "Not found",
            Self::TooLong => "Too long",
        }
    }
}

impl Invalid {
    /// The message in a Status' cause: everything but the field.
    pub fn body(&self) -> String {
        let mut body = self.reason.words().to_owned();
        if let Some(value) = &self.value {
            // Texts come quoted and the rest as JSON.
            body = format!("{body}: {value}");
        }
        if !self.detail.is_empty() {
            body = format!("{body}: {}", self.detail);
        }
        body
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// The message of a 422: `Pod "x" is invalid: spec.containers: Required value`.
pub fn message(resource: &Resource, name: &str, faults: &[Invalid]) -> String {
    let all: Vec<String> = faults.iter().map(Invalid::to_string).collect();
    let all = match all.as_slice() {
        [one] => one.clone(),
        all => format!("[{}]", all.join(", ")),
    };
    format!("{} {name:?} is invalid: {all}", resource.qualified_kind())
}

/// What is wrong with a new object. Defaults must have been applied.
pub fn create(resource: &Resource, object: &Value) -> Vec<Invalid> {
    let mut faults = Faults::default();
    metadata::check(resource, object, &mut faults);
    whole(resource, object, &mut faults);
    faults.0
}

/// What is wrong with an object that is to take the place of `old`. Defaults must have been applied.
pub fn update(resource: &Resource, object: &Value, old: &Value) -> Vec<Invalid> {
    let mut faults = Faults::default();
    metadata::check(resource, object, &mut faults);
    metadata::check_update(object, old, &mut faults);
    whole(resource, object, &mut faults);
    if !resource.is_custom() {
        tables::check_update(&resource.kind, object, old, &mut faults);
        kinds::check_update(&resource.kind, object, old, &mut faults);
        workloads::check_update(&resource.kind, object, old, &mut faults);
        pods::check_update(&resource.kind, object, old, &mut faults);
    }
    faults.0
}

/// What is wrong with an object whose status alone is to take the place of `old`'s.
pub fn update_status(resource: &Resource, object: &Value, old: &Value) -> Vec<Invalid> {
    let mut faults = Faults::default();
    metadata::check(resource, object, &mut faults);
    metadata::check_update(object, old, &mut faults);
    faults.0
}

fn whole(resource: &Resource, object: &Value, faults: &mut Faults) {
    if resource.is_custom() {
        return;
    }
    tables::check(&resource.kind, object, faults);
    kinds::check(&resource.kind, object, faults);
    workloads::check(&resource.kind, object, faults);
    if let Some(path) = defaults::pod_spec_path(&resource.kind)
        && let Some(spec) = at(object, path)
    {
        pods::check(spec, path, faults);
    }
}

/// What was found so far.
#[derive(Default)]
struct Faults(Vec<Invalid>);

/// An object can be wrong in as many places as it is long; more than this helps nobody.
const MAX_FAULTS: usize = 100;

impl Faults {
    fn add(
        &mut self,
        field: impl fmt::Display,
        reason: Reason,
        value: Option<&Value>,
        detail: impl Into<String>,
    ) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(Invalid {
                field: field.to_string(),
                reason,
                value: value.cloned(),
                detail: detail.into(),
            });
        }
    }

    fn required(&mut self, field: impl fmt::Display, detail: &str) {
        self.add(field, Reason::Required, None, detail);
    }

    fn invalid(&mut self, field: impl fmt::Display, value: &Value, detail: impl Into<String>) {
        self.add(field, Reason::Invalid, Some(value), detail);
    }

    fn forbidden(&mut self, field: impl fmt::Display, detail: &str) {
        self.add(field, Reason::Forbidden, None, detail);
    }

    fn unsupported(&mut self, field: impl fmt::Display, value: &Value, supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(|word| format!("{word:?}")).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        self.add(field, Reason::NotSupported, Some(value), detail);
    }

    fn immutable(&mut self, field: impl fmt::Display, value: Option<&Value>) {
        self.add(
            field,
            Reason::Invalid,
            Some(value.unwrap_or(&Value::Null)),
            "field is immutable",
        );
    }

    /// Each of the values of `name` in a list may be there once.
    fn unique(&mut self, list: &Value, path: &FieldPath<'_>, name: &str) {
        let mut seen = std::collections::BTreeSet::new();
        for (index, element) in list.as_array().into_iter().flatten().enumerate() {
            let Some(value) = element.get(name) else {
                continue;
            };
            let text = value.as_str().unwrap_or_default();
            if !text.is_empty() && !seen.insert(text) {
                self.add(
                    path.index(index).field(name),
                    Reason::Duplicate,
                    Some(value),
                    "",
                );
            }
        }
    }
}
