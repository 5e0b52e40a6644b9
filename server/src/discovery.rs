//! The documents in which clients read what is served.
//!
//! There are two forms. The old one has a document for each group and version; the aggregated one says everything in
//! two, with an ETag, so that a client asks once and then only whether anything changed. Those are made when somebody first asks
//! for them after the set of kinds has changed, and served as they are.

use std::fmt::Write as _;
use std::sync::OnceLock;

use base64ct::{Base64, Encoding};
use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256, Sha512};

use crate::resources::catalog::{Group, GroupVersion};
use crate::resources::{Catalog, Resource, Route, Scope, Subresource, Verb, Verbs};

/// Every discovery document of one catalog.
#[derive(Debug)]
pub struct Discovery {
    catalog: Catalog,
    address: String,
    /// Of `/api`, by style.
    core: [OnceLock<Document>; 2],
    /// Of `/apis`, by style.
    groups: [OnceLock<Document>; 2],
}

/// How a client wants `/api` and `/apis`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Only the names of versions and groups.
    Plain,
    /// Everything at once: `application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`. There was a `v2beta1`;
    /// clients that know only that one ask for the names and go on from there.
    V2,
}

/// A document and its ETag.
#[derive(Debug, Clone)]
pub struct Document {
    /// JSON, with a newline at the end.
    pub body: Bytes,
    /// For the header, quotes included. It depends on the body alone, so all replicas agree.
    pub etag: String,
}

impl Document {
    fn new(value: &Value) -> Self {
        let mut body = value.to_string().into_bytes();
        let mut etag = String::from('"');
        for byte in Sha512::digest(&body) {
            // Writing to a string cannot fail.
            let _ = write!(etag, "{byte:02X}");
        }
        etag.push('"');
        body.push(b'\n');
        Self {
            body: body.into(),
            etag,
        }
    }
}

impl Discovery {
    /// The documents of a catalog. `address` is where clients reach the server, as `host:port`. Nothing is made yet.
    pub fn new(catalog: Catalog, address: &str) -> Self {
        Self {
            catalog,
            address: address.to_owned(),
            core: Default::default(),
            groups: Default::default(),
        }
    }

    /// The document at a route. A style other than [`Style::Plain`] exists for `/api` and `/apis` only and is
    /// otherwise ignored; see [`Discovery::has_styles`].
    pub fn document(&self, route: &Route, style: Style) -> Option<Document> {
        let (core, others): (Vec<&Group>, Vec<&Group>) = self
            .catalog
            .groups()
            .iter()
            .map(|group| &**group)
            .partition(|group| group.name.is_empty());
        let kept = |[plain, v2]: &[OnceLock<Document>; 2], make: &dyn Fn() -> Value| {
            let slot = match style {
                Style::Plain => plain,
                Style::V2 => v2,
            };
            slot.get_or_init(|| Document::new(&make())).clone()
        };
        match route {
            Route::CoreVersions => Some(kept(&self.core, &|| match style {
                Style::Plain => core_versions(&core, &self.address),
                Style::V2 => aggregated(&core),
            })),
            Route::Groups => Some(kept(&self.groups, &|| match style {
                Style::Plain => groups(&others),
                Style::V2 => aggregated(&others),
            })),
            Route::Group(name) => {
                let group = self.catalog.group(name)?;
                Some(Document::new(&api_group(group, true)))
            }
            Route::GroupVersion { group, version } => {
                let version = self.catalog.group_version(group, version)?;
                Some(Document::new(&api_resource_list(version)))
            }
            Route::Resource(_) | Route::NonResource => None,
        }
    }

    /// Whether the route has an aggregated form.
    pub fn has_styles(route: &Route) -> bool {
        matches!(route, Route::CoreVersions | Route::Groups)
    }
}

