//! A Kubernetes API as upstream: list and watch, one connection for each track.
//!
//! ```text
//!             ┌──────────── 410 ────────────┐
//!             ▼                             │
//!   list (WatchList, or pages) ──► watch from the revision ──► cut, timeout ──► watch again
//! ```
//!
//! A list is compared with what there is, and becomes a difference for those who read. After a cut the watch goes on from the
//! revision that is known, so a relay that comes back asks for no list. Token and certificates, those of the authority too, are read again for every connection.

mod access;
mod client;
mod event;
mod kubeconfig;

pub use access::Access;

use std::rc::Rc;
use std::time::Duration;

use ringwatch_core::link::frame::Origin;
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;

use super::{backoff, wait};
use crate::config::Watch;
use crate::hub::Hub;
use crate::metrics::add;
use client::{Answer, Client, ClientError};
use event::{Line, Page};

/// Objects in one page of a list.
const PAGE: usize = 500;
/// The largest page or line that is taken: more than the largest object that an API server takes.
const LONGEST: usize = 16 << 20;
/// How long the other end may take to answer, or to go on with a list.
const PATIENCE: Duration = Duration::from_secs(30);
/// Lines of a watch that are taken before others run. Nodes get what has come at once in one go, which is cheaper for all.
const BURST: usize = 256;
/// How long a watch may be silent: bookmarks come more often.
const SILENCE: Duration = Duration::from_secs(180);

/// Why a connection to the API is over.
#[derive(Debug)]
enum Over {
    /// The API ended the watch in its own time.
    Ended,
    /// What was known is too old.
    Expired,
    /// The API is there but says no for now; not before that.
    Later(u16, Duration),
    /// Anything else.
    Failed(String),
}

