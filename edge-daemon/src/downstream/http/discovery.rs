//! The documents in which clients read what is served, in both forms: one for each group and version, or all in two with an ETag.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, VARY};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use super::accept::Style;
use super::answer::{Body, whole};
use super::kinds::{Kind, api_version};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// Whether a path is one of discovery.
pub(super) fn is_one(path: &str) -> bool {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    matches!(
        parts.as_slice(),
        ["api" | "apis"] | ["api" | "apis", _] | ["apis", _, _]
    )
}

/// Whether the document at a path may be aggregated.
pub(super) fn has_styles(path: &str) -> bool {
    matches!(path.trim_matches('/'), "api" | "apis")
}

/// The document at a path, if there is one. Those of single groups have one style.
pub(super) fn document(path: &str, style: Style, kinds: &[Kind]) -> Option<Value> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let of = |group: &str| versions(kinds, group);
    match (parts.as_slice(), style) {
        (["api"], Style::Aggregated) => Some(aggregated(kinds, &[""])),
        (["apis"], Style::Aggregated) => Some(aggregated(kinds, &groups(kinds))),
        (["api"], _) => Some(json!({
            "kind": "APIVersions", "versions": of(""),
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
        })),
        (["apis"], _) => {
            let groups: Vec<Value> = groups(kinds)
                .iter()
                .map(|name| group(kinds, name))
                .collect();
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        (["api", version], _) => resources(kinds, "", version),
        (["apis", name], _) if !of(name).is_empty() => {
            let mut document = group(kinds, name);
            let members = document.as_object_mut()?;
            members.insert("kind".to_owned(), "APIGroup".into());
            members.insert("apiVersion".to_owned(), "v1".into());
            Some(document)
        }
        (["apis", name, version], _) => resources(kinds, name, version),
        _ => None,
    }
}

/// An aggregated document, or that it has not changed since the client read it.
pub(super) fn tagged(document: &Value, known: Option<&HeaderValue>) -> Response<Body> {
    let body = document.to_string();
    let sum = crc::Crc::<u64>::new(&crc::CRC_64_XZ).checksum(body.as_bytes());
    let tag = format!("\"{sum:016X}\"");
    let mut response = whole(body);
    if known.is_some_and(|known| known == tag.as_str()) {
        *response.body_mut() = Body::Whole(Some(Bytes::new()));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(AGGREGATED));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// The groups with a name.
fn groups(kinds: &[Kind]) -> Vec<&str> {
    let mut groups: Vec<&str> = kinds.iter().map(|kind| kind.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    groups.retain(|group| !group.is_empty());
    groups
}

fn versions<'k>(kinds: &'k [Kind], group: &str) -> Vec<&'k str> {
    let of = kinds.iter().filter(|kind| kind.group == group);
    let mut versions: Vec<&str> = of.map(|kind| kind.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

fn group(kinds: &[Kind], name: &str) -> Value {
    let versions = versions(kinds, name);
    let versions = versions
        .iter()
        .map(|version| json!({"groupVersion": api_version(name, version), "version": version}));
    let versions: Vec<Value> = versions.collect();
    let preferred = versions.last().cloned();
    json!({"name": name, "versions": versions, "preferredVersion": preferred})
}

fn resources(kinds: &[Kind], group: &str, version: &str) -> Option<Value> {
    let of = kinds
        .iter()
        .filter(|kind| kind.group == group && kind.version == version);
    let resources: Vec<Value> = of
        .map(|kind| {
            json!({
                "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
                "verbs": VERBS, "shortNames": kind.short_names, "categories": kind.categories,
            })
        })
        .collect();
    (!resources.is_empty()).then(|| {
        json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version(group, version), "resources": resources,
        })
    })
}

fn aggregated(kinds: &[Kind], groups: &[&str]) -> Value {
    let items = groups.iter().map(|group| {
        let versions = versions(kinds, group);
        let versions: Vec<Value> = versions
            .iter()
            .map(|version| {
                let of = kinds
                    .iter()
                    .filter(|kind| kind.group == *group && kind.version == *version);
                let resources: Vec<Value> = of.map(resource).collect();
                json!({"version": version, "resources": resources, "freshness": "Current"})
            })
            .collect();
        json!({"metadata": {"name": group, "creationTimestamp": null}, "versions": versions})
    });
    let items: Vec<Value> = items
        .filter(|group| {
            group["versions"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn resource(kind: &Kind) -> Value {
    let scope = if kind.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    json!({
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": scope, "singularResource": kind.singular, "verbs": VERBS,
        "shortNames": kind.short_names, "categories": kind.categories,
    })
}
