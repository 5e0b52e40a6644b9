//! Kinds that keep a number of pods running.

use std::borrow::Cow;

use jiff::Timestamp;

use super::format::{self, NONE};
use super::row::{Cell, Row};
use super::tree::{Object, Tree};
use super::{BuiltIn, Column, Needs, SPEC_AND_STATUS, age};

const CONTAINERS: Column = Column::wide("Containers", "The names of the template's containers.");
const IMAGES: Column = Column::wide("Images", "The images of the template's containers.");
const SELECTOR: Column = Column::wide("Selector", "Which pods are meant, by their labels.");
const DESIRED: Column = Column::integer("Desired", "How many pods there should be.");
const CURRENT: Column = Column::integer("Current", "How many pods there are.");
const READY: Column = Column::integer("Ready", "How many pods are ready.");
const READY_OF: Column = Column::text("Ready", "How many pods are ready, of how many.");

pub(super) static REPLICATION_CONTROLLER: BuiltIn = BuiltIn {
    columns: REPLICAS,
    needs: SPEC_AND_STATUS,
    row: |object, now| replicas(object, now, format::labels(object.spec().get("selector"))),
};

pub(super) static REPLICA_SET: BuiltIn = BuiltIn {
    columns: REPLICAS,
    needs: SPEC_AND_STATUS,
    row: |object, now| replicas(object, now, format::selector(object.spec().get("selector"))),
};

const REPLICAS: &[Column] = &[
    Column::name(),
    DESIRED,
    CURRENT,
    READY,
    Column::age(),
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

fn replicas<'a>(object: &'a Object<'_>, now: Timestamp, selector: String) -> Row<'a> {
    let status = object.status();
    let (names, images) = template(object);
    Row::new([
        object.name().into(),
        desired(object).into(),
        status.get("replicas").integer().into(),
        status.get("readyReplicas").integer().into(),
        age::of(object, now).into(),
        names,
        images,
        selector.into(),
    ])
}

pub(super) static DEPLOYMENT: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        READY_OF,
        Column::text("Up-to-date", "How many pods are of the present template."),
        Column::text(
            "Available",
            "How many pods have been ready for long enough.",
        ),
        Column::age(),
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    needs: SPEC_AND_STATUS,
    row: deployment,
};

fn deployment<'a>(object: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let (spec, status) = (object.spec(), object.status());
    let (names, images) = template(object);
    let selector = format::query(spec.get("selector"));
    Row::new([
        object.name().into(),
        ready_of(object),
        status.get("updatedReplicas").integer().into(),
        status.get("availableReplicas").integer().into(),
        age::of(object, now).into(),
        names,
        images,
        selector.map_or(Cell::from("<invalid>"), Cell::from),
    ])
}

pub(super) static STATEFUL_SET: BuiltIn = BuiltIn {
    columns: &[Column::name(), READY_OF, Column::age(), CONTAINERS, IMAGES],
    needs: SPEC_AND_STATUS,
    row: stateful_set,
};

fn stateful_set<'a>(object: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let (names, images) = template(object);
    Row::new([
        object.name().into(),
        ready_of(object),
        age::of(object, now).into(),
        names,
        images,
    ])
}

pub(super) static DAEMON_SET: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::integer("Desired", "On how many nodes a pod should run."),
        Column::integer("Current", "On how many of these nodes a pod runs."),
        Column::integer("Ready", "On how many of these nodes the pod is ready."),
        Column::integer(
            "Up-to-date",
            "On how many nodes the pod is of the present template.",
        ),
        Column::integer(
            "Available",
            "On how many nodes the pod has been ready for long enough.",
        ),
        Column::text("Node Selector", "The labels a node must have."),
        Column::age(),
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    needs: SPEC_AND_STATUS,
    row: daemon_set,
};

fn daemon_set<'a>(object: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let (spec, status) = (object.spec(), object.status());
    let (names, images) = template(object);
    Row::new([
        object.name().into(),
        status.get("desiredNumberScheduled").integer().into(),
        status.get("currentNumberScheduled").integer().into(),
        status.get("numberReady").integer().into(),
        status.get("updatedNumberScheduled").integer().into(),
        status.get("numberAvailable").integer().into(),
        format::labels(spec.at(&["template", "spec", "nodeSelector"])).into(),
        age::of(object, now).into(),
        names,
        images,
        format::selector(spec.get("selector")).into(),
    ])
}

pub(super) static CONTROLLER_REVISION: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Controller", "The object whose revision this is."),
        Column::text("Revision", "The number of the revision."),
        Column::age(),
    ],
    needs: Needs::Members(&["revision"]),
    row: controller_revision,
};

fn controller_revision<'a>(object: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let owners = object.metadata().get("ownerReferences").items();
    let controller = owners
        .iter()
        .find(|owner| owner.get("controller").is_true());
    Row::new([
        object.name().into(),
        controller.map_or(Cell::from(NONE), |owner| reference(owner).into()),
        object.root().get("revision").integer().into(),
        age::of(object, now).into(),
    ])
}

/// An owner as `kind.group/name`.
fn reference<'a>(owner: &'a Tree<'_>) -> Cow<'a, str> {
    let kind = owner.get("kind").text().to_lowercase();
    let name = owner.get("name").text();
    match owner.get("apiVersion").text().split_once('/') {
        Some((group, _)) => format!("{kind}.{}/{name}", group.to_lowercase()).into(),
        None if kind.is_empty() => name.into(),
        None => format!("{kind}/{name}").into(),
    }
}

pub(super) static SCALE: BuiltIn = BuiltIn {
    columns: &[
        Column::text("Name", "The name of the scaled object."),
        DESIRED,
        Column::integer("Available", "How many pods there are."),
        Column::age(),
    ],
    needs: SPEC_AND_STATUS,
    row: |object, now| {
        Row::new([
            object.name().into(),
            object.spec().get("replicas").integer().into(),
            object.status().get("replicas").integer().into(),
            age::of(object, now).into(),
        ])
    },
};

/// Nobody says 1.
fn desired(object: &Object<'_>) -> i64 {
    object.spec().get("replicas").integer_or(1)
}

fn ready_of<'a>(object: &Object<'_>) -> Cell<'a> {
    let ready = object.status().get("readyReplicas").integer();
    format!("{ready}/{}", desired(object)).into()
}

/// The containers and images of the pod template.
fn template<'a>(object: &Object<'_>) -> (Cell<'a>, Cell<'a>) {
    let (names, images) = format::containers(object.spec().at(&["template", "spec"]));
    (names.into(), images.into())
}
