//! `get`, in all its forms.

use serde_json::{Value, json};

use crate::kubectl::{Terminal, User, readings};

readings!(
    lists after some_are_labelled,
    one_object after one_is_created,
    pages after seven_are_created,
    raw after one_is_created,
);

fn some_are_labelled(user: &User) {
    assert_eq!(user.run("get cm"), "");
    user.run("create ns one");
    for (name, namespace, level) in [
        ("a", "default", "low"),
        ("b", "default", "high"),
        ("c", "one", "high"),
    ] {
        user.run(&format!(
            "create cm {name} -n {namespace} --from-literal=k=v"
        ));
        user.run(&format!("label cm {name} -n {namespace} level={level}"));
    }
}

fn one_is_created(user: &User) {
    user.run("create cm a --from-literal=k=v");
}

fn seven_are_created(user: &User) {
    for number in 0..7 {
        user.run(&format!("create cm page-{number}"));
    }
}

fn lists(user: &Terminal) {
    assert_eq!(user.run("get cm -n nowhere"), "");
    assert_eq!(
        user.table("get cm"),
        [vec!["NAME", "DATA"], vec!["a", "1"], vec!["b", "1"]]
    );
    assert_eq!(
        user.table("get cm -A"),
        [
            vec!["NAMESPACE", "NAME", "DATA"],
            vec!["default", "a", "1"],
            vec!["default", "b", "1"],
            vec!["one", "c", "1"]
        ]
    );
    for (selector, names) in [
        ("-l level=high", "configmap/b\n"),
        ("-l level!=high", "configmap/a\n"),
        ("-l 'level in (low,high)'", "configmap/a\nconfigmap/b\n"),
        ("-l '!level'", ""),
        ("-A -l level=high", "configmap/b\nconfigmap/c\n"),
        ("--field-selector metadata.name=a", "configmap/a\n"),
        ("--field-selector metadata.name!=a", "configmap/b\n"),
        (
            "-A --field-selector metadata.namespace=one",
            "configmap/c\n",
        ),
    ] {
        assert_eq!(
            user.run(&format!("get cm {selector} -o name")),
            names,
            "{selector}"
        );
    }
    let complaint = user.fail("get cm --field-selector data=x");
    assert!(
        complaint.contains("is not a known field selector"),
        "{complaint}"
    );
    // Two kinds, one of them by its short name.
    assert_eq!(
        user.run("get configmaps,ns -o name -l level=low"),
        "configmap/a\n"
    );
    // Columns of the client's own making come from the same objects.
    assert_eq!(
        user.table("get cm -L level"),
        [
            vec!["NAME", "DATA", "LEVEL"],
            vec!["a", "1", "low"],
            vec!["b", "1", "high"]
        ]
    );
    assert_eq!(
        user.run("get cm -o custom-columns=N:.metadata.name,V:.data.k --no-headers"),
        "a     v\nb     v\n"
    );
    assert_eq!(
        user.run("get cm --sort-by=.metadata.labels.level --no-headers -o name"),
        "configmap/b\nconfigmap/a\n"
    );
}

fn one_object(user: &Terminal) {
    assert_eq!(
        user.table("get cm a"),
        [vec!["NAME", "DATA"], vec!["a", "1"]]
    );
    assert_eq!(user.run("get cm a -o name"), "configmap/a\n");
    let object = user.json("get cm a");
    assert_eq!(object["kind"], "ConfigMap");
    assert_eq!(object["apiVersion"], "v1");
    assert_eq!(object["data"], json!({"k": "v"}));
    for field in ["uid", "resourceVersion", "creationTimestamp"] {
        assert!(object["metadata"][field].is_string(), "{field}: {object}");
    }
    let yaml = user.run("get cm a -o yaml");
    assert!(
        yaml.starts_with("apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\nmetadata:\n"),
        "{yaml}"
    );
    assert_eq!(user.run("get cm a -o jsonpath={.data.k}"), "v");
    assert_eq!(
        user.fail("get cm b"),
        "Error from server (NotFound): configmaps \"b\" not found\n"
    );
    let complaint = user.fail("get nothings");
    assert!(
        complaint.contains("the server doesn't have a resource type \"nothings\""),
        "{complaint}"
    );
    assert_eq!(user.run("get cm b --ignore-not-found"), "");
}

fn pages(user: &Terminal) {
    let names: Vec<_> = (0..7).map(|number| format!("page-{number}")).collect();
    let rows = user.table("get cm");
    assert_eq!(rows.len(), 8);
    for size in [1, 3, 7, 500] {
        assert_eq!(
            user.table(&format!("get cm --chunk-size={size}")),
            rows,
            "{size}"
        );
    }
    let list = user.json("get cm --chunk-size=2");
    let listed: Vec<_> = items(&list).map(|item| &item["metadata"]["name"]).collect();
    assert_eq!(listed, names.iter().collect::<Vec<_>>());
}

fn raw(user: &Terminal) {
    let raw = |path: &str| -> Value {
        let answer = user.run(&format!("get --raw {path}"));
        serde_json::from_str(&answer).unwrap_or_else(|why| panic!("{path}: {why}: {answer}"))
    };
    let list = raw("/api/v1/namespaces/default/configmaps?limit=1");
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(items(&list).count(), 1);
    assert_eq!(raw("/version")["major"], "1");
    assert_eq!(raw("/api")["kind"], "APIVersions");
    assert_eq!(raw("/apis")["kind"], "APIGroupList");
    assert_eq!(
        raw("/api/v1/namespaces/default/services/kubernetes")["kind"],
        "Service"
    );
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(user.run(&format!("get --raw {path}")), "ok", "{path}");
    }
    assert!(
        user.run("get --raw '/readyz?verbose'")
            .contains("readyz check passed")
    );
    let complaint = user.fail("get --raw /api/v1/nothings");
    assert!(complaint.contains("NotFound"), "{complaint}");
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().expect("items").iter()
}
