//! A storage that has pods and changes them on demand, as fast as it is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{
    Changes, Condition, Got, KeyChange, KeyValue, List, Outcome, Page, Storage, StorageError,
    WatchItem, Write,
};
use tokio::sync::Notify;

/// Pods, numbered.
#[derive(Debug)]
pub(crate) struct Feed {
    objects: usize,
    /// What pods are changed to, made before any clock runs: what is measured is the cache.
    values: Arc<[KeyValue]>,
    /// Up to which revision changes may be handed out.
    until: Arc<AtomicU64>,
    more: Arc<Notify>,
}

impl Feed {
    pub(crate) fn new(objects: usize) -> Self {
        let values = objects.min(20_000);
        Self {
            objects,
            values: (0..values)
                .map(|n| stored(n * (objects / values), 1))
                .collect(),
            until: Arc::new(AtomicU64::new(objects as u64)),
            more: Arc::default(),
        }
    }

    /// Lets so many more changes go; gives the revision of the last.
    pub(crate) fn go(&self, changes: u64) -> u64 {
        let until = self.until.fetch_add(changes, Ordering::SeqCst) + changes;
        self.more.notify_one();
        until
    }
}

/// The node of a pod.
pub(crate) fn node(number: usize) -> String {
    format!("node-{number:06}")
}

/// A pod of about 1 KB.
fn pod(number: usize, generation: u64) -> String {
    let env: String = (0..8)
        .map(|n| format!(r#"{{"name":"VARIABLE_{n}","value":"value-{n}"}},"#))
        .collect();
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"creationTimestamp":"2026-05-04T10:11:12Z","generation":{generation},"labels":{{"app":"shop","env":"prod","pod-template-hash":"7d4b8c6f9","tier":"frontend"}},"name":"pod-{number:06}","namespace":"ns-{}","uid":"0b3c1f6e-6f9d-4c6e-9d0a-0f1e2d3c4b5a"}},"spec":{{"containers":[{{"env":[{env}{{"name":"LAST","value":"{generation}"}}],"image":"registry.example/shop/web:1.2.0","name":"web","ports":[{{"containerPort":8080,"protocol":"TCP"}}]}}],"nodeName":"{}","restartPolicy":"Always"}},"status":{{"phase":"Running","podIP":"10.1.2.3"}}}}"#,
        number % 50,
        node(number % 100_000),
    )
}

fn stored(number: usize, revision: u64) -> KeyValue {
    KeyValue {
        key: format!("/pods/ns-{:02}/pod-{number:06}", number % 50).into(),
        value: Bytes::from(pod(number, revision)),
        mod_revision: Revision::new(revision),
        create_revision: Revision::new(1),
        condition: Condition::Sound,
    }
}

/// Changes handed out at once, as a busy etcd does.
const BATCH: u64 = 64;

fn change(values: &[KeyValue], revision: u64) -> WatchItem {
    let mut current = values[revision as usize * 7919 % values.len()].clone();
    current.mod_revision = Revision::new(revision);
    let change = KeyChange {
        key: current.key.clone(),
        current: Some(current),
        previous: None,
    };
    WatchItem::Changes {
        revision: Revision::new(revision),
        changes: vec![change],
    }
}

#[async_trait]
impl Storage for Feed {
    async fn list(&self, list: &List) -> Result<Page, StorageError> {
        let mut items: Vec<_> = (0..self.objects)
            .map(|number| stored(number, number as u64 + 1))
            .collect();
        items.sort_by(|a, b| a.key.cmp(&b.key));
        assert_eq!(list.prefix, "/pods/");
        Ok(Page {
            items,
            revision: Revision::new(self.objects as u64),
            remaining: 0,
        })
    }

    async fn watch(&self, _: &str, after: Revision) -> Result<Changes, StorageError> {
        let (sender, changes) = Changes::channel();
        let (until, more, values) = (self.until.clone(), self.more.clone(), self.values.clone());
        tokio::spawn(async move {
            let mut revision = after.get();
            loop {
                while revision < until.load(Ordering::SeqCst) {
                    let last = until.load(Ordering::SeqCst).min(revision + BATCH);
                    let items: Vec<_> = (revision + 1..=last)
                        .map(|revision| change(&values, revision))
                        .collect();
                    revision = last;
                    if !sender.send_all(items).await {
                        return;
                    }
                }
                more.notified().await;
            }
        });
        Ok(changes)
    }

    async fn revision(&self) -> Result<Revision, StorageError> {
        Ok(Revision::new(self.until.load(Ordering::SeqCst)))
    }

    async fn get(&self, _: &str) -> Result<Got, StorageError> {
        Err(StorageError::Refused("only lists and watches".to_owned()))
    }

    async fn commit(&self, _: Vec<Write>) -> Result<Outcome, StorageError> {
        Err(StorageError::Refused("only lists and watches".to_owned()))
    }

    async fn compact(&self, _: Revision) -> Result<(), StorageError> {
        Ok(())
    }

    fn compacted(&self) -> Revision {
        Revision::ZERO
    }
}
