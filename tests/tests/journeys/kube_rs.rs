//! kube-rs: what controllers in Rust are made of.

mod kinds;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, VersionMatch};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::controller::Action;
use kube::runtime::watcher::{self, Event, watcher};
use kube::runtime::{Controller, WatchStreamExt, reflector};
use kube::{Api, Client, Config, ResourceExt};
use ringwatch_tests::etcd::Version;
use serde_json::json;
use tokio::time::timeout;

use crate::PATIENCE;
use crate::program::Program;
use crate::relay::Relay;
use crate::store::{Site, Store};

/// The server's admin.
async fn client(program: &Program) -> Client {
    let kubeconfig = Kubeconfig::read_from(program.kubeconfig()).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.expect("settings")).expect("a client")
}

/// The config maps of the namespace `default`, as the server's admin.
pub(crate) async fn config_maps(program: &Program) -> Api<ConfigMap> {
    Api::default_namespaced(client(program).await)
}

fn object(name: &str, value: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.data = Some(BTreeMap::from([("value".to_owned(), value.to_owned())]));
    object
}

pub(crate) async fn create(api: &Api<ConfigMap>, name: &str, value: &str) {
    let created = api
        .create(&PostParams::default(), &object(name, value))
        .await;
    created.expect(name);
}

pub(crate) async fn change(api: &Api<ConfigMap>, name: &str, value: &str) {
    let patch = Patch::Merge(json!({"data": {"value": value}}));
    let changed = api.patch(name, &PatchParams::default(), &patch).await;
    changed.expect(name);
}

pub(crate) async fn delete(api: &Api<ConfigMap>, name: &str) {
    api.delete(name, &DeleteParams::default())
        .await
        .expect(name);
}

fn value(object: &ConfigMap) -> &str {
    let data = object.data.as_ref().expect("data");
    &data["value"]
}

/// The next event, in short.
pub(crate) async fn next(
    stream: &mut (impl Stream<Item = watcher::Result<Event<ConfigMap>>> + Unpin),
) -> String {
    let event = timeout(PATIENCE, stream.next())
        .await
        .expect("an event in time");
    match event.expect("a stream").expect("no error") {
        Event::Init => "init".to_owned(),
        Event::InitApply(object) => format!("init {}={}", object.name_any(), value(&object)),
        Event::InitDone => "init done".to_owned(),
        Event::Apply(object) => format!("apply {}={}", object.name_any(), value(&object)),
        Event::Delete(object) => format!("delete {}={}", object.name_any(), value(&object)),
    }
}

/// A server, and whatever is asked for what there is: itself, or a relay behind it.
struct Scene {
    site: Site,
    relay: Option<Relay>,
    /// The server's config maps.
    server: Api<ConfigMap>,
    /// The same where they are read.
    at: Api<ConfigMap>,
}

impl Scene {
    async fn on(store: Store) -> Self {
        let site = Site::start(store);
        let server = config_maps(&site.program).await;
        Self {
            at: server.clone(),
            relay: None,
            server,
            site,
        }
    }

    async fn on_a_relay() -> Self {
        let mut scene = Self::on(Store::Embedded).await;
        let relay = Relay::start(&scene.site.program, &["configmaps"]);
        scene.at = relay.api();
        scene.relay = Some(relay);
        scene
    }

