//! Packages from Debian's archive.
//!
//! Installed in the ordinary way where that is harmless. Where it would remove another package, or
//! where this user may not install, the packages are downloaded and unpacked into a private folder
//! instead; nothing on the machine changes.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use crate::{
    command::{Context, Failure, Result, run, stdout, succeeds},
    places::on_path,
    sources,
};

/// Makes `packages` available: on the system (`None`), or below a private folder (its path), which
/// is `private`.
pub(crate) fn provide(packages: &[&str], private: &Path) -> Result<Option<PathBuf>> {
    let plan = plan(packages)?;
    if plan.install.is_empty() {
        return Ok(None);
    }
    match privileged() {
        Some(prefix) if plan.remove.is_empty() => {
            let mut command = prefixed(prefix, "apt-get");
            command
                .args(["install", "-y", "--no-install-recommends"])
                .args(packages)
                .env("DEBIAN_FRONTEND", "noninteractive");
            run(&mut command)?;
            Ok(None)
        }
        privilege => {
            let why = match privilege {
                Some(_) => format!("installing would remove {}", plan.remove.join(", ")),
                None => "no right to install".to_owned(),
            };
            println!("    {why}: unpacking into {}", private.display());
            unpack(&plan.install, private, &[])?;
            Ok(Some(private.to_path_buf()))
        }
    }
}

/// Downloads `packages`, installed or not, and what else this machine lacks to run them, and unpacks
/// all of it into `private`.
pub(crate) fn unpack_with_dependencies(packages: &[&str], private: &Path) -> Result<()> {
    let mut all = plan(packages)?.install;
    all.extend(packages.iter().map(|package| package.to_string()));
    all.sort();
    all.dedup();
    unpack(&all, private, &[])
}

/// Downloads `package` as it is in another Debian release and unpacks it, and nothing else, into `private`.
pub(crate) fn unpack_from_suite(suite: &str, package: &str, private: &Path) -> Result<()> {
    if on_path("apt-get").is_none() {
        return Err(Failure::new("this machine has no apt-get"));
    }
    let lists = private.with_extension(format!("lists-{}", process::id()));
    let unpacked = sources::options_for(suite, &lists, is_root())
        .and_then(|options| unpack(&[package.to_owned()], private, &options));
    let _ = fs::remove_dir_all(&lists);
    unpacked
}

/// Downloads and unpacks exactly these. The folder appears only when it is complete.
fn unpack(packages: &[String], private: &Path, options: &[OsString]) -> Result<()> {
    let partial = private.with_extension(format!("partial-{}", process::id()));
    let downloads = partial.join("downloads");
    fs::create_dir_all(&downloads).context(downloads.display())?;
    let mut download = Command::new("apt-get");
    if is_root() {
        // Otherwise apt wants to drop to a user that may not write to the folder.
        download.args(["-o", "APT::Sandbox::User=root"]);
    }
    download
        .args(options)
        .args(["-q", "download"])
        .args(packages)
        .current_dir(&downloads);
    let unpacked = stdout(&mut download).and_then(|_| {
        for entry in fs::read_dir(&downloads).context(downloads.display())? {
            let package = entry.context(downloads.display())?.path();
            run(Command::new("dpkg").arg("-x").arg(package).arg(&partial))?;
        }
        fs::remove_dir_all(&downloads).context(downloads.display())
    });
    // Whoever was faster has put the same thing there: then ours is not needed.
    if unpacked.is_ok() && fs::rename(&partial, private).is_ok() {
        return Ok(());
    }
    let _ = fs::remove_dir_all(&partial);
    unpacked?;
    if private.is_dir() {
        Ok(())
    } else {
        Err(Failure::new(format!("cannot create {}", private.display())))
    }
}

/// What `apt-get install` would do.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    install: Vec<String>,
    remove: Vec<String>,
}

fn plan(packages: &[&str]) -> Result<Plan> {
    if on_path("apt-get").is_none() {
        return Err(Failure::new("this machine has no apt-get"));
    }
    let simulate = || {
        let mut command = Command::new("apt-get");
        command
            .args(["install", "-s", "--no-install-recommends"])
            .args(packages)
            .env("LC_ALL", "C");
        stdout(&mut command)
    };
    let simulated = match simulate() {
        Ok(simulated) => simulated,
        // The package lists are missing or old. Fetching them takes a while, hence only now.
        Err(unknown) => match privileged() {
            Some(prefix) => {
                run(prefixed(prefix, "apt-get").args(["-q", "update"]))?;
                simulate()?
            }
            None => return Err(unknown),
        },
    };
    Ok(parse_plan(&simulated))
}

fn parse_plan(simulated: &str) -> Plan {
    let mut plan = Plan::default();
    for line in simulated.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("Inst"), Some(package)) => plan.install.push(package.to_owned()),
            (Some("Remv"), Some(package)) => plan.remove.push(package.to_owned()),
            _ => {}
        }
    }
    plan
}

/// What to put before a command that changes the system, if this user may change it at all.
fn privileged() -> Option<&'static [&'static str]> {
    if is_root() {
        Some(&[])
    } else if on_path("sudo").is_some() && succeeds(Command::new("sudo").args(["-n", "true"])) {
        Some(&["sudo", "-n"])
    } else {
        None
    }
}

fn is_root() -> bool {
    stdout(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn prefixed(prefix: &[&str], program: &str) -> Command {
    let mut words = prefix.iter().copied().chain([program]);
    let mut command = Command::new(words.next().unwrap_or(program));
    command.args(words);
    command
}

/// The variable that makes programs below `private` find the libraries below it.
pub(crate) fn library_path(private: &Path) -> Result<(&'static str, OsString)> {
    let triplet = format!("{}-linux-gnu", env::consts::ARCH);
    let own = ["usr/lib", "lib"].map(|lib| private.join(lib).join(&triplet));
    let inherited = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let all = own
        .into_iter()
        .chain(env::split_paths(&inherited).filter(|folder| !folder.as_os_str().is_empty()));
    Ok((
        "LD_LIBRARY_PATH",
        env::join_paths(all).context("LD_LIBRARY_PATH")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_tells_installs_from_removals() {
        let simulated = "Reading package lists...\n\
             Remv qemu-utils [1:10.0]\n\
             Inst libfdt1 (1.6.1 Debian:12 [amd64])\n\
             Inst qemu-system-arm (1:7.2 Debian:12 [amd64])\n\
             Conf libfdt1 (1.6.1 Debian:12 [amd64])\n";
        let plan = parse_plan(simulated);
        assert_eq!(plan.install, ["libfdt1", "qemu-system-arm"]);
        assert_eq!(plan.remove, ["qemu-utils"]);
    }
}
