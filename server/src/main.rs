//! `ringwatch-server`: wiring only.

use std::env;
use std::process::ExitCode;

use mimalloc::MiMalloc;
use ringwatch_server::config::Settings;
use ringwatch_server::process;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// 0: told to stop, and did. 1: cannot run. 2: wrong settings. 130, 143: told twice to stop.
fn main() -> ExitCode {
    let settings = match Settings::from_args(env::args_os()) {
        Ok(settings) => settings,
        Err(error) => return error.print().into(),
    };
    match process::run(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
