//! What is measured.

use core::hint::black_box;

use ringwatch_core::history::History;
use ringwatch_core::informer::Informer;
use ringwatch_core::json::line::EventLine;
use ringwatch_core::json::{Limits, Path, scan};
use ringwatch_core::projection::Projection;
use ringwatch_core::revision::Revision;
use ringwatch_core::selector::{LabelSelector, Requirement};
use ringwatch_core::slots::Place;
use ringwatch_core::transition::EventKind;

use crate::link;
use crate::objects::{mixed, pod};

/// One operation.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// What is to be reached on one core of an ordinary server; empty if nothing was promised.
    pub(crate) target: &'static str,
    /// Bytes handled by one operation, for a rate; 0 if that means nothing.
    pub(crate) bytes: fn() -> usize,
    /// Does the operation that many times.
    pub(crate) run: fn(u64),
}

const fn case(name: &'static str, target: &'static str, run: fn(u64)) -> Case {
    Case {
        name,
        target,
        bytes: || 0,
        run,
    }
}

const fn rate(
    name: &'static str,
    target: &'static str,
    bytes: fn() -> usize,
    run: fn(u64),
) -> Case {
    Case {
        name,
        target,
        bytes,
        run,
    }
}

pub(crate) const CASES: &[Case] = &[
    case("nothing (the loop itself)", "", nothing),
    case("history: push, ring of 4096", "<= 50 ns", push),
    case("history: since, ring of 4096", "", since),
    case("history: replay of 1000 changes", "", replay),
    case("selector: match 1 requirement", "", match_1),
    case("selector: match 3 requirements", "<= 60 ns", match_3),
    case("selector: match 10 requirements", "", match_10),
    case("selector: parse 3 requirements", "", parse_3),
    rate(
        "json: scan 6 paths, 1.5 KB",
        "",
        || small().len(),
        scan_small,
    ),
    rate(
        "json: scan 6 paths, 50 KB",
        ">= 1 GB/s",
        || large().len(),
        scan_large,
    ),
    rate(
        "json: scan 6 paths, 300 different objects",
        "",
        || mixed(MIXED).iter().map(String::len).sum(),
        scan_mixed,
    ),
    rate(
        "projection: 4 fields, 1.5 KB",
        "",
        || small().len(),
        project_small,
    ),
    rate(
        "projection: 4 fields, 50 KB",
        "",
        || large().len(),
        project_large,
    ),
    rate("event line, 1.5 KB", "", || small().len(), line_small),
    rate(
        "event line, 50 KB",
        ">= 5 GB/s",
        || large().len(),
        line_large,
    ),
    case("informer: update one of 16 objects", "", informer_update),
    case("link: encode an event", ">= 1 M/s", link::encode),
    case("link: decode an event", ">= 1 M/s", link::decode),
    case("link: change to informer, plain", "", link::plain),
    case(
        "link: change to informer, sealed",
        ">= 0.3 M/s",
        link::sealed,
    ),
    case(
        "link: the same, one event per packet",
        ">= 0.3 M/s",
        link::sealed_alone,
    ),
];

fn small() -> String {
    pod(1_600)
}

fn large() -> String {
    pod(50_000)
}

fn nothing(times: u64) {
    for n in 0..times {
        black_box(n);
    }
}

type Ring = History<u64, Box<[Place<ringwatch_core::history::Entry<u64>>]>>;

fn full_ring() -> Ring {
    let mut ring = Ring::new((0..4096).map(|_| Place::Free).collect());
    for n in 1..=4096 {
        let _ = ring.push(Revision::new(n), n);
    }
    ring
}

fn push(times: u64) {
    let mut ring = full_ring();
    for n in 4097..4097 + times {
        let _ = black_box(ring.push(Revision::new(n), black_box(n)));
    }
}

fn since(times: u64) {
    let ring = full_ring();
    for n in 0..times {
        let _ = black_box(ring.since(black_box(Revision::new(n * 37 % 4096))));
    }
}

fn replay(times: u64) {
    let ring = full_ring();
    for _ in 0..times {
        let Ok(mut cursor) = ring.since(black_box(Revision::new(3096))) else {
            return;
        };
        let mut sum = 0;
        while let Ok(Some(entry)) = ring.next(&mut cursor) {
            sum += entry.change;
        }
        black_box(sum);
    }
}

