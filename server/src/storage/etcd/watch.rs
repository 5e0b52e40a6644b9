//! A watch that outlives its connections.
//!
//! ```text
//!            ┌──────────── failed: wait, longer each time ◄──┐
//!            ▼                                               │
//!        connecting ──► running ─────────────────────────────┘
//!            │              │
//!            └──► over ◄────┘   compacted, refused, put back, or nobody reads any more
//! ```
//!
//! Each connection starts at the first revision that was not handed out whole, so that the reader sees neither a gap nor
//! a repetition. If the store has gone back behind what it had told before, as after the restoration of a backup, nothing can be
//! continued: the watch ends as if its revision were compacted, and the reader lists anew.
//!
//! When the reader wants progress, a member whose [version](super::version) can be believed is asked. Any other is
//! not: there, the newest revision is read beside the watch, and progress is reported when the watch has come that far by its
//! events or by a notification that etcd sends on its own (every ten minutes unless set otherwise).

use std::time::Duration;

use ringwatch_core::revision::Revision;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::assemble::{Assembler, Unusable};
use super::client::{Client, FIRST_PAUSE, LONGEST_PAUSE, Message, Read, Stream};
use super::failure::Failure;
use super::keys::Range;
use crate::backoff::Backoff;
use crate::storage::{ChangeSender, StorageError, WatchItem};

/// How long to wait for an answer to a progress request before asking again: etcd stays silent while the
/// watch is behind.
const ASK_AGAIN: Duration = Duration::from_millis(200);
/// How often in a row to log in anew before a denied permission is taken at its word.
const LOGINS: u32 = 2;

/// Serves `sender` until its reader is gone or the watch cannot go on.
pub(super) async fn run(client: Client, range: Range, from: Assembler, sender: ChangeSender) {
    let mut watch = Watch {
        client,
        range,
        assembler: from,
        sender,
        known: Revision::ZERO,
        wanted: false,
        away: false,
    };
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    let mut logins = 0;
    loop {
        let failure = match watch.connection(&mut backoff, &mut logins).await {
            Ok(Over) => return,
            Err(failure) => failure,
        };
        watch.assembler.disconnected();
        watch.note(&failure);
        match failure {
            Failure::NotSent(_) | Failure::Unknown(_) | Failure::LeaseNotFound => {}
            // Each connection logs in anew.
            Failure::Login(_) if logins < LOGINS => logins += 1,
            failure => {
                watch.sender.send(Err(StorageError::from(failure))).await;
                return;
            }
        }
        let pause = backoff.delay();
        if !watch.unless_gone(sleep(pause)).await {
            return;
        }
    }
}

/// Nobody reads any more.
struct Over;

struct Watch {
    client: Client,
    range: Range,
    assembler: Assembler,
    sender: ChangeSender,
    /// The store is known to have come this far.
    known: Revision,
    /// The reader asked for progress and has not got any since.
    wanted: bool,
    /// The last connection failed, and there is no other yet.
    away: bool,
}

/// How progress can be had on the present connection.
#[derive(Default)]
struct Progress {
    /// The member at the other end; `None` until it says so.
    member: Option<u64>,
    /// Whether its answers can be believed; `None` while its version is being found out.
    believed: Option<bool>,
    versions: JoinSet<Option<bool>>,
    reads: JoinSet<Option<Revision>>,
    /// A look at the newest revision, since this member seems to be behind.
    doubts: JoinSet<Option<Revision>>,
    /// When the watch has come to this revision, it is as far as it was asked to be.
    goal: Option<Revision>,
}

