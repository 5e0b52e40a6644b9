//! The node link in another language: `python/node_link.py`, which was written from docs/node-link.md alone.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use ringwatch_core::link::REKEY_AFTER;
use ringwatch_tests::etcd::{Folder, Version};

use crate::store::{Site, Store};

/// What the sessions see, line by line.
const SEEN: &str = include_str!("python/link_session.txt");
const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

#[test]
fn the_test_vectors() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/golden/link");
    let said = python("link_vectors.py", &[vectors.to_str().expect("UTF-8")]);
    assert_eq!(
        said,
        "45 frames, 20 refused, 6 packets, 6 of a sealed session\n"
    );
}

#[test]
fn on_embedded() {
    sessions(Store::Embedded, REKEY_AFTER + 100);
}

#[test]
fn on_etcd() {
    sessions(Store::Etcd(Version::V3_5), 1);
}

fn sessions(store: Store, packets: u64) {
    let folder = Folder::new();
    let keys = folder.path().join("nodes.toml");
    let nodes = format!("[heater-1]\nkey = \"{KEY}\"\nallow = [\"configmaps/default\"]\n");
    fs::write(&keys, nodes).expect("a file of keys");
    let keys = keys.to_str().expect("UTF-8");
    let site = Site::start_with(
        store,
        &["--link-listen", "127.0.0.1:0", "--link-keys", keys],
    );
    let kubeconfig = site.program.kubeconfig();
    let link = site.program.link().expect("a node link").to_string();
    let said = python(
        "link_session.py",
        &[
            kubeconfig.to_str().expect("UTF-8"),
            &link,
            KEY,
            &packets.to_string(),
        ],
    );
    assert_eq!(said, SEEN);
}

/// What a script prints.
fn python(script: &str, arguments: &[&str]) -> String {
    let python = env::var_os("RINGWATCH_PYTHON").expect(
        "this test needs a Python that has the packages `kubernetes` and `noiseprotocol`, named by RINGWATCH_PYTHON: \
         run `cargo xtask test`, which makes one",
    );
    let home = Folder::new();
    let output = Command::new(python)
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/journeys/python")
                .join(script),
        )
        .args(arguments)
        .env("HOME", home.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaints}");
    said
}
