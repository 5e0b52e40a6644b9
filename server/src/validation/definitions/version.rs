//! What the versions of a definition must be.

use std::collections::BTreeSet;

use ringwatch_core::json::Path;
use serde_json::Value;

use super::{is_storage, text};
use crate::columns::custom::{JsonPath, MAX_COLUMNS};
use crate::schema::path::FieldPath;
use crate::structural::{Schema, Type};
use crate::validation::names::dns_1035_label_faults;
use crate::validation::{Faults, Reason};

/// How many versions a definition may have. Upstream has no limit; nobody has come near.
const MAX_VERSIONS: usize = 32;
/// How many fields of a version may be selected by.
const MAX_SELECTABLE: usize = 8;

/// Checks all versions. A schema that `old` has too, under the same name, is not looked at again.
pub(super) fn check_all(
    spec: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    faults: &mut Faults,
) {
    let none = Value::Array(Vec::new());
    let all = spec.get("versions").unwrap_or(&none);
    let versions = all.as_array().map(Vec::as_slice).unwrap_or_default();
    if versions.len() > MAX_VERSIONS {
        let detail = format!("must have at most {MAX_VERSIONS} items");
        return faults.add(path, Reason::TooMany, Some(&versions.len().into()), detail);
    }
    let names: BTreeSet<&str> = versions
        .iter()
        .map(|version| text(version, "name"))
        .collect();
    if names.len() < versions.len() {
        faults.invalid(
            path,
            &names_of(versions),
            "must contain unique version names",
        );
    }
    if versions
        .iter()
        .filter(|version| is_storage(version))
        .count()
        != 1
    {
        let detail = "must have exactly one version marked as storage version";
        faults.invalid(path, &names_of(versions), detail);
    }
    for (place, version) in versions.iter().enumerate() {
        let name = text(version, "name");
        let mut older = old.and_then(Value::as_array).into_iter().flatten();
        let older = older.find(|older| text(older, "name") == name);
        check(version, older, &path.index(place), faults);
    }
}

/// The versions themselves can be long.
fn names_of(versions: &[Value]) -> Value {
    let names = versions.iter().map(|version| text(version, "name"));
    names.collect()
}

fn check(version: &Value, old: Option<&Value>, path: &FieldPath<'_>, faults: &mut Faults) {
    let name = text(version, "name");
    let wrong = dns_1035_label_faults(name);
    if !wrong.is_empty() {
        faults.invalid(path.field("name"), &name.into(), wrong.join(","));
    }
    let schema = schema(version, old, path, faults);
    if let Some(scale) = version.pointer("/subresources/scale") {
        check_scale(scale, &path.field("subresources").field("scale"), faults);
    }
    let list = |field: &str| {
        let list = version.get(field).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default()
    };
    check_columns(
        list("additionalPrinterColumns"),
        &path.field("additionalPrinterColumns"),
        faults,
    );
    check_selectable(
        list("selectableFields"),
        schema.as_ref(),
        &path.field("selectableFields"),
        faults,
    );
}

/// The schema of a version, if it is one.
fn schema(
    version: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    faults: &mut Faults,
) -> Option<Schema> {
    let schema = version.pointer("/schema/openAPIV3Schema");
    let path = path.field("schema");
    let path = path.field("openAPIV3Schema");
    let Some(schema) = schema.filter(|schema| schema.is_object()) else {
        faults.required(path, "schemas are required");
        return None;
    };
    match Schema::parse(schema, &path) {
        Ok(schema) => Some(schema),
        Err(wrong) => {
            let before = old.and_then(|old| old.pointer("/schema/openAPIV3Schema"));
            if before != Some(schema) {
                faults.0.extend(wrong);
            }
            None
        }
    }
}

