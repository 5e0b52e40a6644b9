//! The official Python client.

use std::env;
use std::path::Path;
use std::process::Command;

use ringwatch_tests::etcd::{Folder, Version};

use crate::store::{Site, Store};

const SEEN: &str = "\
LISTED n-0 0
LISTED n-1 0
LISTED n-2 0
LISTED n-3 0
LISTED n-4 0
ADDED new 1
MODIFIED n-0 2
DELETED n-1 0
REPLAYED n-0 2
REPLAYED n-2 0
REPLAYED n-3 0
REPLAYED n-4 0
REPLAYED new 1
REFUSED 400 Bad Request
";

#[test]
fn on_embedded() {
    list_and_watch(Store::Embedded);
}

#[test]
fn on_etcd() {
    list_and_watch(Store::Etcd(Version::V3_5));
}

fn list_and_watch(store: Store) {
    let python = env::var_os("RINGWATCH_PYTHON").expect(
        "this test needs a Python that has the package `kubernetes`, named by RINGWATCH_PYTHON: \
         run `cargo xtask test`, which makes one",
    );
    let site = Site::start(store);
    let home = Folder::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journeys/python/list_watch.py");
    let output = Command::new(python)
        .arg(script)
        .arg(site.program.kubeconfig())
        .env("HOME", home.path())
        .output()
        .expect("Python");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        SEEN,
        "{complaints}"
    );
}
