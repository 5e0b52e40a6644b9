//! A kind of one's own: defined, watched by the names of its objects, and gone again.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{delete_options, suites_of_servers};
use crate::PATIENCE;
use crate::wire::{Answer, Form, Wire};

const FLAGS: &[&str] = &[];
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

suites_of_servers!(noxus);

/// Asks until the answer is as it should be.
async fn until(wire: &Wire, path: &str, wanted: impl Fn(&Answer) -> bool) -> Answer {
    let begun = Instant::now();
    loop {
        let answer = wire.answer(Method::GET, path, None).await;
        if wanted(&answer) {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "{path}: {answer:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

fn is_established(answer: &Answer) -> bool {
    let conditions = answer.body["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| {
        (&condition["type"], &condition["status"]) == (&json!("Established"), &json!("True"))
    })
}

async fn noxus(wire: &Wire, name: &str) {
    let group = format!("{name}.example.com");
    let definition = format!("{DEFINITIONS}/noxus.{group}");
    let version = format!("/apis/{group}/v1beta1");
    let noxus = format!("{version}/noxus");
    // Definitions are spoken of in either form, their instances in JSON alone.
    let text = wire.speaking(Form::Json);
    // Nobody has heard of it, which is no object: the path leads nowhere.
    assert!(text.text(&version).await.starts_with("404 page not found"));

    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let object = json!({
        "kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": format!("noxus.{group}")},
        "spec": {
            "group": group, "scope": "Cluster",
            "names": {"kind": "WishIHadChosenNoxu", "plural": "noxus", "singular": "nonenglishnoxu",
                "shortNames": ["foo", "bar"], "listKind": "NoxuItemList"},
            "versions": [{"name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let created = wire.answer(Method::POST, DEFINITIONS, Some(object)).await;
    assert_eq!(created.status, StatusCode::CREATED, "{created:?}");
    until(wire, &definition, is_established).await;
    let discovered = until(&text, &version, |answer| answer.status == StatusCode::OK).await;
    assert_eq!(discovered.body["resources"][0]["name"], "noxus");

    // One watch for each name; neither says from where.
    let watch = async |name: &str| {
        let path =
            format!("{noxus}?watch=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds=600");
        text.watch(&path).await.expect("a watch")
    };
    let mut watches = [
        ("name1", watch("name1").await),
        ("name2", watch("name2").await),
    ];
    for (name, events) in &mut watches {
        let object = json!({
            "kind": "WishIHadChosenNoxu", "apiVersion": format!("{group}/v1beta1"),
            "metadata": {"name": name}, "content": {"key": "value"}, "num": {"num1": 1, "num2": 1000000},
        });
        let path = format!("{noxus}/{name}");
        let created = text.answer(Method::POST, &noxus, Some(object)).await;
        assert_eq!(created.status, StatusCode::CREATED, "{created:?}");
        let event = events.expect().await;
        assert_eq!((&*event.kind, &event.object), ("ADDED", &created.body));
        let merging = text.with("content-type", "application/merge-patch+json");
        let patch = Some(json!({"dummy": "test"}));
        let patched = merging.ask(Method::PATCH, &path, patch).await;
        assert_eq!(patched["dummy"], "test");
        let event = events.expect().await;
        assert_eq!((&*event.kind, &event.object), ("MODIFIED", &patched));
        let deleted = text
            .answer(Method::DELETE, &path, Some(delete_options()))
            .await;
        assert_eq!(deleted.status, StatusCode::OK, "{deleted:?}");
        assert_eq!(deleted.body["status"], "Success");
        let event = events.expect().await;
        assert_eq!((&*event.kind, event.name()), ("DELETED", &**name));
        assert_eq!(event.object["dummy"], "test", "as it was last");
    }

    let deleted = wire
        .answer(Method::DELETE, &definition, Some(delete_options()))
        .await;
    assert_eq!(deleted.status, StatusCode::OK, "{deleted:?}");
    let begun = Instant::now();
    while !text.text(&version).await.starts_with("404") {
        assert!(begun.elapsed() < PATIENCE, "the kind is still there");
        sleep(Duration::from_millis(20)).await;
    }
    // Its watches end with it.
    for (_, mut events) in watches {
        while events.next().await.is_some() {}
    }
}
