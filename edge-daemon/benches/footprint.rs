//! What the relay's program takes: memory with objects and nodes, and its own size. Run by `cargo xtask footprint`.
//!
//! The relay is started from a state folder, its upstream does not answer, and simulated nodes (each with a hundredth of the objects, 64 bytes of each) are
//! connected and in step when memory is read. Prints a table and then a verdict; fails over budget.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use ringwatch_core::link::frame::Origin;
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;
use ringwatch_edge::config::Watch;
use ringwatch_edge::engine::image;
use ringwatch_edge::hub::track;

/// Names the program to measure: `cargo xtask footprint` builds it static. Without it, the one that was built with this bench is measured.
const VARIABLE: &str = "RINGWATCH_EDGE";
const KEY: &str = "5555555555555555555555555555555555555555555555555555555555555555";
const MEGABYTE: u64 = 1_000_000;

struct Case {
    objects: usize,
    nodes: usize,
    budget: u64,
}

const CASES: [Case; 2] = [
    Case {
        objects: 100,
        nodes: 10,
        budget: 5 * MEGABYTE,
    },
    Case {
        objects: 10_000,
        nodes: 1_000,
        budget: 24 * MEGABYTE,
    },
];
const PROGRAM_BUDGET: u64 = 6 * MEGABYTE;

fn main() -> ExitCode {
    let mut right = true;
    println!("| objects of 1 KB | nodes | RSS | budget |\n|---:|---:|---:|---:|");
    for case in &CASES {
        let rss = measure(case);
        right &= rss <= case.budget;
        let (rss, budget) = (rss as f64 / 1e6, case.budget as f64 / 1e6);
        println!(
            "| {} | {} | {rss:.1} MB | {budget:.0} MB |",
            case.objects, case.nodes
        );
    }
    let size = stripped();
    right &= size <= PROGRAM_BUDGET;
    println!(
        "| the program, stripped | | {:.1} MB | {:.0} MB |",
        size as f64 / 1e6,
        PROGRAM_BUDGET as f64 / 1e6
    );
    match right {
        true => {
            println!("within budget");
            ExitCode::SUCCESS
        }
        false => {
            println!("over budget");
            ExitCode::FAILURE
        }
    }
}

fn program() -> PathBuf {
    match std::env::var_os(VARIABLE) {
        Some(named) => named.into(),
        None => env!("CARGO_BIN_EXE_ringwatch-edge").into(),
    }
}

/// The size of the program without symbols.
fn stripped() -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("program");
    let done = Command::new("strip")
        .arg("-o")
        .arg(&copy)
        .arg(program())
        .status();
    assert!(
        done.is_ok_and(|status| status.success()),
        "strip is needed, from binutils"
    );
    fs::metadata(copy).expect("the copy").len()
}

/// Ends with its value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

fn object(index: usize) -> String {
    let mut text = format!(
        r#"{{"kind":"Device","apiVersion":"example.com/v1","metadata":{{"name":"device-{index}","namespace":"hall","uid":"u-{index}","resourceVersion":"{}","labels":{{"group":"g{}"}}}},"spec":{{"what":"{:060}","note":""#,
        index + 1,
        index % 100,
        index
    );
    while text.len() < 1021 {
        text.push('x');
    }
    text + "\"}}"
}

/// Writes the state folder of a relay that has seen so many objects.
fn write_state(folder: &Path, objects: usize) {
    let watch = Watch {
        resource: "devices.example.com".to_owned(),
        namespace: None,
        labels: String::new(),
        fields: String::new(),
        objects,
        changes: 1000,
        object_bytes: 65_536,
        version: None,
        kind: None,
        columns: Vec::new(),
    };
    let mut track = track(&watch);
    track.list_begin(Origin([1; 8]));
    for index in 0..objects {
        track
            .list_item(object(index).as_bytes())
            .expect("an object");
    }
    track.list_end(Revision::new(objects as u64 + 1), Instant::from_millis(1));
    let mut bytes = Vec::new();
    let Ok(written) = image::write(&track, &mut bytes);
    assert!(written.is_some());
    fs::create_dir_all(folder.join("state")).expect("a folder");
    fs::write(folder.join("state/devices.example.com.image"), bytes).expect("an image");
}

/// The resident memory of a relay with nodes that are in step.
fn measure(case: &Case) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    write_state(path, case.objects);
    let (link, nobody) = (free_port(), free_port());
    let settings = format!(
        "[upstream]\nlink = \"127.0.0.1:{nobody}\"\nname = \"gateway\"\nkey-file = \"key\"\n[[watch]]\nresource = \"devices.example.com\"\nobjects = {}\nchanges = 1000\n[listen]\nlink = \"127.0.0.1:{link}\"\n[nodes]\nfile = \"nodes.toml\"\n[state]\ndir = \"state\"\n",
        case.objects
    );
    let mut nodes = String::new();
    for index in 0..case.nodes {
        // Writing to a string does not fail.
        let _ = writeln!(
            nodes,
            "[node-{index}]\nkey = \"{KEY}\"\nallow = [\"devices.example.com\"]"
        );
    }
    for (file, text) in [
        ("relay.toml", settings.as_str()),
        ("nodes.toml", &nodes),
        ("key", KEY),
    ] {
        fs::write(path.join(file), text).expect("a file");
    }
    let mut relay = Command::new(program());
    relay
        .arg("run")
        .arg(path.join("relay.toml"))
        .args(["--log-level", "error"]);
    let relay = Running(relay.spawn().expect("the relay starts"));
    let mut command = Command::new(program());
    command.args([
        "node",
        "--name",
        "node",
        "--count",
        &case.nodes.to_string(),
        "--report",
        "--quiet",
    ]);
    command.args([
        "--resource",
        "devices.example.com",
        "--labels",
        "group=g7",
        "--show",
        "spec.what:text(60)",
    ]);
    command.args([
        "--objects",
        "128",
        "--connect",
        &format!("127.0.0.1:{link}"),
        "--key-file",
    ]);
    command.arg(path.join("key")).stdout(Stdio::piped());
    let mut nodes = Running(command.spawn().expect("the nodes start"));
    let output = BufReader::new(nodes.0.stdout.take().expect("their words"));
    // Each reports once: it is in step, and nothing else happens.
    let mut in_step = std::collections::BTreeSet::new();
    for line in output.lines().map_while(Result::ok) {
        in_step.insert(line.split(' ').next().unwrap_or_default().to_owned());
        if in_step.len() == case.nodes {
            break;
        }
    }
    let status =
        fs::read_to_string(format!("/proc/{}/status", relay.0.id())).expect("the relay runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.expect("its memory") * 1024
}
