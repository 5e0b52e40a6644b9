//! `apply --server-side`: what is wanted is merged by the server, which knows who owns what.

use serde_json::{Value, json};

use crate::kubectl::{Client, User, journeys};

journeys!(
    an_object,
    others_own_what_they_changed,
    several_share_an_object,
    a_list_with_keys,
    what_cannot_be_applied,
    from_the_clients_side,
    owners_are_shown_to_who_asks
);

fn config_map(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata: {data}\n")
}

fn deployment(spec: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  {spec}\n  selector:\n    matchLabels: {{app: web}}\n  \
         template:\n    metadata:\n      labels: {{app: web}}\n    spec:\n      containers: [{{name: a, image: 'a:1'}}]\n"
    )
}

/// Writes the file and applies it by a manager.
fn apply(user: &User, text: &str, more: &str) -> String {
    user.file("a.yaml", text);
    user.run(&format!("apply --server-side -f a.yaml {more}"))
}

/// The entries of a manager.
fn entries(object: &Value, manager: &str) -> Vec<Value> {
    let all = object["metadata"]["managedFields"].as_array();
    let all = all.into_iter().flatten();
    all.filter(|entry| entry["manager"] == manager)
        .cloned()
        .collect()
}

/// The object with its owners, by whichever `kubectl`.
fn owned(user: &User, what: &str) -> Value {
    match user.client {
        Client::Old => user.json(&format!("get {what}")),
        Client::New => user.json(&format!("get {what} --show-managed-fields")),
    }
}

