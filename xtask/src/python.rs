//! The official Python client of Kubernetes, for the tests with real clients.
//!
//! It lives in a virtual environment of its own in the cache folder; the Python of the machine stays as it is.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use crate::{
    command::{Context, Failure, Result, run, succeeds},
    places,
};

/// How the tests learn which interpreter has the client.
const VARIABLE: &str = "RINGWATCH_PYTHON";
/// Pinned, so that a failing test means that we have changed.
const CLIENT: &str = "kubernetes";
const VERSION: &str = "37.0.2";

/// Tells `command`, which runs tests, where the interpreter is.
pub(crate) fn provide(command: &mut Command) -> Result<()> {
    command.env(VARIABLE, ensure()?);
    Ok(())
}

/// An interpreter that has the client: what the variable names, else one made for it.
pub(crate) fn ensure() -> Result<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE) {
        return Ok(PathBuf::from(named));
    }
    let folder = places::cache()?.join(format!("python-{CLIENT}-{VERSION}"));
    let python = folder.join("bin/python");
    if has_client(&python) {
        return Ok(python);
    }
    println!("    the Python client of Kubernetes is missing: fetching {CLIENT} {VERSION}");
    install(&folder).context(format!(
        "the Python client of Kubernetes is needed for the tests, and could not be fetched. Python with `venv` is in \
         Debian's python3-venv; or put the path of an interpreter that has {CLIENT} {VERSION} into {VARIABLE}"
    ))?;
    if has_client(&python) {
        Ok(python)
    } else {
        Err(Failure::new(format!(
            "{} cannot import {CLIENT}",
            python.display()
        )))
    }
}

/// The marker is written last, since an environment cannot be moved to its place when it is complete.
fn install(folder: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    run(Command::new(folder.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet"])
        .arg("--disable-pip-version-check")
        .arg(format!("{CLIENT}=={VERSION}")))?;
    let marker = marker(folder);
    fs::write(&marker, process::id().to_string()).context(marker.display())
}

fn has_client(python: &Path) -> bool {
    let complete = python
        .parent()
        .and_then(Path::parent)
        .is_some_and(|folder| marker(folder).exists());
    complete && succeeds(Command::new(python).args(["-c", &format!("import {CLIENT}")]))
}

fn marker(folder: &Path) -> PathBuf {
    folder.join("complete")
}
