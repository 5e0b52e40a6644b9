//! `describe`, `get events` and `events`.

use crate::kubectl::{Client, Terminal, User, readings};

readings!(events after two_have_happened, objects after there_are_some);

const EVENT: &str = r#"{
    "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a.1", "namespace": "default"},
    "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "default"},
    "reason": "Pulled", "message": "it is there", "type": "Normal", "count": 1,
    "source": {"component": "kubelet"}
}"#;

fn two_have_happened(user: &User) {
    user.run_with("create -f -", EVENT);
    let other = EVENT
        .replace("a.1", "b.1")
        .replace("\"p\"", "\"q\"")
        .replace("Normal", "Warning");
    user.run_with("create -f -", &other);
}

fn events(user: &Terminal) {
    let header = &user.table("get events")[0];
    assert_eq!(
        *header,
        ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    );
    assert_eq!(
        user.run("get events --field-selector involvedObject.name=q -o name"),
        "event/b.1\n"
    );
    assert_eq!(
        user.run("get events --field-selector type=Normal -o name"),
        "event/a.1\n"
    );
    // The same events under the newer group.
    assert_eq!(
        user.run("get events.v1.events.k8s.io -o jsonpath={.items[*].note}"),
        "it is there it is there"
    );
    if user.client == Client::New {
        let printed = user.run("events --for pod/p");
        assert!(
            printed.contains("Pulled") && printed.contains("Pod/p"),
            "{printed}"
        );
        assert!(!printed.contains("Pod/q"), "{printed}");
        let printed = user.run("events --types=Warning");
        assert!(
            printed.contains("Pod/q") && !printed.contains("Pod/p"),
            "{printed}"
        );
    }
}

fn there_are_some(user: &User) {
    user.run("create cm a --from-literal=k=some-value");
    let pod = "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}";
    user.run_with("create -f -", pod);
    let uid = user.run("get pod p -o jsonpath={.metadata.uid}");
    user.run_with(
        "create -f -",
        &EVENT.replace(
            "\"name\": \"p\"",
            &format!("\"name\": \"p\", \"uid\": \"{uid}\""),
        ),
    );
}

fn objects(user: &Terminal) {
    let printed = user.run("describe cm a");
    for part in [
        "Name:         a\n",
        "Namespace:    default\n",
        "Data\n====\n",
        "k:\n----\nsome-value\n",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let printed = user.run("describe pod p");
    for part in ["Name:", "Status:", "Pending", "it is there", "Pulled"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let printed = user.run("describe ns default");
    assert!(printed.contains("Status:       Active"), "{printed}");
    let complaint = user.fail("describe cm b");
    assert!(
        complaint.contains("(NotFound): configmaps \"b\" not found"),
        "{complaint}"
    );
}
