//! The table of kinds, and what paths mean by it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ringwatch_server::cache::{Decoder, Format};
use ringwatch_server::definitions::Custom;
use ringwatch_server::resources::catalog::compare_versions;
use ringwatch_server::resources::{Catalog, Form, Origin, Resource, Route, Verb, builtin, events};
use serde_json::json;

/// The built-in kinds and a custom one, as a definition would make it.
fn catalog() -> Catalog {
    let lease = builtin::resources()
        .into_iter()
        .find(|row| row.plural == "leases");
    let widget = Resource {
        group: "example.com".to_owned().into(),
        version: "v1".to_owned().into(),
        kind: "Widget".to_owned().into(),
        list_kind: "WidgetList".to_owned().into(),
        plural: "widgets".to_owned().into(),
        singular: "widget".to_owned().into(),
        origin: Origin::Custom(Custom::any("example.com", "v1")),
        ..lease.unwrap()
    };
    Catalog::builtin().with([widget]).unwrap()
}

#[test]
fn paths_mean_what_the_golden_file_says() {
    let catalog = catalog();
    let mut wrong = String::new();
    for line in include_str!("golden/paths.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (path, expected) = line.split_once(" => ").unwrap();
        let found = describe(path, &catalog);
        if found != expected {
            writeln!(wrong, "{path} => {found}, not {expected}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn describe(path: &str, catalog: &Catalog) -> String {
    match Route::parse(path, catalog) {
        Err(error) => error.to_string(),
        Ok(Route::Resource(target)) => {
            let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
            let mut words = vec![
                target.resource.qualified_plural().into_owned(),
                or_dash(target.namespace.as_deref()),
                or_dash(target.name.as_deref()),
                or_dash(target.subresource.as_ref().map(|sub| sub.name())),
            ];
            words.extend(target.watch_path.then(|| "watch".to_owned()));
            words.join(" ")
        }
        Ok(Route::Group(name)) => format!("Group {name}"),
        Ok(Route::GroupVersion { group, version }) if group.is_empty() => {
            format!("GroupVersion {version}")
        }
        Ok(Route::GroupVersion { group, version }) => format!("GroupVersion {group}/{version}"),
        Ok(route) => format!("{route:?}"),
    }
}

#[test]
fn every_built_in_resource_is_found_by_name_and_by_kind() {
    let catalog = Catalog::builtin();
    let rows = builtin::resources();
    assert_eq!(catalog.resources().len(), rows.len());
    for row in rows {
        let found = catalog.find(&row.group, &row.version, &row.plural);
        assert_eq!(found.map(|found| &**found), Some(&row));
        let found = catalog.find_kind(&row.group, &row.version, &row.kind);
        assert_eq!(found.map(|found| &**found), Some(&row));
    }
    assert!(catalog.find("", "v1", "deployments").is_none());
}

#[test]
fn a_second_resource_at_the_same_path_is_refused() {
    let twin = builtin::resources().into_iter().next().unwrap();
    let refused = Catalog::builtin().with([twin]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "ConfigMap and configmaps have the same path or kind"
    );
}

#[test]
fn prefixes_are_those_of_an_existing_etcd_and_shared_only_by_events() {
    let mut by_prefix: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in builtin::resources() {
        let Some(stored) = &row.storage else { continue };
        let names = by_prefix
            .entry(stored.prefix.clone().into_owned())
            .or_default();
        names.push(row.qualified_plural().into_owned());
    }
    by_prefix.retain(|prefix, names| {
        *names != [prefix.clone()] && !names[0].starts_with(&format!("{prefix}."))
            || names.len() > 1
    });
    let found: Vec<String> = by_prefix
        .iter()
        .map(|(prefix, names)| format!("{prefix}: {}", names.join(", ")))
        .collect();
    assert_eq!(
        found,
        [
            "apiextensions.k8s.io/customresourcedefinitions: customresourcedefinitions.apiextensions.k8s.io",
            "controllers: replicationcontrollers",
            "events: events, events.events.k8s.io",
            "ingress: ingresses.networking.k8s.io",
            "minions: nodes",
            "services/endpoints: endpoints",
            "services/specs: services",
        ]
    );
}

#[test]
fn the_cache_can_read_every_selectable_field() {
    for row in builtin::resources() {
        let fields = row.fields.paths();
        let format = Format::json(fields.iter().map(String::as_str));
        let decoder = Decoder::new(format!("/registry/{}/", row.plural), &format);
        assert!(decoder.is_ok(), "{}", row.qualified_plural());
    }
}

#[test]
fn one_cache_serves_both_kinds_of_events() {
    let catalog = Catalog::builtin();
    let paths = |group| catalog.find(group, "v1", "events").unwrap().fields.paths();
    let core = paths("");
    assert!(
        paths("events.k8s.io")
            .iter()
            .all(|path| core.contains(path))
    );
}

#[test]
fn unknown_field_labels_are_refused_in_the_words_of_the_kind() {
    let catalog = Catalog::builtin();
    let refused = |group, plural| {
        let resource = catalog.find(group, "v1", plural).unwrap();
        resource.field_label("spec.x").unwrap_err()
    };
    assert_eq!(
        refused("", "configmaps"),
        r#""spec.x" is not a known field selector: only "metadata.name", "metadata.namespace""#
    );
    assert_eq!(refused("", "pods"), "field label not supported: spec.x");
    assert_eq!(
        refused("batch", "jobs"),
        r#"field label "spec.x" not supported for Job"#
    );

    let jobs = catalog.find("batch", "v1", "jobs").unwrap();
    let label = jobs.field_label("status.successful").unwrap();
    assert_eq!(label.path.as_deref(), Some("status.succeeded"));
    assert_eq!(label.absent, "0");
    let pods = catalog.find("", "v1", "pods").unwrap();
    assert_eq!(
        pods.field_label("spec.host").unwrap().path.as_deref(),
        Some("spec.nodeName")
    );
    assert_eq!(pods.field_label("status.podIPs").unwrap().path, None);
}

#[test]
fn verbs_are_listed_in_the_order_of_discovery() {
    let catalog = Catalog::builtin();
    let names = |plural| {
        let verbs = catalog.find("", "v1", plural).unwrap().verbs;
        verbs.iter().map(Verb::name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        names("pods"),
        "create delete deletecollection get list patch update watch"
    );
    assert_eq!(
        names("namespaces"),
        "create delete get list patch update watch"
    );
}

#[test]
fn versions_are_preferred_as_kubernetes_does() {
    let mut versions = vec![
        "v1",
        "v10",
        "v2",
        "foo1",
        "v11alpha2",
        "foo10",
        "v3beta1",
        "v12alpha1",
        "v10beta3",
        "v11beta2",
    ];
    versions.sort_by(|a, b| compare_versions(a, b));
    assert_eq!(
        versions,
        [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10"
        ]
    );
}

#[test]
fn an_event_can_be_read_through_either_group() {
    let core = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod"}, "message": "m", "source": {"component": "c"}, "count": 3,
        "firstTimestamp": null, "lastTimestamp": "2026-01-01T00:00:00Z", "reportingComponent": "r", "reason": "R",
    });
    let mut event = core.as_object().unwrap().clone();
    events::to_events_group(&mut event);
    assert_eq!(event["note"], "m");
    assert_eq!(event["regarding"], json!({"kind": "Pod"}));
    assert_eq!(event["reportingController"], "r");
    assert_eq!(event["deprecatedCount"], 3);
    assert_eq!(event["apiVersion"], "events.k8s.io/v1");
    assert!(!event.contains_key("message"));
    events::to_core(&mut event);
    assert_eq!(event, *core.as_object().unwrap());

    let stored = builtin::resources()
        .into_iter()
        .find(|row| row.group == "events.k8s.io")
        .and_then(|row| row.storage);
    assert_eq!(stored.unwrap().form, Form::CoreEvent);
}
