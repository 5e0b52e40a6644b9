//! Namespaces from the first object in them to the last.

#[path = "objects/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part")]
mod world;

use std::time::Duration;

use ringwatch_core::revision::Revision;
use ringwatch_server::cache::{Format, Options};
use ringwatch_server::objects::options::DeleteOptions;
use ringwatch_server::objects::{Address, Objects, namespaces};
use ringwatch_server::reader::Reader;
use ringwatch_server::status::Failure;
use ringwatch_server::storage::{List, WatchItem};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use world::{World, body, plain};

const LIMIT: Duration = Duration::from_secs(30);

/// A server's task that empties namespaces.
fn controller(world: &World, cached: bool) -> (Reader, JoinHandle<()>) {
    let format = Format::Json { fields: Vec::new() };
    let reader = Reader::start(
        world.storage.clone(),
        "/namespaces/",
        format,
        cached.then(Default::default),
        Options::default(),
    )
    .unwrap();
    let catalog = world.catalog.clone();
    let objects = Objects::new(world.storage.clone());
    let run = namespaces::run(objects, reader.clone(), move || catalog.clone());
    (reader, tokio::spawn(run))
}

async fn create(world: &World, namespace: &str, of: &str, object: Value) -> Result<Value, Failure> {
    let created = world
        .objects
        .create(world.of(of), Some(namespace), body(&object), &plain())
        .await;
    created.map(|answer| answer.to_value())
}

async fn make(world: &World, name: &str) {
    let namespace = json!({"metadata": {"name": name}});
    world
        .objects
        .create(world.of("namespaces"), None, body(&namespace), &plain())
        .await
        .unwrap();
}

async fn delete(world: &World, name: &str) -> Value {
    let at = Address::new(world.of("namespaces"), None, name);
    world
        .objects
        .delete(at, &DeleteOptions::default())
        .await
        .unwrap()
        .to_value()
}

/// Waits until a key is gone.
async fn gone(world: &World, key: &str, after: u64) {
    let mut changes = world
        .storage
        .watch(key, Revision::new(after))
        .await
        .unwrap();
    let waiting = async {
        while world.storage.get(key).await.unwrap().found.is_some() {
            changes.next().await.expect("the watch goes on").unwrap();
        }
    };
    tokio::time::timeout(LIMIT, waiting)
        .await
        .expect("it goes in time");
}

async fn count(world: &World, prefix: &str) -> usize {
    let list = List {
        prefix: prefix.into(),
        ..List::default()
    };
    world.storage.list(&list).await.unwrap().items.len()
}

#[tokio::test]
async fn nothing_is_put_where_there_is_no_namespace() {
    let world = World::new().await;
    let object = json!({"metadata": {"name": "a"}});
    let failure = create(&world, "nowhere", "configmaps", object.clone())
        .await
        .unwrap_err();
    assert_eq!((failure.code, failure.reason), (404, "NotFound"));
    assert_eq!(failure.message, "namespaces \"nowhere\" not found");
    assert_eq!(
        failure.to_value()["details"],
        json!({"name": "nowhere", "kind": "namespaces"})
    );

    make(&world, "web").await;
    create(&world, "web", "configmaps", object.clone())
        .await
        .unwrap();
    let marked = delete(&world, "web").await;
    assert_eq!(
        (&marked["kind"], &marked["status"]["phase"]),
        (&json!("Namespace"), &json!("Terminating"))
    );
    let object = json!({"metadata": {"name": "b"}});
    let failure = create(&world, "web", "configmaps", object)
        .await
        .unwrap_err();
    assert_eq!((failure.code, failure.reason), (403, "Forbidden"));
    assert_eq!(
        failure.message,
        "configmaps \"b\" is forbidden: unable to create new content in namespace web because it is being terminated"
    );
    assert_eq!(
        failure.to_value()["details"]["causes"],
        json!([{"reason": "NamespaceTerminating", "message": "namespace web is being terminated", "field": "metadata.namespace"}])
    );
}

