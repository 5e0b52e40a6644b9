//! What the definition of a kind must be.

mod version;

use serde_json::Value;

use super::Faults;
use super::names::{dns_1035_label_faults, subdomain_faults};
use crate::definitions::{APPROVED, is_community_group};
use crate::schema::path::FieldPath;
use crate::schema::pattern::at;

const KIND: &str = "CustomResourceDefinition";
const SPEC: FieldPath<'static> = FieldPath::Field(&FieldPath::Root, "spec");
const NAMES: FieldPath<'static> = FieldPath::Field(&SPEC, "names");
const STORED: FieldPath<'static> = FieldPath::Field(
    &FieldPath::Field(&FieldPath::Root, "status"),
    "storedVersions",
);

/// Checks a definition. What `old` has too is not held against it.
pub(super) fn check(kind: &str, object: &Value, old: Option<&Value>, faults: &mut Faults) {
    if kind != KIND {
        return;
    }
    let spec = object.get("spec").unwrap_or(&Value::Null);
    check_name(object, faults);
    check_group(object, old, faults);
    check_names(spec, faults);
    let scope = spec.get("scope").unwrap_or(&Value::Null);
    match scope.as_str().unwrap_or_default() {
        "" => faults.required(SPEC.field("scope"), ""),
        "Cluster" | "Namespaced" => {}
        _ => faults.unsupported(SPEC.field("scope"), scope, &["Cluster", "Namespaced"]),
    }
    let preserve = spec.get("preserveUnknownFields");
    if let Some(preserve) = preserve.filter(|preserve| **preserve != Value::Bool(false)) {
        faults.invalid(
            SPEC.field("preserveUnknownFields"),
            preserve,
            "must be false",
        );
    }
    check_conversion(spec, faults);
    let old_versions = old.and_then(|old| at(old, "spec.versions"));
    version::check_all(spec, old_versions, &SPEC.field("versions"), faults);
    check_status(kind, object, faults);
}

/// Checks what may not be changed.
pub(super) fn check_update(kind: &str, object: &Value, old: &Value, faults: &mut Faults) {
    if kind != KIND {
        return;
    }
    let mut fixed = vec!["group", "names.plural"];
    let conditions = at(old, "status.conditions").and_then(Value::as_array);
    let established = conditions.into_iter().flatten().any(|condition| {
        condition.get("type") == Some(&"Established".into())
            && condition.get("status") == Some(&"True".into())
    });
    if established {
        fixed.extend(["scope", "names.kind"]);
    }
    for field in fixed {
        let path = format!("spec.{field}");
        let (new, old) = (at(object, &path), at(old, &path));
        if new != old {
            faults.immutable(path, new);
        }
    }
}

/// Checks that no version is given up in which objects may be stored.
pub(super) fn check_status(kind: &str, object: &Value, faults: &mut Faults) {
    if kind != KIND {
        return;
    }
    let list = |path: &str| {
        let list = at(object, path).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default()
    };
    let versions = list("spec.versions");
    let stored = list("status.storedVersions");
    if stored.is_empty() {
        let none = Value::Array(Vec::new());
        faults.invalid(STORED, &none, "must have at least one stored version");
    }
    for (place, name) in stored.iter().enumerate() {
        if versions
            .iter()
            .any(|version| version.get("name") == Some(name))
        {
            continue;
        }
        let text = name.as_str().unwrap_or_default();
        let detail = format!(
            "missing from spec.versions; {text} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {text} and removes {text} from status.storedVersions"
        );
        faults.invalid(STORED.index(place), name, detail);
    }
    let storage = versions.iter().find(|version| is_storage(version));
    let storage = storage.and_then(|version| version.get("name"));
    if let Some(name) = storage.filter(|name| !stored.contains(name)) {
        let text = name.as_str().unwrap_or_default();
        faults.invalid(
            STORED,
            &Value::from(stored),
            format!("must have the storage version {text}"),
        );
    }
}

