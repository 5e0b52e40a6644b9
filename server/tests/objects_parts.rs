//! Subresources, kinds that are special, and what is there from the start.

#[path = "objects/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part")]
mod world;

use std::sync::Arc;
use std::time::Duration;

use ringwatch_core::revision::Revision;
use ringwatch_server::negotiate::Patch;
use ringwatch_server::objects::options::DeleteOptions;
use ringwatch_server::objects::update::Part;
use ringwatch_server::objects::{Address, Content, Objects, PatchBody};
use ringwatch_server::resources::{Resource, Stored};
use ringwatch_server::storage::{Embedded, WatchItem};
use serde_json::json;
use world::{World, body, plain, revision, said};

#[tokio::test]
async fn the_status_of_a_pod_and_its_node() {
    let world = World::new().await;
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    world.create("pods", &pod).await.unwrap();
    let at = world.at("pods", "p");
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    let answer = world
        .objects
        .bind(at, body(&binding), &plain())
        .await
        .unwrap();
    assert_eq!((answer.code, answer.content), (201, Content::Status));
    assert_eq!(answer.to_value()["status"], "Success");
    let bound = world.get("pods", "p").await.unwrap().to_value();
    assert_eq!(bound["spec"]["nodeName"], "n");
    let failure = world
        .objects
        .bind(at, body(&binding), &plain())
        .await
        .unwrap_err();
    assert_eq!(
        said(&failure),
        (
            409,
            "Conflict",
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n\""
        )
    );

    let status = json!({"metadata": {"name": "p"}, "status": {"phase": "Running"}});
    let answer = world
        .objects
        .update(at, Part::Status, body(&status), &plain())
        .await
        .unwrap()
        .to_value();
    assert_eq!(
        (&answer["status"]["phase"], &answer["spec"]["nodeName"]),
        (&json!("Running"), &json!("n"))
    );
    let patch = PatchBody {
        format: Patch::StrategicMerge,
        bytes: br#"{"spec":{"nodeName":"m"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#,
    };
    let answer = world
        .objects
        .patch(at, Part::Status, patch, &plain())
        .await
        .unwrap()
        .to_value();
    assert_eq!(answer["spec"]["nodeName"], "n");
    assert_eq!(answer["status"]["conditions"][0]["type"], "Ready");

    // It runs, so it has time to end.
    let marked = world.delete("pods", "p").await.unwrap().to_value();
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
    let now = DeleteOptions {
        grace_period: Some(0),
        ..DeleteOptions::default()
    };
    world.objects.delete(at, &now).await.unwrap();
    assert_eq!(world.get("pods", "p").await.unwrap_err().code, 404);
}