fn an_object(user: &User) {
    let done = "configmap/a serverside-applied\n";
    assert_eq!(apply(user, &config_map("{x: '1', w: '2'}"), ""), done);
    let first = owned(user, "cm a");
    assert_eq!(first["data"], json!({"x": "1", "w": "2"}));
    let entry = json!({
        "manager": "kubectl",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": first["metadata"]["creationTimestamp"],
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:w": {}, "f:x": {}}},
    });
    assert_eq!(first["metadata"]["managedFields"], json!([entry]));

    assert_eq!(apply(user, &config_map("{x: '1', w: '2'}"), ""), done);
    assert_eq!(owned(user, "cm a"), first, "nothing was written");
    assert_eq!(apply(user, &config_map("{x: '3', w: '2'}"), ""), done);
    assert_eq!(user.json("get cm a")["data"], json!({"x": "3", "w": "2"}));
    // What the file no longer has goes; what others have added stays.
    user.run(r#"patch cm a --type merge -p {"data":{"z":"9"}}"#);
    assert_eq!(apply(user, &config_map("{x: '3'}"), ""), done);
    assert_eq!(user.json("get cm a")["data"], json!({"x": "3", "z": "9"}));
    let dry = apply(user, &config_map("{x: '4'}"), "--dry-run=server");
    assert_eq!(dry, "configmap/a serverside-applied (server dry run)\n");
    assert_eq!(user.json("get cm a")["data"]["x"], "3");
}

fn others_own_what_they_changed(user: &User) {
    apply(user, &deployment("replicas: 2"), "");
    user.run("scale deployment web --replicas 5");
    let before = user.json("get deployment web");
    user.file("a.yaml", &deployment("replicas: 3"));
    let complaint = user.fail("apply --server-side -f a.yaml");
    for part in [
        "Apply failed with 1 conflict",
        "with subresource \"scale\" using apps/v1: .spec.replicas",
    ] {
        assert!(complaint.contains(part), "{complaint}");
    }
    assert_eq!(
        user.json("get deployment web"),
        before,
        "nothing was written"
    );
    apply(user, &deployment("replicas: 3"), "--force-conflicts");
    let forced = owned(user, "deployment web");
    assert_eq!(forced["spec"]["replicas"], 3);
    let scaled = forced["metadata"]["managedFields"].as_array().unwrap();
    assert!(
        scaled.iter().all(|entry| entry["subresource"] != "scale"),
        "{scaled:?}"
    );
    // Whoever does not want the number any more leaves it to others.
    apply(user, &deployment("paused: true"), "");
    user.run("scale deployment web --replicas 7");
    apply(user, &deployment("paused: true"), "");
    assert_eq!(user.json("get deployment web")["spec"]["replicas"], 7);
}

fn several_share_an_object(user: &User) {
    apply(user, &config_map("{x: '1', v: '1'}"), "--field-manager=one");
    apply(user, &config_map("{x: '1', z: '1'}"), "--field-manager=two");
    let shared = user.json("get cm a");
    assert_eq!(shared["data"], json!({"v": "1", "x": "1", "z": "1"}));
    user.file("a.yaml", &config_map("{x: '2'}"));
    let complaint = user.fail("apply --server-side -f a.yaml --field-manager=two");
    assert!(
        complaint.contains("conflict with \"one\": .data.x"),
        "{complaint}"
    );
    // What one gives up the other keeps.
    apply(user, &config_map("{v: '1'}"), "--field-manager=one");
    assert_eq!(user.json("get cm a")["data"], shared["data"]);
    apply(user, &config_map("{z: '1'}"), "--field-manager=two");
    assert_eq!(user.json("get cm a")["data"], json!({"v": "1", "z": "1"}));
}

fn a_list_with_keys(user: &User) {
    let containers = |list: &str| {
        deployment("paused: false").replace("[{name: a, image: 'a:1'}]", &format!("[{list}]"))
    };
    let images = || {
        user.run("get deployment web -o jsonpath={range.spec.template.spec.containers[*]}{.name}={.image},{end}")
    };
    apply(
        user,
        &containers("{name: a, image: 'a:1'}, {name: b, image: 'b:1'}"),
        "",
    );
    user.run("set image deployment/web b=b:2");
    user.file(
        "a.yaml",
        &containers("{name: a, image: 'a:2'}, {name: b, image: 'b:3'}"),
    );
    let complaint = user.fail("apply --server-side -f a.yaml");
    assert!(
        complaint.contains(".spec.template.spec.containers[name=\"b\"].image"),
        "{complaint}"
    );
    assert_eq!(images(), "a=a:1,b=b:2,");
    apply(user, &containers("{name: a, image: 'a:2'}, {name: b}"), "");
    assert_eq!(images(), "a=a:2,b=b:2,");
}

fn what_cannot_be_applied(user: &User) {
    user.file("a.yaml", &deployment("replicas: many"));
    let complaint = user.fail("apply --server-side -f a.yaml --validate=false");
    assert!(
        complaint.contains(".spec.replicas: expected numeric (int or float), got \"many\""),
        "{complaint}"
    );
    user.file("a.yaml", &deployment("replica: 1"));
    let complaint = user.fail("apply --server-side -f a.yaml --validate=false");
    assert!(
        complaint.contains(".spec.replica: field not declared in schema"),
        "{complaint}"
    );
    assert_eq!(user.run("get deployments"), "");
}

/// From `kubectl apply` to `kubectl apply --server-side`, without a conflict with oneself.
fn from_the_clients_side(user: &User) {
    const LAST: &str = "kubectl.kubernetes.io/last-applied-configuration";
    user.file("a.yaml", &config_map("{x: '1', w: '2'}"));
    user.run("apply -f a.yaml");
    let before = owned(user, "cm a");
    let of_client = entries(&before, "kubectl-client-side-apply");
    assert_eq!(of_client.len(), 1, "{before}");
    assert_eq!(of_client[0]["operation"], "Update");

    apply(user, &config_map("{x: '2', w: '2'}"), "");
    let after = owned(user, "cm a");
    assert_eq!(after["data"], json!({"x": "2", "w": "2"}));
    let own = entries(&after, "kubectl");
    assert_eq!(own.len(), 1, "{after}");
    assert_eq!(own[0]["operation"], "Apply");
    assert_eq!(own[0]["fieldsV1"]["f:data"], json!({"f:w": {}, "f:x": {}}));
    let last = after["metadata"]["annotations"][LAST].as_str().unwrap();
    assert!(
        last.contains(r#""x":"2""#),
        "the annotation goes along: {last}"
    );

    // The recent one has moved all that it owned; with the old one, what it owned as a client stays.
    apply(user, &config_map("{x: '2'}"), "");
    let wanted = match user.client {
        Client::New => json!({"x": "2"}),
        Client::Old => json!({"x": "2", "w": "2"}),
    };
    assert_eq!(user.json("get cm a")["data"], wanted);
    // And back: the annotation says what was applied.
    user.file("a.yaml", &config_map("{v: '1'}"));
    assert_eq!(user.run("apply -f a.yaml"), "configmap/a configured\n");
    assert_eq!(user.json("get cm a")["data"]["v"], "1");
    assert_eq!(user.json("get cm a")["data"].get("x"), None);
}

fn owners_are_shown_to_who_asks(user: &User) {
    user.file("a.yaml", &config_map("{x: '1'}"));
    user.run("create -f a.yaml");
    let shown = match user.client {
        // It does not know the word, and shows them to everybody.
        Client::Old => user.run("get cm a -o yaml"),
        Client::New => {
            let hidden = user.run("get cm a -o yaml");
            assert!(!hidden.contains("managedFields"), "{hidden}");
            user.run("get cm a -o yaml --show-managed-fields")
        }
    };
    for part in [
        "  managedFields:\n",
        "fieldsType: FieldsV1\n",
        "operation: Update\n",
        "f:x: {}\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
