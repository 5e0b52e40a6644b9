//! Files that are ours alone, and files that may change under us.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a file is looked at for a change. Cheap, and works on every file system, also for a symbolic link that is
/// turned to another folder, as mounted Secrets are.
const LOOK: Duration = Duration::from_secs(5);

/// Makes a folder that only its owner can enter, if there is none.
pub fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// Writes a file that only its owner can read; a reader finds the old content or the new, never a part.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = with_suffix(path, ".new");
    // Not a file that somebody else prepared for us, with their rights.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Notices that one of some files has changed.
#[derive(Debug)]
pub struct Changes {
    files: Vec<PathBuf>,
    seen: Vec<Option<Stamp>>,
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Changes {
    /// From how they are now on. Take it before reading them, so that a change in between is not missed.
    pub fn since_now(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let files: Vec<_> = files.into_iter().collect();
        let seen = stamps(&files);
        Self { files, seen }
    }

    /// Waits until one of them has changed. A file that is missing has not: it is about to be written anew.
    pub async fn next(&mut self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let now = stamps(&self.files);
            if now != self.seen && now.iter().all(Option::is_some) {
                self.seen = now;
                return;
            }
        }
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |file: &PathBuf| {
        let data = fs::metadata(file).ok()?;
        Some(Stamp {
            inode: data.ino(),
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
        })
    };
    files.iter().map(stamp).collect()
}
