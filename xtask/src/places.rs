//! Where things are.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    command::{Context, Failure, Result},
    protoc,
};

/// The folder of the project.
pub(crate) fn root() -> PathBuf {
    let xtask = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    xtask
        .parent()
        .map(Path::to_path_buf)
        .expect("xtask is a folder of the project")
}

/// Where tools that are not installed system-wide are kept: outside the project, so that a clean
/// build or a second checkout does not fetch them again.
pub(crate) fn cache() -> Result<PathBuf> {
    let base = match (env::var_os("XDG_CACHE_HOME"), env::var_os("HOME")) {
        (Some(cache), _) if !cache.is_empty() => PathBuf::from(cache),
        (_, Some(home)) => PathBuf::from(home).join(".cache"),
        _ => return Err(Failure::new("neither XDG_CACHE_HOME nor HOME is set")),
    };
    Ok(base.join("ringwatch"))
}

/// `cargo`, in a folder of the project.
pub(crate) fn cargo_in(folder: impl AsRef<Path>) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root().join(folder));
    protoc::provide(&mut command);
    forget_ourselves(&mut command);
    command
}

/// Keeps from `command` what `cargo run` says about this program: some build scripts take it for a change, and build again what others have built.
pub(crate) fn forget_ourselves(command: &mut Command) {
    let about_us = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if about_us.iter().any(|start| text.starts_with(start)) {
            command.env_remove(name);
        }
    }
}

/// The names, without extension, of the `.rs` files in a folder of the project; sorted. A folder that
/// does not exist has none.
pub(crate) fn rust_files(folder: impl AsRef<Path>) -> Result<Vec<String>> {
    let folder = root().join(folder);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).context(folder.display())? {
        let path = entry.context(folder.display())?.path();
        if path.extension().is_some_and(|extension| extension == "rs")
            && let Some(stem) = path.file_stem()
        {
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The program `name` on `PATH`.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}
