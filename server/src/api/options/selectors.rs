//! From selectors and path to the predicate of a request: first their form, then, when the options were found to make
//! sense together, what they mean for the resource.

use ringwatch_core::predicate::Scope;
use ringwatch_core::selector::{FieldSelector, LabelSelector};

use super::{Selected, Table, refusals};
use crate::resources::Target;
use crate::status::Failure;

/// The selectors of a request: well-formed, and no more is known of them.
#[derive(Debug, Clone)]
pub(super) struct Selectors {
    labels: LabelSelector<Box<str>, Table>,
    fields: FieldSelector<Box<str>, Table>,
}

impl Selectors {
    pub(super) fn parse(labels: &str, fields: &str) -> Result<Self, Failure> {
        Ok(Self {
            labels: LabelSelector::parse(labels.into())
                .map_err(|error| Failure::bad_request(refusals::label(labels, &error)))?,
            fields: FieldSelector::parse(fields.into())
                .map_err(|error| Failure::bad_request(error.describe(fields).to_string()))?,
        })
    }

    /// Which objects a request wants, if the resource has the fields that it asks for.
    pub(super) fn predicate(self, target: &Target) -> Result<Selected, Failure> {
        for requirement in self.fields.requirements() {
            let name = requirement.key();
            let metadata = name == "metadata.name" || name == "metadata.namespace";
            if !metadata {
                let known = target.resource.field_label(name);
                known.map_err(Failure::bad_request)?;
            }
        }
        let scope = scope(target, &self.fields)?;
        Ok(Selected {
            scope,
            labels: self.labels.map_table(|rows| rows.iter().copied().collect()),
            fields: self.fields.map_table(|rows| rows.iter().copied().collect()),
        })
    }
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
