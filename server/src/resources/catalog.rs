//! All resources that are served at one moment.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Resource, Text, builtin};

/// All resources that are served at one moment, found by name or kind.
///
/// It never changes, and a clone is a pointer: to serve other resources, make another and swap them.
#[derive(Debug, Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Sorted by group, version, plural.
    by_plural: Vec<Arc<Resource>>,
    /// Sorted by group, version, kind.
    by_kind: Vec<Arc<Resource>>,
    groups: Vec<Arc<Group>>,
}

/// The resources of one API group.
#[derive(Debug)]
pub struct Group {
    /// Its name; empty for the core group.
    pub name: Text,
    /// Its versions, the preferred one first.
    pub versions: Vec<GroupVersion>,
    /// Its place in the order of discovery, among those of other ranks.
    rank: usize,
}

impl Group {
    /// The group of rows that are sorted by version.
    fn of(name: &Text, rows: &[Arc<Resource>]) -> Self {
        let versions = rows.chunk_by(same_version).filter_map(|rows| {
            let first = rows.first()?;
            Some(GroupVersion {
                group: first.group.clone(),
                version: first.version.clone(),
                resources: rows.to_vec(),
            })
        });
        let mut versions: Vec<_> = versions.collect();
        versions.sort_by(|a, b| compare_versions(&a.version, &b.version));
        let rank = GROUP_ORDER.iter().position(|known| known == name);
        Self {
            name: name.clone(),
            versions,
            rank: rank.unwrap_or(GROUP_ORDER.len()),
        }
    }

    /// Whether it is the group of these rows: the same values, not equal ones.
    fn is_of(&self, rows: &[Arc<Resource>]) -> bool {
        let mut chunks = rows.chunk_by(same_version);
        let count = chunks.clone().count();
        count == self.versions.len()
            && chunks.all(|rows| {
                let version = rows.first().map(|first| &first.version);
                let mut versions = self.versions.iter();
                let known = versions.find(|known| Some(&known.version) == version);
                let addresses = |rows: &[Arc<Resource>]| {
                    let addresses: Vec<_> = rows.iter().map(Arc::as_ptr).collect();
                    addresses
                };
                known.is_some_and(|known| addresses(&known.resources) == addresses(rows))
            })
    }

    /// The version that clients should use. A group always has one.
    pub fn preferred(&self) -> Option<&GroupVersion> {
        self.versions.first()
    }

    /// Whether the program brings the group, rather than a definition made at run time.
    pub fn is_builtin(&self) -> bool {
        let mut all = self.versions.iter().flat_map(|version| &version.resources);
        all.any(|resource| !resource.is_custom())
    }
}

/// The resources of one version of an API group.
#[derive(Debug)]
pub struct GroupVersion {
    /// The group; empty for the core group.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// Its resources, by plural.
    pub resources: Vec<Arc<Resource>>,
}

impl GroupVersion {
    /// As objects have it in `apiVersion`.
    pub fn api_version(&self) -> Text {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version).into()
        }
    }

    /// The path below which its resources are: `api/v1`, `apis/apps/v1`.
    pub fn path(&self) -> String {
        if self.group.is_empty() {
            format!("api/{}", self.version)
        } else {
            format!("apis/{}/{}", self.group, self.version)
        }
    }
}

impl Catalog {
    /// What the program serves by itself.
    pub fn builtin() -> Self {
        // A test shows that the table names each resource once.
        Self::new(builtin::resources()).unwrap_or_else(|duplicate| unreachable!("{duplicate}"))
    }

    /// The built-in resources, with events that are kept for so long.
    pub fn builtin_with(event_ttl: Duration) -> Self {
        let mut resources = builtin::resources();
        for stored in resources.iter_mut().filter_map(|row| row.storage.as_mut()) {
            // Nothing else is forgotten by itself.
            stored.ttl = stored.ttl.map(|_| event_ttl);
        }
        Self::new(resources).unwrap_or_else(|duplicate| unreachable!("{duplicate}"))
    }

    /// These resources and no others.
    pub fn new(resources: impl IntoIterator<Item = Resource>) -> Result<Self, Duplicate> {
        Self::assemble(resources.into_iter().map(Arc::new).collect())
    }

