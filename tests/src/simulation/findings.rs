//! What is promised, and the first promise that was broken.

use std::cell::RefCell;
use std::fmt;

/// What a hop promises to its readers. The first nine are those of a watch; see [`recorder`](../recorder/index.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// Only what the selection wants is told.
    Filter,
    /// Revisions never fall.
    Ordered,
    /// Nothing is told twice.
    Unique,
    /// A reader never settles, or is given a bookmark, between the changes of one revision.
    Atomic,
    /// After a bookmark nothing comes that it covers, and before it everything has.
    Bookmarkable,
    /// A watch after a revision begins with what follows it, or is refused.
    Resumable,
    /// Added if and only if the object was not there before.
    IsCreate,
    /// No gap: what happened is told, and nothing else.
    Reliable,
    /// Updates and deletions show what was there before.
    PrevKv,
    /// A revision from one hop is good at another.
    ResumeElsewhere,
    /// What leaves the selection is deleted.
    FilterTransition,
    /// Who falls off the ring, or begins behind it, is told.
    NoSilentGap,
    /// States are left out only where that was asked for, and each is counted.
    DeclaredCoalescing,
    /// Nobody's knowledge is older than it says.
    HonestStaleness,
    /// The digest is that of what there is; who has everything agrees with it.
    Digest,
    /// Nobody gets what its policy does not allow, nor anything once its key is revoked.
    Policy,
    /// Every container keeps its bound.
    Memory,
    /// No more is sent than the reader allows.
    Credit,
    /// Bytes that were changed, repeated, left out or swapped end a sealed session.
    Sealed,
    /// A line that nobody touched carries a session without complaint.
    Protocol,
    /// Once all is repaired, everybody comes to hold what there is.
    Converges,
    /// Nothing panics.
    NoPanic,
}

impl Property {
    /// The name that reports and mutants use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Ordered => "ordered",
            Self::Unique => "unique",
            Self::Atomic => "atomic",
            Self::Bookmarkable => "bookmarkable",
            Self::Resumable => "resumable",
            Self::IsCreate => "is-create",
            Self::Reliable => "reliable",
            Self::PrevKv => "prev-kv",
            Self::ResumeElsewhere => "resume-elsewhere",
            Self::FilterTransition => "filter-transition",
            Self::NoSilentGap => "no-silent-gap",
            Self::DeclaredCoalescing => "declared-coalescing",
            Self::HonestStaleness => "honest-staleness",
            Self::Digest => "digest",
            Self::Policy => "policy",
            Self::Memory => "memory",
            Self::Credit => "credit",
            Self::Sealed => "sealed",
            Self::Protocol => "protocol",
            Self::Converges => "converges",
            Self::NoPanic => "no-panic",
        }
    }
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub property: Property,
    /// How.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property.as_str(), self.detail)
    }
}

/// Collects what was found, and tells the story if asked to.
#[derive(Debug, Default)]
pub struct Findings {
    first: RefCell<Option<Violation>>,
    /// Whether every step is printed.
    trace: bool,
}

impl Findings {
    /// Nothing yet.
    pub fn new(trace: bool) -> Self {
        Self {
            trace,
            ..Self::default()
        }
    }

    /// Notes a violation. What follows from the first one is of no interest.
    pub fn add(&self, property: Property, detail: impl FnOnce() -> String) {
        let mut first = self.first.borrow_mut();
        if first.is_none() {
            let detail = detail();
            if self.trace {
                println!("  VIOLATED {}: {detail}", property.as_str());
            }
            *first = Some(Violation { property, detail });
        }
    }

    /// Notes a violation unless `holds`.
    pub fn expect(&self, holds: bool, property: Property, detail: impl FnOnce() -> String) {
        if !holds {
            self.add(property, detail);
        }
    }

    /// The first violation.
    pub fn verdict(&self) -> Result<(), Violation> {
        self.first.borrow().clone().map_or(Ok(()), Err)
    }

    /// Tells what happens.
    pub fn say(&self, what: impl FnOnce() -> String) {
        if self.trace {
            println!("{}", what());
        }
    }
}
