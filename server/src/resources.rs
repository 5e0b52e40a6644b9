//! The kinds that the server knows: what each is called, where it is stored, what may be done with it.
//!
//! ```text
//!   builtin (a table, one row per kind) ──┐
//!                                         ├──► Catalog ──► path: what a request is about
//!   rows made from definitions at run time┘        └─────► discovery, OpenAPI
//! ```
//!
//! A [`Resource`] holds everything that generic handlers need in order to serve a kind, so a new built-in kind is one
//! row in [`builtin`] and a custom one is a value made at run time. A [`catalog::Catalog`] is immutable and
//! cheap to clone: whoever changes the set of kinds makes a new one and swaps it as a whole.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::definitions::Custom;

pub mod builtin;
pub mod catalog;
pub mod events;
pub mod merge_keys;
pub mod path;
pub mod verbs;

pub use catalog::Catalog;
pub use path::{Route, Target};
pub use verbs::{Verb, Verbs};

/// Text that is in the program for built-in kinds and owned for kinds made at run time.
pub type Text = Cow<'static, str>;

/// One kind of object, in one version, as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The version that is served.
    pub version: Text,
    /// The kind of an object.
    pub kind: Text,
    /// The kind of a list of them.
    pub list_kind: Text,
    /// The name in paths.
    pub plural: Text,
    /// The name of one, for people.
    pub singular: Text,
    /// What people may type for it.
    pub short_names: Vec<Text>,
    /// Groups of kinds that people may type, as `all`.
    pub categories: Vec<Text>,
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// What may be asked.
    pub verbs: Verbs,
    /// What field selectors may name.
    pub fields: FieldLabels,
    /// What can be found below an object's path.
    pub subresources: Vec<Subresource>,
    /// How objects are stored; none for a kind that is answered and forgotten.
    pub storage: Option<Stored>,
    /// How it may be updated.
    pub update: UpdateRules,
    /// What an object may be called.
    pub names: NameRule,
    /// Whether clients may speak of it in protobuf, and have lists merged by the keys that are known with it.
    pub protobuf: bool,
    /// Who defined the kind.
    pub origin: Origin,
}

impl Resource {
    /// `group/version`, or only the version in the core group: what objects have in `apiVersion`.
    pub fn api_version(&self) -> Text {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version).into()
        }
    }

    /// The resource as messages name it: `pods`, `deployments.apps`.
    pub fn qualified_plural(&self) -> Text {
        qualified(&self.plural, &self.group)
    }

    /// The kind as messages of validation name it: `Pod`, `Deployment.apps`.
    pub fn qualified_kind(&self) -> Text {
        qualified(&self.kind, &self.group)
    }

    /// Whether objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// Whether a CustomResourceDefinition made it.
    pub fn is_custom(&self) -> bool {
        self.custom().is_some()
    }

    /// What a CustomResourceDefinition says of it, if one made it.
    pub fn custom(&self) -> Option<&Custom> {
        match &self.origin {
            Origin::BuiltIn { .. } => None,
            Origin::Custom(custom) => Some(custom),
        }
    }

    /// What clients are told may be asked: of a kind on its way out only what empties it.
    pub fn announced_verbs(&self) -> Verbs {
        if !self.custom().is_some_and(Custom::is_terminating) {
            return self.verbs;
        }
        let kept = [
            Verb::Delete,
            Verb::DeleteCollection,
            Verb::Get,
            Verb::List,
            Verb::Watch,
        ];
        Verbs::of(&kept)
    }

    /// The subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|sub| sub.name() == name)
    }

    /// Whether status is written through its own path only.
    pub fn has_status(&self) -> bool {
        self.subresources.contains(&Subresource::Status)
    }

    /// The name of the type in the published schemas, as `io.k8s.api.core.v1.Pod`; none for custom kinds.
    pub fn schema_name(&self) -> Option<&'static str> {
        match self.origin {
            Origin::BuiltIn { schema } => Some(schema),
            Origin::Custom(_) => None,
        }
    }
}

fn qualified(name: &Text, group: &str) -> Text {
    if group.is_empty() {
        name.clone()
    } else {
        format!("{name}.{group}").into()
    }
}

/// Where the objects of a kind live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Each in a namespace.
    Namespaced,
    /// In none.
    Cluster,
}

/// How the objects of a kind are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The part of the key between the server's prefix and the object's namespace or name, without slashes around it:
    /// `pods`, `services/specs`. Two resources with the same prefix are two views of the same objects.
    pub prefix: Text,
    /// How stored objects differ from served ones.
    pub form: Form,
    /// How long an object lives, unless the server is told otherwise.
    pub ttl: Option<Duration>,
}

