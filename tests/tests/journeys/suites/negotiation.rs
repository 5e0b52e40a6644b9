//! What clients accept, and what they read of discovery before they do anything.

use http::{Method, StatusCode};

use super::{config_map, create, namespace, suites, suites_of_servers};
use crate::wire::{Wire, revision};

const FLAGS: &[&str] = &[];
const ACCEPTED: [(&str, &str); 4] = [
    ("application/json", "application/json"),
    (
        "application/vnd.kubernetes.protobuf",
        "application/vnd.kubernetes.protobuf",
    ),
    (
        "application/vnd.kubernetes.protobuf,application/json",
        "application/vnd.kubernetes.protobuf",
    ),
    (
        "application/json,application/vnd.kubernetes.protobuf",
        "application/json",
    ),
];
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

suites!(discovery);
// A relay speaks JSON only, and has no schemas.
suites_of_servers!(accepted, schemas);

async fn accepted(wire: &Wire, name: &str) {
    let maps = format!("{}/configmaps", namespace(wire, name).await);
    for (number, (accept, form)) in ACCEPTED.into_iter().enumerate() {
        let wire = wire.with("accept", accept);
        let answer = wire.answer(Method::GET, &maps, None).await;
        assert_eq!(answer.header("content-type"), form);
        let start = revision(&answer.body);
        let name = format!("n-{number}");
        let created = create(&wire, &maps, config_map(&name, "A", 0)).await;
        let path = format!(
            "{maps}?watch=true&fieldSelector=metadata.name%3D{name}&resourceVersion={start}"
        );
        let mut events = wire.watch(&path).await.expect("a watch");
        let event = events.expect().await;
        assert_eq!((event.kind.as_str(), event.object), ("ADDED", created));
    }
}

/// A client that has read it does so again only if it has changed.
async fn discovery(wire: &Wire, _: &str) {
    for path in ["/api?timeout=32s", "/apis?timeout=32s"] {
        let wire = wire.with("accept", AGGREGATED);
        let first = wire.answer(Method::GET, path, None).await;
        assert_eq!(first.status, StatusCode::OK);
        assert_eq!(first.body["kind"], "APIGroupDiscoveryList");
        let tag = first.header("etag");
        assert!(!tag.is_empty());
        let again = wire.with("if-none-match", tag);
        let again = again.answer(Method::GET, path, None).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED);
        assert!(again.body.is_null());
    }
    let json = wire.with("accept", "application/json");
    for path in ["/api/v1", "/apis/apps/v1"] {
        assert_eq!(json.get(path).await["kind"], "APIResourceList");
    }
}

async fn schemas(wire: &Wire, _: &str) {
    let index = wire.with("accept", "*/*").get("/openapi/v3").await;
    let document = index["paths"]["api/v1"]["serverRelativeURL"].as_str();
    let document = document.expect("where the group is");
    assert!(
        document.starts_with("/openapi/v3/api/v1?hash="),
        "{document}"
    );
    let json = wire.with("accept", "application/json");
    let document = json.get(document).await;
    assert!(document["paths"]["/api/v1/namespaces/{namespace}/configmaps"].is_object());
}
