//! What may be asked of a resource.

/// One thing that may be asked, as discovery and authorization name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// POST to a collection.
    Create,
    /// DELETE of an object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
    /// GET of an object.
    Get,
    /// GET of a collection.
    List,
    /// PATCH of an object.
    Patch,
    /// PUT of an object.
    Update,
    /// GET of a collection's changes.
    Watch,
}

impl Verb {
    /// Every verb, in the order in which discovery lists them.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Delete,
        Self::DeleteCollection,
        Self::Get,
        Self::List,
        Self::Patch,
        Self::Update,
        Self::Watch,
    ];

    /// As discovery and authorization write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verbs(u8);

impl Verbs {
    /// All of them.
    pub const ALL: Self = Self(0xff);

    /// The set of these.
    pub const fn of(verbs: &[Verb]) -> Self {
        let mut set = 0;
        let mut rest = verbs;
        while let [verb, more @ ..] = rest {
            set |= verb.bit();
            rest = more;
        }
        Self(set)
    }

    /// The set without one of them.
    pub const fn without(self, verb: Verb) -> Self {
        Self(self.0 & !verb.bit())
    }

    /// Whether a verb is in the set.
    pub const fn contains(self, verb: Verb) -> bool {
        self.0 & verb.bit() != 0
    }

    /// The verbs in the order in which discovery lists them.
    pub fn iter(self) -> impl Iterator<Item = Verb> {
        Verb::ALL
            .into_iter()
            .filter(move |verb| self.contains(*verb))
    }
}
