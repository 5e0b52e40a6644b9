//! What Kubernetes' own end-to-end suites ask of a server, request by request, in JSON and in protobuf. All but a few are asked of a relay, too, with only the
//! writes going to its server.
//!
//! - `watchers`: watches with selectors, from revisions, again after their end, and a hundred at once
//! - `chunking`: lists in pages, also of what has been forgotten meanwhile
//! - `tables`: objects and lists as rows
//! - `kinds`: a kind that is defined, watched and gone again
//! - `watch_list`: lists that come as events
//! - `negotiation`: what clients say that they accept, and what they read of discovery

mod chunking;
mod kinds;
mod negotiation;
mod tables;
mod watch_list;
mod watchers;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::wire::Wire;

/// What the suites send to end a namespace.
fn delete_options() -> Value {
    json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"})
}

/// A namespace of the test's own, made as the suites make it.
async fn namespace(wire: &Wire, name: &str) -> String {
    let object = json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}});
    let answer = wire
        .answer(Method::POST, "/api/v1/namespaces", Some(object))
        .await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    format!("/api/v1/namespaces/{name}")
}

fn config_map(name: &str, label: &str, value: u32) -> Value {
    json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"watched": label}},
        "data": {"mutation": value.to_string()},
    })
}

/// An object that is created, and what the server made of it.
async fn create(wire: &Wire, collection: &str, object: Value) -> Value {
    let answer = wire.answer(Method::POST, collection, Some(object)).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    answer.body
}

/// A test for each store, in each form; and one on a relay.
macro_rules! suites {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            crate::suites::on_both_stores!($name);

            #[tokio::test(flavor = "multi_thread")]
            async fn on_a_relay() {
                let site = crate::store::Site::start_with(Store::Embedded, super::FLAGS);
                let wire = Wire::connect(&site.program).await;
                let relay = crate::relay::Relay::of_everything(&site.program);
                relay.until_ready().await;
                for (form, name) in [(Form::Json, "json"), (Form::Protobuf, "protobuf")] {
                    super::$name(&wire.speaking(form).reading_from(&relay), name).await;
                }
            }
        }
    )*};
}

/// The same for what a relay does not have.
macro_rules! suites_of_servers {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            crate::suites::on_both_stores!($name);
        }
    )*};
}

macro_rules! on_both_stores {
    ($name:ident) => {
        use crate::store::Store;
        use crate::wire::{Form, Wire};

        async fn run(store: Store) {
            let site = crate::store::Site::start_with(store, super::FLAGS);
            let wire = Wire::connect(&site.program).await;
            for (form, name) in [(Form::Json, "json"), (Form::Protobuf, "protobuf")] {
                super::$name(&wire.speaking(form), name).await;
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn on_embedded() {
            run(Store::Embedded).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn on_etcd() {
            run(Store::Etcd(ringwatch_tests::etcd::Version::V3_5)).await;
        }
    };
}

use {on_both_stores, suites, suites_of_servers};
