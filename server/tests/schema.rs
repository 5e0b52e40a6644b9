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

#[test]
fn every_merge_rule_names_a_field_of_the_table() {
    let mut unknown = Vec::new();
    for rule in merge_keys::rules() {
        let Some(field) =
            schema::message(rule.schema).and_then(|message| message.field(rule.field))
        else {
            unknown.push((rule.schema, rule.field));
            continue;
        };
        if rule.patch.merges_list() {
            assert_eq!(field.shape(), Shape::List, "{}.{}", rule.schema, rule.field);
        }
        if let Some(key) = rule.patch.key() {
            let element = field.message().expect("elements are objects");
            assert!(
                element.field(key).is_some(),
                "{}.{}",
                rule.schema,
                rule.field
            );
        }
    }
    assert_eq!(unknown, []);
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
