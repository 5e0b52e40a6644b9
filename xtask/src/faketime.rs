//! A clock that jumps, for the tests: libfaketime, which stands between a program and the system's clock.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    command::{Failure, Result},
    tools::FAKETIME,
};

/// How the tests learn where it is.
const VARIABLE: &str = "RINGWATCH_FAKETIME";

/// Tells `command`, which runs tests, where the library is.
pub(crate) fn provide(command: &mut Command) -> Result<()> {
    command.env(VARIABLE, ensure()?);
    Ok(())
}

/// The library: what the variable names, else what comes with Debian's `faketime`.
pub(crate) fn ensure() -> Result<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE) {
        return Ok(named.into());
    }
    let found = FAKETIME.ensure()?;
    let root = found.private().unwrap_or(Path::new("/"));
    let triplet = format!("{}-linux-gnu", env::consts::ARCH);
    let library = root
        .join("usr/lib")
        .join(triplet)
        .join("faketime/libfaketime.so.1");
    if library.exists() {
        Ok(library)
    } else {
        Err(Failure::new(format!(
            "{} is not there; put its path into {VARIABLE}",
            library.display()
        )))
    }
}