impl From<ClientError> for Over {
    fn from(error: ClientError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// One track and where it comes from.
struct Follower {
    hub: Rc<Hub>,
    access: Rc<Access>,
    watch: Watch,
    track: usize,
    /// Whether the API can stream lists, as far as is known.
    streams: bool,
    /// Whether everything has to be listed.
    expired: bool,
    /// Since when the watch is there, if it is. The other tracks have their own, and wait on their own.
    online: Option<Instant>,
}

/// Follows a resource into a track, for ever.
pub async fn follow(hub: Rc<Hub>, access: Rc<Access>, watch: Watch, track: usize) {
    let mut follower = Follower {
        hub: hub.clone(),
        access,
        watch,
        track,
        streams: true,
        expired: false,
        online: None,
    };
    let mut waits = backoff();
    while !hub.is_stopping() {
        add(&hub.metrics.connects, 1);
        let over = tokio::select! {
            over = follower.run() => over,
            () = hub.stopped() => return,
        };
        if let Some(track) = hub.relay.borrow_mut().tracks_mut().get_mut(track) {
            track.interrupt();
        }
        if let Some(since) = follower.online.take() {
            hub.online.update(|online| online.saturating_sub(1));
            waits.worked_for(hub.clock.now().since(since));
        }
        let resource = &follower.watch.resource;
        let least = match over {
            Err(Over::Ended) | Ok(()) => {
                tracing::debug!(resource, "the watch has ended; another begins");
                Duration::ZERO
            }
            Err(Over::Expired) => {
                tracing::info!(resource, "what is known is too old; listing");
                follower.expired = true;
                Duration::ZERO
            }
            Err(Over::Later(status, after)) => {
                tracing::warn!(resource, status, ?after, "upstream asks to come back later");
                after
            }
            Err(Over::Failed(error)) => {
                tracing::info!(resource, error, "upstream is cut off");
                Duration::ZERO
            }
        };
        wait(&mut waits, least, &hub).await;
    }
}

impl Follower {
    async fn run(&mut self) -> Result<(), Over> {
        let client = Client::new(&self.access)?;
        let origin = self.origin(&client).await?;
        let path = self.path(&client).await?;
        let known = self.track(|track| track.origin().zip(Some(track.revision())));
        match known.flatten() {
            Some((before, revision)) if before == origin && !self.expired => {
                self.watch(&client, &path, origin, Some(revision)).await
            }
            _ if self.streams => self.watch(&client, &path, origin, None).await,
            _ => {
                let revision = self.list(&client, &path, origin).await?;
                self.watch(&client, &path, origin, Some(revision)).await
            }
        }
    }

    fn track<T>(&self, f: impl FnOnce(&mut crate::hub::Track) -> T) -> Option<T> {
        let mut relay = self.hub.relay.borrow_mut();
        relay.tracks_mut().get_mut(self.track).map(f)
    }

    /// Who counts the revisions: the cluster, whose identity is that of its namespace `kube-system`.
    async fn origin(&self, client: &Client) -> Result<Origin, Over> {
        let answer = client
            .get("/api/v1/namespaces/kube-system", PATIENCE)
            .await?;
        if matches!(answer.status, 403 | 404) {
            // Who may not read it has the API's address: good for as long as there is one way to it.
            return Ok(Origin::of_cluster(self.access.url()));
        }
        let body = accepted(answer)?.whole(LONGEST, PATIENCE).await?;
        let uid = event::text(&body, "metadata.uid");
        let uid = uid.ok_or_else(|| Over::Failed("kube-system has no uid".to_owned()))?;
        Ok(Origin::of_cluster(&uid))
    }

    /// The path of the resource.
    async fn path(&self, client: &Client) -> Result<String, Over> {
        let (plural, group) = match self.watch.resource.split_once('.') {
            Some((plural, group)) => (plural, group),
            None => (self.watch.resource.as_str(), ""),
        };
        let base = match (group, &self.watch.version) {
            ("", version) => format!("/api/{}", version.as_deref().unwrap_or("v1")),
            (group, Some(version)) => format!("/apis/{group}/{version}"),
            (group, None) => {
                let answer = client.get(&format!("/apis/{group}"), PATIENCE).await?;
                let body = accepted(answer)?.whole(LONGEST, PATIENCE).await?;
                let version = event::text(&body, "preferredVersion.groupVersion");
                let version =
                    version.ok_or_else(|| Over::Failed(format!("{group} has no version")))?;
                format!("/apis/{version}")
            }
        };
        Ok(match &self.watch.namespace {
            Some(namespace) => format!("{base}/namespaces/{namespace}/{plural}"),
            None => format!("{base}/{plural}"),
        })
    }

    fn query(&self, path: &str, pairs: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(pairs);
        for (name, text) in [
            ("labelSelector", &self.watch.labels),
            ("fieldSelector", &self.watch.fields),
        ] {
            if !text.is_empty() {
                query.append_pair(name, text);
            }
        }
        format!("{path}?{}", query.finish())
    }

    /// Lists by pages.
    async fn list(
        &mut self,
        client: &Client,
        path: &str,
        origin: Origin,
    ) -> Result<Revision, Over> {
        let mut from = String::new();
        self.track(|track| track.list_begin(origin));
        add(&self.hub.metrics.lists, 1);
        loop {
            let limit = PAGE.to_string();
            let query = match from.as_str() {
                "" => self.query(path, &[("limit", &limit)]),
                from => self.query(path, &[("limit", &limit), ("continue", from)]),
            };
            let answer = client.get(&query, PATIENCE).await?;
            let body = accepted(answer)?.whole(LONGEST, PATIENCE).await?;
            let page = Page::read(&body).ok_or_else(|| Over::Failed("not a list".to_owned()))?;
            self.track(|track| {
                for item in page.items() {
                    if track.list_item(&item).is_err() {
                        tracing::warn!("upstream listed something that is no object");
                    }
                }
            });
            match page.next() {
                Some(next) => from = next,
                None => {
                    let now = self.hub.clock.now();
                    let revision = page.revision;
                    self.track(|track| track.list_end(revision, now));
                    self.expired = false;
                    self.online();
                    self.hub.changed.notify_waiters();
                    return Ok(revision);
                }
            }
        }
    }

    fn online(&mut self) {
        if self.online.is_none() {
            self.online = Some(self.hub.clock.now());
            self.hub.online.update(|online| online.saturating_add(1));
            tracing::info!(resource = self.watch.resource, "upstream is there");
        }
    }

    /// Watches from a revision, or from a list that comes with the watch, until that is over.
    async fn watch(
        &mut self,
        client: &Client,
        path: &str,
        origin: Origin,
        from: Option<Revision>,
    ) -> Result<(), Over> {
        let revision = from.map(|from| from.to_string());
        let mut pairs = vec![
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", "540"),
        ];
        match &revision {
            Some(revision) => pairs.push(("resourceVersion", revision)),
            None => {
                pairs.push(("sendInitialEvents", "true"));
                pairs.push(("resourceVersionMatch", "NotOlderThan"));
                add(&self.hub.metrics.lists, 1);
            }
        }
        let answer = client.get(&self.query(path, &pairs), PATIENCE).await?;
        if from.is_none() && matches!(answer.status, 400 | 405 | 422) {
            tracing::info!("upstream does not stream lists; listing by pages");
            self.streams = false;
            return Err(Over::Ended);
        }
        let mut body = accepted(answer)?;
        let mut listing = from.is_none();
        if listing {
            self.track(|track| track.list_begin(origin));
        } else {
            self.online();
        }
        for taken in 1.. {
            if taken % BURST == 0 {
                tokio::task::yield_now().await;
            }
            let silence = if listing { PATIENCE } else { SILENCE };
            let line = match body.line(LONGEST, silence).await {
                Ok(Some(line)) => line,
                Ok(None) => return Err(Over::Ended),
                Err(error) if listing && error.is_timeout() => {
                    // An API that does not know the parameter sends no end of the list.
                    self.streams = false;
                    return Err(error.into());
                }
                Err(error) => return Err(error.into()),
            };
            add(&self.hub.metrics.bytes_up, line.len() as u64);
            let now = self.hub.clock.now();
            let failed = |why: &str| Over::Failed(why.to_owned());
            match Line::read(&line).ok_or_else(|| failed("not an event"))? {
                Line::Event(kind, json) if listing => {
                    if kind != ringwatch_core::transition::EventKind::Added {
                        return Err(failed("a change in the middle of a list"));
                    }
                    self.track(|track| track.list_item(json.as_bytes()));
                    continue;
                }
                Line::Event(kind, json) => {
                    let taken = self.track(|track| track.event(kind, json.as_bytes(), now));
                    if taken.is_some_and(|taken| taken.is_err()) {
                        return Err(failed("an event without an object"));
                    }
                }
                Line::Bookmark {
                    revision,
                    ends_list,
                } => {
                    if listing && ends_list {
                        self.track(|track| track.list_end(revision, now));
                        listing = false;
                        self.expired = false;
                        self.online();
                    } else if !listing {
                        self.track(|track| track.progress(revision, now));
                    }
                }
                Line::Error { code: 410 } => return Err(Over::Expired),
                Line::Error { code } => {
                    return Err(Over::Failed(format!("status {code} in the stream")));
                }
            }
            self.hub.changed.notify_waiters();
        }
        Ok(())
    }
}

/// The body of an answer, if it is one that was asked for.
fn accepted(answer: Answer) -> Result<client::Body, Over> {
    match answer.status {
        200 => Ok(answer.body),
        410 => Err(Over::Expired),
        status @ (429 | 500..=599) => Err(Over::Later(
            status,
            answer.retry_after.unwrap_or(Duration::from_secs(1)),
        )),
        status => Err(Over::Failed(format!("status {status}"))),
    }
}
