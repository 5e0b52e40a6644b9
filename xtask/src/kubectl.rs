//! `kubectl`, an old and a recent one, for the tests with real clients.
//!
//! Clients of several years talk to one server, and they do not ask in the same way: the old one reads discovery group by
//! group and validates by OpenAPI v2, the recent one asks for aggregated discovery and OpenAPI v3.

use crate::versioned::Versioned;

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
