//! A Kubernetes API as upstream: list and watch, one connection for each track.
//!
//! ```text
//!             ┌──────────── 410 ────────────┐
//!             ▼                             │
//!   list (WatchList, or pages) ──► watch from the revision ──► cut, timeout ──► watch again
//! ```
//!
//! A list is compared with what there is, and becomes a difference for those who read. After a cut the watch goes on from the
//! revision that is known, so a relay that comes back asks for no list. Before it, upstream is asked now and then what the kind is called and how it is
//! shown in tables. Token and certificates, those of the authority too, are read again for every
//! connection.

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
use crate::definition::Definition;
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
/// The largest definition of a kind that is read.
const LONGEST_DEFINITION: usize = 4 << 20;
/// How long what is known of a kind is good.
const DEFINED: Duration = Duration::from_secs(600);
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
    /// When upstream was last asked about the kind.
    defined: Option<Instant>,
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
        defined: None,
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
        let base = self.base(&client).await?;
        self.define(&client, &base).await;
        let path = self.path(&base);
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

    /// The plural and the group of the resource.
    fn name(&self) -> (&str, &str) {
        let resource = self.watch.resource.as_str();
        resource.split_once('.').unwrap_or((resource, ""))
    }

    /// The path of the resource's group and version.
    async fn base(&self, client: &Client) -> Result<String, Over> {
        Ok(match (self.name().1, &self.watch.version) {
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
        })
    }

    /// The path of the resource.
    fn path(&self, base: &str) -> String {
        let (plural, _) = self.name();
        match &self.watch.namespace {
            Some(namespace) => format!("{base}/namespaces/{namespace}/{plural}"),
            None => format!("{base}/{plural}"),
        }
    }

    /// Learns what the kind is called and how it is shown, now and then. It is not needed for anything else: if upstream does not say, what was
    /// known stays.
    async fn define(&mut self, client: &Client, base: &str) {
        let now = self.hub.clock.now();
        let recently = |defined| now.since(defined) < DEFINED;
        if self.defined.is_some_and(recently) {
            return;
        }
        self.defined = Some(now);
        let Ok(definition) = self.definition(client, base).await else {
            return;
        };
        let mut definitions = self.hub.definitions.borrow_mut();
        let place = definitions.get_mut(self.track);
        if let Some(place) = place.filter(|place| **place != definition && definition.is_some()) {
            *place = definition;
            self.hub.changed.notify_waiters();
        }
    }

    async fn definition(&self, client: &Client, base: &str) -> Result<Option<Definition>, Over> {
        let (plural, group) = self.name();
        let answer = client.get(base, PATIENCE).await?;
        let body = accepted(answer)?
            .whole(LONGEST_DEFINITION, PATIENCE)
            .await?;
        let version = base.rsplit('/').next().unwrap_or_default();
        let Some(mut definition) = Definition::from_discovery(version, plural, &body) else {
            return Ok(None);
        };
        if !group.is_empty() {
            let path =
                format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{group}");
            let answer = client.get(&path, PATIENCE).await?;
            // Not a kind of somebody's own, or not for this relay to read.
            if answer.status == 200 {
                let body = answer.body.whole(LONGEST_DEFINITION, PATIENCE).await?;
                let left_out = definition.read_definition(&body);
                if !left_out.is_empty() {
                    let resource = &self.watch.resource;
                    tracing::warn!(
                        resource,
                        ?left_out,
                        "columns are left out whose paths are not understood"
                    );
                }
            }
        }
        Ok(Some(definition))
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
