//! `apply`: once, again, changed, with a field less, and by several files.

use serde_json::json;

use crate::kubectl::{User, journeys};

journeys!(an_object, a_list_with_keys);

fn config_map(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata: {data}\n")
}

fn an_object(user: &User) {
    let apply = |data: &str| {
        user.file("a.yaml", &config_map(data));
        user.run("apply -f a.yaml")
    };
    assert_eq!(apply("{x: '1', w: '2'}"), "configmap/a created\n");
    let first = user.json("get cm a");
    assert_eq!(apply("{x: '1', w: '2'}"), "configmap/a unchanged\n");
    assert_eq!(user.json("get cm a"), first, "nothing was written");
    assert_eq!(apply("{x: '3', w: '2'}"), "configmap/a configured\n");
    assert_eq!(user.json("get cm a")["data"], json!({"x": "3", "w": "2"}));
    // What others have added stays; what the file no longer has goes.
    user.run(r#"patch cm a --type merge -p {"data":{"z":"9"}}"#);
    assert_eq!(apply("{x: '3'}"), "configmap/a configured\n");
    assert_eq!(user.json("get cm a")["data"], json!({"x": "3", "z": "9"}));
    user.file("a.yaml", &config_map("{x: '4'}"));
    assert_eq!(
        user.run("apply -f a.yaml --dry-run=server"),
        "configmap/a configured (server dry run)\n"
    );
    assert_eq!(user.json("get cm a")["data"]["x"], "3");
    let view = user.run("apply view-last-applied cm a");
    assert!(view.contains("x: \"3\""), "{view}");
}

fn a_list_with_keys(user: &User) {
    let deployment = |containers: &str| {
        let text = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  selector:\n    matchLabels: {{app: web}}\n  \
             template:\n    metadata:\n      labels: {{app: web}}\n    spec:\n      containers: [{containers}]\n"
        );
        user.file("web.yaml", &text);
        user.run("apply -f web.yaml")
    };
    let containers = || {
        user.run("get deployment web -o jsonpath={range.spec.template.spec.containers[*]}{.name}={.image},{end}")
    };
    let created = deployment("{name: a, image: 'a:1'}, {name: b, image: 'b:1'}");
    assert_eq!(created, "deployment.apps/web created\n");
    assert_eq!(
        deployment("{name: a, image: 'a:1'}, {name: b, image: 'b:2'}"),
        "deployment.apps/web configured\n"
    );
    assert_eq!(containers(), "a=a:1,b=b:2,");
    deployment("{name: b, image: 'b:2'}");
    assert_eq!(
        containers(),
        "b=b:2,",
        "containers are merged by their names"
    );
    assert_eq!(
        user.run("set image deployment/web b=b:3"),
        "deployment.apps/web image updated\n"
    );
    assert_eq!(containers(), "b=b:3,");
}
