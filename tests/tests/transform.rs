//! Encryption at rest, seen from both sides: through the transformer, and in the store behind it.

use std::{path::Path, time::Duration};

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{
    Condition, KeyValue, List, Outcome, Storage, StorageError, Ttl, UpdateError, WatchItem, Write,
    guaranteed_update,
    transform::{Transformed, Transformer, rewrite_stale},
};
use ringwatch_tests::reference::Reference;

const OLD: &str = "old AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const NEW: &str = "new Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=";

#[tokio::test]
async fn values_are_sealed_in_the_store_and_open_outside() {
    let store = store(&Reference::new(), &[OLD]);
    write(&store, "/a", "secret text").await;
    assert_eq!(
        read(&store, "/a").await,
        ("secret text".into(), Condition::Sound)
    );
    let (stored, _) = read(store.inner(), "/a").await;
    assert!(stored.starts_with(b"ringwatch:enc:1:old:"), "{stored:?}");
    assert!(
        !stored.windows(6).any(|part| part == b"secret"),
        "{stored:?}"
    );
    write(&store, "/b", "secret text").await;
    assert_ne!(read(store.inner(), "/b").await.0, stored);
}

#[tokio::test]
async fn the_first_entry_writes_and_what_others_wrote_is_stale() {
    let inner = Reference::new();
    for (written_by, read_by, expected) in [
        (&[OLD][..], &[OLD][..], Condition::Sound),
        (&[OLD], &[NEW, OLD], Condition::Stale),
        (&[NEW, OLD], &[OLD, NEW], Condition::Stale),
        (&[OLD, NEW], &[OLD], Condition::Sound),
        (&["plain"], &["plain"], Condition::Sound),
        (&["plain"], &[NEW, OLD, "plain"], Condition::Stale),
        (&["plain", OLD], &["plain"], Condition::Sound),
        (&[NEW, "plain"], &["plain", NEW], Condition::Stale),
    ] {
        write(&store(&inner, written_by), "/a", "text").await;
        let found = read(&store(&inner, read_by), "/a").await;
        assert_eq!(
            found,
            ("text".into(), expected),
            "{written_by:?}, {read_by:?}"
        );
    }
}

#[tokio::test]
async fn what_no_entry_opens_is_corrupt_and_shown_as_it_is() {
    let inner = Reference::new();
    let renamed = "new AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    for (written_by, read_by) in [
        (OLD, &[NEW][..]),
        (OLD, &[NEW, "plain"]),
        (OLD, &["plain"]),
        (NEW, &[renamed]),
        ("plain", &[OLD]),
    ] {
        write(&store(&inner, &[written_by]), "/a", "text").await;
        let (stored, _) = read(&inner, "/a").await;
        let found = read(&store(&inner, read_by), "/a").await;
        assert_eq!(
            found,
            (stored, Condition::Corrupt),
            "{written_by:?}, {read_by:?}"
        );
    }
    write(&inner, "/a", "ringwatch:enc:2:old:of a later format").await;
    let found = read(&store(&inner, &[OLD, "plain"]), "/a").await;
    assert_eq!(found.1, Condition::Corrupt);
}

