//! Who asks.

use std::sync::{Arc, LazyLock};

/// The group whose members may read and do nothing else.
pub const READERS: &str = "ringwatch:readers";

/// Kubernetes' group of those who may do everything.
const MASTERS: &str = "system:masters";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";
const ADMIN: &str = "admin";

/// Who asks. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    facts: Arc<Facts>,
}

#[derive(Debug, PartialEq, Eq)]
struct Facts {
    name: String,
    uid: String,
    groups: Vec<String>,
    rights: Rights,
}

/// What a caller may do, from less to more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rights {
    /// See whether the server is well, and its version.
    Public,
    /// Read everything.
    Read,
    /// Everything.
    All,
}

impl Caller {
    /// A user who showed who they are. Their groups say what they may do.
    pub fn user(name: impl Into<String>, uid: impl Into<String>, mut groups: Vec<String>) -> Self {
        let rights = match groups.iter().any(|group| group == READERS) {
            true => Rights::Read,
            false => Rights::All,
        };
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Self::new(name.into(), uid.into(), groups, rights)
    }

    /// Who holds the admin token, or sits at the machine itself.
    pub fn admin() -> Self {
        static CALLER: LazyLock<Caller> =
            LazyLock::new(|| Caller::user(ADMIN, ADMIN, vec![MASTERS.to_owned()]));
        CALLER.clone()
    }

    /// Who did not say.
    pub fn anonymous() -> Self {
        static CALLER: LazyLock<Caller> = LazyLock::new(|| {
            let groups = vec![UNAUTHENTICATED.to_owned()];
            Caller::new(ANONYMOUS.to_owned(), String::new(), groups, Rights::Public)
        });
        CALLER.clone()
    }

    fn new(name: String, uid: String, groups: Vec<String>, rights: Rights) -> Self {
        let facts = Facts {
            name,
            uid,
            groups,
            rights,
        };
        Self {
            facts: Arc::new(facts),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.facts.name
    }

    /// What tells two users of one name apart; empty if unknown.
    pub fn uid(&self) -> &str {
        &self.facts.uid
    }

    /// The groups, with the one of all who said who they are, or who did not.
    pub fn groups(&self) -> &[String] {
        &self.facts.groups
    }

    /// What they may do.
    pub fn rights(&self) -> Rights {
        self.facts.rights
    }
}
