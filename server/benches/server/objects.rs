//! The objects that the server is given: ConfigMaps of 1 KB, each with the time of its writing.
//!
//! With what the server adds, an event of one is about 1 556 bytes long, and a list of 5 000 is 7.5 MB. The text is
//! random digits, which gzip makes half as long: a text that repeats itself would cost it next to nothing.

use std::time::Instant;

use crate::wire::{Access, Wire};

/// Where they are.
pub(crate) const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// How long the text in one is.
const TEXT: usize = 1_264;

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

    /// Waits until the namespace is there, which a new server makes after it has begun to listen.
    async fn wait_for_namespace(&mut self) {
        let path = "/api/v1/namespaces/default";
        while self.wire.exchange("GET", path, "", "").await.status != 200 {
            tokio::task::yield_now().await;
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
        let text = digits(at as u64 ^ (name.len() as u64) << 60);
        format!(
            r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","labels":{{"node":"n{node}"}}}},"data":{{"at":"{at}","text":"{text}"}}}}"#
        )
    }
}

/// Hexadecimal digits, others for each seed.
fn digits(seed: u64) -> String {
    let mut state = seed | 1;
    let mut text = String::with_capacity(TEXT);
    while text.len() < TEXT {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text += &format!("{state:016x}");
    }
    text
}

/// Creates `count` objects, `o0` and so on; the label `node` takes `nodes` values in turn.
pub(crate) async fn fill(access: &Access, count: usize, nodes: usize) {
    let mut writer = Writer::new(access, Instant::now()).await;
    writer.wait_for_namespace().await;
    for number in 0..count {
        writer.create(&format!("o{number}"), number % nodes).await;
    }
}
