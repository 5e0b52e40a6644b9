//! A server that cannot read all that it serves yet: who asks for it is told to come again, and nobody else notices.

use std::fs;
use std::time::Duration;

use http::{Method, StatusCode};
use ringwatch_tests::etcd::{Folder, Server, Version};
use serde_json::json;

use crate::PATIENCE;
use crate::program::Program;
use crate::wire::Wire;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PASSWORD: &str = "secret";

/// etcd does not let the server see config maps, and then it does.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_cache_has_not_read_is_to_be_asked_for_again() {
    let etcd = Server::start(Version::V3_5);
    let gateway = etcd.gateway();
    // Config maps come before it, and all that the server needs itself after it.
    gateway.require_login("ringwatch", PASSWORD, "/registry/d", "/registry0");
    // The key by which the newest revision is asked for, and those up to the first kind.
    gateway.grant("ringwatch", PASSWORD, "/registry/", "/registry/0");
    let folder = Folder::new();
    let password = folder.path().join("password");
    fs::write(&password, PASSWORD).expect("a file");
    let password = password.to_str().expect("a path as text");
    let program = Program::start(&[
        "--etcd",
        &etcd.endpoint(),
        "--etcd-user",
        "ringwatch",
        "--etcd-password-file",
        password,
    ]);
    let wire = Wire::connect(&program).await;
    for query in [
        "",
        "?resourceVersion=0",
        "?limit=500",
        "?watch=true",
        "?watch=true&resourceVersion=0",
        "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
        "/a?resourceVersion=0",
    ] {
        let path = format!("{CONFIG_MAPS}{query}");
        let answer = wire.answer(Method::GET, &path, None).await;
        let refused = (answer.status, answer.header("retry-after"));
        assert_eq!(refused, (StatusCode::TOO_MANY_REQUESTS, "1"), "{path}");
        assert_eq!(answer.body["reason"], "TooManyRequests");
        assert_eq!(answer.body["details"]["retryAfterSeconds"], 1);
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert!(message.contains("storage is (re)initializing"), "{message}");
    }
    // The rest is served, and who asks whether all is well hears what is not.
    let pods = wire.get("/api/v1/namespaces/default/pods").await;
    assert_eq!(pods["kind"], "PodList");
    let ready = wire.text("/readyz?verbose").await;
    assert!(ready.contains("[-]watch-cache failed"), "{ready}");
    assert_eq!(wire.text("/livez").await, "ok");

    gateway.grant("ringwatch", PASSWORD, "/registry/", "/registry/d");
    let begun = tokio::time::Instant::now();
    loop {
        let answer = wire.answer(Method::GET, CONFIG_MAPS, None).await;
        if answer.status == StatusCode::OK {
            break;
        }
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(begun.elapsed() < PATIENCE, "still {answer:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion=0");
    let mut events = wire.watch(&path).await.expect("a watch");
    let object = json!({"metadata": {"name": "a"}});
    wire.ask(Method::POST, CONFIG_MAPS, Some(object)).await;
    assert_eq!(events.expect().await.name(), "a");
}
