//! Questions that are asked by creating them: what may I do, and who am I. Nothing is stored.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::auth::{Access, Caller};
use crate::objects::encode;
use crate::resources::Resource;
use crate::status::Failure;
use crate::validation::{Invalid, Reason};

/// The question with its answer in it.
pub(super) fn answer(
    resource: &Resource,
    mut review: Value,
    caller: &Caller,
) -> Result<Bytes, Failure> {
    let status = match &*resource.kind {
        "SelfSubjectAccessReview" => access(resource, &review, caller)?,
        "SelfSubjectReview" => json!({"userInfo": {
            "username": caller.name(),
            "uid": caller.uid(),
            "groups": caller.groups(),
        }}),
        "SelfSubjectRulesReview" => rules(caller),
        _ => return Err(Failure::method_not_allowed()),
    };
    let Some(object) = review.as_object_mut() else {
        return Err(Failure::bad_request("the body is not an object"));
    };
    object.insert("kind".to_owned(), resource.kind.as_ref().into());
    object.insert("apiVersion".to_owned(), resource.api_version().into());
    object.entry("metadata").or_insert_with(|| json!({}));
    object.insert("status".to_owned(), status);
    Ok(encode::encode(&review))
}

fn access(resource: &Resource, review: &Value, caller: &Caller) -> Result<Value, Failure> {
    let spec = &review["spec"];
    let asked = ["resourceAttributes", "nonResourceAttributes"].map(|name| spec[name].is_object());
    let fault = match asked {
        [true, false] | [false, true] => None,
        [true, true] => Some((
            "spec.nonResourceAttributes",
            &spec["nonResourceAttributes"],
            "cannot be specified in combination with resourceAttributes",
        )),
        [false, false] => Some((
            "spec.resourceAttributes",
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
    };
    if let Some((field, value, detail)) = fault {
        let fault = Invalid {
            field: field.to_owned(),
            reason: Reason::Invalid,
            value: Some(value.clone()),
            detail: detail.to_owned(),
        };
        return Err(Failure::invalid(resource, "", &[fault]));
    }
    let text = |attributes: &'static str, name: &'static str| {
        spec[attributes][name].as_str().unwrap_or("").to_owned()
    };
    let verb = |attributes| text(attributes, "verb");
    let allowed = if spec["nonResourceAttributes"].is_object() {
        let (verb, path) = (
            verb("nonResourceAttributes"),
            text("nonResourceAttributes", "path"),
        );
        caller.check(&Access::path(&verb, &path)).is_ok()
    } else {
        let of = |name| text("resourceAttributes", name);
        let [verb, group, resource, subresource, namespace, name] = [
            "verb",
            "group",
            "resource",
            "subresource",
            "namespace",
            "name",
        ]
        .map(of);
        let access = Access::Resource {
            verb: &verb,
            group: &group,
            resource: &resource,
            subresource: &subresource,
            namespace: &namespace,
            name: &name,
        };
        caller.check(&access).is_ok()
    };
    Ok(json!({"allowed": allowed}))
}

fn rules(caller: &Caller) -> Value {
    let all = Access::Resource {
        verb: "delete",
        group: "",
        resource: "pods",
        subresource: "",
        namespace: "",
        name: "",
    };
    let verbs: &[&str] = if caller.check(&all).is_ok() {
        &["*"]
    } else {
        &["get", "list", "watch"]
    };
    json!({
        "resourceRules": [{"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": verbs, "nonResourceURLs": ["*"]}],
        "incomplete": false,
    })
}
