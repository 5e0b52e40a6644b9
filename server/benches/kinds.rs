//! What kinds of one's own cost: many definitions with some objects each, on a server of their own.
//!
//! ```console
//! $ cargo xtask bench kinds
//! ```
//!
//! Prints how long a definition takes from being sent to being served, for the first and the last, also with all kinds in one group and
//! each in its own; what an idle one keeps in memory; and how long discovery takes, both right after a change and again.

#[allow(dead_code)]
#[path = "server/process.rs"]
mod process;
#[allow(dead_code)]
#[path = "server/wire.rs"]
mod wire;

use std::time::{Duration, Instant};

use process::Server;
use wire::Wire;

/// Definitions.
const KINDS: usize = 500;
/// Objects of each.
const OBJECTS: usize = 20;
/// As many groups as a cluster with some operators has.
const GROUPS: usize = 10;
/// How many times make a median.
const SOME: usize = 20;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const AGGREGATED: &str =
    "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\r\n";

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    println!("| {KINDS} kinds with {OBJECTS} objects each | | target |\n|---|---:|---:|");
    runtime.block_on(measure());
    for groups in [1, KINDS + SOME] {
        runtime.block_on(measure_creation(groups));
    }
}

/// How long definitions take, in so many groups.
async fn measure_creation(groups: usize) {
    let server = Server::in_memory();
    let mut wire = Wire::connect(&server.plain).await;
    // The first ones of all pay for what is there once.
    for number in KINDS..KINDS + SOME {
        define(&mut wire, groups, number).await;
    }
    create_all(&mut wire, groups).await;
    server.process.stop();
}

/// Defines all kinds, and tells how long the first and the last took.
async fn create_all(wire: &mut Wire, groups: usize) {
    let mut taken = Vec::with_capacity(KINDS);
    for number in 0..KINDS {
        taken.push(define(wire, groups, number).await);
    }
    let first = median(&taken[..SOME]);
    let last = median(&taken[KINDS - SOME..]);
    println!(
        "| a definition, until it is served, in {groups} groups: the first {SOME} | {first:.2?} | |"
    );
    println!(
        "| the last {SOME} | {last:.2?}, {:.2} x the first | 2 x |",
        last.as_secs_f64() / first.as_secs_f64()
    );
}

async fn measure() {
    let server = Server::in_memory();
    let mut wire = Wire::connect(&server.plain).await;
    // What is there once, whatever is served: the first requests, and documents nobody has asked for.
    for number in KINDS..KINDS + SOME {
        define(&mut wire, GROUPS, number).await;
    }
    let before = server.process.rss();
    create_all(&mut wire, GROUPS).await;
    let idle = server.process.rss().saturating_sub(before);
    println!(
        "| memory of an idle kind | {:.1} KiB | 60 KB |",
        idle as f64 / KINDS as f64
    );
    for number in 0..KINDS {
        for object in 0..OBJECTS {
            create(&mut wire, number, object).await;
        }
    }
    let full = server.process.rss().saturating_sub(before);
    println!(
        "| memory of a kind with its objects, not read | {:.1} KiB | |",
        full as f64 / KINDS as f64
    );
    for number in 0..KINDS {
        wire.get(
            &format!("/apis/{}/v1/things{number}", group(GROUPS, number)),
            "",
        )
        .await;
    }
    let read = server.process.rss().saturating_sub(before);
    println!(
        "| memory of a kind with its objects, read | {:.1} KiB | |",
        read as f64 / KINDS as f64
    );
    let mut cold = Vec::new();
    let mut warm = Vec::new();
    for number in 0..SOME {
        define(&mut wire, GROUPS, KINDS + SOME + number).await;
        cold.push(discover(&mut wire).await);
        warm.push(discover(&mut wire).await);
    }
    println!(
        "| discovery of all kinds, right after a change | {:.2?} | 20 ms |\n| again | {:.2?} | 20 ms |",
        median(&cold),
        median(&warm)
    );
    server.process.stop();
}

fn group(groups: usize, number: usize) -> String {
    format!("group{}.example.com", number % groups)
}

/// Defines a kind, and gives how long it took until it was served.
async fn define(wire: &mut Wire, groups: usize, number: usize) -> Duration {
    let group = group(groups, number);
    let definition = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"things{number}.{group}"}},"spec":{{"group":"{group}","scope":"Namespaced","names":{{"kind":"Thing{number}","plural":"things{number}"}},"versions":[{{"name":"v1","served":true,"storage":true,"subresources":{{"status":{{}}}},"selectableFields":[{{"jsonPath":".spec.site"}}],"additionalPrinterColumns":[{{"name":"Site","type":"string","jsonPath":".spec.site"}}],"schema":{{"openAPIV3Schema":{SCHEMA}}}}}]}}}}"#
    );
    let begun = Instant::now();
    let answer = wire.exchange("POST", DEFINITIONS, "", &definition).await;
    assert_eq!(
        answer.status,
        201,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    let path = format!("{DEFINITIONS}/things{number}.{group}");
    loop {
        let answer = wire.get(&path, "").await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        if text.contains("InitialNamesAccepted") {
            return begun.elapsed();
        }
    }
}

const SCHEMA: &str = r#"{"type":"object","description":"A device in the field that holds a setpoint.","required":["spec"],"properties":{"spec":{"type":"object","description":"What is wanted of the device.","required":["site","setpoint"],"properties":{"site":{"type":"string","description":"Where the device is.","minLength":1,"maxLength":63},"setpoint":{"type":"number","description":"The value that the device is to hold.","minimum":-50,"maximum":150},"mode":{"type":"string","enum":["auto","hold","off"],"default":"auto"},"tags":{"type":"array","maxItems":16,"items":{"type":"string","maxLength":32},"x-kubernetes-list-type":"set"}},"x-kubernetes-validations":[{"rule":"self.mode != 'off' || self.setpoint == 0.0"}]},"status":{"type":"object","properties":{"reported":{"type":"number"},"seen":{"type":"string","format":"date-time"}}}}}"#;

async fn create(wire: &mut Wire, number: usize, object: usize) {
    let group = group(GROUPS, number);
    let path = format!("/apis/{group}/v1/namespaces/default/things{number}");
    let body = format!(
        r#"{{"apiVersion":"{group}/v1","kind":"Thing{number}","metadata":{{"name":"o{object}"}},"spec":{{"site":"s{object}","setpoint":20.5,"tags":["a","b"]}}}}"#
    );
    let answer = wire.exchange("POST", &path, "", &body).await;
    assert_eq!(
        answer.status,
        201,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
}

async fn discover(wire: &mut Wire) -> Duration {
    let begun = Instant::now();
    wire.get("/apis", AGGREGATED).await;
    begun.elapsed()
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}
