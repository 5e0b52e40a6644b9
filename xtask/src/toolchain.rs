//! A compiler that has the library of a target.
//!
//! For a bare-metal target that is the core library:
//!
//! 1. The compiler on `PATH`, if it has it.
//! 2. The same after `rustup target add`.
//! 3. Where rustup cannot deliver: Debian's compiler, unpacked into a private folder, for which the
//!    core library is built once from Debian's copy of its source. It is a compiler of its own
//!    because a core library only fits the compiler that it was built with.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use crate::{
    apt,
    command::{Context, Failure, Result, run, stdout, succeeds},
    places,
};

/// Debian's own Rust is old; these packages follow the releases, for building web browsers.
const DEBIAN_PACKAGES: &[&str] = &[
    "rustc-web",
    "cargo-web",
    "rust-web-src",
    "rust-web-clippy",
    DEBIAN_LINKER,
    "gcc",
    "libc6-dev",
];
const DEBIAN_LINKER: &str = "lld-22";

/// Which compiler builds for a target.
#[derive(Debug)]
pub(crate) enum Toolchain {
    /// The one on `PATH`.
    OnPath,
    /// Debian's, below this folder.
    Debian(PathBuf),
}

impl Toolchain {
    /// A toolchain that has the core library of `target`; fetched if need be.
    pub(crate) fn with_core(target: &str) -> Result<Self> {
        if Self::OnPath.has_core(target) {
            return Ok(Self::OnPath);
        }
        // Made by an earlier run, after rustup had failed: no need to wait for that again.
        let debian = Self::Debian(debian_folder()?);
        if debian.has_core(target) {
            return Ok(debian);
        }
        println!("    the compiler has no core library for {target}: asking rustup");
        let by_rustup = run(Command::new("rustup").args(["target", "add", target]));
        if by_rustup.is_ok() && Self::OnPath.has_core(target) {
            return Ok(Self::OnPath);
        }
        println!("    rustup cannot deliver it: using Debian's compiler and library source");
        Self::debian_with_core(target).context(format!(
            "no core library for {target}: neither `rustup target add {target}` nor Debian's \
             packages ({}) gave one",
            DEBIAN_PACKAGES.join(", ")
        ))
    }

    /// `cargo` of this toolchain.
    pub(crate) fn cargo(&self) -> Result<Command> {
        self.program("cargo")
    }

    /// The compiler's version, as in `1.95.0`.
    pub(crate) fn version(&self) -> Result<String> {
        let line = stdout(self.program("rustc")?.arg("--version"))?;
        line.split_whitespace()
            .nth(1)
            .map(str::to_owned)
            .ok_or_else(|| Failure::new(format!("rustc calls itself {line:?}")))
    }

