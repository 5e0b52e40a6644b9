//! Definitions of kinds as a server reads them from its store.

use ringwatch_core::revision::Revision;
use ringwatch_server::cache::{Decoder, Format};
use ringwatch_server::definitions::{Definition, RESOURCE};
use ringwatch_server::storage::{Condition, KeyValue};
use ringwatch_server::yaml;
use serde_json::{Value, json};

/// The definition in a YAML text, as it is stored when its names are accepted and it is established.
pub(crate) fn definition(text: &str) -> Definition {
    let read = yaml::to_json(text.as_bytes(), &yaml::Limits::default()).unwrap();
    let mut object = read.value;
    let mut names = object["spec"]["names"].clone();
    let kind = names["kind"].as_str().unwrap().to_owned();
    names["listKind"] = format!("{kind}List").into();
    object["spec"]["names"] = names.clone();
    object["status"] = json!({
        "acceptedNames": names,
        "conditions": [
            {"type": "NamesAccepted", "status": "True"},
            {"type": "Established", "status": "True"},
        ],
    });
    stored(&object, 1)
}

/// A definition as it is stored at a revision.
pub(crate) fn stored(object: &Value, revision: u64) -> Definition {
    let [group, _, plural] = RESOURCE;
    let prefix = format!("/{group}/{plural}/");
    let name = object["metadata"]["name"].as_str().unwrap();
    let value = KeyValue {
        key: format!("{prefix}{name}").into(),
        value: object.to_string().into(),
        mod_revision: Revision::new(revision),
        create_revision: Revision::new(revision),
        condition: Condition::Sound,
    };
    let decoder = Decoder::new(prefix, &Format::json([])).unwrap();
    let object = decoder.session().decode(value).unwrap();
    Definition::read(&object).unwrap()
}
