//! Deletions over a store.

#[path = "objects/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part")]
mod world;

use ringwatch_core::revision::Revision;
use ringwatch_server::negotiate::Patch;
use ringwatch_server::objects::Content;
use ringwatch_server::objects::options::DeleteOptions;
use ringwatch_server::storage::WatchItem;
use serde_json::json;
use world::{World, revision, said};

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let world = World::new().await;
    let object =
        json!({"metadata": {"name": "a", "finalizers": ["example.com/x"]}, "data": {"k": "v"}});
    world.create("configmaps", &object).await.unwrap();
    let marked = world.delete("configmaps", "a").await.unwrap();
    assert_eq!((marked.code, marked.content), (200, Content::Object));
    let marked = marked.to_value();
    assert!(marked["metadata"]["deletionTimestamp"].is_string());

    // Once more changes nothing.
    let before = world.revision().await;
    assert_eq!(
        world.delete("configmaps", "a").await.unwrap().to_value(),
        marked
    );
    let options = DeleteOptions {
        orphan_dependents: Some(false),
        ..DeleteOptions::default()
    };
    let answer = world
        .objects
        .delete(world.at("configmaps", "a"), &options)
        .await
        .unwrap();
    assert_eq!(answer.code, 202);
    assert_eq!(world.revision().await, before);

    let mut changes = world
        .storage
        .watch("/configmaps/", Revision::new(before))
        .await
        .unwrap();
    let patch = json!({"metadata": {"finalizers": null}, "data": {"k": "w"}});
    let released = world
        .patch("configmaps", "a", Patch::Merge, &patch)
        .await
        .unwrap();
    let value = released.to_value();
    assert_eq!((released.code, &value["data"]["k"]), (200, &json!("w")));
    assert_eq!(revision(&value), revision(&marked));
    assert_eq!(world.get("configmaps", "a").await.unwrap_err().code, 404);
    // Watchers hear of the deletion and of nothing else.
    let Some(Ok(WatchItem::Changes {
        revision,
        changes: told,
    })) = changes.next().await
    else {
        panic!("no change");
    };
    assert_eq!((revision.get(), told.len()), (before + 1, 1));
    assert!(told.iter().all(|change| change.current.is_none()));
}

#[tokio::test]
async fn a_deletion_answers_with_a_status_or_the_object() {
    let world = World::new().await;
    world
        .create("configmaps", &json!({"metadata": {"name": "a"}}))
        .await
        .unwrap();
    let uid = world.get("configmaps", "a").await.unwrap().to_value()["metadata"]["uid"].clone();
    let answer = world.delete("configmaps", "a").await.unwrap();
    assert_eq!((answer.code, answer.content), (200, Content::Status));
    assert_eq!(
        answer.to_value(),
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {"name": "a", "kind": "configmaps", "uid": uid}})
    );
    let failure = world.delete("configmaps", "a").await.unwrap_err();
    assert_eq!(
        said(&failure),
        (404, "NotFound", "configmaps \"a\" not found")
    );

    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    world.create("pods", &pod).await.unwrap();
    let answer = world.delete("pods", "p").await.unwrap();
    assert_eq!(answer.content, Content::Object);
    let now = world.revision().await.to_string();
    assert_eq!(revision(&answer.to_value()), now);
    assert_eq!(answer.to_value()["kind"], "Pod");
}

#[tokio::test]
async fn many_are_deleted_and_who_is_gone_already_does_not_matter() {
    let world = World::new().await;
    for name in ["a", "b", "c"] {
        world
            .create("configmaps", &json!({"metadata": {"name": name}}))
            .await
            .unwrap();
    }
    let names = ["a", "gone", "c"].map(|name| (Some("default"), name));
    let of = world.of("configmaps");
    world
        .objects
        .delete_each(of, names, &DeleteOptions::default())
        .await
        .unwrap();
    assert_eq!(world.get("configmaps", "a").await.unwrap_err().code, 404);
    assert_eq!(world.get("configmaps", "b").await.unwrap().code, 200);
    let options = DeleteOptions {
        uid: Some("other".into()),
        ..DeleteOptions::default()
    };
    let failure = world
        .objects
        .delete_each(of, [(Some("default"), "b")], &options)
        .await
        .unwrap_err();
    assert_eq!(failure.code, 409);
}
