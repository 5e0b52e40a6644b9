//! Paths and objects of any kind: nothing panics, and what was understood once is understood again the same way.

use std::sync::Arc;

use proptest::prelude::*;
use ringwatch_server::definitions::Custom;
use ringwatch_server::resources::{Catalog, Origin, Resource, Route};
use ringwatch_server::schema::{Definition, decode, parse};
use ringwatch_server::{defaults, validation};
use serde_json::Value;

/// Pieces from which paths like ours are made, and some that are not.
fn path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        4 => prop::sample::select(vec![
            "api", "apis", "v1", "apps", "batch", "namespaces", "watch", "pods", "deployments", "nodes", "status", "scale",
        ]).prop_map(str::to_owned),
        2 => "[a-z]{1,3}",
        1 => prop::sample::select(vec!["..", ".", "", "%2e%2e", "%2f", "%", "%zz", "%25", "%ff"]).prop_map(str::to_owned),
        1 => ".{0,3}",
    ];
    prop::collection::vec(segment, 0..11).prop_map(|segments| format!("/{}", segments.join("/")))
}

/// JSON that looks like objects of ours.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..70_000).prop_map(Value::from),
        prop::sample::select(vec![
            "a",
            "A b",
            "",
            "Always",
            "RollingUpdate",
            "1Gi",
            "eA==",
            "x/y"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let key = prop::sample::select(vec![
            "metadata",
            "name",
            "labels",
            "finalizers",
            "spec",
            "template",
            "containers",
            "volumes",
            "ports",
            "image",
            "env",
            "selector",
            "matchLabels",
            "matchExpressions",
            "replicas",
            "strategy",
            "rollingUpdate",
            "data",
            "resources",
            "limits",
            "status",
            "port",
            "rules",
            "other",
        ]);
        prop_oneof![
            3 => prop::collection::btree_map(key.prop_map(str::to_owned), inner.clone(), 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::from),
        ]
    })
}

/// Rows of custom kinds in some groups and versions, some with names that others have too.
fn custom() -> impl Strategy<Value = Vec<Arc<Resource>>> {
    let row =
        (0..3usize, 0..3usize, 0..6usize, 0..6usize).prop_map(|(group, version, plural, kind)| {
            let group = ["apps", "a.example.com", "b.example.com"][group].to_owned();
            let version = ["v1", "v1beta1", "v2"][version].to_owned();
            let mut row = ringwatch_server::resources::builtin::resources().remove(0);
            row.origin = Origin::Custom(Custom::any(&group, &version));
            row.group = group.into();
            row.version = version.into();
            row.plural = format!("things{plural}").into();
            row.kind = format!("Thing{kind}").into();
            Arc::new(row)
        });
    prop::collection::vec(row, 0..12)
}

/// What a catalog says in its order: group, version, and the very rows.
fn said(catalog: &Catalog) -> Vec<(String, String, Vec<*const Resource>)> {
    let groups = catalog.groups().iter();
    let versions =
        groups.flat_map(|group| group.versions.iter().map(move |version| (group, version)));
    let said = versions.map(|(group, version)| {
        let rows = version.resources.iter().map(Arc::as_ptr).collect();
        (group.name.to_string(), version.version.to_string(), rows)
    });
    said.collect()
}

proptest! {
    /// A catalog that came about by steps is the one that is made at once; what changed is what differs.
    #[test]
    fn how_a_catalog_came_about_does_not_show(
        rows in custom(),
        steps in prop::collection::vec(prop::collection::vec(any::<bool>(), 12), 1..4),
    ) {
        let builtin = Catalog::builtin();
        let mut catalog = builtin.clone();
        for wanted in steps {
            let wanted = rows.iter().zip(wanted).filter(|(_, wanted)| *wanted);
            let wanted: Vec<Arc<Resource>> = wanted.map(|(row, _)| row.clone()).collect();
            let next = catalog.with_custom(&wanted);
            let anew = builtin.with_custom(&wanted);
            prop_assert_eq!(said(&next), said(&anew));
            for row in next.resources() {
                let (group, version) = (&*row.group, &*row.version);
                prop_assert!(Arc::ptr_eq(next.find(group, version, &row.plural).unwrap(), row));
                prop_assert!(Arc::ptr_eq(next.find_kind(group, version, &row.kind).unwrap(), row));
            }
            let has = |catalog: &Catalog, row: &Resource| {
                catalog.resources().iter().any(|own| std::ptr::eq(&**own, row))
            };
            let difference = next.difference(&catalog);
            for row in next.resources().iter().chain(catalog.resources()) {
                let differs = has(&next, row) != has(&catalog, row);
                prop_assert_eq!(difference.iter().any(|found| std::ptr::eq(*found, &**row)), differs);
            }
            catalog = next;
        }
    }

    #[test]
    fn a_target_names_a_path_that_leads_to_it(path in path()) {
        let catalog = Catalog::builtin();
        let Ok(Route::Resource(target)) = Route::parse(&path, &catalog) else { return Ok(()) };
        let names = [&target.namespace, &target.name];
        for name in names.into_iter().flatten() {
            prop_assert!(!name.is_empty() && !name.contains(['/', '%']) && name != "." && name != "..");
        }
        let resource = &target.resource;
        let mut again = match &*resource.group {
            "" => format!("/api/{}", resource.version),
            group => format!("/apis/{group}/{}", resource.version),
        };
        if target.watch_path {
            again += "/watch";
        }
        if let Some(namespace) = &target.namespace {
            again = format!("{again}/namespaces/{namespace}");
        }
        again = format!("{again}/{}", resource.plural);
        for part in [target.name.as_deref(), target.subresource.as_ref().map(|sub| sub.name())].into_iter().flatten() {
            again = format!("{again}/{part}");
        }
        prop_assert_eq!(Route::parse(&again, &catalog), Ok(Route::Resource(target)));
    }

    #[test]
    fn reading_an_object_twice_is_reading_it_once(kind in 0usize..64, value in value()) {
        let catalog = Catalog::builtin();
        let resource = &catalog.resources()[kind % catalog.resources().len()];
        let definition = Definition::find(resource.schema_name().unwrap()).unwrap();
        let parsed = parse(value.to_string().as_bytes()).unwrap();
        prop_assert_eq!(&parsed.value, &value);
        let mut object = value.clone();
        if decode(&mut object, definition).is_err() {
            return Ok(());
        }
        let once = object.clone();
        prop_assert_eq!(decode(&mut object, definition), Ok(vec![]));
        prop_assert_eq!(&object, &once);

        // What is filled in is of the right type too, and is filled in once.
        defaults::apply(resource, &mut object);
        let filled = object.clone();
        defaults::apply(resource, &mut object);
        prop_assert_eq!(&object, &filled);
        prop_assert_eq!(decode(&mut object, definition), Ok(vec![]));
        prop_assert_eq!(&object, &filled);

        // An object does not change by being replaced with itself.
        let alone = validation::create(resource, &object);
        prop_assert_eq!(validation::update(resource, &object, &object), alone);
        defaults::prepare_create(resource, &mut object);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let ours = parse(&bytes).map(|parsed| parsed.value).ok();
        let theirs = serde_json::from_str(&String::from_utf8_lossy(&bytes)).ok();
        prop_assert_eq!(ours, theirs);
    }
}