#[tokio::test]
async fn one_corrupt_value_leaves_list_and_watch_usable() {
    let inner = Reference::new();
    let store = store(&inner, &[OLD]);
    let before = store.revision().await.unwrap();
    write(&store, "/a", "1").await;
    write(&inner, "/b", "damaged").await;
    write(&store, "/c", "3").await;
    let page = store.list(&List::default()).await.unwrap();
    let found: Vec<_> = page.items.iter().map(|item| item.condition).collect();
    let expected = [Condition::Sound, Condition::Corrupt, Condition::Sound];
    assert_eq!(found, expected);

    // The damage is repaired, and done again: a previous value that is corrupt, then a current one.
    write(&store, "/b", "repaired").await;
    write(&inner, "/b", "damaged again").await;
    let delete = Write::delete("/b", get(&inner, "/b").await.mod_revision);
    store.commit(vec![delete]).await.unwrap();
    let mut watch = store.watch("/b", before).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let Some(Ok(WatchItem::Changes { changes, .. })) = watch.next().await else {
            panic!("expected changes");
        };
        let condition = |value: &Option<KeyValue>| value.as_ref().map(|value| value.condition);
        seen.push((
            condition(&changes[0].previous),
            condition(&changes[0].current),
        ));
    }
    let (sound, corrupt) = (Some(Condition::Sound), Some(Condition::Corrupt));
    let expected = [
        (None, corrupt),
        (corrupt, sound),
        (sound, corrupt),
        (corrupt, None),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_conflict_shows_the_value_in_the_open() {
    let store = store(&Reference::new(), &[OLD]);
    write(&store, "/a", "text").await;
    let outcome = store.commit(vec![Write::create("/a", "")]).await.unwrap();
    let Outcome::Conflict { current, .. } = outcome else {
        panic!("expected a conflict");
    };
    assert_eq!(current, [Some(get(&store, "/a").await)]);
}

#[tokio::test]
async fn an_update_repairs_what_is_stale_and_refuses_what_is_corrupt() {
    let inner = Reference::new();
    write(&store(&inner, &[OLD]), "/a", "text").await;
    let same = |base: &KeyValue| Ok::<_, ()>(base.value.clone());
    let both = store(&inner, &[NEW, OLD]);
    let updated = guaranteed_update(&both, "/a", None, Ttl::None, same)
        .await
        .unwrap();
    assert!(updated.written);
    assert_eq!(read(&both, "/a").await, ("text".into(), Condition::Sound));
    let updated = guaranteed_update(&both, "/a", None, Ttl::None, same)
        .await
        .unwrap();
    assert!(!updated.written);
    let refused = guaranteed_update(&store(&inner, &[OLD]), "/a", None, Ttl::None, same).await;
    assert_eq!(refused, Err(UpdateError::Corrupt));
}

#[tokio::test]
async fn a_plain_value_must_not_look_sealed() {
    let store = store(&Reference::new(), &["plain"]);
    let outcome = store
        .commit(vec![Write::create("/a", "ringwatch:enc:1:x:")])
        .await;
    assert!(
        matches!(outcome, Err(StorageError::Refused(_))),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn rewriting_makes_every_value_sound_and_can_be_resumed() {
    let inner = Reference::new();
    for number in 0..250 {
        let key = format!("/a/{number:03}");
        match number % 5 {
            0 => write(&store(&inner, &["plain"]), &key, "0").await,
            1 => write(&store(&inner, &[NEW]), &key, "1").await,
            _ => write(&store(&inner, &[OLD]), &key, "2").await,
        };
    }
    write(&inner, "/a/100", "ringwatch:enc:1:old:damaged").await;
    write(&store(&inner, &[OLD]), "/other", "2").await;
    let store = store(&inner, &[NEW, OLD, "plain"]);

    let mut reports = Vec::new();
    let end = rewrite_stale(&store, "/a/", None, |report| reports.push(report.clone()));
    let end = end.await.unwrap();
    let numbers: Vec<_> = reports.iter().map(|r| (r.seen, r.remaining)).collect();
    assert_eq!(numbers, [(100, 150), (200, 50), (250, 0)]);
    assert_eq!(reports.last(), Some(&end));
    assert_eq!((end.rewritten, end.corrupt), (199, 1));

    let list = List {
        prefix: "/a/".into(),
        ..List::default()
    };
    for item in store.list(&list).await.unwrap().items {
        let corrupt = &*item.key == "/a/100";
        assert_eq!(item.condition == Condition::Corrupt, corrupt, "{item:?}");
        assert_ne!(item.condition, Condition::Stale, "{item:?}");
    }
    assert_eq!(read(&store, "/other").await.1, Condition::Stale);

    let before = store.revision().await.unwrap();
    let again = rewrite_stale(&store, "/a/", None, |_| {}).await.unwrap();
    assert_eq!((again.seen, again.rewritten), (250, 0));
    let rest = rewrite_stale(&store, "/a/", reports[1].last.clone(), |_| {});
    assert_eq!(rest.await.unwrap().seen, 50);
    assert_eq!(store.revision().await.unwrap(), before);
}

/// Long enough for the key to be written again before it goes.
const BRIEF: Duration = Duration::from_millis(500);

#[tokio::test]
async fn rewriting_keeps_a_limited_life_limited() {
    let inner = Reference::new();
    let brief = Write::create("/events/a", "1").with_ttl(BRIEF);
    let old = store(&inner, &[OLD]).commit(vec![brief]).await;
    assert!(matches!(old, Ok(Outcome::Committed(_))), "{old:?}");
    let store = store(&inner, &[NEW, OLD]);
    let end = rewrite_stale(&store, "/", None, |_| {}).await.unwrap();
    assert_eq!(end.rewritten, 1);
    let rewritten = get(&store, "/events/a").await.mod_revision;
    let mut changes = store.watch("/events/", rewritten).await.unwrap();
    let item = tokio::time::timeout(BRIEF * 20, changes.next()).await;
    let Ok(Some(Ok(WatchItem::Changes { changes, .. }))) = item else {
        panic!("expected the key to go, not {item:?}");
    };
    assert_eq!(changes[0].current, None);
}

fn store(inner: &Reference, lines: &[&str]) -> Transformed<Reference> {
    let text = lines.join("\n");
    let keys = Transformer::parse(Path::new("keys"), text.as_bytes()).unwrap();
    Transformed::new(inner.clone(), keys)
}

async fn get(storage: &dyn Storage, key: &str) -> KeyValue {
    storage.get(key).await.unwrap().found.unwrap()
}

async fn read(storage: &dyn Storage, key: &str) -> (Bytes, Condition) {
    let found = get(storage, key).await;
    (found.value, found.condition)
}

/// Whatever is there.
async fn write(storage: &dyn Storage, key: &str, value: &'static str) {
    let found = storage.get(key).await.unwrap().found;
    let expected = found.map_or(Revision::ZERO, |found| found.mod_revision);
    let write = Write::update(key, expected, value);
    let outcome = storage.commit(vec![write]).await.unwrap();
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
}
