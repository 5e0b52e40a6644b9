//! The life of definitions of kinds: names, conditions, what is served, and what happens when one is deleted.
//!
//! Every server follows the definitions. What it serves follows from what it has seen; what is to be written (the
//! status, one [step](crate::definitions) at a time, and the deletion of instances) is written by whoever comes first. Nothing is
//! remembered outside storage and every step may be done twice, so any server can die at any moment and any number can
//! work at once.

mod book;
mod sweep;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ringwatch_core::revision::{Revision, StartFrom};
use ringwatch_core::transition::EventKind;
use serde_json::Value;
use tokio::sync::watch::Sender;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::book::Book;
use super::agenda::Agenda;
use super::replace::Step;
use super::update::{self, Next, Part};
use super::{Address, Objects, meta};
use crate::backoff::Backoff;
use crate::cache::{WatchEnd, WatchEvent, WatchRequest, WatchStart, everything};
use crate::definitions::{self, Definition};
use crate::reader::{Reader, Watch};
use crate::resources::{Catalog, Resource};
use crate::status::Failure;

/// What the definitions are followed with.
pub struct Follower<S> {
    /// Where they and their instances are written.
    pub objects: Objects,
    /// Where they are read.
    pub reader: Reader,
    /// What the program serves by itself; its names are taken.
    pub builtin: Catalog,
    /// Called with all custom kinds when they have changed: from then on they are served, and no others.
    pub serve: S,
    /// Told the revision of the last definition that is served as it says; zero before the first.
    pub served: Sender<Option<Revision>>,
}

/// How many events are taken before something is done: a change of what is served costs the same for one and for many.
const BATCH: usize = 256;

impl<S: Fn(Vec<Arc<Resource>>) + Send> Follower<S> {
    /// Follows the definitions until the reader is shut down.
    pub async fn run(self) {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
        loop {
            let request = WatchRequest {
                predicate: everything(),
                start: WatchStart::State(StartFrom::Newest),
                // One of them says that all definitions there are have come.
                bookmarks: true,
                timeout: None,
            };
            match self.reader.watch(request).await {
                Ok(watch) => match self.follow(watch).await {
                    WatchEnd::ShuttingDown => return,
                    end => tracing::debug!(?end, "the watch of definitions begins anew"),
                },
                Err(error) => tracing::warn!(%error, "definitions cannot be watched"),
            }
            tokio::time::sleep(backoff.delay()).await;
        }
    }

