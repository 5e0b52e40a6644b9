//! `api-resources`, `api-versions`, `explain`, `version` and `auth`.

use crate::kubectl::{Client, Terminal, User, journeys, readings};

journeys!(explain, permissions);
readings!(resources after nothing, version after nothing);

/// What is served does not depend on what there is.
fn nothing(_: &User) {}

fn resources(user: &Terminal) {
    let rows = user.table("api-resources");
    assert_eq!(
        rows[0],
        ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    );
    for row in [
        vec!["configmaps", "cm", "v1", "true", "ConfigMap"],
        vec!["namespaces", "ns", "v1", "false", "Namespace"],
        vec!["deployments", "deploy", "apps/v1", "true", "Deployment"],
        vec!["leases", "coordination.k8s.io/v1", "true", "Lease"],
        vec![
            "ingresses",
            "ing",
            "networking.k8s.io/v1",
            "true",
            "Ingress",
        ],
    ] {
        assert!(
            rows.iter().any(|listed| *listed == row),
            "{row:?} is not in {rows:?}"
        );
    }
    let names = user.run("api-resources --api-group=batch --verbs=list,watch -o name");
    assert_eq!(names, "cronjobs.batch\njobs.batch\n");
    let versions = user.run("api-versions");
    for version in [
        "apps/v1",
        "batch/v1",
        "coordination.k8s.io/v1",
        "events.k8s.io/v1",
        "v1",
    ] {
        assert!(
            versions.lines().any(|line| line == version),
            "{version}: {versions}"
        );
    }
}

fn explain(user: &User) {
    let printed = user.run("explain cm");
    assert!(
        printed.contains("ConfigMap holds configuration data"),
        "{printed}"
    );
    let printed = user.run("explain deployment.spec.template.spec.containers.image");
    assert!(printed.contains("Container image name"), "{printed}");
    let printed = user.run("explain pod.spec --recursive");
    assert!(
        printed.contains("containers") && printed.contains("imagePullPolicy"),
        "{printed}"
    );
    let complaint = user.fail("explain cm.nothing");
    assert!(
        complaint.contains("field \"nothing\" does not exist"),
        "{complaint}"
    );
}

fn version(user: &Terminal) {
    let printed = user.run("version");
    assert!(
        printed.contains("Server Version") && printed.contains("+ringwatch-"),
        "{printed}"
    );
}

fn permissions(user: &User) {
    assert_eq!(user.run("auth can-i create pods"), "yes\n");
    assert_eq!(user.run("auth can-i get cm/a -n default"), "yes\n");
    let listed = user.run("auth can-i --list");
    assert!(listed.contains("*.*"), "{listed}");
    if user.client == Client::New {
        assert!(user.run("auth whoami").contains("admin"));
    }
    let complaint = user.fail("get cm --token=wrong");
    assert!(
        complaint.contains("must be logged in to the server"),
        "{complaint}"
    );
}
