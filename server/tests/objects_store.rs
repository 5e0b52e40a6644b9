//! Creates and updates over a store: what is answered, stored and told to watchers, alone and together with others.

#[path = "objects/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part")]
mod world;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use ringwatch_core::revision::StartFrom;
use ringwatch_server::cache::{Format, Options};
use ringwatch_server::negotiate::Patch;
use ringwatch_server::objects::options::{DeleteOptions, Propagation};
use ringwatch_server::objects::update::Part;
use ringwatch_server::objects::{Address, Content, Objects};
use ringwatch_server::reader::Reader;
use ringwatch_server::storage::Write;
use serde_json::{Value, json};
use world::{Dice, World, body, dry, plain, revision, said};

#[tokio::test]
async fn an_answer_is_byte_for_byte_what_readers_get() {
    let world = World::new().await;
    let format = Format::Json { fields: Vec::new() };
    let reader = Reader::start(
        world.storage.clone(),
        "/configmaps/",
        format,
        Some(Default::default()),
        Options::default(),
    )
    .unwrap();
    reader.ready().await;
    let object = json!({"metadata": {"name": "a", "labels": {"x": "<&>\u{2028}\""}}, "data": {"k": "v"}, "binaryData": {}});
    // A label's value may not be that.
    assert_eq!(
        world.create("configmaps", &object).await.unwrap_err().code,
        422
    );
    let object = json!({"metadata": {"name": "a", "annotations": {"x": "<&>\u{2028}\""}}, "data": {"k": "v"}});
    let created = world.create("configmaps", &object).await.unwrap();
    assert_eq!((created.code, created.content), (201, Content::Object));
    let read = reader
        .get("default/a", StartFrom::Newest)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(read.bytes(), created.body);
    assert_eq!(
        world.get("configmaps", "a").await.unwrap().body,
        created.body
    );

    let mut value = created.to_value();
    value["data"]["k"] = "w".into();
    let updated = world.put("configmaps", &value).await.unwrap();
    let read = reader
        .get("default/a", StartFrom::Newest)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(read.bytes(), updated.body);
    assert!(
        updated
            .body
            .starts_with(br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"#)
    );
    assert_ne!(revision(&created.to_value()), revision(&updated.to_value()));

    let stored = world
        .storage
        .get("/configmaps/default/a")
        .await
        .unwrap()
        .found
        .unwrap();
    let stored = String::from_utf8(stored.value.to_vec()).unwrap();
    assert!(!stored.contains("resourceVersion"), "{stored}");
}

#[tokio::test]
async fn what_changes_nothing_is_not_written() {
    let world = World::new().await;
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    let created = world.create("configmaps", &object).await.unwrap();
    let before = world.revision().await;
    let again = world.put("configmaps", &object).await.unwrap();
    assert_eq!((again.code, &again.body), (200, &created.body));
    let patched = world
        .patch(
            "configmaps",
            "a",
            Patch::Merge,
            &json!({"data": {"k": "v"}}),
        )
        .await
        .unwrap();
    assert_eq!(patched.body, created.body);
    assert_eq!(world.revision().await, before);
}

#[tokio::test]
async fn of_two_writers_who_know_the_same_version_one_wins() {
    let world = World::new().await;
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "0"}});
    let created = world
        .create("configmaps", &object)
        .await
        .unwrap()
        .to_value();
    let [mut left, mut right] = [created.clone(), created];
    left["data"]["k"] = "left".into();
    right["data"]["k"] = "right".into();
    let (left, right) = tokio::join!(
        world.put("configmaps", &left),
        world.put("configmaps", &right)
    );
    let (won, lost) = match (left, right) {
        (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        said(&lost),
        (
            409,
            "Conflict",
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again"
        )
    );
    assert_eq!(world.get("configmaps", "a").await.unwrap().body, won.body);
}

