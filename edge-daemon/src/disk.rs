//! The state folder: an image of each track, appended to and now and then written anew.
//!
//! | file | |
//! |---|---|
//! | `RESOURCE[@NAMESPACE].image` | [records](crate::engine::image) of one track |
//! | `….new` | an image that is being written; renamed when it is whole |
//! | `….damaged` | what could not be read, set aside |
//! | `RESOURCE[@NAMESPACE].kind` | what upstream said of the kind: JSON |
//! | `nodes` | how far each node had come |
//! | `restarts` | the last restart of each node, and whether it was passed on |
//!
//! Changes wait for each other and are written together, at most once in a while, by a thread of their own: a disk that is slow delays
//! nobody. What is on disk is therefore some moments old, which costs nothing: upstream sends it again. A disk that is full or broken is
//! reported and tried again, while the relay goes on from memory. A file grows to twice what an image takes and is then replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use ringwatch_core::link::frame::Restart;
use ringwatch_core::predicate::Scope;

use crate::engine::image::{self, End, Written};
use crate::hub::{Hub, Relay, Track};
use crate::metrics::add;

/// What a file may grow by before it is replaced, however small its image is.
const SLACK: u64 = 256 * 1024;

/// One track's file.
struct Image {
    file: PathBuf,
    /// How far it is written; `None` if it is to be written anew.
    written: Option<Written>,
    /// How long the file is, and how long it was when it was new.
    len: u64,
    whole: u64,
}

/// The state folder.
pub struct Disk {
    folder: PathBuf,
    images: Vec<Image>,
    /// What was said of each kind, as it is written; nothing if it is not.
    kinds: Vec<Vec<u8>>,
    /// What the nodes' files hold.
    nodes: Vec<u8>,
    restarts: Vec<u8>,
}

/// What to do to a file.
enum Task {
    Append(PathBuf, Vec<u8>),
    Replace(PathBuf, Vec<u8>),
}

impl Task {
    fn len(&self) -> u64 {
        let (Self::Append(_, bytes) | Self::Replace(_, bytes)) = self;
        bytes.len() as u64
    }

    fn run(&self) -> io::Result<()> {
        match self {
            Self::Append(path, bytes) => {
                let mut file = OpenOptions::new().append(true).open(path)?;
                file.write_all(bytes)?;
                file.sync_data()
            }
            Self::Replace(path, bytes) => replace(path, bytes),
        }
    }
}

/// Writes a file beside, and puts it in place when it is safe on the disk.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    fs::rename(&new, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

impl Disk {
    /// Opens a folder, which is made if there is none, and restores the relay from it.
    pub fn open(folder: &Path, hub: &Hub) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut relay = hub.relay.borrow_mut();
        let images = relay.tracks_mut().iter_mut();
        let images: Vec<Image> = images.map(|track| Image::open(folder, track)).collect();
        let kinds = images
            .iter()
            .zip(hub.definitions.borrow_mut().iter_mut())
            .map(|(image, place)| {
                let bytes = fs::read(image.kind_file()).unwrap_or_default();
                // One that cannot be read is learned again.
                *place = serde_json::from_slice(&bytes).ok();
                bytes
            })
            .collect();
        let nodes = fs::read(folder.join("nodes")).unwrap_or_default();
        relay.nodes_mut().restore(&nodes);
        let restarts = fs::read(folder.join("restarts")).unwrap_or_default();
        restore_restarts(&mut relay, &restarts);
        Ok(Self {
            folder: folder.to_owned(),
            images,
            kinds,
            nodes,
            restarts,
        })
    }

    /// Writes what changes, until it is time to stop; then once more.
    pub async fn run(mut self, hub: Rc<Hub>, every: Duration) {
        loop {
            let changed = hub.changed.notified();
            let last = hub.is_stopping();
            self.flush(&hub).await;
            if last {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = hub.stopped() => continue,
            }
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = hub.stopped() => {}
            }
        }
    }

    async fn flush(&mut self, hub: &Hub) {
        for index in 0..self.images.len() {
            let Some(image) = self.images.get_mut(index) else {
                return;
            };
            let task = match hub.relay.borrow().tracks().get(index) {
                Some(track) => image.task(track),
                None => None,
            };
            let Some((task, written)) = task else {
                continue;
            };
            let len = task.len();
            let replaces = matches!(task, Task::Replace(..));
            match perform(task).await {
                Ok(()) => {
                    add(&hub.metrics.disk_bytes, len);
                    image.written = Some(written);
                    image.len = if replaces { len } else { image.len + len };
                    image.whole = if replaces { len } else { image.whole };
                }
                Err(error) => {
                    // Perhaps a part is there. It is read as far as it is whole, and replaced when there is room again.
                    image.written = None;
                    add(&hub.metrics.disk_errors, 1);
                    tracing::error!(file = %image.file.display(), %error, "cannot write state; going on without");
                }
            }
        }
        let (nodes, restarts) = {
            let relay = hub.relay.borrow();
            let mut nodes = vec![0; relay.nodes().capacity() * 24];
            let len = relay.nodes().save(&mut nodes);
            nodes.truncate(len);
            (nodes, save_restarts(&relay))
        };
        let kinds = hub
            .definitions
            .borrow()
            .iter()
            .map(|kind| match kind {
                Some(kind) => serde_json::to_vec(kind).unwrap_or_default(),
                None => Vec::new(),
            })
            .collect::<Vec<_>>();
        let files = [
            (self.folder.join("nodes"), nodes, &mut self.nodes),
            (self.folder.join("restarts"), restarts, &mut self.restarts),
        ];
        let kind_files = self.images.iter().map(Image::kind_file);
        let kinds = kind_files.zip(kinds).zip(&mut self.kinds);
        let kinds = kinds.map(|((file, bytes), written)| (file, bytes, written));
        // Of a kind of which nothing is known there is nothing to write.
        let kinds = kinds.filter(|(_, bytes, _)| !bytes.is_empty());
        for (file, bytes, written) in files.into_iter().chain(kinds) {
            if bytes == *written {
                continue;
            }
            let task = Task::Replace(file, bytes.clone());
            match perform(task).await {
                Ok(()) => {
                    add(&hub.metrics.disk_bytes, bytes.len() as u64);
                    *written = bytes;
                }
                Err(_) => add(&hub.metrics.disk_errors, 1),
            }
        }
    }
}

