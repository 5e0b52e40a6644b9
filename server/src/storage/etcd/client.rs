//! The connection to etcd: the one file that knows the crate which speaks its protocol.
//!
//! Reads are repeated until their time is up. A write is repeated only if it certainly did not reach etcd, or if etcd
//! said that it was not done.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use etcd_client::proto::{PbKeyValue, PbTxnOpResponse};
use etcd_client::{
    Certificate, Compare, CompareOp, ConnectOptions, GetOptions, Identity, PutOptions, TlsOptions,
    Txn, TxnOp, WatchOptions,
};
use ringwatch_core::revision::Revision;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::Options;
use super::assemble::{Batch, Event, Stored};
use super::failure::Failure;
use super::keys::{Range, successor};
use super::version::Version;
use crate::backoff::Backoff;

/// etcd limits what it sends by its own settings; a second limit here could only stop a watch for good.
const LARGEST_MESSAGE: usize = i32::MAX as usize;
/// How often, and for how long, to probe a connection that has a request or watch on it. etcd drops
/// clients that probe more often than every five seconds.
const PROBE: (Duration, Duration) = (Duration::from_secs(8), Duration::from_secs(4));

/// Whether a request can be repeated without knowing what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Freely,
    IfNotDone,
}

/// A connection to all endpoints; clones share it. Watches have their own.
#[derive(Clone)]
pub(super) struct Client {
    etcd: etcd_client::Client,
    endpoints: Arc<[String]>,
    connect: ConnectOptions,
    limit: Duration,
}

/// What to read.
#[derive(Debug, Clone)]
pub(super) struct Read {
    pub(super) range: Range,
    /// 0 for all.
    pub(super) limit: i64,
    /// 0 for now.
    pub(super) at: i64,
}

impl Read {
    /// One key, now.
    pub(super) fn key(key: Vec<u8>) -> Self {
        Self {
            range: Range {
                end: successor(&key),
                start: key,
            },
            limit: 1,
            at: 0,
        }
    }
}

/// How long to wait at first before trying again, and at most.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(50);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Keys that were read.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) found: Vec<Stored>,
    /// How many keys are in the range.
    pub(super) count: u64,
    pub(super) revision: Revision,
}

/// What a transaction compares.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    ModRevision(i64),
    Version(i64),
}

/// One write of a transaction.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) key: Vec<u8>,
    pub(super) expected: Expected,
    /// `None` deletes.
    pub(super) value: Option<Bytes>,
    pub(super) lease: Lease,
}

/// What a written key lives under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lease {
    /// Nothing: it stays.
    None,
    /// The lease with this id.
    Id(i64),
    /// What it lives under already. The key must exist.
    Keep,
}

/// How a transaction ended.
#[derive(Debug)]
pub(super) enum Committed {
    Yes(Revision),
    /// The keys as they are, in the order of the operations.
    No(Vec<Option<Stored>>, Revision),
}

impl Client {
    pub(super) async fn connect(options: &Options) -> Result<Self, Failure> {
        let mut connect = ConnectOptions::new()
            .with_connect_timeout(options.connect_timeout)
            .with_keep_alive(PROBE.0, PROBE.1)
            .with_keep_alive_while_idle(false)
            .with_require_leader(true)
            .with_auto_token_refresh(true);
        if let Some(user) = &options.user {
            connect = connect.with_user(&user.name, &user.password);
        }
        if let Some(tls) = &options.tls {
            let mut config =
                TlsOptions::new().ca_certificate(Certificate::from_pem(&tls.authority));
            if let Some((certificate, key)) = &tls.identity {
                config = config.identity(Identity::from_pem(certificate, key));
            }
            connect = connect.with_tls(config);
        }
        let limit = options.request_timeout;
        let deadline = Instant::now() + limit;
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        let etcd = loop {
            let connecting =
                etcd_client::Client::connect(&options.endpoints[..], Some(connect.clone()));
            let failure = match timeout_at(deadline, connecting).await {
                Ok(Ok(etcd)) => break etcd,
                Ok(Err(error)) => failure(&error),
                Err(_) => return Err(no_answer(limit)),
            };
            if !matches!(failure, Failure::NotSent(_) | Failure::Unknown(_)) {
                return Err(failure);
            }
            pause(&mut backoff, deadline).await.ok_or(failure)?;
        };
        Ok(Self {
            etcd,
            endpoints: options.endpoints.clone().into(),
            connect,
            limit,
        })
    }

    pub(super) async fn read(&self, read: &Read) -> Result<Answer, Failure> {
        let options = GetOptions::new()
            .with_range(&read.range.end[..])
            .with_limit(read.limit)
            .with_revision(read.at);
        let mut answer = self
            .call(Repeat::Freely, |etcd| {
                let mut kv = etcd.kv_client().max_decoding_message_size(LARGEST_MESSAGE);
                let options = options.clone();
                async move { kv.get(&read.range.start[..], Some(options)).await }
            })
            .await?
            .0;
        Ok(Answer {
            revision: revision_of(answer.header.take()),
            count: u64::try_from(answer.count).unwrap_or_default(),
            found: answer.kvs.into_iter().map(stored).collect(),
        })
    }

