//! What the status of a definition says next.

use serde_json::{Value, json};

use super::definition::{Definition, Stage};
use super::names::Taken;
use crate::objects::meta;

/// The status that follows from a stored definition and the names that others have, one step at a time; `None` if it
/// says already what there is to say. `now` is the moment, as Kubernetes writes moments.
pub fn next(
    object: &Value,
    definition: &Definition,
    taken: &Taken<'_>,
    now: &str,
) -> Option<Value> {
    if definition.stage() == Stage::Terminating {
        return None;
    }
    let (names, conflict) = taken.accept(&definition.accepted);
    let free = conflict.is_none();
    let accepted = match conflict {
        None => ["NamesAccepted", "True", "NoConflicts", "no conflicts found"].map(str::to_owned),
        Some((reason, message)) => ["NamesAccepted", "False", reason, &message].map(str::to_owned),
    };
    let mut status = object.get("status").cloned().unwrap_or_else(|| json!({}));
    put(&mut status, "acceptedNames", json!(names));
    set_condition(&mut status, accepted.each_ref().map(String::as_str), now);
    let was_established = definition.is_established();
    if !was_established {
        // The names are told first: whoever sees them begins to serve the kind, and only then it is said to be there.
        let established = match (free, definition.stage()) {
            (true, Stage::Accepted) => ["True", "InitialNamesAccepted"],
            (true, _) => ["False", "Installing"],
            (false, _) => ["False", "NotAccepted"],
        };
        let message = if free {
            "the initial names have been accepted"
        } else {
            "not all names are accepted"
        };
        let [value, reason] = established;
        set_condition(&mut status, ["Established", value, reason, message], now);
    }
    if let Some(approved) = approval(object) {
        let condition = [
            "KubernetesAPIApprovalPolicyConformant",
            "True",
            "ApprovedAnnotation",
            &format!("approved in {approved}"),
        ];
        set_condition(&mut status, condition, now);
    }
    let changed = object.get("status") != Some(&status);
    changed.then(|| with_status(object, status))
}

/// The definition as it is when it is to be deleted and its instances still have to be.
pub fn terminating(object: &Value, now: &str) -> Value {
    let mut status = object.get("status").cloned().unwrap_or_else(|| json!({}));
    let condition = [
        "Terminating",
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    ];
    set_condition(&mut status, condition, now);
    with_status(object, status)
}

/// Groups of the community need somebody's approval, which is named by an annotation.
fn approval(object: &Value) -> Option<&str> {
    let group = object.get("spec")?.get("group")?.as_str()?;
    if !is_community_group(group) {
        return None;
    }
    let annotations = meta::get(object, "annotations")?;
    annotations.get(APPROVED)?.as_str()
}

/// The annotation that names the approval.
pub(crate) const APPROVED: &str = "api-approved.kubernetes.io";

/// Whether a group's name belongs to Kubernetes.
pub(crate) fn is_community_group(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.ends_with(&format!(".{domain}")))
}

fn with_status(object: &Value, status: Value) -> Value {
    let mut object = object.clone();
    put(&mut object, "status", status);
    object
}

/// Sets a condition: its type, status, reason and message. The moment is that of the last change of its status.
fn set_condition(status: &mut Value, [kind, value, reason, message]: [&str; 4], now: &str) {
    // Somebody else may have stored anything in its place.
    if !status.is_object() {
        *status = json!({});
    }
    let conditions = match status.get_mut("conditions") {
        Some(Value::Array(conditions)) => conditions,
        _ => {
            put(status, "conditions", json!([]));
            return set_condition(status, [kind, value, reason, message], now);
        }
    };
    let place = conditions.iter().position(|old| old["type"] == kind);
    let since = place
        .and_then(|place| conditions.get(place))
        .filter(|old| old["status"] == value)
        .and_then(|old| old.get("lastTransitionTime").cloned());
    let condition = json!({
        "type": kind,
        "status": value,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since.unwrap_or_else(|| now.into()),
    });
    match place.and_then(|place| conditions.get_mut(place)) {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}

fn put(object: &mut Value, field: &str, value: Value) {
    if let Value::Object(map) = object {
        map.insert(field.to_owned(), value);
    }
}