    /// These resources besides those of this catalog.
    pub fn with(&self, more: impl IntoIterator<Item = Resource>) -> Result<Self, Duplicate> {
        let all = self.inner.by_plural.iter().cloned();
        Self::assemble(all.chain(more.into_iter().map(Arc::new)).collect())
    }

    /// These custom resources in the place of those that this catalog has, but for those that have the name of one that comes
    /// before them. What stays is not sorted and grouped again: kinds may be many, and come one at a time.
    pub fn with_custom(&self, custom: &[Arc<Resource>]) -> Self {
        let clash = match self.try_with_custom(custom) {
            Ok(all) => return all,
            Err(clash) => clash,
        };
        tracing::error!(%clash, "two kinds have the same name; one of them is not served");
        let mut catalog = self.clone();
        let mut served: Vec<Arc<Resource>> = Vec::new();
        for resource in custom {
            served.push(resource.clone());
            match self.try_with_custom(&served) {
                Ok(larger) => catalog = larger,
                Err(_) => drop(served.pop()),
            }
        }
        catalog
    }

    fn try_with_custom(&self, custom: &[Arc<Resource>]) -> Result<Self, Duplicate> {
        let addresses =
            |rows: &[Arc<Resource>]| -> HashSet<_> { rows.iter().map(Arc::as_ptr).collect() };
        let (wanted, had) = (addresses(custom), addresses(self.resources()));
        let stays = |row: &&Arc<Resource>| !row.is_custom() || wanted.contains(&Arc::as_ptr(row));
        let comes = |row: &&Arc<Resource>| !had.contains(&Arc::as_ptr(row));
        let next = |rows: &[Arc<Resource>]| {
            let rows = rows.iter().filter(stays);
            let rows: Vec<_> = rows.chain(custom.iter().filter(comes)).cloned().collect();
            rows
        };
        let Inner {
            by_plural,
            by_kind,
            groups,
        } = &*self.inner;
        Self::arrange(next(by_plural), next(by_kind), groups)
    }

    fn assemble(rows: Vec<Arc<Resource>>) -> Result<Self, Duplicate> {
        Self::arrange(rows.clone(), rows, &[])
    }

    /// The catalog of rows that come twice, in an order near to the one by path and to the one by kind. Of a catalog that had the same
    /// rows in a group, the group is taken.
    fn arrange(
        mut by_plural: Vec<Arc<Resource>>,
        mut by_kind: Vec<Arc<Resource>>,
        known: &[Arc<Group>],
    ) -> Result<Self, Duplicate> {
        // What is sorted but for a few is sorted fast.
        by_plural.sort_by(|a, b| plural_key(a).cmp(&plural_key(b)));
        by_kind.sort_by(|a, b| kind_key(a).cmp(&kind_key(b)));
        refuse_duplicates(&by_plural, plural_key)?;
        refuse_duplicates(&by_kind, kind_key)?;
        Ok(Self {
            inner: Arc::new(Inner {
                groups: group(&by_plural, known),
                by_plural,
                by_kind,
            }),
        })
    }

