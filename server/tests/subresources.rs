//! Which part of an object a write may change.

use ringwatch_server::definitions::Custom;
use ringwatch_server::resources::{Catalog, Origin, Resource, ScalePaths, Subresource};
use ringwatch_server::subresources::{
    BindError, apply_scale, bind, counts, finalize, is_finalized, keep_status, scale, take_status,
};
use serde_json::{Value, json};

fn resource(group: &str, plural: &str) -> Resource {
    (**Catalog::builtin().find(group, "v1", plural).unwrap()).clone()
}

fn scale_paths(resource: &Resource) -> ScalePaths {
    match resource.subresource("scale") {
        Some(Subresource::Scale(paths)) => paths.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_object_and_its_status_are_written_apart() {
    let deployments = resource("apps", "deployments");
    let old = json!({"metadata": {"name": "d", "labels": {"a": "1"}}, "spec": {"replicas": 1}, "status": {"replicas": 1}});
    let new = json!({"metadata": {"name": "d", "labels": {"a": "2"}}, "spec": {"replicas": 5}, "status": {"replicas": 5}});

    let mut written = new.clone();
    keep_status(&deployments, &mut written, &old);
    assert_eq!(
        [&written["spec"], &written["status"]],
        [&new["spec"], &old["status"]]
    );
    assert!(counts(&deployments, &written, &old));

    let status = take_status(&deployments, &new, &old);
    assert_eq!(
        [&status["spec"], &status["status"]],
        [&old["spec"], &new["status"]]
    );
    assert_eq!(status["metadata"], new["metadata"]);
    assert!(!counts(&deployments, &status, &old));

    let custom = Resource {
        origin: Origin::Custom(Custom::any("example.com", "v1")),
        ..deployments
    };
    assert_eq!(
        take_status(&custom, &new, &old)["metadata"],
        old["metadata"]
    );

    // Without a path of its own, status is data like any other.
    let plain = Resource {
        subresources: Vec::new(),
        ..custom
    };
    let mut written = new.clone();
    keep_status(&plain, &mut written, &old);
    assert_eq!(written, new);
    assert!(counts(&plain, &json!({"status": 1}), &json!({"status": 2})));
    assert!(!counts(
        &resource("", "configmaps"),
        &json!({"data": 1}),
        &json!({"data": 2})
    ));
}

#[test]
fn the_owner_of_an_object_is_not_changed_with_its_status() {
    let pods = resource("", "pods");
    let old = json!({"metadata": {"name": "p", "ownerReferences": [{"uid": "1"}]}});
    let new = json!({"metadata": {"name": "p"}, "status": {"phase": "Running"}});
    assert_eq!(
        take_status(&pods, &new, &old),
        json!({"metadata": {"name": "p", "ownerReferences": [{"uid": "1"}]}, "status": {"phase": "Running"}})
    );
}

#[test]
fn a_scale_shows_and_sets_the_number_of_replicas() {
    let paths = scale_paths(&resource("apps", "deployments"));
    let mut deployment = json!({
        "metadata": {"name": "d", "namespace": "ns", "uid": "u", "resourceVersion": "7", "labels": {"x": "y"}},
        "spec": {
            "replicas": 3,
            "selector": {
                "matchLabels": {"b": "2", "a": "1"},
                "matchExpressions": [
                    {"key": "c", "operator": "In", "values": ["y", "x"]},
                    {"key": "d", "operator": "Exists"},
                    {"key": "e", "operator": "DoesNotExist"},
                    {"key": "f", "operator": "NotIn", "values": ["z"]},
                ],
            },
        },
        "status": {"replicas": 2},
    });
    let shown = scale(&paths, &deployment);
    assert_eq!(
        shown,
        json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": {"name": "d", "namespace": "ns", "uid": "u", "resourceVersion": "7"},
            "spec": {"replicas": 3},
            "status": {"replicas": 2, "selector": "a=1,b=2,c in (x,y),d,!e,f notin (z)"},
        })
    );
    apply_scale(&paths, &mut deployment, &json!({"spec": {"replicas": 9}})).unwrap();
    assert_eq!(deployment["spec"]["replicas"], 9);
    apply_scale(&paths, &mut deployment, &json!({"spec": {}})).unwrap();
    assert_eq!(deployment["spec"]["replicas"], 0);
    let refused =
        apply_scale(&paths, &mut deployment, &json!({"spec": {"replicas": -1}})).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    );
    assert_eq!(deployment["spec"]["replicas"], 0);

    let controllers = scale_paths(&resource("", "replicationcontrollers"));
    let shown = scale(&controllers, &json!({"spec": {"selector": {"a": "b"}}}));
    assert_eq!(shown["status"], json!({"replicas": 0, "selector": "a=b"}));

    let custom = ScalePaths {
        replicas: "spec.deep.count".into(),
        status_replicas: "status.count".into(),
        selector: Some("status.selector".into()),
    };
    let mut object = json!({"status": {"selector": "k=v"}});
    apply_scale(&custom, &mut object, &json!({"spec": {"replicas": 4}})).unwrap();
    let shown = scale(&custom, &object);
    assert_eq!(
        [&shown["spec"]["replicas"], &shown["status"]["selector"]],
        [&json!(4), &json!("k=v")]
    );
}

#[test]
fn a_pod_is_bound_once() {
    let now = "2026-01-01T00:00:00Z";
    let binding =
        json!({"metadata": {"annotations": {"a": "b"}}, "target": {"kind": "Node", "name": "n1"}});
    let mut pod = json!({"metadata": {"name": "p"}, "spec": {}, "status": {"phase": "Pending"}});
    bind(&mut pod, &binding, now).unwrap();
    assert_eq!(pod["spec"]["nodeName"], "n1");
    assert_eq!(pod["metadata"]["annotations"], json!({"a": "b"}));
    assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
    let again = bind(&mut pod, &binding, now);
    assert_eq!(
        again,
        Err(BindError::Conflict(
            "pod p is already assigned to node \"n1\"".into()
        ))
    );
    let mut leaving = json!({"metadata": {"name": "p", "deletionTimestamp": now}});
    assert!(matches!(
        bind(&mut leaving, &binding, now),
        Err(BindError::Conflict(_))
    ));

    let refused = |target: Value| match bind(&mut json!({}), &json!({"target": target}), now) {
        Err(BindError::Invalid(invalid)) => invalid.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(json!({})), "target.name: Required value");
    assert_eq!(
        refused(json!({"kind": "Pod", "name": "x"})),
        "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\""
    );
}

#[test]
fn a_namespace_is_gone_when_nothing_keeps_it() {
    let old = json!({
        "metadata": {"name": "n", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"},
    });
    assert!(!is_finalized(&old));
    let new = finalize(
        &json!({"metadata": {"name": "other"}, "spec": {"finalizers": []}}),
        &old,
    );
    assert_eq!(new["metadata"], old["metadata"]);
    assert!(is_finalized(&new));
    let kept = finalize(&json!({"spec": {}}), &json!({"metadata": {"name": "n"}}));
    assert!(!is_finalized(&kept));
}
