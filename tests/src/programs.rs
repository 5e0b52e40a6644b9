//! The project's programs: beside the tests. A run of all tests has built them; after a run of one test alone they may be
//! missing or older than their sources, and are built now.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// Both, and the folders that they are made of.
const PROGRAMS: [(&str, &[&str]); 2] = [
    (
        "ringwatch-server",
        &["server/src", "server/Cargo.toml", "core/src"],
    ),
    (
        "ringwatch-edge",
        &["edge-daemon/src", "edge-daemon/Cargo.toml", "core/src"],
    ),
];

/// Where a program is.
///
/// # Panics
///
/// If it does not build.
pub fn executable(name: &str) -> PathBuf {
    static PROFILE: OnceLock<PathBuf> = OnceLock::new();
    let profile = PROFILE.get_or_init(|| {
        let test = env::current_exe().expect("the test's own path");
        // target/PROFILE/deps/TEST-HASH
        let profile = test.ancestors().nth(2).expect("a folder of the profile");
        for (name, sources) in PROGRAMS {
            if !is_new(&profile.join(name), sources) {
                build(name, profile);
            }
        }
        profile.to_owned()
    });
    profile.join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

fn project() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("tests is a folder of the project")
}

fn is_new(program: &Path, sources: &[&str]) -> bool {
    let changed = sources.iter().map(|it| newest(&project().join(it)));
    let built = program.metadata().and_then(|it| it.modified()).ok();
    built >= changed.max().flatten()
}

/// When something in the folder, or the file, was last changed.
fn newest(path: &Path) -> Option<SystemTime> {
    match fs::read_dir(path) {
        Ok(entries) => entries
            .filter_map(|entry| newest(&entry.ok()?.path()))
            .max(),
        Err(_) => path.metadata().and_then(|it| it.modified()).ok(),
    }
}

fn build(name: &str, profile: &Path) {
    let named = match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args([
            "build",
            "--quiet",
            "--package",
            name,
            "--bin",
            name,
            "--profile",
            named,
        ])
        .arg("--target-dir")
        .arg(profile.parent().expect("a folder of all profiles"))
        .current_dir(project());
    // What is said about the tests' own package: some build scripts would take it for a change.
    for (name, _) in env::vars_os() {
        let about_us = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
        let text = name.to_string_lossy();
        if about_us.iter().any(|it| text.starts_with(it)) {
            cargo.env_remove(name);
        }
    }
    let status = cargo.status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "{name} does not build"
    );
}
