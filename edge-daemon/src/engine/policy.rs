//! Who may have what.

use ringwatch_core::link::frame::Code;
use ringwatch_core::link::serve::{Access, Request};
use ringwatch_core::object::Object;
use ringwatch_core::predicate::{Everything, Matches};

/// Decides what each node gets. Whom to let in at all is [`Access`].
pub trait Policy: Access {
    /// What a node may see of a resource: asked of every object, also of those that are no longer what they were. Changing it is giving
    /// another one.
    type Grant: Clone;

    /// What a node may have of this, or why it gets nothing.
    fn grant(&self, node: &str, request: &Request<'_>) -> Result<Self::Grant, Refusal>;

    /// Whether a node may have anything of a resource. Who may not does not learn whether it exists.
    fn concerns(&self, node: &str, resource: &str) -> bool;

    /// Whether what was granted is still what would be. If not, the node's watch is begun anew, and the difference sent.
    fn is_current(&self, grant: &Self::Grant) -> bool;

    /// Whether an object is within a grant.
    fn permits<O: Object>(grant: &Self::Grant, object: &O) -> bool;
}

/// Why a node gets nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It may not.
    Forbidden,
    /// What it asks for does not fit this relay's memory.
    Unsupported,
}

impl From<Refusal> for Code {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Forbidden => Self::Forbidden,
            Refusal::Unsupported => Self::Unsupported,
        }
    }
}

/// Lets everybody whom `A` lets in have everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Everybody<A>(pub A);

impl<A: Access> Access for Everybody<A> {
    type Name = A::Name;

    fn name(&self, node: &str) -> Option<A::Name> {
        self.0.name(node)
    }

    fn admit(&self, node: &str, sealed: bool) -> ringwatch_core::link::serve::Admission {
        self.0.admit(node, sealed)
    }
}

impl<A: Access> Policy for Everybody<A> {
    type Grant = Everything;

    fn grant(&self, _: &str, _: &Request<'_>) -> Result<Everything, Refusal> {
        Ok(Everything)
    }

    fn concerns(&self, _: &str, _: &str) -> bool {
        true
    }

    fn is_current(&self, _: &Everything) -> bool {
        true
    }

    fn permits<O: Object>(grant: &Everything, object: &O) -> bool {
        grant.matches(object)
    }
}
