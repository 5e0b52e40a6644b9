//! The defaults of a pod's spec, wherever it stands.

use serde_json::{Value, json};

use crate::schema::pattern::{at_mut, set_default};

/// Fills in a pod's spec.
pub(super) fn apply(spec: &mut Value) {
    // It decides the pull policy, so it comes first.
    for list in CONTAINERS {
        for container in elements(spec, list) {
            pull_policy(container);
        }
    }
    for volume in elements(spec, "volumes") {
        let named_only = volume
            .as_object()
            .is_some_and(|map| map.keys().all(|key| key == "name"));
        if named_only {
            set_default(volume, "emptyDir", &json!({}));
        }
    }
    for (pattern, default) in TABLE {
        let default = serde_json::from_str(default).unwrap_or_default();
        match pattern.strip_prefix("CONTAINER.") {
            Some(rest) => {
                for list in CONTAINERS {
                    set_default(spec, &format!("{list}[*].{rest}"), &default);
                }
            }
            None => set_default(spec, pattern, &default),
        }
    }
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        set_default(spec, "serviceAccount", &account);
    }
    if spec["hostNetwork"] == true {
        for list in CONTAINERS {
            host_ports(spec, list);
        }
    }
}

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Place in the spec and value as JSON; `CONTAINER` is every container of every list.
const TABLE: &[(&str, &str)] = &[
    ("restartPolicy", "\"Always\""),
    ("dnsPolicy", "\"ClusterFirst\""),
    ("schedulerName", "\"default-scheduler\""),
    ("securityContext", "{}"),
    ("terminationGracePeriodSeconds", "30"),
    ("CONTAINER.resources", "{}"),
    (
        "CONTAINER.terminationMessagePath",
        "\"/dev/termination-log\"",
    ),
    ("CONTAINER.terminationMessagePolicy", "\"File\""),
    ("CONTAINER.ports[*].protocol", "\"TCP\""),
    ("CONTAINER.env[*].valueFrom.fieldRef.apiVersion", "\"v1\""),
    ("CONTAINER.livenessProbe.timeoutSeconds", "1"),
    ("CONTAINER.livenessProbe.periodSeconds", "10"),
    ("CONTAINER.livenessProbe.successThreshold", "1"),
    ("CONTAINER.livenessProbe.failureThreshold", "3"),
    ("CONTAINER.livenessProbe.httpGet.path", "\"/\""),
    ("CONTAINER.livenessProbe.httpGet.scheme", "\"HTTP\""),
    ("CONTAINER.readinessProbe.timeoutSeconds", "1"),
    ("CONTAINER.readinessProbe.periodSeconds", "10"),
    ("CONTAINER.readinessProbe.successThreshold", "1"),
    ("CONTAINER.readinessProbe.failureThreshold", "3"),
    ("CONTAINER.readinessProbe.httpGet.path", "\"/\""),
    ("CONTAINER.readinessProbe.httpGet.scheme", "\"HTTP\""),
    ("CONTAINER.startupProbe.timeoutSeconds", "1"),
    ("CONTAINER.startupProbe.periodSeconds", "10"),
    ("CONTAINER.startupProbe.successThreshold", "1"),
    ("CONTAINER.startupProbe.failureThreshold", "3"),
    ("CONTAINER.startupProbe.httpGet.path", "\"/\""),
    ("CONTAINER.startupProbe.httpGet.scheme", "\"HTTP\""),
    ("CONTAINER.lifecycle.postStart.httpGet.path", "\"/\""),
    ("CONTAINER.lifecycle.postStart.httpGet.scheme", "\"HTTP\""),
    ("CONTAINER.lifecycle.preStop.httpGet.path", "\"/\""),
    ("CONTAINER.lifecycle.preStop.httpGet.scheme", "\"HTTP\""),
    ("volumes[*].secret.defaultMode", "420"),
    ("volumes[*].configMap.defaultMode", "420"),
    ("volumes[*].downwardAPI.defaultMode", "420"),
    (
        "volumes[*].downwardAPI.items[*].fieldRef.apiVersion",
        "\"v1\"",
    ),
    ("volumes[*].projected.defaultMode", "420"),
    (
        "volumes[*].projected.sources[*].serviceAccountToken.expirationSeconds",
        "3600",
    ),
    (
        "volumes[*].projected.sources[*].downwardAPI.items[*].fieldRef.apiVersion",
        "\"v1\"",
    ),
    ("volumes[*].hostPath.type", "\"\""),
];

fn elements<'a>(spec: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    spec.get_mut(list)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// An image that may change under its name is pulled each time.
fn pull_policy(container: &mut Value) {
    let image = container
        .get("image")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let policy = if is_latest(image) {
        "Always"
    } else {
        "IfNotPresent"
    };
    set_default(container, "imagePullPolicy", &policy.into());
}

fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    // A colon before the last slash is a registry's port.
    let name = image.rsplit('/').next().unwrap_or(image);
    match name.split_once(':') {
        None => true,
        Some((_, tag)) => tag == "latest",
    }
}

/// On the host's network a container's port is the host's.
fn host_ports(spec: &mut Value, list: &str) {
    for container in elements(spec, list) {
        for port in elements(container, "ports") {
            if let Some(number) = port.get("containerPort").cloned() {
                set_default(port, "hostPort", &number);
            }
        }
    }
}

/// Who sets a limit and no request asks for the limit.
pub(super) fn requests_from_limits(pod: &mut Value) {
    let Some(spec) = at_mut(pod, "spec") else {
        return;
    };
    set_default(spec, "enableServiceLinks", &true.into());
    for list in CONTAINERS {
        for resources in elements(spec, list).filter_map(|container| container.get_mut("resources"))
        {
            let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
                continue;
            };
            if limits.is_empty() {
                continue;
            }
            set_default(resources, "requests", &json!({}));
            if let Some(Value::Object(requests)) = resources.get_mut("requests") {
                for (name, limit) in limits {
                    requests.entry(name).or_insert(limit);
                }
            }
        }
    }
}

/// How soon a pod is ended when a node runs short.
pub(super) fn qos_class(pod: &Value) -> &'static str {
    let lists = ["containers", "initContainers"].into_iter();
    let containers = lists
        .filter_map(|list| pod["spec"][list].as_array())
        .flatten();
    let mut any = false;
    let mut guaranteed = true;
    for container in containers {
        let resources = &container["resources"];
        for name in ["cpu", "memory"] {
            let [limit, request] = ["limits", "requests"].map(|part| resources[part].get(name));
            any |= limit.is_some() || request.is_some();
            guaranteed &= limit.is_some() && limit == request;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