#[tokio::test]
async fn names_that_are_taken_are_made_up_again_seven_times() {
    let world = World::new().await;
    let create = async |every: usize| {
        let dice = Dice {
            every,
            thrown: AtomicUsize::new(0),
        };
        let objects = Objects::with_environment(world.storage.clone(), Arc::new(dice));
        let object = body(&json!({"metadata": {"generateName": "web-"}}));
        let of = world.of("configmaps");
        objects.create(of, Some("default"), object, &plain()).await
    };
    let name = |value: Value| value["metadata"]["name"].clone();
    assert_eq!(name(create(100).await.unwrap().to_value()), "web-bbbbb");
    // The eighth throw is another.
    assert_eq!(name(create(7).await.unwrap().to_value()), "web-ccccc");
    let before = world.revision().await;
    let failure = create(8).await.unwrap_err();
    assert_eq!(
        said(&failure),
        (
            409,
            "AlreadyExists",
            "configmaps \"web-bbbbb\" already exists, the server was not able to generate a unique name for the object"
        )
    );
    assert_eq!(failure.details.unwrap().retry_after, 1);
    assert_eq!(world.revision().await, before);
}

#[tokio::test]
async fn an_object_is_there_once() {
    let world = World::new().await;
    let object = json!({"metadata": {"name": "a", "finalizers": ["example.com/x"]}});
    world.create("configmaps", &object).await.unwrap();
    let failure = world.create("configmaps", &object).await.unwrap_err();
    assert_eq!(
        said(&failure),
        (409, "AlreadyExists", "configmaps \"a\" already exists")
    );
    world.delete("configmaps", "a").await.unwrap();
    let failure = world.create("configmaps", &object).await.unwrap_err();
    assert_eq!(
        said(&failure),
        (
            409,
            "AlreadyExists",
            "object is being deleted: configmaps \"a\" already exists"
        )
    );
    let details = failure.to_value()["details"].clone();
    assert_eq!(details, json!({"name": "a", "kind": "configmaps"}));
}