/// The last restarts as bytes: for each whether it was passed on, and what a frame would say.
fn save_restarts(relay: &Relay) -> Vec<u8> {
    let mut bytes = Vec::new();
    for reported in relay.restarts().iter() {
        let mut record = [0; 300];
        // There is room for any that a frame can bring.
        if let Ok(record) =
            postcard::to_slice(&(reported.is_told(), reported.restart()), &mut record)
        {
            bytes.extend_from_slice(record);
        }
    }
    bytes
}

/// Enters what [`save_restarts`] wrote, as far as it can be read.
fn restore_restarts(relay: &mut Relay, mut bytes: &[u8]) {
    while let Ok(((told, restart), rest)) = postcard::take_from_bytes::<(bool, Restart<'_>)>(bytes)
    {
        relay.restarts_mut().restore(&restart, told);
        bytes = rest;
    }
}

/// Does it where it may take its time.
async fn perform(task: Task) -> io::Result<()> {
    let done = tokio::task::spawn_blocking(move || task.run()).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
}

impl Image {
    fn open(folder: &Path, track: &mut Track) -> Self {
        let mut name = String::from(&*track.subject().resource);
        if let Scope::Namespace(namespace) = &track.subject().scope {
            name.push('@');
            name.push_str(namespace);
        }
        name.push_str(".image");
        let mut image = Self {
            file: folder.join(name),
            written: None,
            len: 0,
            whole: 0,
        };
        let bytes = match fs::read(&image.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return image,
            Err(error) => {
                tracing::error!(file = %image.file.display(), %error, "cannot read state");
                return image;
            }
        };
        match image::read(track, &bytes) {
            Ok(found) => {
                let (revision, objects) = (track.revision(), track.len());
                tracing::info!(file = %image.file.display(), %revision, objects, "state was restored");
                if found.end == End::Damaged {
                    image.set_aside(
                        &"a part of it is not as it was written; what is before that is used",
                    );
                } else if found.end == End::Clean {
                    image.written = Written::restored(track);
                    image.len = bytes.len() as u64;
                    image.whole = image.len;
                }
            }
            Err(error) => image.set_aside(&error),
        }
        image
    }

    /// The file beside it with what is known of the kind.
    fn kind_file(&self) -> PathBuf {
        self.file.with_extension("kind")
    }

    /// Keeps what is wrong for whoever wants to look at it.
    fn set_aside(&self, why: &dyn std::fmt::Display) {
        let aside = self.file.with_extension("damaged");
        let moved = fs::rename(&self.file, &aside);
        let aside = aside.display();
        match moved {
            Ok(()) => {
                tracing::error!(file = %self.file.display(), %aside, %why, "state is damaged and was set aside")
            }
            Err(error) => {
                tracing::error!(file = %self.file.display(), %error, %why, "state is damaged")
            }
        }
    }

    /// What is to be done so that the file has what the track has; nothing if it has.
    fn task(&self, track: &Track) -> Option<(Task, Written)> {
        let mut bytes = Vec::new();
        if let Some(mut written) = self.written.filter(|_| self.len <= self.whole * 2 + SLACK) {
            match image::append(track, &mut written, &mut bytes) {
                Ok(false) => return None,
                Ok(true) => return Some((Task::Append(self.file.clone(), bytes), written)),
                Err(_) => bytes.clear(),
            }
        }
        let Ok(written) = image::write(track, &mut bytes);
        Some((Task::Replace(self.file.clone(), bytes), written?))
    }
}
