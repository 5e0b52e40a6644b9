//! Kinds of one's own, from the definition to the end: the examples, as their users type them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::kubectl::{Client, Terminal, User, journeys, readings, watchings};

journeys!(
    define,
    apply,
    apply_server_side,
    edit,
    patches,
    explain,
    scale,
    delete,
    emptied_with_the_namespace,
);
readings!(columns after devices, selectors after devices);
watchings!(watch, wait);

/// The devices, as the server's metrics name them.
const DEVICES: &str = "devices.ringwatch.dev";

/// A file of the examples.
fn example(name: &str) -> String {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let path = project.expect("tests is a folder of the project");
    path.join("examples").join(name).display().to_string()
}

/// Defines the kind, and waits until it is there.
fn defined(user: &User, file: &str, name: &str) {
    user.run(&format!("apply -f {}", example(file)));
    user.run(&format!(
        "wait --for=condition=Established crd/{name} --timeout=20s"
    ));
}

/// Devices are defined, and there are two.
fn devices(user: &User) {
    defined(user, "device.yaml", "devices.ringwatch.dev");
    user.run(&format!("create -f {}", example("devices.yaml")));
}

fn define(user: &User) {
    let complaint = user.fail("get devices");
    assert!(
        complaint.contains("the server doesn't have a resource type \"devices\""),
        "{complaint}"
    );
    let file = example("device.yaml");
    assert_eq!(
        user.run(&format!("create -f {file}")),
        "customresourcedefinition.apiextensions.k8s.io/devices.ringwatch.dev created\n"
    );
    assert_eq!(
        user.run("wait --for=condition=Established crd/devices.ringwatch.dev --timeout=20s"),
        "customresourcedefinition.apiextensions.k8s.io/devices.ringwatch.dev condition met\n"
    );
    let rows = user.table("get crd");
    assert_eq!(rows[0], ["NAME", "CREATED", "AT"]);
    assert_eq!(rows[1][0], "devices.ringwatch.dev");
    let rows = user.table("api-resources --api-group=ringwatch.dev --no-headers");
    let row: Vec<&str> = rows[0].iter().map(String::as_str).collect();
    assert_eq!(row[..2], ["devices", "dev"]);
    assert_eq!(row[row.len() - 2..], ["true", "Device"]);
    assert_eq!(
        user.run(&format!("apply -f {}", example("devices.yaml"))),
        "device.ringwatch.dev/boiler created\ndevice.ringwatch.dev/chiller created\n"
    );
    // What the schema does not allow is refused, in the words that people know.
    let device = |spec: &str| {
        let text = format!(
            "---\n{{apiVersion: ringwatch.dev/v1, kind: Device, metadata: {{name: x}}, spec: {spec}}}"
        );
        user.file("device", &text);
        user.fail("create -f device --validate=false")
    };
    let complaint = device("{site: hill, setpoint: 500, mode: fast}");
    assert!(
        complaint.contains("spec.setpoint: Invalid value: 500: spec.setpoint in body should be less than or equal to 150"),
        "{complaint}"
    );
    assert!(
        complaint.contains(
            "spec.mode: Unsupported value: \"fast\": supported values: \"auto\", \"hold\", \"off\""
        ),
        "{complaint}"
    );
    let complaint = device("{site: hill, setpoint: 5, mode: \"off\"}");
    assert!(
        complaint.contains("a device that is off has the setpoint 0"),
        "{complaint}"
    );
}

fn columns(user: &Terminal) {
    let expected = [
        vec!["NAME", "SITE", "MODE", "SETPOINT", "REPORTED", "SEEN"],
        vec!["boiler", "harbour", "auto", "68.5"],
        vec!["chiller", "hill", "hold", "4"],
    ];
    for what in ["devices", "device", "dev", "devices.ringwatch.dev", "field"] {
        assert_eq!(user.table(&format!("get {what}")), expected, "{what}");
    }
    let wide = user.run("get devices -o wide");
    assert!(wide.contains("[\"heating\",\"metered\"]"), "{wide}");
    assert_eq!(
        user.run("get devices -o jsonpath={.items[*].spec.mode}"),
        "auto hold"
    );
    let described = user.run("describe device boiler");
    assert!(described.contains("Setpoint:  68.5"), "{described}");
}

