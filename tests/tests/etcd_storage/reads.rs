//! Reading what is there, whoever wrote it.

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{List, Page, Storage, StorageError, Write};
use ringwatch_tests::etcd::{Server, Version};

use crate::{committed, connect, on_each_version};

on_each_version!(
    what_others_wrote_is_read,
    pages_cover_a_range,
    the_past_is_read_until_it_is_compacted,
);

async fn what_others_wrote_is_read(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let json = r#"{"kind":"Pod","metadata":{"name":"web"}}"#;
    let gateway = server.gateway();
    let revision = gateway.put("/registry/pods/default/web", json);
    gateway.put("/registry-of-another/pods/default/web", "not ours");
    let got = etcd.get("/pods/default/web").await.unwrap();
    let found = got.found.expect("the pod");
    assert_eq!(
        (&*found.key, &found.value[..]),
        ("/pods/default/web", json.as_bytes())
    );
    assert_eq!(found.mod_revision.get(), revision);
    assert_eq!(found.create_revision.get(), revision);
    assert_eq!(got.revision.get(), revision + 1);
    let all = etcd.list(&List::default()).await.unwrap();
    assert_eq!(all.items, [found]);
    assert_eq!(etcd.get("/pods/default/other").await.unwrap().found, None);
    assert_eq!(etcd.revision().await.unwrap().get(), revision + 1);
}

async fn pages_cover_a_range(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    for n in 0..10 {
        committed(&etcd, vec![Write::create(format!("/pods/a/{n}"), "x")]).await;
    }
    committed(&etcd, vec![Write::create("/pods/ab/0", "x")]).await;
    let list = |limit, after: Option<&str>, at| List {
        prefix: "/pods/a/".to_owned(),
        after: after.map(ToOwned::to_owned),
        limit,
        at,
    };
    let names = |page: &Page| -> String {
        let names: Vec<_> = page.items.iter().map(|item| &item.key[8..]).collect();
        names.concat()
    };
    let first = etcd.list(&list(4, None, None)).await.unwrap();
    assert_eq!((names(&first).as_str(), first.remaining), ("0123", 6));
    // Between the pages, the world goes on.
    let newest = committed(&etcd, vec![Write::create("/pods/a/45", "x")]).await;
    let at = Some(first.revision);
    let second = etcd.list(&list(4, Some("/pods/a/3"), at)).await.unwrap();
    assert_eq!((names(&second).as_str(), second.remaining), ("4567", 2));
    assert_eq!(second.revision, first.revision);
    let last = etcd.list(&list(4, Some("/pods/a/7"), at)).await.unwrap();
    assert_eq!((names(&last).as_str(), last.remaining), ("89", 0));
    let none = etcd.list(&list(4, Some("/pods/b"), None)).await.unwrap();
    assert_eq!(
        (none.items.len(), none.remaining, none.revision),
        (0, 0, newest)
    );
    let all = etcd.list(&list(0, None, None)).await.unwrap();
    assert_eq!(
        (all.items.len(), all.remaining, all.revision),
        (11, 0, newest)
    );
}

async fn the_past_is_read_until_it_is_compacted(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let first = committed(&etcd, vec![Write::create("/pods/a/x", "1")]).await;
    let second = committed(&etcd, vec![Write::update("/pods/a/x", first, "2")]).await;
    let at = |revision: Revision| List {
        prefix: "/pods/".to_owned(),
        at: Some(revision),
        ..List::default()
    };
    let past = etcd.list(&at(first)).await.unwrap();
    assert_eq!(&past.items[0].value[..], b"1");
    let future = etcd.list(&at(Revision::new(second.get() + 1))).await;
    assert!(
        matches!(future, Err(StorageError::Future { .. })),
        "{future:?}"
    );
    etcd.compact(second).await.unwrap();
    let gone = etcd.list(&at(first)).await;
    assert!(
        matches!(gone, Err(StorageError::Compacted { .. })),
        "{gone:?}"
    );
    let kept = etcd.list(&at(second)).await.unwrap();
    assert_eq!(&kept.items[0].value[..], b"2");
    etcd.compact(first).await.expect("forgotten already");
    let future = etcd.compact(Revision::new(1 << 40)).await;
    assert!(
        matches!(future, Err(StorageError::Future { .. })),
        "{future:?}"
    );
}
