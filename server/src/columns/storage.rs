//! Volumes and the claims on them.

use jiff::Timestamp;

use super::format::UNSET;
use super::row::Row;
use super::tree::{Object, Tree};
use super::{BuiltIn, Column, SPEC_AND_STATUS, age, quantity};

pub(super) static VOLUME: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Capacity", "The size of the volume."),
        Column::text("Access Modes", "How the volume can be mounted."),
        Column::text(
            "Reclaim Policy",
            "What happens to the volume when its claim is gone.",
        ),
        Column::text("Status", "Whether the volume is in use."),
        Column::text("Claim", "The claim that the volume is bound to."),
        Column::text("StorageClass", "The class of the volume."),
        Column::text(
            "VolumeAttributesClass",
            "The class of the volume's changeable attributes.",
        ),
        Column::text("Reason", "Why the volume is in this state."),
        Column::age(),
        Column::wide("VolumeMode", "Whether the volume holds a file system."),
    ],
    needs: SPEC_AND_STATUS,
    row: volume,
};

fn volume<'a>(volume: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let (spec, status) = (volume.spec(), volume.status());
    let claim = spec.get("claimRef");
    Row::new([
        volume.name().into(),
        quantity::canonical(spec.at(&["capacity", "storage"])).into(),
        access_modes(spec).into(),
        spec.get("persistentVolumeReclaimPolicy")
            .text_or("Retain")
            .into(),
        state(volume).into(),
        if claim.is_null() {
            "".into()
        } else {
            let (namespace, name) = (claim.get("namespace").text(), claim.get("name").text());
            format!("{namespace}/{name}").into()
        },
        class(volume).into(),
        attributes_class(spec).into(),
        status.get("reason").text().into(),
        age::of(volume, now).into(),
        mode(spec).into(),
    ])
}

pub(super) static CLAIM: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Status", "Whether the claim has a volume."),
        Column::text("Volume", "The volume that the claim is bound to."),
        Column::text("Capacity", "The size of the volume."),
        Column::text("Access Modes", "How the volume can be mounted."),
        Column::text("StorageClass", "The class that the claim asks for."),
        Column::text(
            "VolumeAttributesClass",
            "The class of changeable attributes it asks for.",
        ),
        Column::age(),
        Column::wide("VolumeMode", "Whether the volume holds a file system."),
    ],
    needs: SPEC_AND_STATUS,
    row: claim,
};

fn claim<'a>(claim: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let (spec, status) = (claim.spec(), claim.status());
    let volume = spec.get("volumeName").text();
    // Before there is a volume, its size and modes are only wishes.
    let (size, modes) = if volume.is_empty() {
        ("".into(), String::new())
    } else {
        let size = quantity::canonical(status.at(&["capacity", "storage"]));
        (size, access_modes(status))
    };
    Row::new([
        claim.name().into(),
        state(claim).into(),
        volume.into(),
        size.into(),
        modes.into(),
        class(claim).into(),
        attributes_class(spec).into(),
        age::of(claim, now).into(),
        mode(spec).into(),
    ])
}

fn state<'a>(object: &'a Object<'_>) -> &'a str {
    if object.is_going() {
        "Terminating"
    } else {
        object.status().get("phase").text_or("Pending")
    }
}

/// The modes of mounting, abbreviated, in a fixed order.
fn access_modes(holder: &Tree<'_>) -> String {
    let modes = holder.get("accessModes").items();
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let given = known
        .iter()
        .filter(|(mode, _)| modes.iter().any(|given| given.text() == *mode));
    given.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

/// The storage class; an annotation was its place before there was a field.
fn class<'a>(object: &'a Object<'_>) -> &'a str {
    let annotations = object.metadata().get("annotations");
    match annotations.get("volume.beta.kubernetes.io/storage-class") {
        Tree::Null => object.spec().get("storageClassName").text(),
        class => class.text(),
    }
}

fn attributes_class<'a>(spec: &'a Tree<'_>) -> &'a str {
    match spec.get("volumeAttributesClassName") {
        Tree::Null => UNSET,
        class => class.text(),
    }
}

fn mode<'a>(spec: &'a Tree<'_>) -> &'a str {
    spec.get("volumeMode").text_or("Filesystem")
}
