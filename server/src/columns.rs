//! What `kubectl get` prints: the columns of each kind, and the cells of each object.
//!
//! A kube-apiserver prints tables itself, so that any client shows any kind; these are its columns
//! and its rules. A [`Printer`] is looked up once per request; it turns an [`Object`] into a
//! [`Row`]. The time is an argument, because most tables have an age.
//!
//! ```
//! use ringwatch_server::columns::{Object, Printer};
//!
//! let printer = Printer::of("", "Namespace");
//! let bytes = br#"{"metadata":{"name":"web","creationTimestamp":"2026-01-01T00:00:00Z"}}"#;
//! let object = Object::read(bytes, &printer)?;
//! let row = printer.row(&object, "2026-01-01T00:02:05Z".parse()?);
//! assert_eq!(printer.columns()[2].name, "Age");
//! assert_eq!(row.to_json(), r#"["web","Active","2m5s"]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A kind without rules gets its name and the time of its creation; a custom resource gets what its
//! definition says ([`custom`]). Where a client left out what a kube-apiserver fills in by itself, the
//! cell shows what would have been filled in.

mod age;
mod batch;
pub mod custom;
mod event;
mod format;
mod network;
mod node;
mod pod;
mod quantity;
mod row;
mod simple;
mod storage;
mod tree;
mod workload;

use std::borrow::Cow;

use jiff::Timestamp;

pub use row::{Cell, Condition, Row};
pub use tree::{Object, Tree, Unreadable};

/// How one column is announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its heading, in mixed case; clients show it in capitals.
    pub name: Cow<'static, str>,
    /// What its cells are.
    pub kind: ColumnKind,
    /// What a text means: `name` marks the object's name; mostly empty.
    pub format: Cow<'static, str>,
    /// One sentence for people.
    pub description: Cow<'static, str>,
    /// Above 0: shown only when more is asked for, by `-o wide`.
    pub priority: i32,
}

impl Column {
    const fn new(name: &'static str, kind: ColumnKind, description: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            kind,
            format: Cow::Borrowed(""),
            description: Cow::Borrowed(description),
            priority: 0,
        }
    }

    const fn text(name: &'static str, description: &'static str) -> Self {
        Self::new(name, ColumnKind::String, description)
    }

    const fn integer(name: &'static str, description: &'static str) -> Self {
        Self::new(name, ColumnKind::Integer, description)
    }

    /// A text that is shown only by `-o wide`.
    const fn wide(name: &'static str, description: &'static str) -> Self {
        let mut column = Self::text(name, description);
        column.priority = 1;
        column
    }

    /// The object's name.
    const fn name() -> Self {
        Self {
            name: Cow::Borrowed("Name"),
            kind: ColumnKind::String,
            format: Cow::Borrowed("name"),
            description: Cow::Borrowed("The object's name, unique among its kind in a namespace."),
            priority: 0,
        }
    }

    const fn age() -> Self {
        Self::text("Age", "The time since the object was created.")
    }
}

/// The types a column can have. Cells of another type occur: the type is a hint for showing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A time, or what is left of it: an age.
    Date,
}

impl ColumnKind {
    /// The name in a Table, which is the name in a CustomResourceDefinition.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [
            Self::String,
            Self::Integer,
            Self::Number,
            Self::Boolean,
            Self::Date,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == name)
    }
}

/// The columns of one kind and the rule for its rows.
#[derive(Debug, Clone)]
pub struct Printer(Rule);

#[derive(Debug, Clone)]
enum Rule {
    BuiltIn(&'static BuiltIn),
    Custom(custom::Columns),
}

impl Printer {
    /// The printer for a built-in kind, or the default one: name and time of creation.
    #[must_use]
    pub fn of(group: &str, kind: &str) -> Self {
        let mut known = KNOWN.iter();
        let found = known.find(|(its_group, its_kind, _)| *its_group == group && *its_kind == kind);
        Self(Rule::BuiltIn(
            found.map_or(&simple::DEFAULT, |(_, _, rule)| rule),
        ))
    }

    /// The printer for a custom resource.
    #[must_use]
    pub fn custom(columns: custom::Columns) -> Self {
        Self(Rule::Custom(columns))
    }

    /// The columns, in the order of the cells.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        match &self.0 {
            Rule::BuiltIn(rule) => rule.columns,
            Rule::Custom(columns) => columns.definitions(),
        }
    }

    /// The cells of one object, as many as there are columns. The object must have been read for this
    /// printer: what another did not need reads as missing.
    #[must_use]
    pub fn row<'a>(&self, object: &'a Object<'_>, now: Timestamp) -> Row<'a> {
        match &self.0 {
            Rule::BuiltIn(rule) => (rule.row)(object, now),
            Rule::Custom(columns) => columns.row(object, now),
        }
    }

    /// What of an object has to be read.
    fn needs(&self) -> Needs {
        match &self.0 {
            Rule::BuiltIn(rule) => rule.needs,
            Rule::Custom(_) => Needs::All,
        }
    }
}

/// A built-in kind's table.
#[derive(Debug)]
struct BuiltIn {
    columns: &'static [Column],
    needs: Needs,
    row: for<'a> fn(&'a Object<'_>, Timestamp) -> Row<'a>,
}

/// What of an object a printer looks at, besides its metadata. The rest is not read into memory.
#[derive(Debug, Clone, Copy)]
enum Needs {
    /// These members.
    Members(&'static [&'static str]),
    /// The keys in these members, but not the values, which may be large.
    Keys(&'static [&'static str]),
    /// Everything.
    All,
}

/// What most kinds are printed from.
const SPEC_AND_STATUS: Needs = Needs::Members(&["spec", "status"]);

/// Every kind that has a table of its own, by group and kind.
const KNOWN: &[(&str, &str, &BuiltIn)] = &[
    ("", "ConfigMap", &simple::CONFIG_MAP),
    ("", "Endpoints", &network::ENDPOINTS),
    ("", "Event", &event::CORE),
    ("", "Namespace", &simple::NAMESPACE),
    ("", "Node", &node::NODE),
    ("", "PersistentVolume", &storage::VOLUME),
    ("", "PersistentVolumeClaim", &storage::CLAIM),
    ("", "Pod", &pod::POD),
    ("", "PodTemplate", &simple::POD_TEMPLATE),
    (
        "",
        "ReplicationController",
        &workload::REPLICATION_CONTROLLER,
    ),
    ("", "ResourceQuota", &simple::RESOURCE_QUOTA),
    ("", "Secret", &simple::SECRET),
    ("", "Service", &network::SERVICE),
    ("", "ServiceAccount", &simple::SERVICE_ACCOUNT),
    ("apps", "ControllerRevision", &workload::CONTROLLER_REVISION),
    ("apps", "DaemonSet", &workload::DAEMON_SET),
    ("apps", "Deployment", &workload::DEPLOYMENT),
    ("apps", "ReplicaSet", &workload::REPLICA_SET),
    ("apps", "StatefulSet", &workload::STATEFUL_SET),
    ("autoscaling", "Scale", &workload::SCALE),
    ("batch", "CronJob", &batch::CRON_JOB),
    ("batch", "Job", &batch::JOB),
    ("coordination.k8s.io", "Lease", &simple::LEASE),
    (
        "discovery.k8s.io",
        "EndpointSlice",
        &network::ENDPOINT_SLICE,
    ),
    ("events.k8s.io", "Event", &event::EVENTS),
    ("networking.k8s.io", "Ingress", &network::INGRESS),
    (
        "networking.k8s.io",
        "NetworkPolicy",
        &network::NETWORK_POLICY,
    ),
];