fn core_versions(core: &[&Group], address: &str) -> Value {
    let versions = core.iter().flat_map(|group| &group.versions);
    json!({
        "kind": "APIVersions",
        "versions": versions.map(|version| &*version.version).collect::<Vec<_>>(),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

fn groups(groups: &[&Group]) -> Value {
    json!({
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": groups.iter().map(|group| api_group(group, false)).collect::<Vec<_>>(),
    })
}

/// A group, alone or as a member of the list, where it does not say what it is.
fn api_group(group: &Group, alone: bool) -> Value {
    let name = |version: &GroupVersion| json!({"groupVersion": version.api_version(), "version": version.version});
    let mut value = json!({
        "name": group.name,
        "versions": group.versions.iter().map(name).collect::<Vec<_>>(),
        "preferredVersion": group.preferred().map(name),
    });
    if alone {
        insert(&mut value, "kind", "APIGroup");
        insert(&mut value, "apiVersion", "v1");
    }
    value
}

fn api_resource_list(version: &GroupVersion) -> Value {
    let mut resources = Vec::new();
    for resource in &version.resources {
        resources.push(api_resource(resource));
        resources.extend(
            resource
                .subresources
                .iter()
                .map(|sub| api_subresource(resource, sub)),
        );
    }
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": version.api_version(),
        "resources": resources,
    });
    // The core group's list was made before lists said their own version, and clients know it so.
    if !version.group.is_empty() {
        insert(&mut list, "apiVersion", "v1");
    }
    list
}

fn api_resource(resource: &Resource) -> Value {
    let mut value = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.is_namespaced(),
        "kind": resource.kind,
        "verbs": names(resource.announced_verbs()),
    });
    add_nicknames(&mut value, resource);
    if resource.storage.is_some() {
        insert(
            &mut value,
            "storageVersionHash",
            storage_version_hash(resource),
        );
    }
    value
}

fn api_subresource(resource: &Resource, sub: &Subresource) -> Value {
    let mut value = json!({
        "name": format!("{}/{}", resource.plural, sub.name()),
        "singularName": "",
        "namespaced": resource.is_namespaced(),
        "kind": resource.kind,
        "verbs": names(sub.verbs()),
    });
    if let Some([group, version, kind]) = sub.own_kind() {
        insert(&mut value, "kind", kind);
        if group != resource.group {
            insert(&mut value, "group", group);
            insert(&mut value, "version", version);
        }
    }
    value
}

fn aggregated(groups: &[&Group]) -> Value {
    let item = |group: &&Group| {
        let mut metadata = json!({"creationTimestamp": null});
        if !group.name.is_empty() {
            insert(&mut metadata, "name", &*group.name);
        }
        let versions = group.versions.iter().map(|version| {
            let resources: Vec<_> = version
                .resources
                .iter()
                .map(|row| aggregated_resource(row))
                .collect();
            json!({"version": version.version, "freshness": "Current", "resources": resources})
        });
        json!({"metadata": metadata, "versions": versions.collect::<Vec<_>>()})
    };
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": groups.iter().map(item).collect::<Vec<_>>(),
    })
}

fn aggregated_resource(resource: &Resource) -> Value {
    let own = [&*resource.group, &*resource.version, &*resource.kind];
    let mut value = json!({
        "resource": resource.plural,
        "responseKind": response_kind(own),
        "scope": match resource.scope {
            Scope::Namespaced => "Namespaced",
            Scope::Cluster => "Cluster",
        },
        "singularResource": resource.singular,
        "verbs": names(resource.announced_verbs()),
    });
    add_nicknames(&mut value, resource);
    let subresources = resource.subresources.iter().map(|sub| {
        json!({
            "subresource": sub.name(),
            "responseKind": response_kind(sub.own_kind().unwrap_or(own)),
            "verbs": names(sub.verbs()),
        })
    });
    let subresources: Vec<Value> = subresources.collect();
    if !subresources.is_empty() {
        insert(&mut value, "subresources", subresources);
    }
    value
}

fn response_kind([group, version, kind]: [&str; 3]) -> Value {
    json!({"group": group, "version": version, "kind": kind})
}

fn add_nicknames(value: &mut Value, resource: &Resource) {
    if !resource.short_names.is_empty() {
        insert(value, "shortNames", json!(resource.short_names));
    }
    if !resource.categories.is_empty() {
        insert(value, "categories", json!(resource.categories));
    }
}

fn names(verbs: Verbs) -> Vec<&'static str> {
    verbs.iter().map(Verb::name).collect()
}

/// Tells clients whether two servers store the same form: a hash of group, version and kind, as kube-apiserver makes it.
fn storage_version_hash(resource: &Resource) -> String {
    let api_version = match resource.custom() {
        Some(custom) => custom.stored_api_version(),
        None => format!("{}/{}", resource.group, resource.version),
    };
    let hash = Sha256::digest(format!("{api_version}/{}", resource.kind));
    let (head, _) = hash.split_at(8);
    Base64::encode_string(head)
}

fn insert(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(map) = object.as_object_mut() {
        map.insert(key.into(), value.into());
    }
}
