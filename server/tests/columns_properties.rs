//! Random objects in every table.

use jiff::Timestamp;
use proptest::prelude::*;
use ringwatch_server::columns::{Object, Printer};

/// Members that printers look at, so that random objects get far.
const MEMBERS: &[&str] = &[
    "metadata",
    "name",
    "creationTimestamp",
    "labels",
    "ownerReferences",
    "spec",
    "status",
    "data",
    "containers",
    "initContainers",
    "containerStatuses",
    "initContainerStatuses",
    "state",
    "waiting",
    "terminated",
    "lastState",
    "reason",
    "exitCode",
    "finishedAt",
    "restartCount",
    "phase",
    "conditions",
    "type",
    "replicas",
    "selector",
    "matchLabels",
    "matchExpressions",
    "operator",
    "values",
    "template",
    "ports",
    "port",
    "subsets",
    "addresses",
    "endpoints",
    "rules",
    "host",
    "capacity",
    "storage",
    "hard",
    "used",
    "series",
    "count",
    "loadBalancer",
    "ingress",
];

fn any_object() -> impl Strategy<Value = serde_json::Value> {
    let text = prop_oneof![
        any::<String>(),
        "[0-9]{1,30}(\\.[0-9]{0,20})?([KMGTPE]i?|[numk]|[eE]-?[0-9]{1,11})?",
        "-?[0-9]{4,6}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:00:00Z",
    ];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        text.prop_map(Into::into),
    ];
    let key = prop::sample::select(MEMBERS).prop_map(str::to_owned);
    let tree = leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::btree_map(key.clone(), inner, 0..8)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    });
    let members = prop::sample::select(MEMBERS).prop_map(str::to_owned);
    prop::collection::btree_map(members, tree, 0..10)
        .prop_map(|members| serde_json::Value::Object(members.into_iter().collect()))
}

proptest! {
    #[test]
    fn every_object_has_a_full_row_in_every_table(object in any_object(), now in -1_000_000_000_i64..10_000_000_000) {
        let bytes = object.to_string();
        let now = Timestamp::from_second(now).unwrap();
        for (group, kind) in KINDS {
            let printer = Printer::of(group, kind);
            let object = Object::read(bytes.as_bytes(), &printer).unwrap();
            let row = printer.row(&object, now);
            prop_assert_eq!(row.cells.len(), printer.columns().len());
            prop_assert!(serde_json::from_str::<Vec<serde_json::Value>>(&row.to_json()).is_ok());
        }
    }
}

const KINDS: &[(&str, &str)] = &[
    ("", "Pod"),
    ("", "Node"),
    ("", "Service"),
    ("", "Endpoints"),
    ("", "Event"),
    ("", "Secret"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "ResourceQuota"),
    ("", "LimitRange"),
    ("apps", "Deployment"),
    ("apps", "DaemonSet"),
    ("apps", "ControllerRevision"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("networking.k8s.io", "Ingress"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("events.k8s.io", "Event"),
];
