//! The nodes: what each group of them wants, may have, and must come to.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use ringwatch_core::digest::Digest;
use ringwatch_core::json::Limits;
use ringwatch_core::projection::Projection;
use ringwatch_core::revision::Revision;
use ringwatch_core::selector::LabelSelector;
use serde_json::Value;

use crate::http::Http;
use crate::programs::{Nodes, until};

/// What a group of nodes wants.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) count: usize,
    labels: &'static str,
    namespace: Option<&'static str>,
    show: &'static str,
}

const fn group(
    name: &'static str,
    count: usize,
    labels: &'static str,
    namespace: Option<&'static str>,
    show: &'static str,
) -> Group {
    Group {
        name,
        count,
        labels,
        namespace,
        show,
    }
}

/// A hundred nodes.
pub(crate) const GROUPS: [Group; 6] = [
    group("all", 20, "", None, "data.value:text(8)"),
    group(
        "red",
        20,
        "color=red",
        None,
        "data.value:text(8),data.note:text(4)",
    ),
    group(
        "some",
        20,
        "color in (green,blue)",
        Some("yard"),
        "metadata.name:text(20)",
    ),
    group(
        "rest",
        20,
        "color!=red",
        Some("default"),
        "data.value:text(8)",
    ),
    group("slow", 10, "", None, "data.note:text(100)"),
    group("none", 10, "!color", None, "data.value:text(8)"),
];

/// Where a group is among them.
pub(crate) fn position(name: &str) -> usize {
    let found = GROUPS.iter().position(|group| group.name == name);
    found.expect("a group")
}

impl Group {
    pub(crate) fn start(&self, key: &Path, addresses: &[String]) -> Nodes {
        let mut asks = vec![
            "--resource",
            "configmaps",
            "--labels",
            self.labels,
            "--show",
            self.show,
        ];
        asks.extend(self.namespace.iter().flat_map(|it| ["--namespace", it]));
        Nodes::start(self.name, key, self.count, addresses, &asks)
    }

    /// Waits until each of its nodes has what the server or relay at a port has of what the group wants and, by the labels, may have.
    pub(crate) fn until_right(&self, nodes: &Nodes, port: u16, allowed: &str) {
        let expected = self.expected(port, allowed);
        let count = self.count;
        let what = format!("{count} nodes of {} with {expected}", self.name);
        until(&what, || {
            let last = nodes.last.lock().expect("not poisoned");
            let is_right = |line: &&String| line.contains(&expected);
            (last.values().filter(is_right).count() == count).then_some(())
        });
    }

    /// The line that each would report; without the revision, which goes on.
    fn expected(&self, port: u16, allowed: &str) -> String {
        let path = match self.namespace {
            Some(namespace) => format!("/api/v1/namespaces/{namespace}/configmaps"),
            None => EVERYWHERE.to_owned(),
        };
        let list = list(port, &path).expect("it answers");
        let wanted = LabelSelector::<_>::parse(self.labels).expect("a selector");
        let allowed = LabelSelector::<_>::parse(allowed).expect("a selector");
        let fields = Projection::<_>::parse(self.show).expect("a projection");
        let (mut objects, mut digest, mut values) = (0, Digest::EMPTY, Digest::EMPTY);
        for item in &list {
            let metadata = &item["metadata"];
            let label = |key: &str| metadata["labels"][key].as_str();
            if !wanted.matches(label) || !allowed.matches(label) {
                continue;
            }
            let text = |name: &str| metadata[name].as_str().expect(name);
            let key = format!("{}/{}", text("namespace"), text("name"));
            let revision = text("resourceVersion").parse().expect("a revision");
            let mut buffer = [0; 256];
            let projected =
                fields.project(item.to_string().as_bytes(), &Limits::default(), &mut buffer);
            let body = projected.expect("it fits").bytes;
            objects += 1;
            digest.add(&key, Revision::new(revision));
            values = values.plus(ringwatch_edge::node::values(
                [(key.as_str(), body)].into_iter(),
            ));
        }
        format!("objects {objects} digest {digest} values {values} ")
    }
}

const EVERYWHERE: &str = "/api/v1/configmaps";

/// The objects that a server or relay has at a path, if it answers.
fn list(port: u16, path: &str) -> Option<Vec<Value>> {
    let (status, body) = Http::new(port).ask("GET", path, "")?;
    let list: Value = serde_json::from_str(&body).ok().filter(|_| status == 200)?;
    list["items"].as_array().cloned()
}

/// All that a server or relay has, whole, by key.
pub(crate) fn objects(port: u16) -> BTreeMap<String, Value> {
    let items = list(port, EVERYWHERE).unwrap_or_default();
    let by_key = items.into_iter().map(|mut item| {
        let key = format!(
            "{}/{}",
            item["metadata"]["namespace"], item["metadata"]["name"]
        );
        // An object in a list need not say what kind of list it is in.
        for name in ["kind", "apiVersion"] {
            item.as_object_mut().and_then(|item| item.remove(name));
        }
        (key, item)
    });
    by_key.collect()
}

/// The file that lets all of them and a relay in; one group only to objects with some labels.
pub(crate) fn admitted(relay: &str, nodes: &str, narrow: Option<(&str, &str)>) -> String {
    let mut text = format!("[gateway]\nkey = \"{relay}\"\nallow = [\"configmaps\"]\n");
    for Group { name, count, .. } in &GROUPS {
        let allow = match narrow {
            Some((narrowed, labels)) if narrowed == *name => {
                format!("{{ resource = \"configmaps\", labels = \"{labels}\" }}")
            }
            _ => "\"configmaps\"".to_owned(),
        };
        for index in 0..*count {
            writeln!(
                text,
                "[{name}-{index}]\nkey = \"{nodes}\"\nallow = [{allow}]"
            )
            .expect("a string");
        }
    }
    text
}