#[tokio::test]
async fn a_namespace_goes_with_all_that_is_in_it() {
    for cached in [true, false] {
        let world = World::new().await;
        let (reader, task) = controller(&world, cached);
        for name in ["web", "webs"] {
            make(&world, name).await;
        }
        // More than a page, and of several kinds.
        for number in 0..600 {
            let object = json!({"metadata": {"name": format!("c{number}")}});
            create(&world, "web", "configmaps", object).await.unwrap();
        }
        let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "web"}});
        create(&world, "web", "events", event).await.unwrap();
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        create(&world, "web", "pods", pod).await.unwrap();
        create(
            &world,
            "webs",
            "configmaps",
            json!({"metadata": {"name": "a"}}),
        )
        .await
        .unwrap();

        let before = world.revision().await;
        delete(&world, "web").await;
        gone(&world, "/namespaces/web", before).await;
        for prefix in ["/configmaps/web/", "/events/web/", "/pods/web/"] {
            assert_eq!(count(&world, prefix).await, 0, "{prefix}");
        }
        assert_eq!(count(&world, "/configmaps/webs/").await, 1);
        make(&world, "web").await;
        reader.shutdown();
        tokio::time::timeout(LIMIT, task)
            .await
            .expect("it ends")
            .unwrap();
    }
}

#[tokio::test]
async fn a_namespace_waits_for_what_is_held() {
    let world = World::new().await;
    make(&world, "web").await;
    let held = json!({"metadata": {"name": "a", "finalizers": ["example.com/x"]}});
    create(&world, "web", "configmaps", held).await.unwrap();
    create(&world, "web", "secrets", json!({"metadata": {"name": "s"}}))
        .await
        .unwrap();
    // Nobody is there yet: a server that starts later finds what is to be done.
    let before = world.revision().await;
    delete(&world, "web").await;
    let (_reader, _task) = controller(&world, true);
    let (_second, _other) = controller(&world, true);
    gone(&world, "/secrets/web/s", before).await;
    assert_eq!(count(&world, "/namespaces/web").await, 1);

    let marked = world
        .storage
        .get("/configmaps/web/a")
        .await
        .unwrap()
        .found
        .expect("it is held");
    let mut changes = world
        .storage
        .watch("/configmaps/web/a", marked.create_revision)
        .await
        .unwrap();
    if marked.create_revision == marked.mod_revision {
        // Marked in a moment.
        let item = tokio::time::timeout(LIMIT, changes.next()).await.unwrap();
        assert!(matches!(item, Some(Ok(WatchItem::Changes { .. }))));
    }
    let at = Address::new(world.of("configmaps"), Some("web"), "a");
    let marked = world.objects.get(at).await.unwrap().to_value();
    assert!(marked["metadata"]["deletionTimestamp"].is_string());

    let released = json!({"metadata": {"name": "a"}});
    let part = ringwatch_server::objects::update::Part::Whole;
    world
        .objects
        .update(at, part, body(&released), &plain())
        .await
        .unwrap();
    gone(&world, "/namespaces/web", before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_namespace_made_anew_keeps_what_is_new() {
    let world = World::new().await;
    let (_first, _one) = controller(&world, true);
    let (_second, _two) = controller(&world, false);
    for round in 0..30 {
        make(&world, "web").await;
        let name = format!("c{round}");
        create(
            &world,
            "web",
            "configmaps",
            json!({"metadata": {"name": name}}),
        )
        .await
        .unwrap();
        let key = format!("/configmaps/web/{name}");
        // The controllers may still be busy with the namespace before, and must leave this one's objects alone.
        assert!(
            world.storage.get(&key).await.unwrap().found.is_some(),
            "{round}"
        );
        tokio::task::yield_now().await;
        assert!(
            world.storage.get(&key).await.unwrap().found.is_some(),
            "{round}"
        );
        let before = world.revision().await;
        delete(&world, "web").await;
        gone(&world, "/namespaces/web", before).await;
        assert_eq!(count(&world, "/configmaps/web/").await, 0);
    }
}

#[tokio::test]
async fn the_default_namespaces_stay() {
    let world = World::new().await;
    for name in ["default", "kube-system", "kube-public"] {
        let at = Address::new(world.of("namespaces"), None, name);
        let failure = world
            .objects
            .delete(at, &DeleteOptions::default())
            .await
            .unwrap_err();
        assert_eq!((failure.code, failure.reason), (403, "Forbidden"));
        assert_eq!(
            failure.message,
            format!("namespaces {name:?} is forbidden: this namespace may not be deleted")
        );
    }
}