#[tokio::test]
async fn a_dry_run_says_what_would_be() {
    let world = World::new().await;
    let of = world.of("configmaps");
    let at = world.at("configmaps", "a");
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    let before = world.revision().await;
    let answer = world
        .objects
        .create(of, Some("default"), body(&object), &dry())
        .await
        .unwrap();
    assert_eq!((answer.code, revision(&answer.to_value())), (201, ""));
    assert_eq!(world.revision().await, before);

    let created = world
        .create("configmaps", &object)
        .await
        .unwrap()
        .to_value();
    let failure = world
        .objects
        .create(of, Some("default"), body(&object), &dry())
        .await
        .unwrap_err();
    assert_eq!(failure.reason, "AlreadyExists");

    let before = world.revision().await;
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "w"}});
    let answer = world
        .objects
        .update(at, Part::Whole, body(&object), &dry())
        .await
        .unwrap()
        .to_value();
    assert_eq!(
        (revision(&answer), &answer["data"]["k"]),
        (revision(&created), &json!("w"))
    );
    let options = DeleteOptions {
        dry_run: true,
        ..DeleteOptions::default()
    };
    assert_eq!(world.objects.delete(at, &options).await.unwrap().code, 200);
    let held = DeleteOptions {
        propagation: Some(Propagation::Foreground),
        ..options
    };
    let answer = world.objects.delete(at, &held).await.unwrap().to_value();
    assert_eq!(
        answer["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    assert_eq!(world.revision().await, before);
}

#[tokio::test]
async fn some_kinds_come_about_by_an_update() {
    let world = World::new().await;
    let endpoints = json!({"metadata": {"name": "e"}});
    let answer = world.put("endpoints", &endpoints).await.unwrap();
    assert_eq!(answer.code, 201);
    assert!(answer.to_value()["metadata"]["uid"].is_string());
    assert_eq!(world.put("endpoints", &endpoints).await.unwrap().code, 200);

    let failure = world.put("configmaps", &endpoints).await.unwrap_err();
    assert_eq!(
        said(&failure),
        (404, "NotFound", "configmaps \"e\" not found")
    );
    let at = Address::new(world.of("endpoints"), Some("nowhere"), "e");
    let failure = world
        .objects
        .update(at, Part::Whole, body(&endpoints), &plain())
        .await
        .unwrap_err();
    assert_eq!(
        said(&failure),
        (404, "NotFound", "namespaces \"nowhere\" not found")
    );
    // Who names a uid means an object that is there.
    let named = json!({"metadata": {"name": "f", "uid": "u"}});
    assert_eq!(world.put("endpoints", &named).await.unwrap_err().code, 409);
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused() {
    let world = World::new().await;
    let before = world.revision().await;
    let many = "x".repeat(300_000);
    let object = json!({"metadata": {"name": "a", "annotations": {"a": many}}});
    let failure = world.create("configmaps", &object).await.unwrap_err();
    assert_eq!(failure.code, 422);
    assert!(
        failure
            .message
            .contains("metadata.annotations: Too long: may not be more than 262144 bytes"),
        "{failure}"
    );

    // Deeper than readers go, but not than the parser.
    let deep = (0..100).fold(json!({}), |inside, _| json!({"f:x": inside}));
    let owner = json!({"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": deep});
    let object = json!({"metadata": {"name": "a", "managedFields": [owner]}});
    let failure = world.create("configmaps", &object).await.unwrap_err();
    assert_eq!(failure.code, 400, "{failure}");
    assert!(
        failure.message.starts_with("ConfigMap cannot be stored: "),
        "{failure}"
    );

    for name in ["..", "a/b", "", "a%2fb"] {
        assert_eq!(
            world.get("configmaps", name).await.unwrap_err().code,
            404,
            "{name}"
        );
        assert_eq!(
            world.delete("configmaps", name).await.unwrap_err().code,
            404,
            "{name}"
        );
    }
    assert_eq!(world.revision().await, before);
}

#[tokio::test]
async fn a_damaged_value_is_told_and_stays() {
    let world = World::new().await;
    for (name, value) in [("a", "{"), ("b", "7"), ("c", "{\"metadata\":[]}")] {
        let key = format!("/configmaps/default/{name}");
        world
            .storage
            .commit(vec![Write::create(key, value)])
            .await
            .unwrap();
    }
    let before = world.revision().await;
    for name in ["a", "b", "c"] {
        assert_eq!(
            world.get("configmaps", name).await.unwrap_err().reason,
            "InternalError"
        );
        assert_eq!(
            world.delete("configmaps", name).await.unwrap_err().code,
            500
        );
        let object = json!({"metadata": {"name": name}});
        assert_eq!(
            world.put("configmaps", &object).await.unwrap_err().code,
            500
        );
        assert_eq!(
            world
                .patch("configmaps", name, Patch::Merge, &json!({}))
                .await
                .unwrap_err()
                .code,
            500
        );
        assert_eq!(
            world
                .create("configmaps", &object)
                .await
                .unwrap_err()
                .reason,
            "AlreadyExists"
        );
    }
    assert_eq!(world.revision().await, before);
    let anyway = DeleteOptions {
        ignore_read_error: true,
        ..DeleteOptions::default()
    };
    let at = world.at("configmaps", "a");
    let answer = world.objects.delete(at, &anyway).await.unwrap();
    assert_eq!((answer.code, answer.content), (200, Content::Status));
    assert_eq!(world.get("configmaps", "a").await.unwrap_err().code, 404);
}

#[tokio::test]
async fn warnings_are_not_longer_than_headers_may_be() {
    let world = World::new().await;
    let mut object = json!({"metadata": {"name": "a"}});
    for number in 0..50 {
        object[format!("{number}{}", "x".repeat(10_000))] = 1.into();
    }
    let answer = world.create("configmaps", &object).await.unwrap();
    let length: usize = answer.warnings.iter().map(String::len).sum();
    assert!((2_000..=4_096).contains(&length), "{length}");
}

#[tokio::test]
async fn many_owners_are_compared_in_time() {
    let world = World::new().await;
    let owner = |number: usize| json!({"apiVersion": "v1", "kind": "P", "name": "p", "uid": number.to_string()});
    let owners: Vec<Value> = (0..1_000)
        .chain((0..30_000).map(|_| 999))
        .map(owner)
        .collect();
    let object = json!({"metadata": {"name": "a", "ownerReferences": owners}});
    let answer = world.create("configmaps", &object).await.unwrap();
    assert_eq!(
        answer.to_value()["metadata"]["ownerReferences"]
            .as_array()
            .unwrap()
            .len(),
        1_000
    );
    assert_eq!(answer.warnings.len(), 1);
}
