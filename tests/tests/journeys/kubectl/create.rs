//! `create`, of what `kubectl` has a command for and from files.

use serde_json::json;

use crate::kubectl::{User, journeys};

journeys!(by_command, from_files, dry_run, built_in_kinds);

fn by_command(user: &User) {
    assert_eq!(user.run("create ns one"), "namespace/one created\n");
    assert_eq!(
        user.run("create cm a -n one --from-literal=k=v"),
        "configmap/a created\n"
    );
    assert_eq!(user.json("get cm a -n one")["data"], json!({"k": "v"}));
    assert_eq!(user.json("get ns one")["status"]["phase"], "Active");
    assert_eq!(
        user.run("create secret generic s --from-literal=k=v"),
        "secret/s created\n"
    );
    assert_eq!(user.json("get secret s")["data"], json!({"k": "dg=="}));
    user.run("create sa robot");
    user.run("create deployment web --image=web:1");
    assert_eq!(user.json("get deployment web")["spec"]["replicas"], 1);
    let complaint = user.fail("create ns one");
    assert!(
        complaint.contains("(AlreadyExists): namespaces \"one\" already exists"),
        "{complaint}"
    );
    let complaint = user.fail("create cm a -n nowhere");
    assert!(
        complaint.contains("namespaces \"nowhere\" not found"),
        "{complaint}"
    );
    let complaint = user.fail("create cm A_b");
    assert!(
        complaint.contains("is invalid: metadata.name: Invalid value: \"A_b\""),
        "{complaint}"
    );
}

fn from_files(user: &User) {
    let two = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n---\n\
               apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  k: v\n";
    user.file("two.yaml", two);
    assert_eq!(
        user.run("create -f two.yaml"),
        "configmap/a created\nsecret/s created\n"
    );
    assert_eq!(user.json("get secret s")["data"], json!({"k": "dg=="}));
    let generated = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"made-"}}"#;
    let printed = user.run_with("create -f - -o name", generated);
    let name = printed
        .trim()
        .strip_prefix("configmap/made-")
        .expect("a name");
    assert_eq!(name.len(), 5, "{printed}");
    // A field that there is not, and a value of another type.
    user.file(
        "unknown.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\nsurplus: 1\n",
    );
    let complaint = user.fail("create -f unknown.yaml");
    assert!(
        complaint.contains("unknown field \"surplus\""),
        "{complaint}"
    );
    // The server's word, not the client's: it may be told to ignore it, as the client may.
    user.run("create -f unknown.yaml --validate=false");
    assert_eq!(user.json("get cm x").get("surplus"), None);
    user.run("delete cm x");
    user.file(
        "type.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  k: 1\n",
    );
    let complaint = user.fail("create -f type.yaml");
    assert!(complaint.contains("data"), "{complaint}");
    let complaint = user.fail("get cm x");
    assert!(complaint.contains("NotFound"), "{complaint}");
}

fn dry_run(user: &User) {
    assert_eq!(
        user.run("create cm a --dry-run=server"),
        "configmap/a created (server dry run)\n"
    );
    assert_eq!(user.run("get cm"), "");
}

fn built_in_kinds(user: &User) {
    for (file, text) in [
        (
            "pod",
            "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}",
        ),
        (
            "service",
            "---\n{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}",
        ),
        (
            "lease",
            "---\n{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {holderIdentity: me}}",
        ),
        (
            "node",
            "---\n{apiVersion: v1, kind: Node, metadata: {name: n1}}",
        ),
    ] {
        user.file(file, text);
        user.run(&format!("create -f {file}"));
    }
    assert_eq!(
        user.table("get pods"),
        [
            vec!["NAME", "READY", "STATUS", "RESTARTS"],
            vec!["p", "0/1", "Pending", "0"]
        ]
    );
    assert_eq!(
        user.table("get lease l"),
        [vec!["NAME", "HOLDER"], vec!["l", "me"]]
    );
    assert_eq!(user.run("get nodes -o name"), "node/n1\n");
    assert_eq!(
        user.run("get pods --field-selector status.phase=Pending -o name"),
        "pod/p\n"
    );
    assert_eq!(
        user.run("get pods --field-selector spec.nodeName=n -o name"),
        ""
    );
}
