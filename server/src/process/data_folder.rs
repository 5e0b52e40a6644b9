//! The folder of all that is kept, held by one process.
//!
//! ```text
//!   folder/lock               held by the process whose number is in it
//!   folder/admin.token        what makes one the admin
//!   folder/admin.kubeconfig   the same for kubectl, written at each start
//!   folder/tls/ca.crt, ca.key the authority
//!   folder/objects/           the embedded store
//! ```

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::RunError;
use crate::files;

/// A folder that no other server has. Dropping it lets it go.
#[derive(Debug)]
pub(super) struct DataFolder {
    path: PathBuf,
    /// Locked as long as it is open; the system unlocks it if the process dies.
    _lock: File,
}

impl DataFolder {
    /// Takes the folder, and makes it if there is none.
    pub(super) fn take(path: &Path) -> Result<Self, RunError> {
        let failed = |error: io::Error| {
            let hint = "choose another folder with --data-dir";
            RunError::of(
                format_args!("cannot use the data folder {}", path.display()),
                format_args!("{error}; {hint}"),
            )
        };
        files::private_folder(path).map_err(failed)?;
        // A kubeconfig is used from other places.
        let path = std::path::absolute(path).map_err(failed)?;
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path.join("lock"))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(&path, &mut lock)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        lock.set_len(0)
            .and_then(|()| lock.rewind())
            .and_then(|()| write!(lock, "{}", std::process::id()))
            .map_err(failed)?;
        Ok(Self { path, _lock: lock })
    }

    /// Where it is, from the root.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn held(path: &Path, lock: &mut File) -> RunError {
    let mut holder = String::new();
    let by = match lock.take(20).read_to_string(&mut holder) {
        Ok(_) if holder.parse::<u32>().is_ok() => format!("process {holder}"),
        _ => "another process".to_owned(),
    };
    RunError(format!(
        "the data folder {} is in use by {by}; stop that server, or choose another folder with --data-dir",
        path.display()
    ))
}