    fn program(&self, name: &str) -> Result<Command> {
        let Self::Debian(root) = self else {
            return Ok(Command::new(name));
        };
        let bin = root.join("usr/bin");
        let inherited = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(
            [bin.clone()]
                .into_iter()
                .chain(env::split_paths(&inherited)),
        )
        .context("PATH")?;
        let (library_path, value) = apt::library_path(root)?;
        let mut command = Command::new(bin.join(name));
        command.env("PATH", path).env(library_path, value);
        // Set by rustup's cargo for its children; they would bring its compiler back.
        for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
            command.env_remove(name);
        }
        Ok(command)
    }

    fn has_core(&self, target: &str) -> bool {
        self.library_folder(target)
            .is_ok_and(|folder| is_library_in("core", &folder))
    }

    fn library_folder(&self, target: &str) -> Result<PathBuf> {
        let mut rustc = self.program("rustc")?;
        rustc.args(["--print", "target-libdir", "--target", target]);
        Ok(PathBuf::from(stdout(&mut rustc)?.trim_end()))
    }

    fn debian_with_core(target: &str) -> Result<Self> {
        let root = debian_folder()?;
        if !root.join("usr/bin/rustc").exists() {
            apt::unpack_with_dependencies(DEBIAN_PACKAGES, &root)?;
        }
        link_linker(&root)?;
        let toolchain = Self::Debian(root);
        if !toolchain.has_core(target) {
            toolchain.build_core(target)?;
        }
        Ok(toolchain)
    }

    /// Builds `core` and `alloc` from the toolchain's own source and puts them where its compiler
    /// looks, so that projects need no setting for it.
    fn build_core(&self, target: &str) -> Result<()> {
        let build = places::cache()?.join(format!("core-{target}-{}", process::id()));
        let source = build.join("src");
        fs::create_dir_all(&source).context(source.display())?;
        fs::write(source.join("lib.rs"), "#![no_std]\n").context(source.display())?;
        fs::write(
            build.join("Cargo.toml"),
            "[package]\nname = \"core-build\"\nedition = \"2024\"\n\
             [profile.release]\npanic = \"abort\"\n[workspace]\n",
        )
        .context(build.display())?;
        let built = run(self
            .cargo()?
            .args(["build", "--release", "--target", target])
            .args(["-Zbuild-std=core,alloc"])
            .args(["-Zbuild-std-features=compiler-builtins-mem"])
            // Building the standard library is not a stable feature of cargo.
            .env("RUSTC_BOOTSTRAP", "1")
            // With bitcode, or link-time optimisation could not reach into core.
            .env("RUSTFLAGS", "-Cembed-bitcode=yes")
            .env("CARGO_TARGET_DIR", build.join("target"))
            .current_dir(&build))
        .and_then(|()| {
            let products = build.join("target").join(target).join("release/deps");
            place_libraries(&products, &self.library_folder(target)?)
        });
        fs::remove_dir_all(&build).context(build.display())?;
        built
    }
}

/// Makes sure that the compiler on `PATH` has the standard library of a target with an operating system.
pub(crate) fn standard_library(target: &str) -> Result<()> {
    let there = || {
        let folder = Toolchain::OnPath.library_folder(target);
        folder.is_ok_and(|folder| is_library_in("std", &folder))
    };
    if !there() {
        println!("    the compiler has no standard library for {target}: asking rustup");
        run(Command::new("rustup").args(["target", "add", target]))?;
    }
    match there() {
        true => Ok(()),
        false => Err(Failure::new(format!("no standard library for {target}"))),
    }
}

/// Makes sure that a part of the toolchain such as `clippy` is there.
pub(crate) fn component(name: &str, subcommand: &str) -> Result<()> {
    let there = || succeeds(Command::new("cargo").args([subcommand, "--version"]));
    if !there() {
        println!("    the toolchain has no {name}: asking rustup");
        run(Command::new("rustup").args(["component", "add", name])).context(format!(
            "`cargo {subcommand}` is needed and missing (rustup component `{name}`)"
        ))?;
    }
    Ok(())
}

fn debian_folder() -> Result<PathBuf> {
    Ok(places::cache()?.join("debian").join("rust"))
}

fn is_library_in(library: &str, folder: &Path) -> bool {
    let prefix = format!("lib{library}-");
    fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&prefix) && name.ends_with(".rlib")
        })
    })
}

/// rustc looks for `rust-lld` in its own folder; Debian ships it elsewhere.
fn link_linker(root: &Path) -> Result<()> {
    let version = DEBIAN_LINKER.trim_start_matches("lld-");
    let host = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let folder = root.join("usr/lib/rustlib").join(host).join("bin");
    let link = folder.join("rust-lld");
    if link.exists() {
        return Ok(());
    }
    fs::create_dir_all(&folder).context(folder.display())?;
    let linker = root.join(format!("usr/lib/llvm-{version}/bin/lld"));
    std::os::unix::fs::symlink(linker, &link).context(link.display())
}

/// Copies the built libraries; the folder appears only when it is complete.
fn place_libraries(products: &Path, folder: &Path) -> Result<()> {
    let partial = folder.with_extension(format!("partial-{}", process::id()));
    fs::create_dir_all(&partial).context(partial.display())?;
    for entry in fs::read_dir(products).context(products.display())? {
        let entry = entry.context(products.display())?;
        let name = entry.file_name();
        if name.to_string_lossy().ends_with(".rlib")
            && !name.to_string_lossy().starts_with("libcore_build-")
        {
            fs::copy(entry.path(), partial.join(&name)).context(entry.path().display())?;
        }
    }
    fs::rename(&partial, folder).context(folder.display())
}
