//! Patches over a store.

#[path = "objects/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part")]
mod world;

use ringwatch_server::negotiate::Patch;
use ringwatch_server::objects::PatchBody;
use ringwatch_server::objects::options::{FieldValidation, WriteOptions};
use ringwatch_server::objects::update::Part;
use serde_json::json;
use world::{World, plain, revision, said};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn patches_without_a_version_all_arrive() {
    let world = World::new().await;
    world
        .create("configmaps", &json!({"metadata": {"name": "a"}}))
        .await
        .unwrap();
    let patches = (0..32).map(|number| {
        let world = world.clone();
        tokio::spawn(async move {
            let patch = json!({"data": {(format!("k{number}")): "v"}});
            world
                .patch("configmaps", "a", Patch::Merge, &patch)
                .await
                .unwrap();
        })
    });
    for patch in patches.collect::<Vec<_>>() {
        patch.await.unwrap();
    }
    let value = world.get("configmaps", "a").await.unwrap().to_value();
    assert_eq!(value["data"].as_object().unwrap().len(), 32);
}

#[tokio::test]
async fn patches_that_do_not_fit_are_refused() {
    let world = World::new().await;
    let created = world
        .create(
            "configmaps",
            &json!({"metadata": {"name": "a"}, "data": {"k": "v"}}),
        )
        .await
        .unwrap();
    let before = world.revision().await;
    let uid = created.to_value()["metadata"]["uid"].clone();
    let rejected = "the server rejected our request due to an error in our request";
    let cases = [
        (
            Patch::Merge,
            json!({"metadata": {"resourceVersion": "1"}}),
            409,
            "the object has been modified",
        ),
        (
            Patch::Merge,
            json!({"metadata": {"resourceVersion": "x"}}),
            400,
            "parsing \"x\"",
        ),
        (
            Patch::Merge,
            json!({"metadata": {"name": "b"}}),
            400,
            "the name of the object (b) does not match the name on the URL (a)",
        ),
        (
            Patch::Merge,
            json!({"metadata": {"name": null}}),
            400,
            "was undeterminable",
        ),
        (
            Patch::Merge,
            json!({"metadata": {"uid": "v"}}),
            422,
            "metadata.uid: Invalid value: \"v\": field is immutable",
        ),
        (
            Patch::Merge,
            json!({"metadata": {"labels": ["x"]}}),
            422,
            " \"\" is invalid: patch: Invalid value: ",
        ),
        (
            Patch::Merge,
            json!({"metadata": null}),
            400,
            "name must be provided",
        ),
        (
            Patch::Merge,
            json!({"kind": "Pod"}),
            400,
            "cannot be handled as a ConfigMap",
        ),
        (Patch::Merge, json!([]), 400, ""),
        (Patch::StrategicMerge, json!("x"), 400, ""),
        (
            Patch::StrategicMerge,
            json!({"metadata": {"labels": 7}}),
            422,
            "patch: Invalid value: ",
        ),
        (
            Patch::Json,
            json!([{"op": "test", "path": "/metadata/uid", "value": "v"}]),
            422,
            rejected,
        ),
        (
            Patch::Json,
            json!([{"op": "remove", "path": "/spec"}]),
            422,
            rejected,
        ),
        (
            Patch::Json,
            json!([{"op": "replace", "path": "", "value": 7}]),
            422,
            rejected,
        ),
        (Patch::Json, json!({}), 400, ""),
        (
            Patch::Json,
            vec![json!({"op": "remove", "path": "/data"}); 10_001].into(),
            413,
            "The allowed maximum operations in a JSON patch is 10000, got 10001",
        ),
        (
            Patch::Apply,
            json!({}),
            415,
            "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json",
        ),
    ];
    for (format, patch, code, message) in cases {
        let failure = world
            .patch("configmaps", "a", format, &patch)
            .await
            .unwrap_err();
        let shown = patch.to_string().chars().take(200).collect::<String>();
        assert_eq!(failure.code, code, "{shown}: {failure}");
        assert!(failure.message.contains(message), "{shown}: {failure}");
    }
    assert_eq!(world.revision().await, before);
    let missing = world
        .patch("configmaps", "b", Patch::Merge, &json!({}))
        .await
        .unwrap_err();
    assert_eq!(
        said(&missing),
        (404, "NotFound", "configmaps \"b\" not found")
    );

    // What names the object as it is goes through.
    let patch = json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": revision(&created.to_value())},
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "add", "path": "/data/l", "value": "w"},
    ]);
    let patched = world
        .patch("configmaps", "a", Patch::Json, &patch)
        .await
        .unwrap()
        .to_value();
    assert_eq!(patched["data"], json!({"k": "v", "l": "w"}));
}

#[tokio::test]
async fn unknown_fields_in_patches_are_told() {
    let world = World::new().await;
    world
        .create("configmaps", &json!({"metadata": {"name": "a"}}))
        .await
        .unwrap();
    let at = world.at("configmaps", "a");
    let patch = PatchBody {
        format: Patch::Merge,
        bytes: br#"{"foo":1,"data":{"k":"1","k":"2"}}"#,
    };
    let warned = world
        .objects
        .patch(at, Part::Whole, patch, &plain())
        .await
        .unwrap();
    assert_eq!(
        warned.warnings,
        ["unknown field \"foo\"", "duplicate field \"data.k\""]
    );
    let strict = WriteOptions {
        field_validation: FieldValidation::Strict,
        ..plain()
    };
    let failure = world
        .objects
        .patch(at, Part::Whole, patch, &strict)
        .await
        .unwrap_err();
    assert_eq!(failure.code, 422);
    assert!(
        failure
            .message
            .ends_with("strict decoding error: unknown field \"foo\", duplicate field \"data.k\""),
        "{failure}"
    );
}
