//! Programs that the tests want in a certain version.
//!
//! They are never installed: several versions are needed side by side, and some packages would start a service. Each is Debian's of the
//! release that has the version, fetched with the package sources of this machine under that release's name, and unpacked
//! into the cache folder.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    apt,
    command::{Context, Failure, Result, persistently, stdout},
    places,
};

/// A program in one version.
#[derive(Debug)]
pub(crate) struct Versioned {
    pub(crate) program: &'static str,
    /// The version without its last part.
    pub(crate) series: &'static str,
    /// How the tests learn where it is.
    pub(crate) variable: &'static str,
    /// The Debian release that has it.
    pub(crate) suite: &'static str,
    /// The package there.
    pub(crate) package: &'static str,
    /// What makes the program tell its version.
    pub(crate) asked: &'static [&'static str],
    /// What stands before the version in a line of the answer.
    pub(crate) label: &'static str,
    /// Another way to get it: puts the program at the path.
    pub(crate) otherwise: Option<fn(&Path) -> Result<()>>,
}

/// Tells `command`, which runs tests, where each version is.
pub(crate) fn provide(versions: &[Versioned], command: &mut Command) -> Result<()> {
    for version in versions {
        command.env(version.variable, version.ensure()?);
    }
    Ok(())
}

impl Versioned {
    /// The program: what the variable names, else what is on `PATH` in this version, else fetched.
    pub(crate) fn ensure(&self) -> Result<PathBuf> {
        if let Some(named) = env::var_os(self.variable) {
            return Ok(PathBuf::from(named));
        }
        if let Some(program) = places::on_path(self.program).filter(|program| self.is(program)) {
            return Ok(program);
        }
        let folder = places::cache()?
            .join("debian")
            .join(format!("{}-{}", self.package, self.suite));
        let program = folder.join("usr/bin").join(self.program);
        if self.is(&program) {
            return Ok(program);
        }
        println!(
            "    {} {} is missing: fetching Debian's {} of {}",
            self.program, self.series, self.package, self.suite
        );
        self.fetch(&folder, &program).context(format!(
            "{} {} is needed for the tests, and could not be fetched. Put it on PATH, or its path into {}",
            self.program, self.series, self.variable
        ))?;
        if self.is(&program) {
            Ok(program)
        } else {
            Err(Failure::new(format!(
                "{} is not {} {}",
                program.display(),
                self.program,
                self.series
            )))
        }
    }

    fn fetch(&self, folder: &Path, program: &Path) -> Result<()> {
        let by_debian = persistently(|| apt::unpack_from_suite(self.suite, self.package, folder));
        match (by_debian, self.otherwise) {
            (Err(why), Some(otherwise)) => {
                println!("    {why}\n    trying another source");
                persistently(|| otherwise(program))
            }
            (by_debian, _) => by_debian,
        }
    }

    fn is(&self, program: &Path) -> bool {
        stdout(Command::new(program).args(self.asked))
            .is_ok_and(|printed| self.is_told_by(&printed))
    }

    fn is_told_by(&self, printed: &str) -> bool {
        printed
            .lines()
            .find_map(|line| line.trim().strip_prefix(self.label))
            .and_then(|version| version.strip_prefix(self.series))
            .is_some_and(|patch| patch.starts_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{etcd, kubectl};

    /// The series that takes what the program printed for its own.
    fn series(versions: &[Versioned], printed: &str) -> Vec<&'static str> {
        let told = versions.iter().filter(|it| it.is_told_by(printed));
        told.map(|it| it.series).collect()
    }

    #[test]
    fn a_version_belongs_to_its_series_only() {
        let etcd = |printed| series(etcd::VERSIONS, printed);
        assert_eq!(etcd("etcd Version: 3.5.16\nGit SHA: none\n"), ["3.5"]);
        assert_eq!(etcd("etcd Version: 3.4.23\n"), ["3.4"]);
        assert!(etcd("etcd Version: 3.50.1\n").is_empty());
        assert!(etcd("").is_empty());
        let printed = "{\n  \"clientVersion\": {\n    \"major\": \"1\",\n    \"gitVersion\": \"v1.32.3+debian\"\n  }\n}\n";
        assert_eq!(series(kubectl::VERSIONS, printed), ["v1.32"]);
    }
}
