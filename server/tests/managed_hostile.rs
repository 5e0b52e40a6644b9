//! Owners that nobody meant: many, large, deep, and what is none. Each write ends soon, as an object or a clear refusal.

use std::time::{Duration, Instant};

use ringwatch_server::objects::options::WriteOptions;
use ringwatch_server::objects::update::Part;
use ringwatch_server::objects::{Answer, encode};
use ringwatch_server::status::Failure;
use serde_json::{Map, Value, json};

#[path = "objects/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part")]
mod world;
use world::{World, body, revision, said};

/// Much longer than it takes, unoptimised and on a busy machine, and much shorter than what squares would.
const SOON: Duration = Duration::from_secs(20);

fn by(manager: &str) -> WriteOptions {
    WriteOptions {
        field_manager: manager.to_owned(),
        ..world::plain()
    }
}

async fn apply(world: &World, value: &Value, options: &WriteOptions) -> Result<Answer, Failure> {
    let at = world.at("configmaps", "a");
    let began = Instant::now();
    let answer = world
        .objects
        .apply(at, Part::Whole, body(value), options)
        .await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    answer
}

async fn put(world: &World, value: &Value) -> Result<Answer, Failure> {
    let at = world.at("configmaps", "a");
    let began = Instant::now();
    let answer = world
        .objects
        .update(at, Part::Whole, body(value), &by("me"))
        .await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    answer
}

fn owner(place: usize, operation: &str, fields: &Value) -> Value {
    json!({
        "manager": format!("m{place}"),
        "operation": operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    })
}

fn with_owners(owners: &Value) -> Value {
    json!({"metadata": {"name": "a", "managedFields": owners}, "data": {"k": "1"}})
}

fn owners(answer: &Answer) -> Vec<Value> {
    let owners = answer.to_value()["metadata"]["managedFields"].clone();
    owners.as_array().cloned().unwrap_or_default()
}

async fn with_an_object() -> World {
    let world = World::new().await;
    let value = json!({"metadata": {"name": "a"}, "data": {"k": "1"}});
    let created = world.create("configmaps", &value).await;
    created.expect("a config map");
    world
}

#[tokio::test]
async fn ten_thousand_who_update_become_few() {
    let world = with_an_object().await;
    let fields = json!({"f:data": {"f:k": {}}});
    let many: Value = (0..10_000)
        .map(|place| owner(place, "Update", &fields))
        .collect();
    let answer = put(&world, &with_owners(&many))
        .await
        .expect("a config map");
    let left = owners(&answer);
    assert_eq!(left.len(), 10);
    assert!(
        left.iter()
            .any(|owner| owner["manager"] == "ancient-changes"),
        "{left:?}"
    );
}

#[tokio::test]
async fn ten_thousand_versions_are_ten_thousand_owners() {
    let world = with_an_object().await;
    let many: Value = (0..10_000)
        .map(|place| {
            let mut owner = owner(place, "Update", &json!({"f:data": {"f:k": {}}}));
            owner["apiVersion"] = format!("v{place}").into();
            owner
        })
        .collect();
    let answer = put(&world, &with_owners(&many))
        .await
        .expect("a config map");
    assert_eq!(owners(&answer).len(), 10_000);
}

#[tokio::test]
async fn ten_thousand_who_apply_are_kept_and_told() {
    let world = with_an_object().await;
    let fields = json!({"f:data": {"f:k": {}}});
    let many: Value = (0..10_000)
        .map(|place| owner(place, "Apply", &fields))
        .collect();
    let answer = put(&world, &with_owners(&many))
        .await
        .expect("a config map");
    assert_eq!(owners(&answer).len(), 10_000);
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "2"}});
    let failure = apply(&world, &wanted, &by("me"))
        .await
        .expect_err("a conflict");
    assert_eq!(failure.code, 409);
    assert!(
        failure
            .message
            .starts_with("Apply failed with 10000 conflicts: "),
        "{}",
        failure.message.len()
    );
    let forced = WriteOptions {
        force: true,
        ..by("me")
    };
    let answer = apply(&world, &wanted, &forced).await.expect("forced");
    assert_eq!(owners(&answer).len(), 1);
}