#[tokio::test]
async fn replicas_are_set_through_the_scale() {
    let world = World::new().await;
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    world.create("deployments.apps", &deployment).await.unwrap();
    let at = world.at("deployments.apps", "d");
    let scale = world.objects.scale(at).await.unwrap();
    assert_eq!(scale.content, Content::Scale);
    let mut scale = scale.to_value();
    assert_eq!(
        (&scale["kind"], &scale["spec"]["replicas"]),
        (&json!("Scale"), &json!(1))
    );

    scale["spec"]["replicas"] = 3.into();
    let answer = world
        .objects
        .update_scale(at, body(&scale), &plain())
        .await
        .unwrap()
        .to_value();
    assert_eq!(answer["spec"]["replicas"], 3);
    assert_eq!(revision(&answer), world.revision().await.to_string());
    let failure = world
        .objects
        .update_scale(at, body(&scale), &plain())
        .await
        .unwrap_err();
    assert_eq!((failure.code, failure.reason), (409, "Conflict"));

    let patch = |bytes| PatchBody {
        format: Patch::Merge,
        bytes,
    };
    let answer = world
        .objects
        .patch_scale(at, patch(br#"{"spec":{"replicas":5}}"#), &plain())
        .await
        .unwrap();
    assert_eq!(answer.to_value()["spec"]["replicas"], 5);
    let failure = world
        .objects
        .patch_scale(at, patch(br#"{"spec":{"replicas":-1}}"#), &plain())
        .await
        .unwrap_err();
    assert_eq!(
        said(&failure),
        (
            422,
            "Invalid",
            "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        )
    );
    let stored = world.get("deployments.apps", "d").await.unwrap().to_value();
    assert_eq!(
        (
            &stored["spec"]["replicas"],
            &stored["metadata"]["generation"]
        ),
        (&json!(5), &json!(3))
    );
    assert_eq!(
        world
            .objects
            .scale(world.at("configmaps", "d"))
            .await
            .unwrap_err()
            .code,
        404
    );
}

#[tokio::test]
async fn an_event_is_seen_through_both_groups() {
    let world = World::new().await;
    let event = json!({
        "metadata": {"name": "e"}, "eventTime": "2024-05-06T07:08:09.000000Z", "action": "Act", "reason": "Because",
        "reportingController": "c", "reportingInstance": "i", "type": "Normal", "note": "hello",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    });
    let answer = world.create("events.events.k8s.io", &event).await.unwrap();
    let value = answer.to_value();
    assert_eq!(
        (&value["apiVersion"], &value["note"]),
        (&json!("events.k8s.io/v1"), &json!("hello"))
    );
    assert!(
        answer
            .body
            .starts_with(br#"{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"#)
    );
    let stored = world
        .storage
        .get("/events/default/e")
        .await
        .unwrap()
        .found
        .unwrap();
    assert!(
        stored
            .value
            .starts_with(br#"{"kind":"Event","apiVersion":"v1","metadata":{"#)
    );
    let core = world.get("events", "e").await.unwrap().to_value();
    assert_eq!(
        (&core["message"], &core["involvedObject"]["name"]),
        (&json!("hello"), &json!("p"))
    );
    assert_eq!(
        world.get("events.events.k8s.io", "e").await.unwrap().body,
        answer.body
    );
    let patched = world
        .patch(
            "events.events.k8s.io",
            "e",
            Patch::Merge,
            &json!({"note": "bye"}),
        )
        .await
        .unwrap();
    assert_eq!(patched.to_value()["note"], "bye");
    assert_eq!(
        world.get("events", "e").await.unwrap().to_value()["message"],
        "bye"
    );
}

#[tokio::test]
async fn what_lives_for_a_time_goes_by_itself() {
    let world = World::new().await;
    let short = Resource {
        storage: Some(Stored {
            ttl: Some(Duration::from_secs(1)),
            ..world.of("events").storage.clone().unwrap()
        }),
        ..world.of("events").clone()
    };
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "r"});
    world
        .objects
        .create(&short, Some("default"), body(&event), &plain())
        .await
        .unwrap();
    let at = Address::new(&short, Some("default"), "e");
    let mut changes = world
        .storage
        .watch("/events/", Revision::new(world.revision().await))
        .await
        .unwrap();
    let changed = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "s"});
    world
        .objects
        .update(at, Part::Whole, body(&changed), &plain())
        .await
        .unwrap();
    let waiting = async {
        while let Some(Ok(item)) = changes.next().await {
            if let WatchItem::Changes { changes: told, .. } = item
                && told.iter().any(|change| change.current.is_none())
            {
                return true;
            }
        }
        false
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(30), waiting)
            .await
            .unwrap()
    );
    assert_eq!(world.objects.get(at).await.unwrap_err().code, 404);
}

#[tokio::test]
async fn several_servers_may_start_at_once() {
    let world = World::new().await;
    let before = world.revision().await;
    let objects = [(); 4].map(|()| Objects::new(world.storage.clone()));
    for objects in &objects {
        objects.bootstrap(&world.catalog).await.unwrap();
    }
    assert_eq!(world.revision().await, before);
    let service = world
        .get("services", "kubernetes")
        .await
        .unwrap()
        .to_value();
    assert_eq!(service["spec"]["ports"][0]["port"], 443);

    let fresh = World {
        storage: Arc::new(Embedded::in_memory()),
        ..world.clone()
    };
    let objects = Objects::new(fresh.storage.clone());
    let starts = [(); 4].map(|()| {
        let (objects, catalog) = (objects.clone(), fresh.catalog.clone());
        tokio::spawn(async move { objects.bootstrap(&catalog).await })
    });
    for start in starts {
        start.await.unwrap().unwrap();
    }
    // Four namespaces and a service.
    assert_eq!(fresh.storage.revision().await.unwrap().get(), before);
}
