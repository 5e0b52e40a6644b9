//! `patch`, `edit`, `label`, `annotate`, `replace`, `scale` and `rollout`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::kubectl::{Client, User, journeys};

journeys!(
    patches,
    edit,
    labels_and_annotations,
    replace,
    scale,
    rollout
);

fn patches(user: &User) {
    user.run("create cm a --from-literal=x=1 --from-literal=y=2");
    assert_eq!(
        user.run(r#"patch cm a -p {"data":{"x":"3"}}"#),
        "configmap/a patched\n"
    );
    assert_eq!(user.json("get cm a")["data"], json!({"x": "3", "y": "2"}));
    user.run(r#"patch cm a --type=merge -p {"data":{"y":null,"z":"4"}}"#);
    assert_eq!(user.json("get cm a")["data"], json!({"x": "3", "z": "4"}));
    let patch = r#"[{"op":"test","path":"/data/x","value":"3"},{"op":"move","from":"/data/x","path":"/data/w"}]"#;
    user.run(&format!("patch cm a --type=json -p {patch}"));
    assert_eq!(user.json("get cm a")["data"], json!({"w": "3", "z": "4"}));
    let complaint = user.fail(&format!("patch cm a --type=json -p {patch}"));
    assert!(
        complaint.contains("Error from server (Invalid)") || complaint.contains("is invalid"),
        "{complaint}"
    );
    assert_eq!(
        user.run(r#"patch cm a -p {"data":{"w":"3"}}"#),
        "configmap/a patched (no change)\n"
    );
    // By merge keys: one port is changed, and none is lost.
    user.file(
        "service",
        "---\n{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{name: a, port: 80}, {name: b, port: 81}]}}",
    );
    user.run("create -f service");
    user.run(r#"patch service s -p {"spec":{"ports":[{"port":81,"targetPort":8081}]}}"#);
    assert_eq!(
        user.run("get service s -o jsonpath={.spec.ports[*].targetPort}"),
        "80 8081"
    );
    let complaint = user.fail(r#"patch cm b -p {"data":{}}"#);
    assert!(
        complaint.contains("(NotFound): configmaps \"b\" not found"),
        "{complaint}"
    );
}

fn edit(user: &User) {
    user.run("create cm a --from-literal=x=before");
    let editor = user.file("editor", "#!/bin/sh\nexec sed -i s/before/after/ \"$1\"\n");
    fs::set_permissions(&editor, Permissions::from_mode(0o755)).expect("a program");
    assert_eq!(user.run("edit cm a"), "configmap/a edited\n");
    assert_eq!(user.json("get cm a")["data"], json!({"x": "after"}));
    let unchanged = user.end_of("edit cm a", "");
    assert!(
        unchanged.stderr.contains("Edit cancelled, no changes made"),
        "{unchanged:?}"
    );
}

fn labels_and_annotations(user: &User) {
    user.run("create cm a");
    assert_eq!(user.run("label cm a x=1 y=2"), "configmap/a labeled\n");
    let complaint = user.fail("label cm a x=2");
    assert!(complaint.contains("--overwrite is false"), "{complaint}");
    user.run("label cm a x=2 --overwrite");
    user.run("label cm a y-");
    assert_eq!(
        user.run("annotate cm a 'note=two words'").trim(),
        "configmap/a annotated"
    );
    user.run("annotate cm --all all=yes");
    let metadata = &user.json("get cm a")["metadata"];
    assert_eq!(metadata["labels"], json!({"x": "2"}));
    assert_eq!(metadata["annotations"]["all"], "yes");
    let complaint = user.fail("label cm a x=not/valid --overwrite");
    assert!(complaint.contains("nvalid"), "{complaint}");
}

fn replace(user: &User) {
    user.run("create cm a --from-literal=x=1");
    let mut object = user.json("get cm a");
    let stale = object.to_string();
    object["data"] = json!({"y": "2"});
    assert_eq!(
        user.run_with("replace -f -", &object.to_string()),
        "configmap/a replaced\n"
    );
    assert_eq!(user.json("get cm a")["data"], json!({"y": "2"}));
    user.file("stale", &stale);
    let complaint = user.fail("replace -f stale");
    assert!(
        complaint.contains("Error from server (Conflict)"),
        "{complaint}"
    );
    assert!(
        complaint.contains("the object has been modified"),
        "{complaint}"
    );
    // Without a revision it is replaced whatever it is.
    let object =
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"z":"3"}}"#;
    user.run_with("replace -f -", object);
    assert_eq!(user.json("get cm a")["data"], json!({"z": "3"}));
    // By force: deleted and created.
    let before = user.json("get cm a")["metadata"]["uid"].clone();
    let printed = user.run_with("replace --force -f -", object);
    assert!(printed.ends_with("configmap/a replaced\n"), "{printed}");
    assert_ne!(user.json("get cm a")["metadata"]["uid"], before);
}

fn scale(user: &User) {
    user.run("create deployment web --image=web:1");
    assert_eq!(
        user.run("scale deployment web --replicas=3"),
        "deployment.apps/web scaled\n"
    );
    assert_eq!(user.json("get deployment web")["spec"]["replicas"], 3);
    assert_eq!(
        user.table("get deployment"),
        [
            vec!["NAME", "READY", "UP-TO-DATE", "AVAILABLE"],
            vec!["web", "0/3", "0", "0"]
        ]
    );
    let complaint = user.fail("scale deployment web --current-replicas=1 --replicas=5");
    assert!(
        complaint.contains("xpected replicas to be 1, was 3"),
        "{complaint}"
    );
}

fn rollout(user: &User) {
    user.run("create deployment web --image=web:1");
    assert_eq!(
        user.run("rollout pause deployment web"),
        "deployment.apps/web paused\n"
    );
    assert_eq!(
        user.run("rollout resume deployment web"),
        "deployment.apps/web resumed\n"
    );
    if user.client == Client::Old {
        // It has no way to write the status that it would wait for.
        return;
    }
    let mut status = user.follow("rollout status deployment web --timeout=20s");
    assert_eq!(
        status.line(),
        "Waiting for deployment spec update to be observed..."
    );
    // What the controller, of which there is none, would say.
    let seen = user.json("get deployment web")["metadata"]["generation"].clone();
    let patch = json!({"status": {
        "observedGeneration": seen, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
    }});
    user.run(&format!(
        "patch deployment web --subresource=status --type=merge -p {patch}"
    ));
    let (success, rest) = status.end();
    assert!(success, "{rest:?}");
    assert_eq!(
        rest.last().map(String::as_str),
        Some("deployment \"web\" successfully rolled out")
    );
    assert_eq!(
        user.table("get deployment"),
        [
            vec!["NAME", "READY", "UP-TO-DATE", "AVAILABLE"],
            vec!["web", "1/1", "1", "1"]
        ]
    );
}
