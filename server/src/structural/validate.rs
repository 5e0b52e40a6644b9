//! What is wrong with an object, in the order in which kube-apiserver finds it: values, embedded objects, lists, rules.

use serde_json::Value;

use super::embedded;
use super::node::Node;
use super::rules;
use crate::schema::path::FieldPath;
use crate::validation::{Faults, Invalid, Reason};

mod lists;
mod values;

pub(super) use values::{Before, go_float};

/// What a fault names that is not about one field.
const NO_FIELD: &str = "<nil>";

pub(super) fn object(root: &Node, object: &Value, old: Option<&Value>) -> Vec<Invalid> {
    let mut faults = values::check(root, object, old);
    embedded::check(root, object, &FieldPath::Root, &mut faults);
    // Lists that were wrong already may stay so.
    if old.is_none_or(|old| !lists::have_faults(root, old)) {
        lists::check(root, object, &FieldPath::Root, &mut faults);
    }
    if root.has_rules {
        if is_blocked(&faults) {
            faults.invalid("", &Value::Null, UNCHECKED);
        } else {
            rules::run(root, object, old, &mut faults);
        }
    }
    let mut faults = faults.into_vec();
    for fault in faults.iter_mut().filter(|fault| fault.field.is_empty()) {
        fault.field = NO_FIELD.to_owned();
    }
    faults
}

/// What is wrong with a default, told as of `path`. Only values and embedded objects are looked at.
pub(super) fn default(node: &Node, value: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    let mut found = Faults::default();
    embedded::check(node, value, &FieldPath::Root, &mut found);
    if found.is_empty() {
        found = values::check(node, value, None);
    }
    for fault in found.into_vec() {
        let dot = if fault.field.is_empty() || fault.field.starts_with('[') {
            ""
        } else {
            "."
        };
        let field = format!("{path}{dot}{}", fault.field);
        faults.add(field, fault.reason, fault.value.as_ref(), fault.detail);
    }
}

/// A rule must not meet values of the wrong type, or more of them than its cost was estimated for.
fn is_blocked(faults: &Faults) -> bool {
    faults.any(|fault| {
        matches!(
            fault.reason,
            Reason::NotSupported
                | Reason::Required
                | Reason::TooLong
                | Reason::TooMany
                | Reason::TypeInvalid
        )
    })
}

const UNCHECKED: &str = "some validation rules were not checked because the object was invalid; \
    correct the existing errors to complete validation";