    /// The newest revision. Nothing outside `range` is read, and hardly anything in it: a key that is nothing but the beginning
    /// of others rarely exists.
    pub(super) async fn revision(&self, range: &Range) -> Result<Revision, Failure> {
        let read = Read::key(range.start.clone());
        Ok(self.read(&read).await?.revision)
    }

    pub(super) async fn commit(&self, operations: &[Operation]) -> Result<Committed, Failure> {
        let compares: Vec<_> = operations.iter().map(compare).collect();
        let writes: Vec<_> = operations.iter().map(write).collect();
        let reads: Vec<_> = operations
            .iter()
            .map(|operation| TxnOp::get(&operation.key[..], None))
            .collect();
        let txn = Txn::new().when(compares).and_then(writes).or_else(reads);
        let mut answer = self
            .call(Repeat::IfNotDone, |etcd| {
                let mut kv = etcd.kv_client().max_decoding_message_size(LARGEST_MESSAGE);
                let txn = txn.clone();
                async move { kv.txn(txn).await }
            })
            .await?
            .0;
        let revision = revision_of(answer.header.take());
        if answer.succeeded {
            return Ok(Committed::Yes(revision));
        }
        let mut found: Vec<_> = answer
            .responses
            .into_iter()
            .map(|response| match response.response {
                Some(PbTxnOpResponse::ResponseRange(range)) => {
                    range.kvs.into_iter().next().map(stored)
                }
                _ => None,
            })
            .collect();
        found.resize(operations.len(), None);
        Ok(Committed::No(found, revision))
    }

    /// A new lease.
    pub(super) async fn grant(&self, seconds: i64) -> Result<i64, Failure> {
        // If the answer is lost, so is a lease; it ends by itself.
        self.call(Repeat::Freely, |etcd| {
            let mut lease = etcd.lease_client();
            async move { lease.grant(seconds, None).await }
        })
        .await
        .map(|granted| granted.id())
    }

    pub(super) async fn compact(&self, revision: i64) -> Result<(), Failure> {
        self.call(Repeat::Freely, |etcd| {
            let mut kv = etcd.kv_client();
            async move { kv.compact(revision, None).await }
        })
        .await
        .map(|_| ())
    }

    /// Opens a watch on `range` with everything from `start` on.
    ///
    /// On a connection of its own: what waits for a slow reader fills the receive window that all streams of a
    /// connection share, and a few such watches would stop every other request.
    pub(super) async fn watch(&self, range: &Range, start: i64) -> Result<Stream, Failure> {
        let options = WatchOptions::new()
            .with_range(&range.end[..])
            .with_start_revision(start)
            .with_prev_key()
            .with_progress_notify()
            .with_fragment();
        let opening = async {
            let endpoints = &self.endpoints[..];
            let connect = Some(self.connect.clone());
            let etcd = etcd_client::Client::connect(endpoints, connect).await?;
            let mut watch = etcd
                .watch_client()
                .max_decoding_message_size(LARGEST_MESSAGE);
            let stream = watch.watch(&range.start[..], Some(options)).await?;
            Ok(Stream {
                stream,
                _connection: etcd,
            })
        };
        match timeout_at(Instant::now() + self.limit, opening).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(failure(&error)),
            Err(_) => Err(no_answer(self.limit)),
        }
    }

    /// Logs in again, if there is a login.
    async fn log_in(&self) -> Result<(), Failure> {
        match timeout_at(Instant::now() + self.limit, self.etcd.refresh_token()).await {
            Ok(done) => done.map_err(|error| failure(&error)),
            Err(_) => Err(no_answer(self.limit)),
        }
    }

    /// The id and the version of each member that can be reached.
    pub(super) fn members(&self) -> JoinSet<Option<(u64, Version)>> {
        let mut asked = JoinSet::new();
        for endpoint in self.endpoints.iter() {
            let (endpoint, connect) = (endpoint.clone(), self.connect.clone());
            let deadline = Instant::now() + self.limit;
            // A connection of its own: a shared one would ask whichever member is at hand.
            asked.spawn(async move {
                let asking = async {
                    let client = etcd_client::Client::connect([endpoint], Some(connect)).await?;
                    client.maintenance_client().status().await
                };
                let status = timeout_at(deadline, asking).await.ok()?.ok()?;
                let member = status.header()?.member_id();
                Some((member, Version::parse(status.version())?))
            });
        }
        asked
    }

    async fn call<T, F>(
        &self,
        repeat: Repeat,
        request: impl Fn(&etcd_client::Client) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let deadline = Instant::now() + self.limit;
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        let mut logged_in = false;
        loop {
            let failure = match timeout_at(deadline, request(&self.etcd)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => failure(&error),
                Err(_) => return Err(no_answer(self.limit)),
            };
            match failure {
                Failure::Login(_) if !logged_in => {
                    logged_in = true;
                    self.log_in().await?;
                }
                Failure::NotSent(_) => {
                    pause(&mut backoff, deadline).await.ok_or(failure)?;
                }
                Failure::Unknown(_) if repeat == Repeat::Freely => {
                    pause(&mut backoff, deadline).await.ok_or(failure)?;
                }
                failure => return Err(failure),
            }
        }
    }
}