#[tokio::test]
async fn a_large_set_costs_what_it_is_long() {
    let world = with_an_object().await;
    let fields: Map<String, Value> = (0..100_000)
        .map(|place| (format!("f:{place}"), json!({})))
        .collect();
    let many = json!([owner(0, "Apply", &json!({"f:data": fields}))]);
    let answer = put(&world, &with_owners(&many))
        .await
        .expect("a config map");
    assert_eq!(owners(&answer).len(), 1);
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"7": "1"}});
    let answer = apply(&world, &wanted, &by("m0")).await.expect("applied");
    assert_eq!(
        owners(&answer)[0]["fieldsV1"],
        json!({"f:data": {"f:7": {}}})
    );
    assert_eq!(answer.to_value()["data"], json!({"k": "1", "7": "1"}));
}

#[tokio::test]
async fn a_deep_set_is_refused_or_kept() {
    let world = with_an_object().await;
    let deep = |levels| (0..levels).fold(json!({}), |inside, _| json!({"f:x": inside}));
    let failure = put(
        &world,
        &with_owners(&json!([owner(0, "Apply", &deep(110))])),
    )
    .await;
    let failure = failure.expect_err("too deep");
    assert_eq!(failure.code, 400, "{failure}");
    let answer = put(&world, &with_owners(&json!([owner(0, "Apply", &deep(40))]))).await;
    assert_eq!(owners(&answer.expect("not too deep")).len(), 1);
}

#[tokio::test]
async fn what_is_no_owner_changes_nothing() {
    let world = with_an_object().await;
    let before = world.get("configmaps", "a").await.unwrap().to_value();
    let mut missing = owner(0, "Apply", &json!({"f:a": {}}));
    missing.as_object_mut().unwrap().remove("apiVersion");
    for owners in [
        json!([owner(0, "Delete", &json!({"f:a": {}}))]),
        json!([owner(0, "Apply", &json!({"a": {}}))]),
        json!([owner(0, "Apply", &json!({"k:{": {}}))]),
        json!([owner(0, "Apply", &json!({"f:a": {"v:": {}}}))]),
        json!([owner(0, "Apply", &json!([]))]),
        json!([missing]),
    ] {
        let answer = put(&world, &with_owners(&owners))
            .await
            .expect("a config map");
        assert_eq!(answer.to_value(), before, "{owners}");
    }
    // What the type of metadata does not have is refused before.
    let failure = put(&world, &with_owners(&json!("x")))
        .await
        .expect_err("no list");
    assert_eq!(said(&failure).0, 400, "{failure}");
}

#[tokio::test]
async fn many_fields_and_elements_are_applied() {
    let world = with_an_object().await;
    let data: Map<String, Value> = (0..50_000)
        .map(|place| (format!("k{place}"), "v".into()))
        .collect();
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data});
    let first = apply(&world, &wanted, &by("me")).await.expect("applied");
    let again = apply(&world, &wanted, &by("me")).await.expect("applied");
    assert_eq!(revision(&first.to_value()), revision(&again.to_value()));
    let none = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let answer = apply(&world, &none, &by("me")).await.expect("applied");
    assert_eq!(answer.to_value()["data"], json!({"k": "1"}));

    let finalizers: Vec<String> = (0..20_000).map(|place| format!("x/{place}")).collect();
    let wanted =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"finalizers": finalizers}});
    apply(&world, &wanted, &by("me")).await.expect("applied");
    let twice = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"finalizers": vec!["x/y"; 20_000]}});
    let failure = apply(&world, &twice, &by("me"))
        .await
        .expect_err("twice the same");
    assert_eq!(failure.code, 400);
    assert!(failure.message.len() < 4096, "{}", failure.message.len());
}

#[tokio::test]
async fn what_another_program_stored_is_no_trap() {
    let world = World::new().await;
    let resource = world.of("configmaps");
    for (place, owners) in [json!(7), json!([7, {}, {"manager": 7}]), json!([{"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"x": 7, "f:data": [1]}}])].into_iter().enumerate() {
        let name = format!("s{place}");
        let value = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "namespace": "default", "uid": "u", "managedFields": owners}, "data": {"k": "1"}});
        let stored = encode::stored(resource, &value).expect("storable");
        let write = ringwatch_server::storage::Write::create(format!("/configmaps/default/{name}"), stored);
        world.storage.commit(vec![write]).await.expect("stored");
        let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"l": "1"}});
        let at = world.at("configmaps", &name);
        let answer = world.objects.apply(at, Part::Whole, body(&wanted), &by("me")).await;
        let answer = answer.expect("applied");
        assert!(owners_of(&answer, "me"), "{}", answer.to_value());
    }
}

fn owners_of(answer: &Answer, manager: &str) -> bool {
    owners(answer)
        .iter()
        .any(|owner| owner["manager"] == manager)
}
