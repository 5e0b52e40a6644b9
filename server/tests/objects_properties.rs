//! Writes of any JSON over any stored JSON: nothing panics, what was made once is taken again as it is, and what the server owns
//! is the server's.

use jiff::Timestamp;
use proptest::prelude::*;
use ringwatch_server::managed::{self, Writer};
use ringwatch_server::objects::body::Expected;
use ringwatch_server::objects::create::{self, Stamp};
use ringwatch_server::objects::delete::{self, Verdict};
use ringwatch_server::objects::encode;
use ringwatch_server::objects::options::{DeleteOptions, FieldValidation, Propagation};
use ringwatch_server::objects::update::{self, Next, Part};
use ringwatch_server::resources::{Catalog, Resource};
use ringwatch_server::schema::Parsed;
use serde_json::{Value, json};

const WRITER: Writer<'_> = Writer {
    manager: "me",
    api_version: "v1",
    subresource: "",
    now: "2024-05-06T07:08:09Z",
};

/// Any resource that is stored.
fn resource() -> impl Strategy<Value = Resource> {
    let all = Catalog::builtin();
    let stored = all.resources().iter().filter(|row| row.storage.is_some());
    let stored: Vec<Resource> = stored.map(|row| (**row).clone()).collect();
    prop::sample::select(stored)
}

/// JSON with the fields that writes look at, of the right type and of others.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec![
            "a",
            "default",
            "",
            "7",
            "-1",
            "2024-05-06T07:08:09Z",
            "orphan",
            "example.com/x",
            "kubernetes",
            "Running",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let key = prop::sample::select(vec![
            "metadata",
            "name",
            "generateName",
            "namespace",
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "finalizers",
            "ownerReferences",
            "labels",
            "annotations",
            "spec",
            "nodeName",
            "terminationGracePeriodSeconds",
            "status",
            "phase",
            "data",
            "stringData",
        ]);
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => prop::collection::btree_map(key.prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

/// An object of which at least the name is right.
fn object() -> impl Strategy<Value = Value> {
    (value(), value()).prop_map(|(object, metadata)| {
        let mut object = if object.is_object() {
            object
        } else {
            json!({})
        };
        object["metadata"] = if metadata.is_object() {
            metadata
        } else {
            json!({})
        };
        object["metadata"]["name"] = "a".into();
        object
    })
}

fn options() -> impl Strategy<Value = DeleteOptions> {
    let policy = prop::sample::select(vec![
        Propagation::Orphan,
        Propagation::Background,
        Propagation::Foreground,
    ]);
    let policy = prop::option::of(policy);
    (any::<Option<i64>>(), policy, any::<Option<bool>>()).prop_map(|(grace, policy, orphan)| {
        DeleteOptions {
            grace_period: grace,
            propagation: policy,
            orphan_dependents: orphan,
            ..DeleteOptions::default()
        }
    })
}

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn read(resource: &Resource, value: Value) -> Option<Value> {
    let body = Parsed {
        value,
        duplicates: Vec::new(),
    };
    let read = Expected::from(resource).read(body, FieldValidation::Ignore);
    read.ok().map(|(object, _)| object)
}

fn created(resource: &Resource, value: Value) -> Option<Value> {
    let mut object = read(resource, value)?;
    let namespace = resource.is_namespaced().then_some("default");
    create::place(resource, namespace, &mut object).ok()?;
    let stamp = Stamp::new(now(), [7; create::RANDOM]);
    create::prepare(resource, &mut object, &stamp).ok()?;
    managed::record(
        managed::Node::of(resource),
        &WRITER,
        None,
        &mut object,
        true,
    );
    Some(object)
}

proptest! {
    #[test]
    fn what_is_made_is_taken_again_as_it_is(resource in resource(), value in prop_oneof![value(), object()]) {
        let Some(mut object) = created(&resource, value) else { return Ok(()) };
        prop_assert!(encode::stored(&resource, &object).is_ok());
        prop_assert_eq!(&object["metadata"]["creationTimestamp"], "1970-01-01T00:00:00Z");
        prop_assert!(object["metadata"].get("deletionTimestamp").is_none());
        object["metadata"]["resourceVersion"] = "5".into();
        let again = read(&resource, object.clone()).expect("what was decoded once");
        let (next, _) = update::decide(&resource, Part::Whole, again, &object, Some(&WRITER)).expect("what was valid once");
        prop_assert_eq!(next, Next::Keep);
    }

    #[test]
    fn an_update_leaves_what_the_server_owns(resource in resource(), old in object(), new in object()) {
        let Some(mut old) = created(&resource, old) else { return Ok(()) };
        old["metadata"]["resourceVersion"] = "5".into();
        let Some(new) = read(&resource, new) else { return Ok(()) };
        for part in [Part::Whole, Part::Status] {
            match update::decide(&resource, part, new.clone(), &old, Some(&WRITER)) {
                Ok((Next::Write(written), _)) => {
                    for field in ["name", "namespace", "uid", "creationTimestamp", "resourceVersion"] {
                        prop_assert_eq!(written["metadata"].get(field), old["metadata"].get(field));
                    }
                    prop_assert_ne!(written, old.clone());
                }
                Ok((Next::Keep, _)) => {}
                Ok((Next::Delete(_), _)) => prop_assert!(false, "nobody asked it to go"),
                Err(failure) => prop_assert!([400, 409, 422].contains(&failure.code), "{}", failure),
            }
        }
    }

    #[test]
    fn a_deletion_that_is_asked_for_twice_is_one(resource in resource(), object in object(), options in options()) {
        match delete::decide(&resource, &object, &options, now()) {
            Ok(Verdict::Mark(marked)) => {
                prop_assert!(marked["metadata"]["deletionTimestamp"].is_string());
                match delete::decide(&resource, &marked, &options, now()) {
                    // A namespace that nothing holds is marked as such first, then as any object.
                    Ok(Verdict::Mark(_)) if resource.kind == "Namespace" => {}
                    Ok(Verdict::Mark(again)) => prop_assert_eq!(again, marked),
                    Ok(Verdict::Pending | Verdict::Remove) => {}
                    Err(failure) => prop_assert!(false, "{}", failure),
                }
            }
            Ok(Verdict::Remove | Verdict::Pending) => {}
            Err(failure) => prop_assert_eq!(failure.code, 409),
        }
    }

    #[test]
    fn anything_stored_can_be_updated_or_is_refused(resource in resource(), old in object(), new in object()) {
        let Some(new) = read(&resource, new) else { return Ok(()) };
        for part in [Part::Whole, Part::Status, Part::Finalize, Part::Scale, Part::Binding] {
            if let Err(failure) = update::decide(&resource, part, new.clone(), &old, Some(&WRITER)) {
                prop_assert!([400, 409, 422].contains(&failure.code), "{}", failure);
            }
        }
    }
}