fn check_scale(scale: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    let rules: [(&str, &[&str], &str); 3] = [
        (
            "specReplicasPath",
            &[".spec."],
            "should be a json path under .spec",
        ),
        (
            "statusReplicasPath",
            &[".status."],
            "should be a json path under .status",
        ),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "should be a json path under either .spec or .status",
        ),
    ];
    for (field, roots, detail) in rules {
        let given = text(scale, field);
        if given.is_empty() {
            if field != "labelSelectorPath" {
                faults.required(path.field(field), "");
            }
            continue;
        }
        if let Err(detail) = simple_path(given) {
            faults.invalid(path.field(field), &given.into(), detail);
        } else if !roots.iter().any(|root| given.starts_with(root)) {
            faults.invalid(path.field(field), &given.into(), detail);
        }
    }
}

/// Names with a dot before each, and what can be looked up by them.
fn simple_path(path: &str) -> Result<(), &'static str> {
    let Some(names) = path.strip_prefix('.') else {
        return Err("must be a simple json path starting with .");
    };
    let sound = |name: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        !name.is_empty() && name.chars().all(known)
    };
    if !names.split('.').all(sound) {
        return Err("must be a json path in the dot notation");
    }
    Ok(())
}

fn check_columns(columns: &[Value], path: &FieldPath<'_>, faults: &mut Faults) {
    if columns.len() > MAX_COLUMNS {
        let detail = format!("must have at most {MAX_COLUMNS} items");
        return faults.add(path, Reason::TooMany, Some(&columns.len().into()), detail);
    }
    let types = ["boolean", "date", "integer", "number", "string"];
    let formats = [
        "byte",
        "date",
        "date-time",
        "double",
        "float",
        "int32",
        "int64",
        "password",
    ];
    for (place, column) in columns.iter().enumerate() {
        let path = path.index(place);
        if text(column, "name").is_empty() {
            faults.required(path.field("name"), "");
        }
        match text(column, "type") {
            "" => faults.required(path.field("type"), &one_of(&types)),
            kind if types.contains(&kind) => {}
            kind => faults.unsupported(path.field("type"), &kind.into(), &types),
        }
        match text(column, "format") {
            "" => {}
            format if formats.contains(&format) => {}
            format => faults.unsupported(path.field("format"), &format.into(), &formats),
        }
        let given = text(column, "jsonPath");
        if given.is_empty() {
            faults.required(path.field("jsonPath"), "");
        } else if let Err(error) = JsonPath::parse(given) {
            faults.invalid(path.field("jsonPath"), &given.into(), error.to_string());
        }
    }
}

fn one_of(words: &[&str]) -> String {
    format!("must be one of {}", words.join(","))
}

fn check_selectable(
    fields: &[Value],
    schema: Option<&Schema>,
    path: &FieldPath<'_>,
    faults: &mut Faults,
) {
    if fields.len() > MAX_SELECTABLE {
        let detail = format!("must have at most {MAX_SELECTABLE} items");
        return faults.add(path, Reason::TooMany, Some(&fields.len().into()), detail);
    }
    let mut seen = BTreeSet::new();
    for (place, field) in fields.iter().enumerate() {
        let path = path.index(place);
        let path = path.field("jsonPath");
        let given = text(field, "jsonPath");
        let value = Value::from(given);
        if given.is_empty() {
            faults.required(path, "");
            continue;
        }
        if !seen.insert(given) {
            faults.add(path, Reason::Duplicate, Some(&value), "");
            continue;
        }
        let simple = simple_path(given).is_ok();
        if !simple || Path::parse(given.trim_start_matches('.')).is_err() {
            let detail =
                "is an invalid path: must be a simple path of at most 8 names, as .spec.color";
            faults.invalid(path, &value, detail);
        } else if given == ".metadata" || given.starts_with(".metadata.") {
            faults.invalid(path, &value, "must not point to fields in metadata");
        } else if let Some(schema) = schema {
            let selectable = [Type::String, Type::Boolean, Type::Integer];
            match schema.at(given).map(|node| node.type_of()) {
                None => faults.invalid(path, &value, "is an invalid path: does not refer to a valid field"),
                Some(Some(of)) if selectable.contains(&of) => {}
                Some(_) => faults.invalid(
                    path,
                    &value,
                    "must point to a field of type string, boolean or integer. Enum/CEL constraints are allowed",
                ),
            }
        }
    }
}
