//! `wait`, for a value, for an end and for a beginning.

use crate::kubectl::{Client, Terminal, User, watchings};

watchings!(for_an_end, for_a_condition, for_a_value, for_a_beginning);

fn for_an_end(user: &User, at: &Terminal) {
    user.run("create cm a");
    user.run("create cm b");
    at.eventually("get cm a b");
    let complaint = at.fail("wait --for=delete cm/a --timeout=1s");
    assert!(
        complaint.contains("timed out waiting for the condition on configmaps/a"),
        "{complaint}"
    );
    let wait = at.follow("wait --for=delete cm/a cm/b --timeout=20s");
    // An old one takes what is not there when it begins for an error. It waits for one after the other.
    at.until_watched(1);
    user.run("delete cm a b");
    let (success, printed) = wait.end();
    assert!(success, "{printed:?}");
}

fn for_a_condition(user: &User, at: &Terminal) {
    user.file(
        "node",
        "---\n{apiVersion: v1, kind: Node, metadata: {name: n1}}",
    );
    user.run("create -f node");
    at.eventually("get node n1");
    let wait = at.follow("wait --for=condition=Ready node/n1 --timeout=20s");
    let status = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    user.file("status", status);
    user.run("replace --raw /api/v1/nodes/n1/status -f status");
    assert_eq!(wait.end(), (true, vec!["node/n1 condition met".to_owned()]));
    assert_eq!(at.table("get nodes")[1][..2], ["n1", "Ready"]);
}

fn for_a_value(user: &User, at: &Terminal) {
    if at.client == Client::Old {
        let complaint = at.fail("wait --for=jsonpath={.data.k}=v cm/a");
        assert!(complaint.contains("unrecognized condition"), "{complaint}");
        return;
    }
    user.run("create cm a");
    at.eventually("get cm a");
    let wait = at.follow("wait --for=jsonpath={.data.k}=v cm/a --timeout=20s");
    user.run(r#"patch cm a -p {"data":{"k":"w"}}"#);
    user.run(r#"patch cm a -p {"data":{"k":"v"}}"#);
    assert_eq!(
        wait.end(),
        (true, vec!["configmap/a condition met".to_owned()])
    );
}

fn for_a_beginning(user: &User, at: &Terminal) {
    if at.client == Client::Old {
        let complaint = at.fail("wait --for=create cm/a");
        assert!(complaint.contains("unrecognized condition"), "{complaint}");
        return;
    }
    let wait = at.follow("wait --for=create cm/a --timeout=20s");
    user.run("create cm a");
    assert_eq!(
        wait.end(),
        (true, vec!["configmap/a condition met".to_owned()])
    );
}
