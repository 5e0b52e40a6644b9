//! `kubectl`, an old and a recent one, for the tests with real clients.
//!
//! Clients of several years talk to one server, and they do not ask in the same way: the old one reads discovery group by
//! group and validates by OpenAPI v2, the recent one asks for aggregated discovery and OpenAPI v3. Both are Debian's, each of
//! the release that has it, unpacked into the cache folder, so that what is installed on the machine neither matters nor
//! changes.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    apt,
    command::{Context, Failure, Result, stdout},
    places,
};

/// A version of `kubectl` that the tests use.
#[derive(Debug)]
pub(crate) struct Kubectl {
    series: &'static str,
    /// How the tests learn where it is.
    variable: &'static str,
    /// The Debian release that has it.
    suite: &'static str,
    /// The package there; it has changed its name.
    package: &'static str,
}

const PROGRAM: &str = "usr/bin/kubectl";

pub(crate) const VERSIONS: &[Kubectl] = &[
    Kubectl {
        series: "v1.20",
        variable: "RINGWATCH_KUBECTL_OLD",
        suite: "bookworm",
        package: "kubernetes-client",
    },
    Kubectl {
        series: "v1.32",
        variable: "RINGWATCH_KUBECTL_NEW",
        suite: "trixie",
        package: "kubectl",
    },
];

/// Tells `command`, which runs tests, where each version is.
pub(crate) fn provide(command: &mut Command) -> Result<()> {
    for kubectl in VERSIONS {
        command.env(kubectl.variable, kubectl.ensure()?);
    }
    Ok(())
}

impl Kubectl {
    /// The program: what the variable names, else fetched.
    pub(crate) fn ensure(&self) -> Result<PathBuf> {
        if let Some(named) = env::var_os(self.variable) {
            return Ok(PathBuf::from(named));
        }
        let folder = places::cache()?
            .join("debian")
            .join(format!("{}-{}", self.package, self.suite));
        let program = folder.join(PROGRAM);
        if self.is(&program) {
            return Ok(program);
        }
        println!(
            "    kubectl {} is missing: fetching Debian's {} of {}",
            self.series, self.package, self.suite
        );
        apt::unpack_from_suite(self.suite, self.package, &folder).context(format!(
            "kubectl {} is needed for the tests, and could not be fetched. Put its path into {}",
            self.series, self.variable
        ))?;
        if self.is(&program) {
            Ok(program)
        } else {
            Err(Failure::new(format!(
                "{} is not kubectl {}",
                program.display(),
                self.series
            )))
        }
    }

    fn is(&self, program: &Path) -> bool {
        stdout(Command::new(program).args(["version", "--client", "--output=json"]))
            .is_ok_and(|printed| is_series(&printed, self.series))
    }
}

fn is_series(printed: &str, series: &str) -> bool {
    printed
        .lines()
        .find_map(|line| line.trim().strip_prefix("\"gitVersion\": \""))
        .and_then(|version| version.strip_prefix(series))
        .is_some_and(|patch| patch.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_belongs_to_its_series_only() {
        let printed = "{\n  \"clientVersion\": {\n    \"major\": \"1\",\n    \"gitVersion\": \"v1.32.3+debian\"\n  }\n}\n";
        assert!(is_series(printed, "v1.32"));
        assert!(!is_series(printed, "v1.20"));
        assert!(!is_series(printed, "v1.3"));
        assert!(!is_series("", "v1.32"));
    }
}