    /// A list that has what the server's object is now: a streamed list may be as old as a cache.
    async fn fresh(&self, name: &str) -> Vec<ConfigMap> {
        let object = self.server.get(name).await.expect(name);
        let fresh = ListParams::default()
            .at(&object.resource_version().expect("a revision"))
            .matching(VersionMatch::NotOlderThan);
        let begun = Instant::now();
        loop {
            match self.at.list(&fresh).await {
                Ok(list) => return list.items,
                // A relay that has just been started.
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
        }
    }
}

fn by_pages() -> watcher::Config {
    watcher::Config::default().page_size(2)
}

fn streamed() -> watcher::Config {
    watcher::Config::default().streaming_lists()
}

#[tokio::test]
async fn a_watcher_that_lists_on_embedded() {
    watch(Scene::on(Store::Embedded).await, by_pages()).await;
}

#[tokio::test]
async fn a_watcher_that_lists_on_etcd() {
    watch(Scene::on(Store::Etcd(Version::V3_5)).await, by_pages()).await;
}

#[tokio::test]
async fn a_watcher_that_lists_on_a_relay() {
    watch(Scene::on_a_relay().await, by_pages()).await;
}

#[tokio::test]
async fn a_watcher_with_a_streamed_list_on_embedded() {
    watch(Scene::on(Store::Embedded).await, streamed()).await;
}

#[tokio::test]
async fn a_watcher_with_a_streamed_list_on_etcd() {
    watch(Scene::on(Store::Etcd(Version::V3_5)).await, streamed()).await;
}

#[tokio::test]
async fn a_watcher_with_a_streamed_list_on_a_relay() {
    watch(Scene::on_a_relay().await, streamed()).await;
}

async fn watch(mut scene: Scene, config: watcher::Config) {
    let server = scene.server.clone();
    for name in ["a", "b", "c"] {
        create(&server, name, "0").await;
    }
    assert_eq!(scene.fresh("c").await.len(), 3);
    let stream = watcher(scene.at.clone(), config.clone());
    pin_mut!(stream);
    for event in ["init", "init a=0", "init b=0", "init c=0", "init done"] {
        assert_eq!(next(&mut stream).await, event);
    }
    create(&server, "d", "1").await;
    change(&server, "a", "2").await;
    delete(&server, "b").await;
    for event in ["apply d=1", "apply a=2", "delete b=0"] {
        assert_eq!(next(&mut stream).await, event);
    }
    if scene.relay.is_some() {
        // Who begins when the server is gone is told what there was.
        scene.site.program.kill_hard();
        let stream = watcher(scene.at, config);
        pin_mut!(stream);
        for event in ["init", "init a=2", "init c=0", "init d=1", "init done"] {
            assert_eq!(next(&mut stream).await, event);
        }
    }
}

#[tokio::test]
async fn a_reflector_holds_what_there_is() {
    reflected(Scene::on(Store::Embedded).await).await;
}

#[tokio::test]
async fn a_reflector_of_a_relay_holds_what_there_is() {
    reflected(Scene::on_a_relay().await).await;
}

async fn reflected(scene: Scene) {
    let server = &scene.server;
    create(server, "a", "0").await;
    scene.fresh("a").await;
    let (store, writer) = reflector::store();
    let config = watcher::Config::default().labels("ignored!=yes");
    let stream = reflector(writer, watcher(scene.at.clone(), config));
    pin_mut!(stream);
    for event in ["init", "init a=0", "init done"] {
        assert_eq!(next(&mut stream).await, event);
    }
    for number in 0..20 {
        create(server, &format!("n-{number}"), "0").await;
        change(server, "a", &number.to_string()).await;
    }
    delete(server, "n-3").await;
    while next(&mut stream).await != "delete n-3=0" {}
    let listed = server.list(&ListParams::default()).await.expect("a list");
    let mut held: Vec<_> = store
        .state()
        .iter()
        .map(|object| (**object).clone())
        .collect();
    held.sort_by_key(ResourceExt::name_any);
    assert_eq!(held, listed.items);
}

/// A controller that writes into each object what it has read there, so that its own writes come back to it.
#[tokio::test]
async fn a_controller_reaches_the_desired_state() {
    const OBJECTS: usize = 20;
    let site = Site::start(Store::Embedded);
    let api = config_maps(&site.program).await;
    for number in 0..OBJECTS / 2 {
        create(&api, &format!("n-{number}"), "0").await;
    }
    let reconcile = |object: Arc<ConfigMap>, api: Arc<Api<ConfigMap>>| async move {
        if object.annotations().get("seen").map(String::as_str) != Some(value(&object)) {
            let patch =
                Patch::Merge(json!({"metadata": {"annotations": {"seen": value(&object)}}}));
            api.patch(&object.name_any(), &PatchParams::default(), &patch)
                .await?;
        }
        Ok::<_, kube::Error>(Action::await_change())
    };
    let again = |_: Arc<ConfigMap>, _: &kube::Error, _: Arc<Api<ConfigMap>>| {
        Action::requeue(Duration::from_millis(50))
    };
    let controller = Controller::new(api.clone(), watcher::Config::default())
        .run(reconcile, again, Arc::new(api.clone()))
        .for_each(|_| async {});
    let controller = tokio::spawn(controller);
    for number in OBJECTS / 2..OBJECTS {
        create(&api, &format!("n-{number}"), "1").await;
    }
    for number in 0..OBJECTS / 2 {
        change(&api, &format!("n-{number}"), "1").await;
    }
    // Seen by a watch, not by asking again and again.
    let stream = watcher(api.clone(), watcher::Config::default());
    let stream = stream.applied_objects();
    pin_mut!(stream);
    let mut reached = BTreeMap::new();
    while reached.len() < OBJECTS {
        let object = timeout(PATIENCE, stream.next())
            .await
            .expect("an object in time");
        let object = object.expect("a stream").expect("no error");
        if object.annotations().get("seen").map(String::as_str) == Some("1") {
            reached.insert(object.name_any(), ());
        }
    }
    controller.abort();
}

/// The server dies in the middle of a watch and comes back on its data: what was written before, while the watcher was
/// away, and after is seen.
#[tokio::test]
async fn a_watcher_loses_nothing_when_the_server_starts_again() {
    let mut site = Site::start(Store::Embedded);
    let api = config_maps(&site.program).await;
    create(&api, "before", "0").await;
    let stream = watcher(api.clone(), watcher::Config::default());
    pin_mut!(stream);
    for event in ["init", "init before=0", "init done"] {
        assert_eq!(next(&mut stream).await, event);
    }
    create(&api, "gone", "0").await;
    create(&api, "unread", "0").await;
    // Not read before the server has died.
    site.program.restart();
    let api = config_maps(&site.program).await;
    create(&api, "after", "0").await;
    delete(&api, "gone").await;
    change(&api, "before", "1").await;
    let mut held = BTreeMap::from([("before".to_owned(), "0".to_owned())]);
    let mut listing = BTreeMap::new();
    let expected = BTreeMap::from(
        [("before", "1"), ("unread", "0"), ("after", "0")]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    while held != expected {
        let event = timeout(PATIENCE, stream.next()).await;
        match event
            .unwrap_or_else(|_| panic!("still {held:?}"))
            .expect("a stream")
        {
            Ok(Event::Init) => listing.clear(),
            Ok(Event::InitApply(object)) => {
                listing.insert(object.name_any(), value(&object).to_owned());
            }
            Ok(Event::InitDone) => held.clone_from(&listing),
            Ok(Event::Apply(object)) => {
                held.insert(object.name_any(), value(&object).to_owned());
            }
            Ok(Event::Delete(object)) => {
                held.remove(&object.name_any());
            }
            // The connection has gone; the watcher tries again when it is asked again.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

#[tokio::test]
async fn two_apply_to_one_object_on_embedded() {
    two_apply(Store::Embedded).await;
}

#[tokio::test]
async fn two_apply_to_one_object_on_etcd() {
    two_apply(Store::Etcd(Version::V3_5)).await;
}

/// Server-side apply as controllers do it: each has its fields, and is told whose they are if not its own.
async fn two_apply(store: Store) {
    let site = Site::start(store);
    let api = config_maps(&site.program).await;
    let apply = async |manager: &str, data: serde_json::Value| {
        let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
        let params = PatchParams::apply(manager);
        api.patch("a", &params, &Patch::Apply(&wanted)).await
    };
    let created = apply("one", json!({"x": "1"})).await.expect("created");
    let both = apply("two", json!({"y": "1"})).await.expect("applied");
    assert_eq!(both.metadata.uid, created.metadata.uid);
    assert_eq!(both.data.expect("data").len(), 2);
    let managers = both.metadata.managed_fields.expect("owners");
    let names: Vec<_> = managers
        .iter()
        .filter_map(|owner| owner.manager.as_deref())
        .collect();
    assert_eq!(names, ["one", "two"]);
    let refused = apply("two", json!({"x": "2"}))
        .await
        .expect_err("a conflict");
    let kube::Error::Api(status) = refused else {
        panic!("{refused}");
    };
    assert_eq!(status.code, 409);
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"one\": .data.x"
    );
}