fn selectors(user: &Terminal) {
    let names = |line: &str| user.run(&format!("get devices -o name {line}"));
    let [boiler, chiller] =
        ["boiler", "chiller"].map(|name| format!("device.ringwatch.dev/{name}\n"));
    assert_eq!(names("--field-selector spec.site=hill"), chiller);
    assert_eq!(names("--field-selector spec.site!=hill"), boiler);
    assert_eq!(
        names("--field-selector spec.site=hill,metadata.name=boiler"),
        ""
    );
    assert_eq!(names("-l tier=plant"), format!("{boiler}{chiller}"));
    assert_eq!(names("-l tier!=plant"), "");
    let complaint = user.fail("get devices --field-selector spec.mode=auto");
    assert!(
        complaint.contains("field label not supported: spec.mode"),
        "{complaint}"
    );
}

fn watch(user: &User, at: &Terminal) {
    devices(user);
    at.eventually("get device boiler chiller");
    let mut all = at.follow("get devices -w");
    let mut hill = at.follow("get devices -w -o name --field-selector spec.site=hill");
    let mut labelled = at.follow("get devices -w -o name -l tier=plant");
    for name in ["NAME", "boiler", "chiller"] {
        assert_eq!(all.row()[0], name);
    }
    assert_eq!(hill.line(), "device.ringwatch.dev/chiller");
    assert_eq!(labelled.line(), "device.ringwatch.dev/boiler");
    assert_eq!(labelled.line(), "device.ringwatch.dev/chiller");
    // A device that moves comes into the selection.
    user.run(r#"patch device boiler --type=merge -p {"spec":{"site":"hill"}}"#);
    assert_eq!(all.row()[..4], ["boiler", "hill", "auto", "68.5"]);
    assert_eq!(hill.line(), "device.ringwatch.dev/boiler");
    assert_eq!(labelled.line(), "device.ringwatch.dev/boiler");
    // Another state of the definition ends no watch.
    let patch = r#"[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/setpoint/maximum","value":200}]"#;
    user.run(&format!(
        "patch crd devices.ringwatch.dev --type=json -p {patch}"
    ));
    // It holds from the moment on at which the server has seen it.
    user.eventually(r#"patch device boiler --type=merge -p {"spec":{"setpoint":180}}"#);
    assert_eq!(all.row()[..4], ["boiler", "hill", "auto", "180"]);
    assert_eq!(hill.line(), "device.ringwatch.dev/boiler");
    user.run("label device chiller tier-");
    assert_eq!(all.row()[0], "chiller");
}

fn apply(user: &User) {
    defined(user, "device.yaml", "devices.ringwatch.dev");
    let file = example("devices.yaml");
    let apply = format!("apply -f {file}");
    user.run(&apply);
    assert_eq!(
        user.run(&apply),
        "device.ringwatch.dev/boiler unchanged\ndevice.ringwatch.dev/chiller unchanged\n"
    );
    let text = fs::read_to_string(&file).expect("the example");
    let changed = text
        .replace("setpoint: 4", "setpoint: 5")
        .replace("  mode: hold\n", "");
    user.file("changed", &changed);
    assert_eq!(
        user.run("apply -f changed"),
        "device.ringwatch.dev/boiler unchanged\ndevice.ringwatch.dev/chiller configured\n"
    );
    // What was applied before and is not wanted any more falls back to its default.
    assert_eq!(
        user.json("get device chiller")["spec"],
        json!({"site": "hill", "setpoint": 5, "mode": "auto"})
    );
    assert_eq!(user.json("get device chiller")["metadata"]["generation"], 2);
    assert_eq!(
        user.run(&format!("apply -f {}", example("device.yaml"))),
        "customresourcedefinition.apiextensions.k8s.io/devices.ringwatch.dev unchanged\n"
    );
}

fn apply_server_side(user: &User) {
    defined(user, "device.yaml", "devices.ringwatch.dev");
    let file = example("devices.yaml");
    let applied = "device.ringwatch.dev/boiler serverside-applied\ndevice.ringwatch.dev/chiller serverside-applied\n";
    let apply = "apply --server-side --field-manager=her";
    assert_eq!(user.run(&format!("{apply} -f {file}")), applied);
    let before = user.json("get device boiler")["metadata"]["resourceVersion"].clone();
    assert_eq!(user.run(&format!("{apply} -f {file}")), applied);
    let after = user.json("get device boiler")["metadata"]["resourceVersion"].clone();
    assert_eq!(before, after, "the same again is no change");

    // Somebody else wants another setpoint, and a tag more: tags are a set, each with its own owner.
    user.file(
        "his",
        "---\n{apiVersion: ringwatch.dev/v1, kind: Device, metadata: {name: boiler}, spec: {setpoint: 70, tags: [his]}}",
    );
    // An old client misses what is required of a whole object.
    let his = "apply --server-side --field-manager=his -f his --validate=false";
    let complaint = user.fail(his);
    assert!(
        complaint.contains("Apply failed with 1 conflict: conflict with \"her\": .spec.setpoint"),
        "{complaint}"
    );
    user.run(&format!("{his} --force-conflicts"));
    let spec = user.json("get device boiler")["spec"].clone();
    assert_eq!(spec["setpoint"], 70);
    assert_eq!(spec["site"], "harbour");
    assert_eq!(spec["tags"], json!(["heating", "metered", "his"]));
    // What she no longer wants goes; what is his stays.
    user.file(
        "hers",
        "---\n{apiVersion: ringwatch.dev/v1, kind: Device, metadata: {name: boiler}, spec: {site: harbour, tags: [heating]}}",
    );
    user.run(&format!("{apply} -f hers --validate=false"));
    let spec = user.json("get device boiler")["spec"].clone();
    assert_eq!(spec["setpoint"], 70);
    assert_eq!(spec["tags"], json!(["heating", "his"]));
}

fn edit(user: &User) {
    devices(user);
    let editor = user.file(
        "editor",
        "#!/bin/sh\nexec sed -i s/harbour/harbor/ \"$1\"\n",
    );
    fs::set_permissions(&editor, Permissions::from_mode(0o755)).expect("a program");
    assert_eq!(
        user.run("edit device boiler"),
        "device.ringwatch.dev/boiler edited\n"
    );
    assert_eq!(user.json("get device boiler")["spec"]["site"], "harbor");
}

fn patches(user: &User) {
    devices(user);
    assert_eq!(
        user.run(r#"patch device boiler --type=merge -p {"spec":{"mode":"hold"}}"#),
        "device.ringwatch.dev/boiler patched\n"
    );
    let patch = r#"[{"op":"add","path":"/spec/tags/-","value":"new"},{"op":"test","path":"/spec/mode","value":"hold"}]"#;
    user.run(&format!("patch device boiler --type=json -p {patch}"));
    let spec = user.json("get device boiler")["spec"].clone();
    assert_eq!(spec["mode"], "hold");
    assert_eq!(spec["tags"], json!(["heating", "metered", "new"]));
    // Kinds of one's own have no merge keys in the client, so it refuses the third form itself or is told.
    let complaint =
        user.fail(r#"patch device boiler --type=strategic -p {"spec":{"mode":"auto"}}"#);
    assert!(
        complaint.contains("the body of the request was in an unknown format")
            || complaint.contains("UnsupportedMediaType"),
        "{complaint}"
    );
    // A set holds each value once.
    let complaint = user.fail(&format!("patch device boiler --type=json -p {patch}"));
    assert!(
        complaint.contains("spec.tags[3]: Duplicate value: \"new\""),
        "{complaint}"
    );
    assert_eq!(
        user.run(r#"patch device boiler --type=merge -p {"spec":{"mode":"hold"}}"#),
        "device.ringwatch.dev/boiler patched (no change)\n"
    );
    if user.client == Client::New {
        user.run(
            r#"patch device boiler --subresource=status --type=merge -p {"status":{"reported":67.9}}"#,
        );
        let device = user.json("get device boiler");
        assert_eq!(device["status"]["reported"], 67.9);
        assert_eq!(device["metadata"]["generation"], 3);
    }
}

fn explain(user: &User) {
    defined(user, "device.yaml", "devices.ringwatch.dev");
    let explained = user.run("explain device");
    assert!(
        explained.contains("A device in the field that holds a setpoint."),
        "{explained}"
    );
    let explained = user.run("explain device.spec");
    for word in ["setpoint", "mode", "Where the device is.", "-required-"] {
        assert!(explained.contains(word), "{word}: {explained}");
    }
    let explained = user.run("explain device.status.seen");
    assert!(explained.contains("When it said so."), "{explained}");
    // The client, or the server for it, knows which fields there are.
    user.file(
        "device",
        "---\n{apiVersion: ringwatch.dev/v1, kind: Device, metadata: {name: x}, spec: {site: hill, setpoint: 5, colour: red}}",
    );
    let complaint = user.fail("create -f device");
    assert!(complaint.contains("unknown field"), "{complaint}");
    assert!(complaint.contains("colour"), "{complaint}");
}

fn wait(user: &User, at: &Terminal) {
    devices(user);
    at.eventually("get device boiler");
    let wait = at.follow("wait --for=delete device/boiler --timeout=20s");
    if at.client == Client::New {
        at.run("wait --for=jsonpath={.spec.mode}=auto device/boiler --timeout=20s");
    }
    at.until_watching(DEVICES, 1);
    user.run("delete device boiler");
    let (success, printed) = wait.end();
    assert!(success, "{printed:?}");
}

fn scale(user: &User) {
    defined(user, "fleet.yaml", "fleets.ringwatch.dev");
    user.file(
        "fleet",
        "---\n{apiVersion: ringwatch.dev/v1, kind: Fleet, metadata: {name: pumps}, spec: {}}",
    );
    user.run("create -f fleet");
    assert_eq!(
        user.run("scale fleet pumps --replicas=5"),
        "fleet.ringwatch.dev/pumps scaled\n"
    );
    assert_eq!(user.json("get fleet pumps")["spec"]["devices"], 5);
    assert_eq!(
        user.table("get fleets"),
        [vec!["NAME", "WANTED", "THERE"], vec!["pumps", "5"]]
    );
    let complaint = user.fail("scale fleet pumps --current-replicas=1 --replicas=2");
    assert!(
        complaint.contains("xpected replicas to be 1, was 5"),
        "{complaint}"
    );
}

fn delete(user: &User) {
    devices(user);
    let [boiler, chiller] = [
        "device.ringwatch.dev/boiler",
        "device.ringwatch.dev/chiller",
    ];
    let mut watch = user.follow("get devices -w -o name");
    assert_eq!([watch.line(), watch.line()], [boiler, chiller]);
    user.until_watching(DEVICES, 1);
    assert_eq!(
        user.run("delete crd devices.ringwatch.dev"),
        "customresourcedefinition.apiextensions.k8s.io \"devices.ringwatch.dev\" deleted\n"
    );
    // Whoever watched has seen the instances go, and then the end.
    let (_, seen) = watch.end();
    assert_eq!(seen, [boiler, chiller]);
    // kubectl remembers for a while which kinds there are.
    let complaint = user.fail("get devices.v1.ringwatch.dev");
    assert!(
        complaint.contains("the server could not find the requested resource"),
        "{complaint}"
    );
    // The same kind again begins empty.
    devices(user);
    assert_eq!(user.table("get devices").len(), 3);
}

fn emptied_with_the_namespace(user: &User) {
    defined(user, "device.yaml", "devices.ringwatch.dev");
    user.run("create ns plant");
    user.run(&format!("create -n plant -f {}", example("devices.yaml")));
    user.run("delete ns plant");
    assert_eq!(user.run("get devices -A -o name"), "");
}
