//! The objects that the server is given: ConfigMaps of 1 KB, each with the time of its writing.

use std::time::Instant;

use crate::wire::{Access, Wire};

/// Where they are.
pub(crate) const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// Writes objects over one connection.
pub(crate) struct Writer {
    wire: Wire,
    began: Instant,
}

impl Writer {
    /// Times count from `began`.
    pub(crate) async fn new(access: &Access, began: Instant) -> Self {
        Self {
            wire: Wire::connect(access).await,
            began,
        }
    }

    /// Creates one.
    pub(crate) async fn create(&mut self, name: &str, node: usize) {
        let body = self.object(name, node);
        let answer = self.wire.exchange("POST", PATH, "", &body).await;
        assert_eq!(answer.status, 201, "POST {name}");
    }

    /// Changes one.
    pub(crate) async fn change(&mut self, name: &str, node: usize) {
        let body = self.object(name, node);
        let path = format!("{PATH}/{name}");
        let answer = self.wire.exchange("PUT", &path, "", &body).await;
        assert_eq!(answer.status, 200, "PUT {name}");
    }

    /// The revision that a list of them has now.
    pub(crate) async fn revision(&mut self) -> String {
        let answer = self.wire.get(&format!("{PATH}?limit=1"), "").await;
        answer
            .text("resourceVersion")
            .expect("a revision")
            .to_owned()
    }

    fn object(&self, name: &str, node: usize) -> String {
        let at = self.began.elapsed().as_micros();
        let text = "0123456789abcdef".repeat(64);
        format!(
            r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","labels":{{"node":"n{node}"}}}},"data":{{"at":"{at}","text":"{text}"}}}}"#
        )
    }
}

/// Creates `count` objects, `o0` and so on; the label `node` takes `nodes` values in turn.
pub(crate) async fn fill(access: &Access, count: usize, nodes: usize) {
    let mut writer = Writer::new(access, Instant::now()).await;
    for number in 0..count {
        writer.create(&format!("o{number}"), number % nodes).await;
    }
}