    /// The resource at a path.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let all = &self.inner.by_plural;
        let place = all.binary_search_by(|row| plural_key(row).cmp(&(group, version, plural)));
        all.get(place.ok()?)
    }

    /// The resource of a kind.
    pub fn find_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let all = &self.inner.by_kind;
        let place = all.binary_search_by(|row| kind_key(row).cmp(&(group, version, kind)));
        all.get(place.ok()?)
    }

    /// Every resource, by group, version and plural.
    pub fn resources(&self) -> &[Arc<Resource>] {
        &self.inner.by_plural
    }

    /// The groups in the order of discovery: the core group first, custom ones last.
    pub fn groups(&self) -> &[Arc<Group>] {
        &self.inner.groups
    }

    /// The group of that name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        let mut groups = self.groups().iter();
        groups
            .find(|group| group.name == name)
            .map(|group| &**group)
    }

    /// The resources of one version of a group.
    pub fn group_version(&self, group: &str, version: &str) -> Option<&GroupVersion> {
        let mut versions = self.group(group)?.versions.iter();
        versions.find(|candidate| candidate.version == version)
    }

    /// The resources that only one of two catalogs has, or that are not the same value in both.
    pub fn difference<'a>(&'a self, other: &'a Self) -> Vec<&'a Resource> {
        let [mut left, mut right] =
            [self, other].map(|catalog| catalog.resources().iter().peekable());
        let mut rows = Vec::new();
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return rows,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) if Arc::ptr_eq(a, b) => {
                    left.next();
                    right.next();
                    continue;
                }
                (Some(a), Some(b)) => plural_key(a).cmp(&plural_key(b)),
            };
            // Of two with the same name neither is passed over.
            rows.extend(left.next_if(|_| order.is_le()).map(|row| &**row));
            rows.extend(right.next_if(|_| order.is_ge()).map(|row| &**row));
        }
    }

    /// Whether this is the same value as `other`, not merely an equal one.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

/// Two resources claim the same path, or the same kind in one version of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The kind of the first.
    pub kind: String,
    /// The resource and group of the second.
    pub resource: String,
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, resource } = self;
        write!(f, "{kind} and {resource} have the same path or kind")
    }
}

impl std::error::Error for Duplicate {}

type Key<'a> = (&'a str, &'a str, &'a str);

fn plural_key(row: &Resource) -> Key<'_> {
    (&row.group, &row.version, &row.plural)
}

fn kind_key(row: &Resource) -> Key<'_> {
    (&row.group, &row.version, &row.kind)
}

fn refuse_duplicates(
    rows: &[Arc<Resource>],
    key: fn(&Resource) -> Key<'_>,
) -> Result<(), Duplicate> {
    let mut pairs = rows.windows(2);
    let twins = pairs.find(|pair| matches!(pair, [a, b] if key(a) == key(b)));
    match twins {
        Some([a, b]) => Err(Duplicate {
            kind: a.qualified_kind().into_owned(),
            resource: b.qualified_plural().into_owned(),
        }),
        _ => Ok(()),
    }
}

fn same_version(a: &Arc<Resource>, b: &Arc<Resource>) -> bool {
    a.version == b.version
}

/// Sorted rows as groups in the order of discovery; those of `known` that are the same are taken.
fn group(rows: &[Arc<Resource>], known: &[Arc<Group>]) -> Vec<Arc<Group>> {
    let known: HashMap<&str, &Arc<Group>> =
        known.iter().map(|group| (&*group.name, group)).collect();
    let mut groups: Vec<Arc<Group>> = rows
        .chunk_by(|a, b| a.group == b.group)
        .filter_map(|rows| {
            let name = &rows.first()?.group;
            let known = known.get(&**name).filter(|known| known.is_of(rows));
            let group =
                known.map_or_else(|| Arc::new(Group::of(name, rows)), |known| (*known).clone());
            Some(group)
        })
        .collect();
    groups.sort_by(|a, b| (a.rank, &a.name).cmp(&(b.rank, &b.name)));
    groups
}

/// Clients show groups, and resolve short names, in the order in which discovery lists them.
const GROUP_ORDER: [&str; 18] = [
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
];

/// Which of two versions is preferred: stable before beta before alpha, then the higher number, then anything else by
/// name.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (Priority::parse(a), Priority::parse(b)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Priority {
    stage: Stage,
    major: Reverse<u32>,
    minor: Reverse<u32>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Stable,
    Beta,
    Alpha,
}

impl Priority {
    fn parse(version: &str) -> Option<Self> {
        let rest = version.strip_prefix('v')?;
        let (major, stage, minor) = if let Some((major, minor)) = rest.split_once("alpha") {
            (major, Stage::Alpha, minor)
        } else if let Some((major, minor)) = rest.split_once("beta") {
            (major, Stage::Beta, minor)
        } else {
            (rest, Stage::Stable, "0")
        };
        Some(Self {
            stage,
            major: Reverse(number(major)?),
            minor: Reverse(number(minor)?),
        })
    }
}

fn number(digits: &str) -> Option<u32> {
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}