impl Watch {
    /// One connection, from its beginning to its end.
    async fn connection(
        &mut self,
        backoff: &mut Backoff,
        logins: &mut u32,
    ) -> Result<Over, Failure> {
        let start = self.assembler.position().get().saturating_add(1);
        let start = i64::try_from(start).map_err(|_| Failure::Future)?;
        let (client, range) = (self.client.clone(), self.range.clone());
        let mut opened = None;
        let opening = async { opened = Some(client.watch(&range, start).await) };
        if !self.unless_gone(opening).await {
            return Ok(Over);
        }
        let Some(stream) = opened else {
            return Ok(Over);
        };
        let mut stream = stream?;
        let mut progress = Progress::default();
        let mut again = interval(ASK_AGAIN);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                message = stream.next() => match message? {
                    Message::Created { member, newest } => {
                        backoff.reset();
                        *logins = 0;
                        if std::mem::take(&mut self.away) {
                            tracing::info!(prefix = %self.prefix(), revision = start, "watch on etcd goes on");
                        }
                        progress.member = Some(member);
                        if newest < self.known {
                            progress.doubts.spawn(self.newest());
                        }
                        self.known = self.known.max(newest);
                        if let Err(failure) = self.check_history().await {
                            // The watch's own end, if there is one, says where history begins.
                            let own = timeout(ASK_AGAIN, stream.next()).await;
                            return Err(match own {
                                Ok(Err(own @ Failure::Compacted(Some(_)))) => own,
                                _ => failure,
                            });
                        }
                        self.ask(&mut stream, &mut progress).await?;
                    }
                    Message::Events(batch) => {
                        let items = self.assembler.events(batch).map_err(|unusable| match unusable {
                            Unusable::NoPrevious => Failure::Compacted(None),
                            Unusable::Disorder => Failure::Unknown("revisions in disorder".to_owned()),
                        })?;
                        self.known = self.known.max(self.assembler.position());
                        if !self.sender.send_all(items).await {
                            return Ok(Over);
                        }
                        if !self.reach_goal(&mut progress).await {
                            return Ok(Over);
                        }
                    }
                    Message::Progress(revision) => {
                        self.known = self.known.max(revision);
                        if let Some(item) = self.assembler.progress(revision)
                            && !self.report(item, &mut progress).await
                        {
                            return Ok(Over);
                        }
                    }
                },
                // A member may be late, but a store that forgot what it had told was put back to an older state.
                Some(newest) = progress.doubts.join_next() => match newest.ok().flatten() {
                    Some(newest) if newest < self.known => return Err(Failure::Compacted(None)),
                    Some(_) => {}
                    None => return Err(Failure::Unknown("no quorum".to_owned())),
                },
                asked = self.sender.asked() => {
                    if !asked {
                        return Ok(Over);
                    }
                    self.wanted = true;
                    again.reset();
                    self.ask(&mut stream, &mut progress).await?;
                }
                _ = again.tick(), if self.wanted => {
                    self.ask(&mut stream, &mut progress).await?;
                }
                Some(believed) = progress.versions.join_next() => {
                    progress.believed = believed.ok().flatten();
                    self.ask(&mut stream, &mut progress).await?;
                }
                Some(newest) = progress.reads.join_next() => {
                    progress.goal = newest.ok().flatten();
                    if !self.reach_goal(&mut progress).await {
                        return Ok(Over);
                    }
                }
            }
        }
    }

    /// Logs a failure, once until there is a connection again.
    fn note(&mut self, failure: &Failure) {
        if !std::mem::replace(&mut self.away, true) {
            let error = StorageError::from(failure.clone());
            tracing::warn!(prefix = %self.prefix(), %error, "watch on etcd lost its connection");
        }
    }

    /// What is watched, for the log.
    fn prefix(&self) -> impl std::fmt::Display + '_ {
        self.range.start.escape_ascii()
    }

    /// Whether the store still knows the state that the watch goes on from.
    ///
    /// etcd lets a watch begin at the very revision it was compacted to, although it has then forgotten the deletions of that
    /// revision. They would be missing without a word.
    async fn check_history(&self) -> Result<(), Failure> {
        let Ok(at @ 1..) = i64::try_from(self.assembler.position().get()) else {
            return Ok(());
        };
        let read = Read {
            at,
            ..Read::key(self.range.start.clone())
        };
        match self.client.read(&read).await {
            Ok(_) | Err(Failure::Future) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Does what can be done now towards progress, if it is wanted.
    async fn ask(&mut self, stream: &mut Stream, progress: &mut Progress) -> Result<(), Failure> {
        let Some(member) = progress.member.filter(|_| self.wanted) else {
            return Ok(());
        };
        match progress.believed {
            Some(true) => stream.request_progress().await?,
            Some(false) if progress.goal.is_none() && progress.reads.is_empty() => {
                progress.reads.spawn(self.newest());
            }
            None if progress.versions.is_empty() => {
                let members = self.client.members();
                progress.versions.spawn(is_believed(member, members));
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the newest revision, beside the watch.
    fn newest(&self) -> impl Future<Output = Option<Revision>> + use<> {
        let (client, range) = (self.client.clone(), self.range.clone());
        async move { client.revision(&range).await.ok() }
    }

    /// Reports progress if the watch has come as far as it was asked to. `false`: nobody reads.
    async fn reach_goal(&mut self, progress: &mut Progress) -> bool {
        let position = self.assembler.position();
        match progress.goal {
            Some(goal) if goal <= position => {
                self.report(WatchItem::Progress(position), progress).await
            }
            _ => true,
        }
    }

    async fn report(&mut self, item: WatchItem, progress: &mut Progress) -> bool {
        self.wanted = false;
        progress.goal = None;
        self.sender.send(Ok(item)).await
    }

    /// Waits for `future`, but not longer than someone reads: then `false`.
    async fn unless_gone(&mut self, future: impl Future<Output = ()>) -> bool {
        tokio::pin!(future);
        loop {
            tokio::select! {
                () = &mut future => return true,
                asked = self.sender.asked() => match asked {
                    true => self.wanted = true,
                    false => return false,
                },
            }
        }
    }
}

/// Whether `member` answers progress requests truthfully; `None` if that cannot be found out.
async fn is_believed(
    member: u64,
    mut members: JoinSet<Option<(u64, super::version::Version)>>,
) -> Option<bool> {
    while let Some(answer) = members.join_next().await {
        if let Ok(Some((id, version))) = answer
            && id == member
        {
            return Some(version.answers_progress_safely());
        }
    }
    None
}
