//! Texts that several kinds share.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::tree::Tree;

pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";

/// Labels as `a=b,c=d`, in the order of their keys.
pub(super) fn labels(labels: &Tree<'_>) -> String {
    let mut pairs: Vec<_> = labels.entries().iter().collect();
    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
    let texts = pairs
        .iter()
        .map(|(key, value)| format!("{key}={}", value.text()));
    none_if_empty(join(texts))
}

/// A label selector as it would be written in a query; `<none>` if it demands nothing.
pub(super) fn selector(selector: &Tree<'_>) -> String {
    match query(selector) {
        Some(text) => none_if_empty(text),
        None => "<error>".to_owned(),
    }
}

/// A label selector as it would be written in a query, empty if it demands nothing; `None` if an
/// operator is unknown.
pub(super) fn query(selector: &Tree<'_>) -> Option<String> {
    let mut demands = Vec::new();
    for (key, value) in selector.get("matchLabels").entries() {
        demands.push((key.as_ref(), format!("{key}={}", value.text())));
    }
    for demand in selector.get("matchExpressions").items() {
        let key = demand.get("key").text();
        let values = || {
            let mut values: Vec<_> = demand
                .get("values")
                .items()
                .iter()
                .map(Tree::text)
                .collect();
            values.sort_unstable();
            values.join(",")
        };
        let text = match demand.get("operator").text() {
            "In" => format!("{key} in ({})", values()),
            "NotIn" => format!("{key} notin ({})", values()),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        };
        demands.push((key, text));
    }
    demands.sort_by_key(|(key, _)| *key);
    Some(join(demands.into_iter().map(|(_, text)| text)))
}

/// The names of a pod template's containers, and their images.
pub(super) fn containers(pod_spec: &Tree<'_>) -> (String, String) {
    let all = |member: &str| {
        let containers = pod_spec.get("containers").items().iter();
        join(containers.map(|container| container.get(member).text().to_owned()))
    };
    (all("name"), all("image"))
}

/// The first three texts, and how many there are besides; empty for no text.
pub(super) fn some(texts: impl Iterator<Item = String>) -> String {
    let mut count = 0_usize;
    let mut shown = String::new();
    for text in texts {
        count += 1;
        if count > SHOWN {
            continue;
        }
        if count > 1 {
            shown.push(',');
        }
        shown.push_str(&text);
    }
    if count > SHOWN {
        let _ = write!(shown, " + {} more...", count - SHOWN);
    }
    shown
}

/// How many texts of a list are shown.
pub(super) const SHOWN: usize = 3;

/// Texts with commas between them.
pub(super) fn join(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(",")
}

/// `<none>` in place of an empty text.
pub(super) fn none_if_empty(text: String) -> String {
    if text.is_empty() {
        NONE.to_owned()
    } else {
        text
    }
}

/// The status of the first condition of this type; empty if there is none.
pub(super) fn condition<'a>(status: &'a Tree<'_>, kind: &str) -> &'a str {
    let mut conditions = status.get("conditions").items().iter();
    conditions
        .find(|condition| condition.get("type").text() == kind)
        .map_or("", |condition| condition.get("status").text())
}

/// A boolean as a word; `False` if it is missing, since that is what it then means.
pub(super) fn word(value: &Tree<'_>) -> Cow<'static, str> {
    Cow::Borrowed(if value.is_true() { "True" } else { "False" })
}
