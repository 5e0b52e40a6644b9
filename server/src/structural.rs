//! Structural schemas: the types of custom resources, as their definitions bring them.
//!
//! A definition's `openAPIV3Schema` is read once, into an immutable tree that is shared, or is refused with everything that is
//! wrong with it. What the tree cannot express is refused too: nothing in a schema is ignored. Then each object goes through
//! steps, each of which can be used alone, and none of which does I/O:
//!
//! ```text
//!   object ──► prune (unknown fields) ──► fill (defaults, nulls) ──► validate (types, values, lists, rules) ──► stored
//! ```
//!
//! The order of events, the texts and the fields they name are those of kube-apiserver. Every step costs time in proportion to
//! the object, whatever the schema and the object are: trees are bounded in depth and size, patterns run in linear
//! time, rules on a budget, and no more than a hundred faults are told.
//!
//! ```
//! use ringwatch_server::schema::path::FieldPath;
//! use ringwatch_server::structural::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::parse(
//!     &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
//!         "setpoint": {"type": "number", "maximum": 90},
//!         "mode": {"type": "string", "default": "auto"},
//!     }}}}),
//!     &FieldPath::Root.field("schema"),
//! )
//! .unwrap();
//! let mut device = json!({"spec": {"setpoint": 95, "color": "red"}});
//! assert_eq!(schema.prune(&mut device), ["spec.color"]);
//! schema.fill(&mut device).unwrap();
//! assert_eq!(device, json!({"spec": {"setpoint": 95, "mode": "auto"}}));
//! let faults = schema.validate(&device);
//! assert_eq!(
//!     faults[0].to_string(),
//!     "spec.setpoint: Invalid value: 95: spec.setpoint in body should be less than or equal to 90"
//! );
//! ```

use std::sync::Arc;

use serde_json::Value;

use crate::schema::path::FieldPath;
use crate::validation::{Invalid, Reason};

mod cel;
mod embedded;
mod fill;
mod format;
mod node;
mod parse;
mod pattern;
mod prune;
pub mod publish;
mod rules;
mod validate;

pub use node::{ListType, MapType, Node, Type};

/// How deeply a schema may be nested.
pub const MAX_DEPTH: usize = 64;
/// How many nodes a schema may have, those in `allOf` and the like included.
pub const MAX_NODES: usize = 20_000;

/// The type of a custom resource in one version. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Schema(Arc<Node>);

impl Schema {
    /// Reads an `openAPIV3Schema` at the root of a kind. `path` is where it stands in the definition, as
    /// `spec.versions[0].schema.openAPIV3Schema`: faults are told below it.
    pub fn parse(schema: &Value, path: &FieldPath<'_>) -> Result<Self, Vec<Invalid>> {
        parse::schema(schema, path).map(|root| Self(Arc::new(root)))
    }

    /// The schema of the whole object.
    pub fn root(&self) -> &Node {
        &self.0
    }

    /// Removes what the schema does not know, and returns where that was, as `spec.color`; at most
    /// [`MAX_REMARKS`](crate::schema::parse::MAX_REMARKS) places. Of `metadata` nothing is removed at the root, and in
    /// embedded objects what is no field of an object's metadata, or has the wrong type.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::object(&self.0, object)
    }

    /// Puts in the defaults, also in place of nulls that may not be there, and removes those nulls that have none. Fails, with
    /// the object half filled, if they would take more memory than any object may.
    pub fn fill(&self, object: &mut Value) -> Result<(), Invalid> {
        fill::object(&self.0, object).map_err(|fill::TooLarge| Invalid {
            field: "<nil>".to_owned(),
            reason: Reason::Forbidden,
            value: None,
            detail: "the object is too large with the defaults of its schema".to_owned(),
        })
    }

    /// What is wrong with a new object. It must have been pruned and filled.
    pub fn validate(&self, object: &Value) -> Vec<Invalid> {
        validate::object(&self.0, object, None)
    }

    /// What is wrong with an object that is to take the place of `old`: what was wrong already and is not changed is let
    /// be, and rules that compare the two are run. Both must have been pruned and filled.
    pub fn validate_update(&self, object: &Value, old: &Value) -> Vec<Invalid> {
        validate::object(&self.0, object, Some(old))
    }

    /// The schema at a simple path from the root: `.spec.site` or `spec.site`. None if the path leads through a list,
    /// leaves the schema, or is no such path.
    pub fn at(&self, path: &str) -> Option<&Node> {
        node::at(&self.0, path)
    }
}

/// What whoever creates a definition should be warned of: values of `format` that are not checked. `path` is as of
/// [`Schema::parse`].
pub fn warnings(schema: &Value, path: &FieldPath<'_>) -> Vec<String> {
    parse::warnings(schema, path)
}