    async fn follow(&self, mut watch: Watch) -> WatchEnd {
        let mut book = Book::default();
        let mut agenda = Agenda::default();
        let mut complete = false;
        // Whether what is to be served is not served yet.
        let mut changed = true;
        // Instances may be many, and nobody's kind is to wait for them.
        let mut sweeps = Sweeps::default();
        loop {
            let due = agenda.due();
            let wait = async {
                match due {
                    // A timer would round it up to a millisecond.
                    Some(due) if due <= Instant::now() => {}
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let first = tokio::select! {
                event = watch.next() => match event {
                    Ok(event) => event,
                    Err(end) => return end,
                },
                () = wait => {
                    self.visit(&book, &mut agenda, &mut sweeps).await;
                    continue;
                }
                Some((name, done)) = sweeps.next() => {
                    note_done(&mut agenda, &name, done);
                    continue;
                }
            };
            changed |= note(&mut book, &mut agenda, &first);
            complete |= ends_initial(&first);
            for _ in 0..BATCH {
                match watch.try_next() {
                    Some(Ok(event)) => {
                        changed |= note(&mut book, &mut agenda, &event);
                        complete |= ends_initial(&event);
                    }
                    Some(Err(end)) => return end,
                    None => break,
                }
            }
            // Before all are known, what is served would lose the others.
            if complete {
                if std::mem::take(&mut changed) {
                    (self.serve)(book.rows());
                }
                self.served.send_replace(Some(book.revision()));
                for name in book.due(&self.builtin) {
                    agenda.add(&name, Instant::now());
                }
            }
        }
    }

    /// Does what is next for one definition.
    async fn visit(&self, book: &Book, agenda: &mut Agenda, sweeps: &mut Sweeps) {
        let Some(name) = agenda.next(Instant::now()).map(str::to_owned) else {
            return;
        };
        let done = match book.find(&name) {
            None => Ok(true),
            Some(definition) if definition.is_held => {
                sweeps.begin(self.hand(), definition);
                return;
            }
            Some(_) => self.advance(book, &name).await.map(|()| true),
        };
        note_done(agenda, &name, done);
    }

    fn hand(&self) -> Hand {
        let [group, version, plural] = definitions::RESOURCE;
        Hand {
            objects: self.objects.clone(),
            resource: self.builtin.find(group, version, plural).cloned(),
        }
    }

    /// Writes what a definition's status says next.
    async fn advance(&self, book: &Book, name: &str) -> Result<(), Failure> {
        let now = meta::moment(self.objects.environment.now());
        let step = |old: &Value| {
            let definition = book.find(name)?;
            // Another state than the one that was seen: its own event is on the way.
            let seen = definition.revision.to_string();
            if meta::text(old, "resourceVersion") != seen {
                return None;
            }
            let taken = book.taken(definition, &self.builtin);
            definitions::next(old, definition, &taken, &now)
        };
        self.hand().change(name, step).await
    }
}

/// Who writes definitions.
#[derive(Clone)]
struct Hand {
    objects: Objects,
    /// The resource of definitions themselves.
    resource: Option<Arc<Resource>>,
}

impl Hand {
    /// Changes the status of a definition, or its metadata, or nothing.
    async fn change(
        &self,
        name: &str,
        step: impl Fn(&Value) -> Option<Value>,
    ) -> Result<(), Failure> {
        let Some(resource) = &self.resource else {
            return Ok(());
        };
        let at = Address::new(resource, None, name);
        let step = |old: Option<&Value>| {
            let old = old.ok_or_else(|| at.not_found())?;
            match step(old) {
                None => Ok((Step::Update(Next::Keep), Vec::new())),
                Some(new) => {
                    let (next, warnings) = update::decide(resource, Part::Status, new, old, None)?;
                    Ok((Step::Update(next), warnings))
                }
            }
        };
        match self.objects.change_existing(at, false, step).await {
            Err(failure) if failure.code != 404 => Err(failure),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// Instances that are being deleted, by the name of their definition. At most as many as there are definitions.
#[derive(Default)]
struct Sweeps {
    tasks: JoinSet<(String, Result<bool, Failure>)>,
    running: BTreeSet<String>,
}

impl Sweeps {
    fn begin(&mut self, hand: Hand, definition: &Arc<Definition>) {
        let name = definition.name.clone();
        if self.running.insert(name.clone()) {
            let definition = definition.clone();
            self.tasks
                .spawn(async move { (name, hand.empty(&definition).await) });
        }
    }

    /// The next one that has ended, if any is under way. Cancelling the wait loses nothing.
    async fn next(&mut self) -> Option<(String, Result<bool, Failure>)> {
        let (name, done) = self.tasks.join_next().await?.ok()?;
        self.running.remove(&name);
        Some((name, done))
    }
}

fn note_done(agenda: &mut Agenda, name: &str, done: Result<bool, Failure>) {
    match done {
        Ok(true) => agenda.done(name),
        Ok(false) => {}
        Err(failure) => {
            tracing::warn!(definition = %name, %failure, "a definition is not done yet");
        }
    }
}

fn ends_initial(event: &WatchEvent) -> bool {
    matches!(
        event,
        WatchEvent::Bookmark {
            initial_events_end: true,
            ..
        }
    )
}

/// Notes what an event says. Whether what is served may have changed.
fn note(book: &mut Book, agenda: &mut Agenda, event: &WatchEvent) -> bool {
    let WatchEvent::Object { kind, object, .. } = event else {
        return false;
    };
    if *kind == EventKind::Deleted {
        agenda.done(object.key());
        return book.remove(object.key());
    }
    let changes = match book.put(object) {
        Ok(changes) => changes,
        Err(unreadable) => {
            tracing::error!(%unreadable, "a stored definition cannot be served");
            return book.remove(object.key());
        }
    };
    if book.find(object.key()).is_some_and(|found| found.is_held) {
        agenda.add(object.key(), Instant::now());
    }
    changes
}
