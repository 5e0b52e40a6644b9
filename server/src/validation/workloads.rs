//! What the controllers of pods must be.

use serde_json::{Map, Value};

use super::Faults;
use super::metadata::check_labels;
use crate::schema::path::FieldPath;
use crate::schema::pattern::at;

pub(super) fn check(kind: &str, object: &Value, faults: &mut Faults) {
    match kind {
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" => {
            check_selector(kind, object, faults);
            check_restart(
                object,
                "spec.template.spec.restartPolicy",
                &["Always"],
                faults,
            );
        }
        "ReplicationController" => {
            check_plain_selector(object, faults);
            check_restart(
                object,
                "spec.template.spec.restartPolicy",
                &["Always"],
                faults,
            );
        }
        "Job" => check_restart(
            object,
            "spec.template.spec.restartPolicy",
            &["OnFailure", "Never"],
            faults,
        ),
        "CronJob" => {
            let path = "spec.jobTemplate.spec.template.spec.restartPolicy";
            check_restart(object, path, &["OnFailure", "Never"], faults);
        }
        _ => {}
    }
    let template = match kind {
        "CronJob" => "spec.jobTemplate.spec.template.metadata.labels",
        "PodTemplate" => "template.metadata.labels",
        _ => "spec.template.metadata.labels",
    };
    if let Some(Value::Object(labels)) = at(object, template) {
        check_labels(
            labels,
            &FieldPath::Field(&FieldPath::Root, template),
            faults,
        );
    }
}

fn check_restart(object: &Value, path: &str, supported: &[&str], faults: &mut Faults) {
    let Some(value) = at(object, path) else {
        return;
    };
    // What is no policy at all is told by the rules of pods.
    let known = ["Always", "Never", "OnFailure"]
        .map(Value::from)
        .contains(value);
    if known && !supported.iter().any(|policy| value == policy) {
        faults.unsupported(path, value, supported);
    }
}

const TEMPLATE_LABELS: &str = "spec.template.metadata.labels";
const MISMATCH: &str = "`selector` does not match template `labels`";

fn check_selector(kind: &str, object: &Value, faults: &mut Faults) {
    let Some(selector) = at(object, "spec.selector") else {
        faults.required("spec.selector", "");
        return;
    };
    if is_empty(selector) {
        let detail = format!(
            "empty selector is invalid for {}",
            kind.to_ascii_lowercase()
        );
        faults.invalid("spec.selector", selector, detail);
    }
    check_expressions(selector, faults);
    let empty = Value::Object(Map::new());
    let labels = at(object, TEMPLATE_LABELS).unwrap_or(&empty);
    if !matches(selector, labels) {
        faults.invalid(TEMPLATE_LABELS, labels, MISMATCH);
    }
}

fn check_plain_selector(object: &Value, faults: &mut Faults) {
    let selector = at(object, "spec.selector").and_then(Value::as_object);
    let Some(selector) = selector.filter(|selector| !selector.is_empty()) else {
        faults.required("spec.selector", "");
        return;
    };
    let empty = Value::Object(Map::new());
    let labels = at(object, TEMPLATE_LABELS).unwrap_or(&empty);
    if !selector
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value))
    {
        faults.invalid(TEMPLATE_LABELS, labels, MISMATCH);
    }
}

fn is_empty(selector: &Value) -> bool {
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    labels.is_none_or(Map::is_empty) && expressions(selector).next().is_none()
}

fn expressions(selector: &Value) -> impl Iterator<Item = &Value> {
    selector
        .get("matchExpressions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn check_expressions(selector: &Value, faults: &mut Faults) {
    for (index, expression) in expressions(selector).enumerate() {
        let place = format!("spec.selector.matchExpressions[{index}]");
        let operator = expression.get("operator").unwrap_or(&Value::Null);
        let values = expression
            .get("values")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        match operator.as_str().unwrap_or_default() {
            "In" | "NotIn" if values == 0 => {
                faults.required(
                    format!("{place}.values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                );
            }
            "Exists" | "DoesNotExist" if values > 0 => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                faults.forbidden(format!("{place}.values"), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => faults.invalid(
                format!("{place}.operator"),
                operator,
                "not a valid selector operator",
            ),
        }
    }
}

/// Whether a selector object matches labels.
fn matches(selector: &Value, labels: &Value) -> bool {
    let wanted = selector.get("matchLabels").and_then(Value::as_object);
    let exact = wanted
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    let by_expression = |expression: &Value| {
        let key = expression
            .get("key")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let found = labels.get(key);
        let values = expression.get("values").and_then(Value::as_array);
        let listed = found.is_some_and(|found| values.is_some_and(|values| values.contains(found)));
        match expression
            .get("operator")
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => true,
        }
    };
    exact && expressions(selector).all(by_expression)
}

pub(super) fn check_update(kind: &str, object: &Value, old: &Value, faults: &mut Faults) {
    match kind {
        "StatefulSet" => {
            let [now, before] =
                [object, old].map(|object| without(object.get("spec"), STATEFUL_SET_MUTABLE));
            if now != before {
                faults.forbidden("spec", STATEFUL_SET_UPDATE);
            }
        }
        "Job" => {
            let [now, before] = [object, old].map(|object| at(object, "spec.completions"));
            // Indexed jobs may be made larger or smaller as a whole.
            let elastic = at(object, "spec.completionMode") == Some(&"Indexed".into())
                && now == at(object, "spec.parallelism");
            if now != before && !elastic {
                faults.immutable("spec.completions", now);
            }
            // Before it runs, its pods may still be directed elsewhere.
            let suspended = at(old, "spec.suspend") == Some(&true.into());
            let [now, before] = [object, old].map(|object| at(object, "spec.template"));
            if now != before && !suspended {
                faults.immutable("spec.template", now);
            }
        }
        _ => {}
    }
}

fn without(spec: Option<&Value>, fields: &[&str]) -> Value {
    let mut spec = spec.cloned().unwrap_or_default();
    if let Some(spec) = spec.as_object_mut() {
        spec.retain(|key, _| !fields.contains(&key.as_str()));
    }
    spec
}

const STATEFUL_SET_MUTABLE: &[&str] = &[
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

const STATEFUL_SET_UPDATE: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
    'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
