//! What a reader wants from the cache.

use std::time::Duration;

use ringwatch_core::predicate::{self, Matches, Scope};
use ringwatch_core::revision::{Revision, StartFrom};
use ringwatch_core::selector::{FieldSelector, LabelSelector, Requirement};

use super::decode::Decoder;
use super::index::Term;
use super::object::Object;

/// Which objects: a scope and selectors, parsed, and kept without room to spare.
pub type Predicate = predicate::Predicate<Box<str>, Box<[Requirement]>>;

/// A list.
#[derive(Debug, Clone)]
pub struct ListRequest {
    /// Which objects.
    pub predicate: Predicate,
    /// From which state.
    pub start: StartFrom,
    /// At most so many objects; 0 for all.
    pub limit: usize,
    /// Only objects whose key comes after this one.
    pub after: Option<String>,
}

/// A watch.
#[derive(Debug, Clone)]
pub struct WatchRequest {
    /// Which objects.
    pub predicate: Predicate,
    /// Where to begin.
    pub start: WatchStart,
    /// Whether bookmarks are wanted.
    pub bookmarks: bool,
    /// How long it may last; `None` for as long as the reader likes.
    pub timeout: Option<Duration>,
}

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchStart {
    /// With the objects of a state, which is this or a later one. [`StartFrom::Exact`] counts as
    /// [`StartFrom::NotOlderThan`].
    State(StartFrom),
    /// With the first change after this revision.
    After(Revision),
    /// With the first change after everything that was written before the request.
    Newest,
    /// With the first change that the cache has not seen yet.
    Now,
}

/// Wants everything.
pub fn everything() -> Predicate {
    Predicate {
        scope: Scope::Resource,
        labels: LabelSelector::default(),
        fields: FieldSelector::default(),
    }
}

type Labels = LabelSelector<Box<str>, Box<[Requirement]>>;
type Fields = FieldSelector<Box<str>, Box<[Requirement]>>;

/// A predicate as a watch keeps it, for as long as it lasts: without memory for what it does not demand.
#[derive(Debug)]
pub(super) struct Selection {
    scope: Option<Box<Scope<Box<str>>>>,
    labels: Option<Box<Labels>>,
    fields: Option<Box<Fields>>,
}

impl From<Predicate> for Selection {
    fn from(predicate: Predicate) -> Self {
        let Predicate {
            scope,
            labels,
            fields,
        } = predicate;
        Self {
            scope: (scope != Scope::Resource).then(|| Box::new(scope)),
            labels: (!labels.is_empty()).then(|| Box::new(labels)),
            fields: (!fields.is_empty()).then(|| Box::new(fields)),
        }
    }
}

impl Matches<Object> for Selection {
    fn matches(&self, object: &Object) -> bool {
        let scope = self.scope.as_deref();
        let (labels, fields) = (self.labels.as_deref(), self.fields.as_deref());
        scope.is_none_or(|scope| scope.contains(object))
            && labels.is_none_or(|labels| Matches::matches(labels, object))
            && fields.is_none_or(|fields| Matches::matches(fields, object))
    }
}

/// The most telling demand of a predicate.
pub(super) fn term_of(predicate: &Predicate, decoder: &Decoder) -> Term {
    if let Scope::Object(key) = &predicate.scope {
        return Term::Key(key.clone());
    }
    let place = |name: &str| decoder.fields().iter().position(|field| **field == *name);
    let mut fields = predicate.fields.terms();
    if let Some((place, value)) = fields.find_map(|(name, value)| Some((place(name)?, value))) {
        return Term::Field(place, value.to_string().into());
    }
    if let Some((label, value)) = predicate.labels.terms().next() {
        return Term::Label(label.into(), value.into());
    }
    match &predicate.scope {
        Scope::Namespace(namespace) => Term::Namespace(namespace.clone()),
        _ => Term::Anything,
    }
}
