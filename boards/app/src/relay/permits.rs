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
pub struct Permits(Option<&'static [Permit<'static>]>);

impl Permits {
    /// Before there are settings.
    pub(super) const NOBODY: Self = Self(None);

    pub(super) const fn of_nodes(nodes: &'static [Permit<'static>]) -> Self {
        Self(Some(nodes))
    }

    fn of(&self, node: &str) -> Option<&'static Permit<'static>> {
        self.0?.iter().find(|permit| permit.name == node)
    }
}

/// A node of the settings, of which its name is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Known(&'static Permit<'static>);

impl AsRef<str> for Known {
    fn as_ref(&self) -> &str {
        self.0.name
    }
}

impl Access for Permits {
    type Name = Known;

    fn name(&self, node: &str) -> Option<Known> {
        self.of(node).map(Known)
    }

    fn admit(&self, node: &str, sealed: bool) -> Admission {
        match self.of(node).filter(|_| sealed) {
            Some(permit) => Admission::Sealed(PresharedKey::new(*permit.key.0)),
            None => Admission::Refused,
        }
    }
}

impl Policy for Permits {
    /// Its selectors are read again for each object: most have none, and they take more memory than all else that is kept of a node.
    type Grant = &'static Permit<'static>;

    fn grant(&self, node: &str, request: &Request<'_>) -> Result<Self::Grant, Refusal> {
        let permit = self.of(node).ok_or(Refusal::Forbidden)?;
        // Who asks for another namespace by its name is told; who asks for all gets its own.
        if let (Scope::Namespace(own), Scope::Namespace(asked)) = (scope(permit), request.scope)
            && own != asked
        {
            return Err(Refusal::Forbidden);
        }
        match predicate(permit) {
            Some(_) => Ok(permit),
            None => Err(Refusal::Forbidden),
        }
    }

    fn concerns(&self, node: &str, _: &str) -> bool {
        self.of(node).is_some()
    }

    fn is_current(&self, _: &Self::Grant) -> bool {
        true
    }

    fn permits<O: Object>(grant: &Self::Grant, object: &O) -> bool {
        predicate(grant).is_some_and(|predicate| predicate.matches(object))
    }
}

fn scope(permit: &Permit<'static>) -> Scope<&'static str> {
    match permit.namespace {
        "" => Scope::Resource,
        namespace => Scope::Namespace(namespace),
    }
}

/// What a node may have; `None` if its selectors are none.
fn predicate(permit: &Permit<'static>) -> Option<Predicate<&'static str>> {
    Some(Predicate {
        scope: scope(permit),
        labels: LabelSelector::parse(permit.labels).ok()?,
        fields: FieldSelector::parse(permit.fields).ok()?,
    })
}
