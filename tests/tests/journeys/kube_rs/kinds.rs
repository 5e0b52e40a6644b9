//! A kind of one's own in Rust: derived from a struct, defined by server-side apply, looked after by a controller.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, CustomResource, CustomResourceExt, ResourceExt};
use ringwatch_tests::etcd::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::timeout;

use super::client;
use crate::PATIENCE;
use crate::store::{Site, Store};

/// What is wanted of a lamp.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Lamp",
    namespaced,
    status = "LampStatus",
    selectable = ".spec.room",
    printcolumn = r#"{"name":"Room","type":"string","jsonPath":".spec.room"}"#
)]
struct LampSpec {
    /// Where it stands.
    room: String,
    /// How bright it is to be.
    #[serde(default)]
    brightness: u8,
    note: Option<String>,
}

/// What a lamp is.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
struct LampStatus {
    brightness: u8,
    observed: i64,
}

const FIELD: &str = "lamps.example.com";

#[tokio::test]
async fn a_derived_kind_with_a_controller_on_embedded() {
    controlled(Store::Embedded).await;
}

#[tokio::test]
async fn a_derived_kind_with_a_controller_on_etcd() {
    controlled(Store::Etcd(Version::V3_5)).await;
}

async fn define(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let apply = PatchParams::apply("journey").force();
    let applied = definitions
        .patch(FIELD, &apply, &Patch::Apply(Lamp::crd()))
        .await;
    applied.expect("a definition");
    let established = await_condition(definitions, FIELD, conditions::is_crd_established());
    let established = timeout(PATIENCE, established).await.expect("in time");
    established.expect("a watch");
}

async fn controlled(store: Store) {
    let site = Site::start(store);
    let client = client(&site.program).await;
    define(&client).await;
    let lamps: Api<Lamp> = Api::default_namespaced(client.clone());

    let controller = tokio::spawn({
        let lamps = lamps.clone();
        async move {
            Controller::new(lamps.clone(), watcher::Config::default())
                .run(
                    reconcile,
                    |_, _, _| Action::requeue(Duration::from_secs(1)),
                    Arc::new(lamps),
                )
                .for_each(|_| async {})
                .await;
        }
    });

    let spec = LampSpec {
        room: "hall".to_owned(),
        brightness: 40,
        note: None,
    };
    let mut lamp = Lamp::new("one", spec);
    let created = lamps.create(&PostParams::default(), &lamp).await;
    assert_eq!(created.expect("a lamp").spec.brightness, 40);
    until(&lamps, "one", 40, 1).await;

    // Two that apply: what another has is not taken without force.
    lamp.spec.brightness = 80;
    let hers = PatchParams::apply("her").force();
    let applied = lamps.patch("one", &hers, &Patch::Apply(&lamp)).await;
    assert_eq!(applied.expect("applied").spec.brightness, 80);
    until(&lamps, "one", 80, 2).await;
    lamp.spec.brightness = 10;
    let his = PatchParams::apply("his");
    let refused = lamps.patch("one", &his, &Patch::Apply(&lamp)).await;
    let refused = refused.expect_err("somebody else's field").to_string();
    assert!(refused.contains(".spec.brightness"), "{refused}");
    assert!(refused.contains("\"her\""), "{refused}");
    let applied = lamps.patch("one", &his.force(), &Patch::Apply(&lamp)).await;
    applied.expect("by force");
    until(&lamps, "one", 10, 3).await;

    let hall = ListParams::default().fields("spec.room=hall");
    assert_eq!(lamps.list(&hall).await.expect("a list").items.len(), 1);
    let attic = ListParams::default().fields("spec.room=attic");
    assert_eq!(lamps.list(&attic).await.expect("a list").items.len(), 0);
    let wrong = Patch::Merge(json!({"spec": {"brightness": 300}}));
    let refused = lamps.patch("one", &PatchParams::default(), &wrong).await;
    let refused = refused.expect_err("no such brightness").to_string();
    assert!(
        refused.contains("spec.brightness in body should be less than or equal to 255"),
        "{refused}"
    );
    controller.abort();
}

/// Makes a lamp what is wanted of it, and says so by server-side apply.
async fn reconcile(lamp: Arc<Lamp>, lamps: Arc<Api<Lamp>>) -> kube::Result<Action> {
    let status = json!({
        "apiVersion": "example.com/v1",
        "kind": "Lamp",
        "status": {
            "brightness": lamp.spec.brightness,
            "observed": lamp.metadata.generation,
        },
    });
    let apply = PatchParams::apply("controller").force();
    let name = lamp.name_any();
    lamps
        .patch_status(&name, &apply, &Patch::Apply(&status))
        .await?;
    Ok(Action::await_change())
}

/// Waits until the controller has made the lamp so.
async fn until(lamps: &Api<Lamp>, name: &str, brightness: u8, generation: i64) {
    let done = move |lamp: Option<&Lamp>| {
        let status = lamp.and_then(|lamp| lamp.status.as_ref());
        status
            .is_some_and(|status| (status.brightness, status.observed) == (brightness, generation))
    };
    let done = timeout(PATIENCE, await_condition(lamps.clone(), name, done));
    done.await.expect("in time").expect("a watch");
}
