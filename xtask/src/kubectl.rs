//! `kubectl`: an old and a recent one for the tests with real clients, and any for people.
//!
//! Clients of several years talk to one server, and they do not ask in the same way: the old one reads discovery group by
//! group and validates by OpenAPI v2, the recent one asks for aggregated discovery and OpenAPI v3.

use std::path::PathBuf;

use crate::{
    command::{Failure, Result},
    places,
    versioned::Versioned,
};

/// One for people to use: theirs, of whatever version, else the recent one.
pub(crate) fn any() -> Result<PathBuf> {
    match (places::on_path("kubectl"), VERSIONS.last()) {
        (Some(own), _) => Ok(own),
        (None, Some(recent)) => recent.ensure(),
        (None, None) => Err(Failure::new("kubectl is not on PATH")),
    }
}

pub(crate) const VERSIONS: &[Versioned] = &[
    // The package has changed its name.
    version(
        "v1.20",
        "RINGWATCH_KUBECTL_OLD",
        "bookworm",
        "kubernetes-client",
    ),
    version("v1.32", "RINGWATCH_KUBECTL_NEW", "trixie", "kubectl"),
];

const fn version(
    series: &'static str,
    variable: &'static str,
    suite: &'static str,
    package: &'static str,
) -> Versioned {
    Versioned {
        program: "kubectl",
        series,
        variable,
        suite,
        package,
        asked: &["version", "--client", "--output=json"],
        label: "\"gitVersion\": \"",
        otherwise: None,
    }
}
