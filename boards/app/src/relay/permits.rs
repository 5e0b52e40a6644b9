//! Who may come in, and what each may have: the nodes of the settings.

use ringwatch_core::link::PresharedKey;
use ringwatch_core::link::serve::{Access, Admission, Request};
use ringwatch_core::object::Object;
use ringwatch_core::predicate::{Matches, Predicate, Scope};
use ringwatch_core::selector::{FieldSelector, LabelSelector};
use ringwatch_edge::engine::{Policy, Refusal};
use ringwatch_settings::Permit;

/// What the settings permit. They are fixed when the board is flashed, and so is this.
#[derive(Debug, Clone, Copy)]
pub struct Permits(pub(super) &'static [Permit<'static>]);

impl Permits {
    fn of(&self, node: &str) -> Option<&'static Permit<'static>> {
        self.0.iter().find(|permit| permit.name == node)
    }
}

impl Access for Permits {
    fn admit(&self, node: &str, sealed: bool) -> Admission {
        match self.of(node).filter(|_| sealed) {
            Some(permit) => Admission::Sealed(PresharedKey::new(permit.key)),
            None => Admission::Refused,
        }
    }
}

impl Policy for Permits {
    type Grant = Predicate<&'static str>;

    fn grant(&self, node: &str, request: &Request<'_>) -> Result<Self::Grant, Refusal> {
        let permit = self.of(node).ok_or(Refusal::Forbidden)?;
        let scope = match permit.namespace {
            "" => Scope::Resource,
            namespace => Scope::Namespace(namespace),
        };
        // Who asks for another namespace by its name is told; who asks for all gets its own.
        if let (Scope::Namespace(own), Scope::Namespace(asked)) = (scope, request.scope)
            && own != asked
        {
            return Err(Refusal::Forbidden);
        }
        Ok(Predicate {
            scope,
            labels: LabelSelector::parse(permit.labels).map_err(|_| Refusal::Forbidden)?,
            fields: FieldSelector::parse(permit.fields).map_err(|_| Refusal::Forbidden)?,
        })
    }

    fn concerns(&self, node: &str, _: &str) -> bool {
        self.of(node).is_some()
    }

    fn is_current(&self, _: &Self::Grant) -> bool {
        true
    }

    fn permits<O: Object>(grant: &Self::Grant, object: &O) -> bool {
        grant.matches(object)
    }
}
