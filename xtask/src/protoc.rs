//! The compiler of protocol definitions, which building the etcd client needs.
//!
//! One on `PATH`, or named by `PROTOC`, is used. Otherwise cargo is told of the one that came with a
//! dependency of this program, so that nothing has to be installed.

use std::{env, process::Command};

use crate::places::on_path;

const VARIABLE: &str = "PROTOC";

/// Makes sure that `cargo` finds the compiler.
pub(crate) fn provide(cargo: &mut Command) {
    if env::var_os(VARIABLE).is_some() || on_path("protoc").is_some() {
        return;
    }
    // Where there is none for this kind of machine, the build says what is missing.
    if let Ok(program) = protoc_bin_vendored::protoc_bin_path() {
        cargo.env(VARIABLE, program);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::stdout;

    #[test]
    fn a_build_has_a_compiler() {
        let mut cargo = Command::new("cargo");
        provide(&mut cargo);
        let given = cargo
            .get_envs()
            .find(|(name, _)| *name == VARIABLE)
            .and_then(|(_, program)| program.map(ToOwned::to_owned));
        let program = given
            .or_else(|| env::var_os(VARIABLE))
            .unwrap_or_else(|| "protoc".into());
        let version = stdout(Command::new(program).arg("--version")).unwrap();
        assert!(version.starts_with("libprotoc"), "{version}");
    }
}