/// A watch as etcd serves it.
pub(super) struct Stream {
    stream: etcd_client::WatchStream,
    /// Kept as long as the stream, so that the connection goes on being probed.
    _connection: etcd_client::Client,
}

/// One message of a watch.
#[derive(Debug)]
pub(super) enum Message {
    /// The watch runs, served by this member, which knows of changes up to this revision.
    Created { member: u64, newest: Revision },
    /// Changes.
    Events(Batch),
    /// Everything up to here was sent.
    Progress(Revision),
}

impl Stream {
    /// The next message. No message is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Result<Message, Failure> {
        let response = match self.stream.message().await {
            Ok(Some(response)) => response.0,
            Ok(None) => return Err(Failure::Unknown("etcd ended the watch".to_owned())),
            Err(error) => return Err(failure(&error)),
        };
        if response.canceled || response.compact_revision != 0 {
            let floor =
                (response.compact_revision != 0).then(|| revision(response.compact_revision));
            return Err(Failure::of_cancelled_watch(floor, &response.cancel_reason));
        }
        if response.created {
            return Ok(Message::Created {
                member: response
                    .header
                    .as_ref()
                    .map_or(0, |header| header.member_id),
                newest: revision_of(response.header),
            });
        }
        if response.events.is_empty() && !response.fragment {
            return Ok(Message::Progress(revision_of(response.header)));
        }
        Ok(Message::Events(Batch {
            fragment: response.fragment,
            events: response
                .events
                .into_iter()
                .filter_map(|event| {
                    Some(Event {
                        now: stored(event.kv?),
                        deleted: event.r#type == etcd_client::EventType::Delete as i32,
                        before: event.prev_kv.map(stored),
                    })
                })
                .collect(),
        }))
    }

    pub(super) async fn request_progress(&mut self) -> Result<(), Failure> {
        let asked = self.stream.request_progress().await;
        asked.map_err(|error| failure(&error))
    }
}

fn compare(operation: &Operation) -> Compare {
    let key = &operation.key[..];
    match operation.expected {
        Expected::ModRevision(expected) => Compare::mod_revision(key, CompareOp::Equal, expected),
        Expected::Version(expected) => Compare::version(key, CompareOp::Equal, expected),
    }
}

fn write(operation: &Operation) -> TxnOp {
    let key = &operation.key[..];
    match &operation.value {
        Some(value) => {
            let options = match operation.lease {
                Lease::None => PutOptions::new(),
                Lease::Id(id) => PutOptions::new().with_lease(id),
                Lease::Keep => PutOptions::new().with_ignore_lease(),
            };
            TxnOp::put(key, &value[..], Some(options))
        }
        None => TxnOp::delete(key, None),
    }
}

fn stored(kv: PbKeyValue) -> Stored {
    Stored {
        key: kv.key,
        value: kv.value.into(),
        mod_revision: revision(kv.mod_revision),
        create_revision: revision(kv.create_revision),
        version: kv.version,
    }
}

fn revision_of(header: Option<etcd_client::proto::PbResponseHeader>) -> Revision {
    revision(header.map_or(0, |header| header.revision))
}

fn revision(number: i64) -> Revision {
    Revision::new(u64::try_from(number).unwrap_or_default())
}

/// Waits before the next attempt; `None` if there is no time for one.
async fn pause(backoff: &mut Backoff, deadline: Instant) -> Option<()> {
    let pause = backoff.delay();
    if Instant::now() + pause >= deadline {
        return None;
    }
    sleep(pause).await;
    Some(())
}

fn no_answer(limit: Duration) -> Failure {
    Failure::Unknown(format!("no answer within {limit:?}"))
}

fn failure(error: &etcd_client::Error) -> Failure {
    use etcd_client::Error as E;
    match error {
        E::GRpcStatus(status) => Failure::of_status(
            status.code() as i32,
            status.message(),
            connection_refused(status),
        ),
        // What is wrong with a request or with the options. A failure of the transport while it is in use is a
        // status, so that this one comes from setting it up: a certificate that cannot be read.
        E::InvalidArgs(_)
        | E::InvalidUri(_)
        | E::InvalidMetadataValue(_)
        | E::Utf8Error(_)
        | E::TransportError(_) => Failure::Refused(error.to_string()),
        _ => Failure::Unknown(error.to_string()),
    }
}

/// Whether nobody listens at the other end, so that nothing can have been sent.
fn connection_refused(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            return true;
        }
        cause = error.source();
    }
    false
}