/// How a stored object differs from the served one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Not at all.
    Same,
    /// Events of `events.k8s.io` are stored as core events; see [`events`].
    CoreEvent,
}

/// How objects of a kind may be updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateRules {
    /// `metadata.generation` counts changes of what is neither metadata nor status.
    pub generation: bool,
    /// PUT without a resourceVersion overwrites.
    pub unconditional: bool,
    /// PUT of a missing object creates it.
    pub creates: bool,
}

/// What objects may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain: at most 253 characters, parts with `.` between.
    Subdomain,
    /// A DNS label: at most 63 characters, no `.`.
    Label,
    /// A DNS subdomain of at most so many characters, because names are made from it.
    ShortSubdomain(usize),
}

/// Who defined a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The program, with the type of that name in the published schemas.
    BuiltIn {
        /// As `io.k8s.api.core.v1.Pod`.
        schema: &'static str,
    },
    /// A CustomResourceDefinition.
    Custom(Custom),
}

/// What can be found below an object's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subresource {
    /// The status, written apart from the rest.
    Status,
    /// The number of replicas, as an `autoscaling/v1` Scale.
    Scale(ScalePaths),
    /// Puts a pod on a node.
    Binding,
    /// Removes the finalizers in a namespace's spec.
    Finalize,
}

impl Subresource {
    /// The last segment of the path.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale(_) => "scale",
            Self::Binding => "binding",
            Self::Finalize => "finalize",
        }
    }

    /// What may be asked of it.
    pub fn verbs(&self) -> Verbs {
        match self {
            Self::Status | Self::Scale(_) => Verbs::of(&[Verb::Get, Verb::Patch, Verb::Update]),
            Self::Binding => Verbs::of(&[Verb::Create]),
            Self::Finalize => Verbs::of(&[Verb::Update]),
        }
    }

    /// Group, version and kind of what it answers and takes, where that is not the object itself.
    pub fn own_kind(&self) -> Option<[&'static str; 3]> {
        match self {
            Self::Scale(_) => Some(["autoscaling", "v1", "Scale"]),
            Self::Binding => Some(["", "v1", "Binding"]),
            Self::Status | Self::Finalize => None,
        }
    }
}

/// Where in an object the parts of its Scale are: field names with `.` between, none at the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// The number wanted.
    pub replicas: Text,
    /// The number there is.
    pub status_replicas: Text,
    /// The label selector, if the kind has one: a text, a map of labels, or a selector object.
    pub selector: Option<Text>,
}

/// What field selectors may name for a kind, besides `metadata.name` and `metadata.namespace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldLabels {
    /// The names, and where their values are.
    pub labels: Vec<FieldLabel>,
    /// How an unknown name is refused.
    pub refusal: FieldRefusal,
}

impl FieldLabels {
    /// The label of that name.
    pub fn find(&self, name: &str) -> Option<&FieldLabel> {
        self.labels.iter().find(|label| label.name == name)
    }

    /// The paths in stored objects that a cache must know to select by any label, each once.
    pub fn paths(&self) -> Vec<String> {
        let paths = self.labels.iter().filter_map(|label| label.path.as_deref());
        let unique: BTreeSet<&str> = paths.collect();
        unique.into_iter().map(str::to_owned).collect()
    }
}

/// A name in field selectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldLabel {
    /// As clients write it.
    pub name: Text,
    /// Where its value is in the **stored** object. None: it is always the empty text.
    pub path: Option<Text>,
    /// The value where the object has none. Objects leave out what is false or 0, and selectors compare texts.
    pub absent: Text,
}

/// How an unknown name in a field selector is refused. Upstream has a sentence for each kind of kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldRefusal {
    /// The kind has no names of its own.
    OnlyMetadata,
    /// The kind has some.
    Unsupported,
    /// The kind has some, and its kind is in the message.
    UnsupportedFor,
}

impl Resource {
    /// Where in stored objects the value of the field label `name` is, or why it may not be named: the text of a
    /// 400. `metadata.name` and `metadata.namespace` are no paths here; ask for them before.
    pub fn field_label(&self, name: &str) -> Result<&FieldLabel, String> {
        self.fields.find(name).ok_or_else(|| match self.fields.refusal {
            FieldRefusal::OnlyMetadata => format!(
                "{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ),
            FieldRefusal::Unsupported => format!("field label not supported: {name}"),
            FieldRefusal::UnsupportedFor => {
                format!("field label {name:?} not supported for {}", self.kind)
            }
        })
    }
}