/// Eight labels, kept as a server keeps them: sorted pairs of slices.
const LABELS: [(&str, &str); 8] = [
    ("app", "shop"),
    ("app.kubernetes.io/component", "web"),
    ("env", "prod"),
    ("pod-template-hash", "7d4b8c6f9"),
    ("region", "eu-north-1"),
    ("team", "checkout"),
    ("tier", "frontend"),
    ("zone", "b"),
];

const ONE: &str = "tier=frontend";
const THREE: &str = "app=shop,env=prod,tier=frontend";
const TEN: &str = "app=shop,app.kubernetes.io/component in (api,web),env!=dev,\
    pod-template-hash,region=eu-north-1,team notin (search,ads),tier=frontend,!legacy,zone=b,env=prod";

fn match_labels(selector: &str, times: u64) {
    let selector = LabelSelector::<_, heapless::Vec<Requirement, 16>>::parse(selector);
    let Ok(selector) = selector else { return };
    for _ in 0..times {
        let labels = black_box(&LABELS);
        let matched = selector.matches(|key| {
            let found = labels.iter().find(|(held, _)| *held == key);
            found.map(|(_, value)| *value)
        });
        assert!(black_box(matched));
    }
}

fn match_1(times: u64) {
    match_labels(ONE, times);
}

fn match_3(times: u64) {
    match_labels(THREE, times);
}

fn match_10(times: u64) {
    match_labels(TEN, times);
}

fn parse_3(times: u64) {
    for _ in 0..times {
        let _ = black_box(LabelSelector::<&str>::parse(black_box(THREE)));
    }
}

fn scan_object(object: &str, times: u64) {
    let paths = [
        "metadata.name",
        "metadata.namespace",
        "metadata.labels",
        "metadata.resourceVersion",
        "spec.nodeName",
        "status.phase",
    ];
    let paths = paths.map(|path| Path::parse(path).unwrap());
    for _ in 0..times {
        let mut found = [None; 6];
        let scanned = scan(
            black_box(object.as_bytes()),
            &Limits::default(),
            &paths,
            &mut found,
        );
        assert!(black_box(scanned).is_ok() && found.iter().all(Option::is_some));
    }
}

/// As many objects as do not fit a cache that could remember them.
const MIXED: usize = 300;

fn scan_mixed(times: u64) {
    let objects = mixed(MIXED);
    for _ in 0..times {
        objects.iter().for_each(|object| scan_object(object, 1));
    }
}

fn scan_small(times: u64) {
    scan_object(&small(), times);
}

fn scan_large(times: u64) {
    scan_object(&large(), times);
}

fn project_object(object: &str, times: u64) {
    let fields = "spec.nodeName:text(32),status.phase:text(16),metadata.uid:text(40),spec.containers[0].ports[0].containerPort:u32";
    let projection = Projection::<_>::parse(fields).unwrap();
    let mut out = [0; 128];
    for _ in 0..times {
        let projected =
            projection.project(black_box(object.as_bytes()), &Limits::default(), &mut out);
        assert!(black_box(projected).is_ok_and(|done| done.issues.is_empty()));
    }
}

fn project_small(times: u64) {
    project_object(&small(), times);
}

fn project_large(times: u64) {
    project_object(&large(), times);
}

fn line_of(object: &str, times: u64) {
    let mut buffer = vec![0; object.len() + 64];
    for _ in 0..times {
        let line = EventLine::new(EventKind::Modified, black_box(object.as_bytes()));
        let _ = black_box(line.write_to(black_box(&mut buffer)));
    }
}

fn line_small(times: u64) {
    line_of(&small(), times);
}

fn line_large(times: u64) {
    line_of(&large(), times);
}

fn informer_update(times: u64) {
    let mut informer = Informer::<heapless::String<16>, u64, [_; 16]>::array();
    let keys: Vec<String> = (0..16).map(|key| format!("ns/{key}")).collect();
    for (n, key) in (1..=16 + times).zip(keys.iter().cycle()) {
        let _ = black_box(informer.put(key, Revision::new(n), n, &mut ()));
    }
}
