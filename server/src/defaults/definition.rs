//! What a CustomResourceDefinition gets that it does not bring.

use serde_json::{Value, json};

use super::{insert, text};
use crate::schema::pattern::{at, at_mut, set_default};

/// Names that follow from others, and the one conversion there is.
pub(super) fn apply(definition: &mut Value) {
    let kind = text(definition, "spec.names.kind").to_owned();
    let defaults = [
        ("singular", kind.to_lowercase()),
        ("listKind", format!("{kind}List")),
    ];
    for (name, default) in defaults {
        let field = format!("spec.names.{name}");
        if kind.is_empty() || !text(definition, &field).is_empty() {
            continue;
        }
        if let Some(names) = at_mut(definition, "spec.names") {
            insert(names, name, default.into());
        }
    }
    set_default(definition, "spec.conversion!.strategy", &json!("None"));
}

/// The status to begin with.
pub(super) fn prepare_create(definition: &mut Value) {
    let status = json!({
        "acceptedNames": {"kind": "", "plural": ""},
        "conditions": [],
        "storedVersions": [],
    });
    insert(definition, "status", status);
    note_storage_version(definition);
}

/// Notes that objects may be stored in the version in which they are stored from now on.
pub(super) fn note_storage_version(definition: &mut Value) {
    let versions = at(definition, "spec.versions").and_then(Value::as_array);
    let mut versions = versions.into_iter().flatten();
    let storage = versions.find(|version| version.get("storage") == Some(&true.into()));
    let name = storage.and_then(|version| version.get("name")).cloned();
    let Some(name) = name else { return };
    set_default(definition, "status!.storedVersions", &json!([]));
    if let Some(Value::Array(stored)) = at_mut(definition, "status.storedVersions")
        && !stored.contains(&name)
    {
        stored.push(name);
    }
}