fn is_storage(version: &Value) -> bool {
    version.get("storage") == Some(&Value::Bool(true))
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

fn check_name(object: &Value, faults: &mut Faults) {
    let [name, plural, group] =
        ["metadata.name", "spec.names.plural", "spec.group"].map(|path| text(object, path));
    if name != format!("{plural}.{group}") {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        faults.invalid("metadata.name", &name.into(), detail);
    }
}

const PULL: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

fn check_group(object: &Value, old: Option<&Value>, faults: &mut Faults) {
    let group = text(object, "spec.group");
    let field = SPEC.field("group");
    if group.is_empty() {
        return faults.required(field, "");
    }
    let wrong = subdomain_faults(group);
    if !wrong.is_empty() {
        faults.invalid(field, &group.into(), wrong.join(","));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        faults.invalid(field, &group.into(), detail);
    }
    if old.is_some() || !is_community_group(group) {
        return;
    }
    let approval = object.pointer("/metadata/annotations");
    let approval = approval.and_then(|annotations| annotations.get(APPROVED));
    let annotation = format!("metadata.annotations[{APPROVED}]");
    match approval {
        None => faults.required(
            annotation,
            &format!("protected groups must have approval annotation {APPROVED:?}, {PULL}"),
        ),
        Some(value) => {
            let given = value.as_str().unwrap_or_default();
            let url = given.starts_with("https://") || given.starts_with("http://");
            if !url && !given.starts_with("unapproved") {
                let detail = format!(
                    "protected groups must have approval annotation {APPROVED:?} with either a URL or a reason starting with \"unapproved\", {PULL}"
                );
                faults.invalid(annotation, value, detail);
            }
        }
    }
}

fn check_names(spec: &Value, faults: &mut Faults) {
    let names = spec.get("names").unwrap_or(&Value::Null);
    for (field, required) in [("plural", true), ("singular", false)] {
        match text(names, field) {
            "" if required => faults.required(NAMES.field(field), ""),
            "" => {}
            name => check_label(name, &NAMES.field(field), faults),
        }
    }
    let kinds = ["kind", "listKind"].map(|field| text(names, field));
    for (field, name) in ["kind", "listKind"].into_iter().zip(kinds) {
        let wrong = dns_1035_label_faults(&name.to_lowercase());
        if name.is_empty() {
            faults.required(NAMES.field(field), "");
        } else if !wrong.is_empty() {
            let detail = format!(
                "may have mixed case, but should otherwise match: {}",
                wrong.join(",")
            );
            faults.invalid(NAMES.field(field), &name.into(), detail);
        }
    }
    if let [kind, list] = kinds
        && kind == list
        && !kind.is_empty()
    {
        let detail = "kind and listKind may not be the same";
        faults.invalid(NAMES.field("listKind"), &list.into(), detail);
    }
    for field in ["shortNames", "categories"] {
        let path = NAMES.field(field);
        let list = names.get(field).and_then(Value::as_array);
        for (place, name) in list.into_iter().flatten().enumerate() {
            check_label(
                name.as_str().unwrap_or_default(),
                &path.index(place),
                faults,
            );
        }
    }
}

fn check_label(name: &str, path: &FieldPath<'_>, faults: &mut Faults) {
    let wrong = dns_1035_label_faults(name);
    if !wrong.is_empty() {
        faults.invalid(path, &name.into(), wrong.join(","));
    }
}

/// Versions differ in their name alone: nobody is called to make one out of another.
fn check_conversion(spec: &Value, faults: &mut Faults) {
    let path = SPEC.field("conversion");
    let conversion = spec.get("conversion").unwrap_or(&Value::Null);
    let strategy = conversion.get("strategy").unwrap_or(&Value::Null);
    match strategy.as_str().unwrap_or_default() {
        "None" => {
            if conversion.get("webhook").is_some() {
                let detail = "should not be set when strategy is not set to Webhook";
                faults.forbidden(path.field("webhook"), detail);
            }
        }
        "" => faults.required(path.field("strategy"), ""),
        "Webhook" => {
            let detail = "conversion by webhooks is not supported by this server: use None, with which versions differ in their apiVersion alone";
            faults.invalid(path.field("strategy"), strategy, detail);
        }
        _ => faults.unsupported(path.field("strategy"), strategy, &["None", "Webhook"]),
    }
}
