//! From selectors and path to the predicate of a request.

use ringwatch_core::predicate::Scope;
use ringwatch_core::selector::{FieldSelector, LabelSelector};

use super::{Selected, Table, refusals};
use crate::resources::Target;
use crate::status::Failure;

/// Which objects a request wants.
pub(super) fn predicate(target: &Target, labels: &str, fields: &str) -> Result<Selected, Failure> {
    let labels = LabelSelector::<Box<str>, Table>::parse(labels.into())
        .map_err(|error| Failure::bad_request(refusals::label(labels, &error)))?;
    let fields = FieldSelector::<Box<str>, Table>::parse(fields.into())
        .map_err(|error| Failure::bad_request(refusals::field(fields, &error)))?;
    for requirement in fields.requirements() {
        let name = requirement.key();
        let metadata = name == "metadata.name" || name == "metadata.namespace";
        if !metadata {
            let known = target.resource.field_label(name);
            known.map_err(Failure::bad_request)?;
        }
    }
    let scope = scope(target, &fields)?;
    Ok(Selected {
        scope,
        labels: labels.map_table(|rows| rows.iter().copied().collect()),
        fields: fields.map_table(|rows| rows.iter().copied().collect()),
    })
}

/// The part of the resource that can be looked up: a selector may narrow what the path says.
fn scope(
    target: &Target,
    fields: &FieldSelector<Box<str>, Table>,
) -> Result<Scope<Box<str>>, Failure> {
    let exact = |field: &str| {
        let mut terms = fields.terms();
        terms.find_map(|(name, value)| (name == field).then(|| value.to_string()))
    };
    let selected = exact("metadata.name");
    let name = match (&target.name, selected) {
        (Some(name), Some(selected)) if *name != selected => {
            let message = "fieldSelector metadata.name doesn't match requested name";
            return Err(Failure::bad_request(message));
        }
        (Some(name), _) => Some(name.clone()),
        (None, selected) => selected,
    };
    if !target.resource.is_namespaced() {
        return Ok(match name {
            Some(name) => Scope::Object(name.into()),
            None => Scope::Resource,
        });
    }
    let namespace = target
        .namespace
        .clone()
        .or_else(|| exact("metadata.namespace"));
    Ok(match (namespace, name) {
        (Some(namespace), Some(name)) => Scope::Object(format!("{namespace}/{name}").into()),
        (Some(namespace), None) => Scope::Namespace(namespace.into()),
        // The name alone is left to the selector.
        (None, _) => Scope::Resource,
    })
}
