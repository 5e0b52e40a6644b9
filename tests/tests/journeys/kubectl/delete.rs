//! `delete`: one, some, all, a namespace with what is in it, and only in theory.

use crate::kubectl::{User, journeys};

journeys!(objects, a_namespace, finalizers);

fn objects(user: &User) {
    for name in ["a", "b", "c", "d"] {
        user.run(&format!("create cm {name}"));
    }
    user.run("label cm b c group=x");
    assert_eq!(
        user.run("delete cm a --dry-run=server"),
        "configmap \"a\" deleted (server dry run)\n"
    );
    assert_eq!(user.run("get cm a -o name"), "configmap/a\n");
    assert_eq!(user.run("delete cm a"), "configmap \"a\" deleted\n");
    assert_eq!(
        user.run("delete cm -l group=x"),
        "configmap \"b\" deleted\nconfigmap \"c\" deleted\n"
    );
    assert_eq!(user.run("get cm -o name"), "configmap/d\n");
    assert_eq!(user.run("delete cm --all"), "configmap \"d\" deleted\n");
    assert_eq!(user.run("get cm -o name"), "");
    assert_eq!(
        user.fail("delete cm a"),
        "Error from server (NotFound): configmaps \"a\" not found\n"
    );
    user.run("delete cm a --ignore-not-found");
    // At once, and as a file names it.
    user.file("pod", "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}");
    user.run("create -f pod");
    user.run("delete -f pod --grace-period=0 --force");
    assert_eq!(user.run("get pods -o name"), "");
    // A whole collection by one request.
    user.run("create cm a");
    user.run("create cm b");
    user.run("delete --raw /api/v1/namespaces/default/configmaps");
    assert_eq!(user.run("get cm -o name"), "");
}

fn a_namespace(user: &User) {
    user.run("create ns full");
    user.run("create cm a -n full");
    user.run("create secret generic s -n full");
    user.run("create deployment web --image=web:1 -n full");
    // Returns only when the namespace has gone.
    assert_eq!(user.run("delete ns full"), "namespace \"full\" deleted\n");
    let complaint = user.fail("get ns full");
    assert!(complaint.contains("NotFound"), "{complaint}");
    user.run("create ns full");
    assert_eq!(user.run("get cm,secret,deployment -n full -o name"), "");
    let complaint = user.fail("delete ns default");
    assert!(complaint.contains("(Forbidden)"), "{complaint}");
}

fn finalizers(user: &User) {
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["example.com/keep"]}}"#;
    user.run_with("create -f -", object);
    user.run("delete cm a --wait=false");
    let marked = &user.json("get cm a")["metadata"];
    assert!(marked["deletionTimestamp"].is_string(), "{marked}");
    let mut deletion = user.follow("delete cm a");
    assert_eq!(deletion.line(), "configmap \"a\" deleted");
    user.run(r#"patch cm a --type=merge -p {"metadata":{"finalizers":null}}"#);
    assert_eq!(deletion.end(), (true, vec![]));
    assert_eq!(user.run("get cm -o name"), "");
}
