//! Which objects a reader wants: a scope and two selectors.
//!
//! ```
//! use ringwatch_core::key::Key;
//! use ringwatch_core::object::Object;
//! use ringwatch_core::predicate::{Matches, Predicate, Scope};
//! use ringwatch_core::revision::Revision;
//! use ringwatch_core::selector::{FieldSelector, LabelSelector};
//!
//! struct Lamp;
//! impl Object for Lamp {
//!     fn key(&self) -> Key<'_> { Key::parse("kitchen/lamp").unwrap() }
//!     fn revision(&self) -> Revision { Revision::new(1) }
//!     fn label(&self, key: &str) -> Option<&str> { (key == "kind").then_some("light") }
//!     fn field(&self, path: &str) -> Option<&str> { (path == "spec.on").then_some("true") }
//! }
//!
//! let wanted = Predicate {
//!     scope: Scope::Namespace("kitchen"),
//!     labels: LabelSelector::<_>::parse("kind in (light, heat)")?,
//!     fields: FieldSelector::<_>::parse("spec.on=true,metadata.name=lamp")?,
//! };
//! assert!(wanted.matches(&Lamp));
//! assert!(!Predicate { scope: Scope::Namespace("hall"), ..wanted }.matches(&Lamp));
//! # Ok::<(), ringwatch_core::selector::SelectorError>(())
//! ```

use crate::object::Object;
use crate::selector::{FieldSelector, LabelSelector, Requirement};

/// Says of an object whether a reader wants it. Functions can do it too.
pub trait Matches<O> {
    /// Whether the reader wants this object.
    fn matches(&self, object: &O) -> bool;
}

impl<O, F: Fn(&O) -> bool> Matches<O> for F {
    fn matches(&self, object: &O) -> bool {
        self(object)
    }
}

/// Wants every object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Everything;

impl<O> Matches<O> for Everything {
    fn matches(&self, _: &O) -> bool {
        true
    }
}

/// The part of a resource that a reader asks for by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<T> {
    /// All of it.
    Resource,
    /// One namespace.
    Namespace(T),
    /// One object, by its [key](crate::key::Key).
    Object(T),
}

impl<T: AsRef<str>> Scope<T> {
    /// Whether an object is in scope.
    pub fn contains<O: Object>(&self, object: &O) -> bool {
        match self {
            Self::Resource => true,
            Self::Namespace(namespace) => object.key().namespace() == Some(namespace.as_ref()),
            Self::Object(key) => object.key().as_str() == key.as_ref(),
        }
    }
}

type Table = heapless::Vec<Requirement, 8>;

/// A scope and selectors, all of which must agree. `T` keeps the texts, `Q` the parsed requirements.
#[derive(Debug, Clone)]
pub struct Predicate<T, Q = Table> {
    /// Where to look.
    pub scope: Scope<T>,
    /// What the labels must be.
    pub labels: LabelSelector<T, Q>,
    /// What the fields must be.
    pub fields: FieldSelector<T, Q>,
}

impl<O, T, Q> Matches<O> for Predicate<T, Q>
where
    O: Object,
    T: AsRef<str>,
    Q: AsRef<[Requirement]>,
{
    fn matches(&self, object: &O) -> bool {
        self.scope.contains(object)
            && Matches::matches(&self.labels, object)
            && Matches::matches(&self.fields, object)
    }
}

impl<O, T, Q> Matches<O> for LabelSelector<T, Q>
where
    O: Object,
    T: AsRef<str>,
    Q: AsRef<[Requirement]>,
{
    fn matches(&self, object: &O) -> bool {
        self.matches(|key| object.label(key))
    }
}

impl<O, T, Q> Matches<O> for FieldSelector<T, Q>
where
    O: Object,
    T: AsRef<str>,
    Q: AsRef<[Requirement]>,
{
    fn matches(&self, object: &O) -> bool {
        self.matches(|path| field(object, path))
    }
}

/// A selectable field. Name and namespace are the same for every resource and come from the key.
fn field<'a, O: Object>(object: &'a O, path: &str) -> Option<&'a str> {
    match path {
        "metadata.name" => Some(object.key().name()),
        "metadata.namespace" => object.key().namespace(),
        _ => object.field(path),
    }
}
