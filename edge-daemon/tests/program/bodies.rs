//! What an API server sends, and a relay that is sent it.

use std::sync::{Arc, Mutex, mpsc};

use crate::replay::Replay;
use crate::support::Site;

pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(crate) const PODS_WATCH: &str = "resource = \"pods\"\nobjects = 50\nchanges = 50";

/// A pod as a kube-apiserver writes it.
pub(crate) fn pod(name: &str, revision: u64, phase: &str) -> String {
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"default","uid":"u-{name}","resourceVersion":"{revision}","creationTimestamp":"2026-08-20T10:00:00Z","labels":{{"app":"{name}"}},"managedFields":[{{"manager":"kubectl","operation":"Update","apiVersion":"v1","time":"2026-08-20T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:spec":{{}}}}}}]}},"spec":{{"nodeName":"n1","containers":[{{"name":"c","image":"registry/x:1"}}]}},"status":{{"phase":"{phase}"}}}}"#
    )
}

/// The same as an item of a list, which has no kind of its own.
pub(crate) fn item(name: &str, revision: u64) -> String {
    pod(name, revision, "Running").replacen(r#""kind":"Pod","apiVersion":"v1","#, "", 1)
}

pub(crate) fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

pub(crate) fn bookmark(revision: u64, ends: bool) -> String {
    let annotations = if ends {
        r#","annotations":{"k8s.io/initial-events-end":"true"}"#
    } else {
        ""
    };
    event(
        "BOOKMARK",
        &format!(
            r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"resourceVersion":"{revision}","creationTimestamp":null{annotations}}},"spec":{{"containers":null}},"status":{{}}}}"#
        ),
    )
}

pub(crate) fn list(revision: u64, next: &str, items: &[String]) -> String {
    format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{revision}","continue":"{next}"}},"items":[{}]}}"#,
        items.join(",")
    )
}

/// A stream that begins with these pieces, and ends when the sender is dropped.
pub(crate) fn live(
    pieces: &[String],
) -> (mpsc::Sender<String>, Arc<Mutex<mpsc::Receiver<String>>>) {
    let (upstream, receiver) = mpsc::channel();
    for piece in pieces {
        upstream.send(piece.clone()).unwrap();
    }
    (upstream, Arc::new(Mutex::new(receiver)))
}

pub(crate) fn site(folder: &tempfile::TempDir, replay: &Replay) -> Site {
    let upstream = format!("url = \"http://127.0.0.1:{}\"", replay.port);
    Site::new(folder.path(), &upstream, PODS_WATCH)
}
