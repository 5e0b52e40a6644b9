//! Kinds with a table of a few plain cells, and the table of kinds that have none.

use jiff::Timestamp;

use super::format;
use super::row::{Cell, Row};
use super::tree::{Object, Tree};
use super::{BuiltIn, Column, ColumnKind, Needs, age, quantity};

/// For every kind that is not known.
pub(super) static DEFAULT: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::new(
            "Created At",
            ColumnKind::Date,
            "When the object was created.",
        ),
    ],
    needs: Needs::Members(&[]),
    row: |object, _| {
        let created = object.metadata().get("creationTimestamp");
        Row::new([
            object.name().into(),
            created.text_or("0001-01-01T00:00:00Z").into(),
        ])
    },
};

pub(super) static SERVICE_ACCOUNT: BuiltIn = BuiltIn {
    columns: &[Column::name(), Column::age()],
    needs: Needs::Members(&[]),
    row: |object, now| Row::new([object.name().into(), age::of(object, now).into()]),
};

pub(super) static NAMESPACE: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text(
            "Status",
            "Whether the namespace is active or being deleted.",
        ),
        Column::age(),
    ],
    needs: Needs::Members(&["status"]),
    row: |object, now| {
        Row::new([
            object.name().into(),
            object.status().get("phase").text_or("Active").into(),
            age::of(object, now).into(),
        ])
    },
};

pub(super) static CONFIG_MAP: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Data", "How many entries there are."),
        Column::age(),
    ],
    needs: Needs::Keys(&["data", "binaryData"]),
    row: |object, now| {
        Row::new([
            object.name().into(),
            entries(object, &["data", "binaryData"]),
            age::of(object, now).into(),
        ])
    },
};

pub(super) static SECRET: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Type", "What the secret is for."),
        Column::text("Data", "How many entries there are."),
        Column::age(),
    ],
    needs: Needs::Keys(&["type", "data"]),
    row: |object, now| {
        Row::new([
            object.name().into(),
            object.root().get("type").text_or("Opaque").into(),
            entries(object, &["data"]),
            age::of(object, now).into(),
        ])
    },
};

fn entries<'a>(object: &Object<'_>, members: &[&str]) -> Cell<'a> {
    let members = members.iter().map(|member| object.root().get(member));
    let count: usize = members.map(|member| member.entries().len()).sum();
    Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

pub(super) static POD_TEMPLATE: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Containers", "The names of the template's containers."),
        Column::text("Images", "The images of the template's containers."),
        Column::text("Pod Labels", "The labels of the template."),
    ],
    needs: Needs::Members(&["template"]),
    row: |object, _| {
        let template = object.root().get("template");
        let (names, images) = format::containers(template.get("spec"));
        Row::new([
            object.name().into(),
            names.into(),
            images.into(),
            format::labels(template.at(&["metadata", "labels"])).into(),
        ])
    },
};

pub(super) static LEASE: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Holder", "Who holds the lease."),
        Column::age(),
    ],
    needs: Needs::Members(&["spec"]),
    row: |object, now| {
        Row::new([
            object.name().into(),
            object.spec().get("holderIdentity").text().into(),
            age::of(object, now).into(),
        ])
    },
};

pub(super) static RESOURCE_QUOTA: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Request", "What is used of what may be asked for."),
        Column::text("Limit", "What is used of what may be consumed."),
        Column::age(),
    ],
    needs: Needs::Members(&["status"]),
    row: resource_quota,
};

fn resource_quota<'a>(object: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let status = object.status();
    let mut hard: Vec<_> = status.get("hard").entries().iter().collect();
    hard.sort_by(|(a, _), (b, _)| a.cmp(b));
    let column = |limits: bool| {
        let texts = hard
            .iter()
            .filter(|(name, _)| name.starts_with("limits.") == limits)
            .map(|(name, hard)| {
                let used: &Tree<'_> = status.get("used").get(name);
                let (used, hard) = (quantity::canonical(used), quantity::canonical(hard));
                format!("{name}: {used}/{hard}")
            });
        texts.collect::<Vec<_>>().join(", ")
    };
    Row::new([
        object.name().into(),
        column(false).into(),
        column(true).into(),
        age::of(object, now).into(),
    ])
}
