//! Which version clients take us for, and which one we are.

use serde_json::{Value, json};

/// The Kubernetes API that is served, for clients that look at the distance between it and themselves.
const MAJOR: &str = "1";
const MINOR: &str = "37";

/// The answer to `/version`.
pub fn document() -> Value {
    let ours = env!("CARGO_PKG_VERSION");
    json!({
        "major": MAJOR,
        "minor": MINOR,
        "gitVersion": format!("v{MAJOR}.{MINOR}.0+ringwatch-{ours}"),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    })
}

/// In Go's words, which clients know.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    }
}
