//! What clients read of the kinds that are served.

use ringwatch_server::discovery::{Discovery, Style};
use ringwatch_server::resources::{Catalog, Route, Verb};
use serde_json::{Value, json};

fn discovery() -> Discovery {
    Discovery::new(Catalog::builtin(), "127.0.0.1:6443")
}

fn read(path: &str, style: Style) -> Value {
    let route = Route::parse(path, &Catalog::builtin()).unwrap();
    let discovery = discovery();
    let document = discovery.document(&route, style).unwrap();
    serde_json::from_slice(&document.body).unwrap()
}

fn named<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    let mut items = list.as_array().unwrap().iter();
    items.find(|item| item[key] == name).unwrap()
}

#[test]
fn the_core_group_is_found_as_clients_expect() {
    assert_eq!(
        read("/api", Style::Plain),
        json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
        })
    );
    let list = read("/api/v1", Style::Plain);
    assert_eq!(list["groupVersion"], "v1");
    assert_eq!(list.get("apiVersion"), None);
    assert_eq!(
        *named(&list["resources"], "name", "pods"),
        json!({
            "name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            "shortNames": ["po"], "categories": ["all"], "storageVersionHash": "xPOwRZ+Yhw8=",
        })
    );
    assert_eq!(
        *named(&list["resources"], "name", "replicationcontrollers/scale"),
        json!({
            "name": "replicationcontrollers/scale", "singularName": "", "namespaced": true,
            "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
        })
    );
    assert_eq!(
        named(&list["resources"], "name", "pods/binding")["kind"],
        "Binding"
    );
}

#[test]
fn groups_are_listed_in_the_order_of_preference() {
    let list = read("/apis", Style::Plain);
    let groups = list["groups"].as_array().unwrap();
    let names: Vec<&str> = groups
        .iter()
        .map(|group| group["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "apps",
            "events.k8s.io",
            "authentication.k8s.io",
            "authorization.k8s.io",
            "batch",
            "networking.k8s.io",
            "apiextensions.k8s.io",
            "coordination.k8s.io",
            "discovery.k8s.io",
        ]
    );
    let version = json!({"groupVersion": "apps/v1", "version": "v1"});
    assert_eq!(
        read("/apis/apps", Style::Plain),
        json!({"kind": "APIGroup", "apiVersion": "v1", "name": "apps", "versions": [version], "preferredVersion": version})
    );
    let list = read("/apis/apps/v1", Style::Plain);
    assert_eq!(list["apiVersion"], "v1");
    assert_eq!(
        named(&list["resources"], "name", "deployments")["storageVersionHash"],
        "8aSe+NMegvE="
    );
}

#[test]
fn aggregated_discovery_says_the_same_as_the_old_documents() {
    let catalog = Catalog::builtin();
    for (path, only_core) in [("/api", true), ("/apis", false)] {
        let list = read(path, Style::V2);
        assert_eq!(list["apiVersion"], "apidiscovery.k8s.io/v2");
        let mut count = 0;
        for group in list["items"].as_array().unwrap() {
            let name = group["metadata"]
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or("");
            for version in group["versions"].as_array().unwrap() {
                assert_eq!(version["freshness"], "Current");
                for resource in version["resources"].as_array().unwrap() {
                    count += 1;
                    let plural = resource["resource"].as_str().unwrap();
                    let row = catalog
                        .find(name, version["version"].as_str().unwrap(), plural)
                        .unwrap();
                    let verbs: Vec<_> = row.verbs.iter().map(Verb::name).collect();
                    assert_eq!(resource["verbs"], json!(verbs));
                    assert_eq!(
                        resource["responseKind"],
                        json!({"group": row.group, "version": row.version, "kind": row.kind})
                    );
                    assert_eq!(resource["scope"] == "Namespaced", row.is_namespaced());
                    let subresources = resource.get("subresources").and_then(Value::as_array);
                    assert_eq!(subresources.map_or(0, Vec::len), row.subresources.len());
                }
            }
        }
        let rows = catalog.resources().iter();
        assert_eq!(
            count,
            rows.filter(|row| row.group.is_empty() == only_core).count()
        );
    }
    let deployments = read("/apis", Style::V2);
    let apps = named(
        &deployments["items"][0]["versions"][0]["resources"],
        "resource",
        "deployments",
    );
    assert_eq!(
        apps["subresources"][0],
        json!({
            "subresource": "scale", "verbs": ["get", "patch", "update"],
            "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        })
    );
}

#[test]
fn an_etag_names_the_content() {
    let one = discovery();
    let two = discovery();
    let etag = |discovery: &Discovery, route, style| {
        discovery.document(&route, style).unwrap().etag.clone()
    };
    let tag = etag(&one, Route::Groups, Style::V2);
    assert_eq!(tag, etag(&two, Route::Groups, Style::V2));
    assert_eq!(tag.len(), 128 + 2);
    assert!(tag.starts_with('"') && tag.ends_with('"'));
    assert_ne!(tag, etag(&one, Route::CoreVersions, Style::V2));

    let mut fewer = Catalog::builtin().resources().to_vec();
    fewer.retain(|row| row.plural != "leases");
    let fewer = Catalog::new(fewer.iter().map(|row| (**row).clone())).unwrap();
    let fewer = Discovery::new(fewer, "127.0.0.1:6443");
    assert_ne!(tag, etag(&fewer, Route::Groups, Style::V2));
}
