//! What kubectl keeps in an annotation when it applies on its own side, and how it moves from there to the server's side.

use serde_json::{Map, Value};

use super::claim::claim;
use super::{FieldSet, Node, compare};
use crate::objects::meta;

/// The manager's name by which kubectl applies. Another name opts out of all this.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How long an object's annotations may be together.
const MAX_ANNOTATIONS: usize = 256 << 10;

/// The fields that kubectl applied last and that still are what it applied.
pub(super) fn fields(types: Node<'_>, api_version: &str, live: &Value) -> Option<FieldSet> {
    let applied = meta::get(live, "annotations")?.get(ANNOTATION)?.as_str()?;
    let applied: Value = serde_json::from_str(applied).ok()?;
    if applied.get("apiVersion")?.as_str()? != api_version {
        return None;
    }
    let (mut fields, faults) = claim(types, &applied);
    if !faults.is_empty() {
        return None;
    }
    let difference = compare(types, &applied, live);
    fields.subtract(&difference.changed);
    fields.subtract(&difference.removed);
    Some(fields)
}

/// Writes into the annotation, if there is one, what is applied now.
pub(super) fn renew(object: &mut Value, wanted: &Value) {
    let Some(Value::Object(annotations)) = meta::metadata(object).get_mut("annotations") else {
        return;
    };
    let is_set = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if !annotations.get(ANNOTATION).is_some_and(is_set) {
        return;
    }
    let mut wanted = wanted.clone();
    if let Some(Value::Object(annotations)) = meta::metadata(&mut wanted).get_mut("annotations") {
        annotations.remove(ANNOTATION);
    }
    annotations.insert(ANNOTATION.into(), format!("{wanted}\n").into());
    if length(annotations) > MAX_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}

fn length(annotations: &Map<String, Value>) -> usize {
    let length = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    annotations.iter().map(length).sum()
}
