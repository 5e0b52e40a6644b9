//! What an object must be beyond its types, and how it is told what is wrong.
//!
//! The rules are those that users of kube-apiserver meet first, in its words: tables where a rule is a line, functions
//! where it is more. They are fewer than upstream's on purpose: an object that passes may still be one that kube-apiserver
//! refuses, but nothing is meant to be refused here that is accepted there.

use std::fmt;

use serde_json::Value;

use crate::defaults;
use crate::definitions::Custom;
use crate::resources::Resource;
use crate::schema::path::FieldPath;
use crate::schema::pattern::at;

mod definitions;
mod kinds;
mod metadata;

pub(crate) use metadata::check_embedded as check_embedded_metadata;

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
    /// It has too many entries.
    TooMany,
    /// It is of the wrong type.
    TypeInvalid,
    /// It could not be checked.
    Internal,
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
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::Duplicate => "Duplicate value",
            Self::NotFound => "Not found",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
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
    whole(resource, object, None, &mut faults);
    faults.0
}

/// What is wrong with an object that is to take the place of `old`. Defaults must have been applied.
pub fn update(resource: &Resource, object: &Value, old: &Value) -> Vec<Invalid> {
    let mut faults = Faults::default();
    metadata::check(resource, object, &mut faults);
    metadata::check_update(object, old, &mut faults);
    whole(resource, object, Some(old), &mut faults);
    if !resource.is_custom() {
        tables::check_update(&resource.kind, object, old, &mut faults);
        kinds::check_update(&resource.kind, object, old, &mut faults);
        workloads::check_update(&resource.kind, object, old, &mut faults);
        pods::check_update(&resource.kind, object, old, &mut faults);
        definitions::check_update(&resource.kind, object, old, &mut faults);
    }
    faults.0
}

/// What is wrong with an object whose status alone is to take the place of `old`'s.
pub fn update_status(resource: &Resource, object: &Value, old: &Value) -> Vec<Invalid> {
    let mut faults = Faults::default();
    metadata::check(resource, object, &mut faults);
    metadata::check_update(object, old, &mut faults);
    custom(resource, object, Some(old), &mut faults);
    if !resource.is_custom() {
        definitions::check_status(&resource.kind, object, &mut faults);
        kinds::check_status(&resource.kind, object, &mut faults);
    }
    faults.0
}

/// What the schema of a custom kind has against an object.
fn custom(resource: &Resource, object: &Value, old: Option<&Value>, faults: &mut Faults) {
    let schema = resource.custom().map(Custom::schema);
    if let Some(Ok(Some(schema))) = schema {
        faults.0.extend(match old {
            Some(old) => schema.validate_update(object, old),
            None => schema.validate(object),
        });
    }
}

fn whole(resource: &Resource, object: &Value, old: Option<&Value>, faults: &mut Faults) {
    if resource.is_custom() {
        custom(resource, object, old, faults);
        return;
    }
    definitions::check(&resource.kind, object, old, faults);
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
pub(crate) struct Faults(Vec<Invalid>);

/// An object can be wrong in as many places as it is long; more than this helps nobody.
const MAX_FAULTS: usize = 100;
/// How many bytes are told of a field's path, of its text and of what is wrong with it. A key can be as long as an object.
const MAX_SHOWN: usize = 4096;

fn shortened(mut text: String) -> String {
    if text.len() > MAX_SHOWN {
        text.truncate(text.floor_char_boundary(MAX_SHOWN));
        text.push('…');
    }
    text
}

impl Faults {
    /// Everything that was found.
    pub(crate) fn into_vec(self) -> Vec<Invalid> {
        self.0
    }

    /// Whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How much was found.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether something of a kind was found.
    pub(crate) fn any(&self, is_one: impl Fn(&Invalid) -> bool) -> bool {
        self.0.iter().any(is_one)
    }

    /// Takes what was found elsewhere.
    pub(crate) fn extend(&mut self, found: Option<Self>) {
        let room = MAX_FAULTS.saturating_sub(self.0.len());
        let found = found.into_iter().flat_map(|found| found.0);
        self.0.extend(found.take(room));
    }

    /// Whether no more is taken.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    pub(crate) fn add(
        &mut self,
        field: impl fmt::Display,
        reason: Reason,
        value: Option<&Value>,
        detail: impl Into<String>,
    ) {
        if self.0.len() < MAX_FAULTS {
            let value = match value {
                Some(Value::String(text)) if text.len() > MAX_SHOWN => {
                    Some(shortened(text.clone()).into())
                }
                value => value.cloned(),
            };
            self.0.push(Invalid {
                field: shortened(field.to_string()),
                reason,
                value,
                detail: shortened(detail.into()),
            });
        }
    }

    pub(crate) fn required(&mut self, field: impl fmt::Display, detail: &str) {
        self.add(field, Reason::Required, None, detail);
    }

    pub(crate) fn invalid(
        &mut self,
        field: impl fmt::Display,
        value: &Value,
        detail: impl Into<String>,
    ) {
        self.add(field, Reason::Invalid, Some(value), detail);
    }

    pub(crate) fn forbidden(&mut self, field: impl fmt::Display, detail: &str) {
        self.add(field, Reason::Forbidden, None, detail);
    }

    pub(crate) fn unsupported(
        &mut self,
        field: impl fmt::Display,
        value: &Value,
        supported: &[&str],
    ) {
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
