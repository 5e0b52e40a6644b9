//! Python for the tests with real clients: the official client of Kubernetes, and Noise for the node link.
//!
//! It lives in a virtual environment of its own in the cache folder; the Python of the machine stays as it is.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use crate::{
    apt,
    command::{Context, Failure, Result, persistently, run, stdout, succeeds},
    places,
};

/// How the tests learn which interpreter has the packages.
const VARIABLE: &str = "RINGWATCH_PYTHON";
/// Pinned, so that a failing test means that we have changed.
const PACKAGES: [(&str, &str); 3] = [
    ("kubernetes", "37.0.2"),
    ("noiseprotocol", "0.3.1"),
    // What `noiseprotocol` is made of; it would take any.
    ("cryptography", "50.0.2"),
];
/// The modules that tests import.
const IMPORT: &str = "import kubernetes, noise.connection";
/// The Debian package with which Python can make environments.
const VENV: &str = "python3-venv";

/// Tells `command`, which runs tests, where the interpreter is.
pub(crate) fn provide(command: &mut Command) -> Result<()> {
    command.env(VARIABLE, ensure()?);
    Ok(())
}

/// An interpreter that has the packages: what the variable names, else one made for it.
pub(crate) fn ensure() -> Result<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE) {
        return Ok(PathBuf::from(named));
    }
    let named =
        |separator: &str| PACKAGES.map(|(name, version)| format!("{name}{separator}{version}"));
    let folder = places::cache()?.join(format!("python-{}", named("-").join("-")));
    let python = folder.join("bin/python");
    if has_packages(&python) {
        return Ok(python);
    }
    let wanted = named(" ").join(", ");
    println!("    Python packages are missing: fetching {wanted}");
    persistently(|| install(&folder, &named("=="))).context(format!(
        "Python packages are needed for the tests, and could not be fetched. Python with `venv` is in \
         Debian's {VENV}; or put the path of an interpreter that has {wanted} into {VARIABLE}"
    ))?;
    if has_packages(&python) {
        Ok(python)
    } else {
        Err(Failure::new(format!(
            "{} cannot import {wanted}",
            python.display()
        )))
    }
}

/// The marker is written last, since an environment cannot be moved to its place when it is complete.
fn install(folder: &Path, packages: &[String]) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    environment(folder)?;
    run(Command::new(folder.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet"])
        .arg("--disable-pip-version-check")
        .args(packages))?;
    let marker = marker(folder);
    fs::write(&marker, process::id().to_string()).context(marker.display())
}

/// Makes an environment. Debian's Python cannot, unless a package of its own is there.
fn environment(folder: &Path) -> Result<()> {
    let make = || {
        stdout(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(folder),
        )
    };
    if make().is_err() {
        println!("    python3 cannot make environments: fetching Debian's {VENV}");
        let private = places::cache()?.join("debian").join(VENV);
        if apt::provide(&[VENV], &private)?.is_some() {
            return Err(Failure::new(format!(
                "{VENV} is of use only if it is installed"
            )));
        }
        make()?;
    }
    Ok(())
}

fn has_packages(python: &Path) -> bool {
    let complete = python
        .parent()
        .and_then(Path::parent)
        .is_some_and(|folder| marker(folder).exists());
    complete && succeeds(Command::new(python).args(["-c", IMPORT]))
}

fn marker(folder: &Path) -> PathBuf {
    folder.join("complete")
}
