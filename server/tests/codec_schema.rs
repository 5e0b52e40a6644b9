//! The table of types: whole, consistent with what else is known of the types, and small.

use std::alloc::System;

use cap::Cap;
use ringwatch_server::codec::schema::{self, Shape};
use ringwatch_server::resources::merge_keys;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

#[test]
fn the_table_is_small() {
    // Tests run as processes of their own, so nothing has read the table before; if it has, this is zero and still true.
    let before = ALLOCATOR.allocated();
    assert!(schema::kind("v1", "Pod").is_some());
    let table = ALLOCATOR.allocated() - before;
    assert!(table < 128 * 1024, "{table} bytes");
}

/// Lists that merge and that only Kubernetes 1.37 has; the table is of 1.36.
const NEWER: &[&str] = &["evictionResponders"];

#[test]
fn every_list_that_merges_is_in_the_table() {
    for rule in merge_keys::rules() {
        if !rule.patch.merges_list() || NEWER.contains(&rule.field) {
            continue;
        }
        let name = format!("{}.{}", rule.schema, rule.field);
        let message = schema::message(rule.schema).unwrap_or_else(|| panic!("no type for {name}"));
        let field = message
            .field(rule.field)
            .unwrap_or_else(|| panic!("no field {name}"));
        assert_eq!(field.shape(), Shape::List, "{name}");
        if let Some(key) = rule.patch.key() {
            let element = field.message().expect("elements are objects");
            assert!(element.field(key).is_some(), "{name} has no {key}");
        }
    }
}

#[test]
fn kinds_are_found_by_group_and_version() {
    for (api_version, kind, name) in [
        ("v1", "Pod", "io.k8s.api.core.v1.Pod"),
        (
            "apps/v1",
            "DeploymentList",
            "io.k8s.api.apps.v1.DeploymentList",
        ),
        (
            "v1",
            "Status",
            "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
        ),
        (
            "batch/v1",
            "DeleteOptions",
            "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
        ),
        (
            "meta.k8s.io/v1beta1",
            "PartialObjectMetadata",
            "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
        ),
    ] {
        let message = schema::kind(api_version, kind).expect(kind);
        assert_eq!(message.full_name(), name);
        assert!(std::ptr::eq(schema::message(name).expect(name), message));
    }
    assert!(schema::kind("apps/v1", "Pod").is_none());
    assert!(schema::kind("v1", "PodSpec").is_none());
    assert!(schema::kind("v1", "PartialObjectMetadata").is_none());
}
