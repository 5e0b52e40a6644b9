//! The node link of a server or another relay as upstream.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use ringwatch_core::link::frame::Code;
use ringwatch_core::link::node::{Config, Security, Standing, Wanted};
use ringwatch_core::link::{Ended, PresharedKey, Seed};
use ringwatch_core::predicate::Scope;
use ringwatch_core::time::Instant;

use super::{backoff, wait};
use crate::config::{MAX_WATCHES, Watch};
use crate::engine::Uplink;
use crate::hub::Hub;
use crate::metrics::add;
use crate::wire::Address;

/// The longest packet.
const PACKET: usize = 4096;
/// How often to be told that all is well.
const BOOKMARKS: Duration = Duration::from_secs(5);
/// How long the upstream may be silent.
const SILENCE: Duration = Duration::from_secs(20);

type Session<'a> = Uplink<'a, MAX_WATCHES, PACKET, 64, 192, Vec<u8>>;

/// Follows the first of some addresses that answers, and goes on to the next when one does not.
pub async fn follow(
    hub: Rc<Hub>,
    addresses: &[Address],
    name: &str,
    key: PresharedKey,
    watches: &[Watch],
) {
    let wanted: Vec<Wanted<'_>> = watches.iter().map(wanted).collect();
    let longest = watches.iter().map(|watch| watch.object_bytes).max();
    let mut waits = backoff();
    hub.relay.borrow_mut().restarts_mut().pass_on();
    for address in addresses.iter().cycle() {
        if hub.is_stopping() {
            return;
        }
        add(&hub.metrics.connects, 1);
        let config = Config {
            silence: SILENCE,
            framing: address.framing(),
            ..Config::new(name, Security::Sealed(&key))
        };
        let object = vec![0; longest.unwrap_or(0) + 512];
        let mut seed = [0; 32];
        if let Err(error) = getrandom::fill(&mut seed) {
            tracing::error!(%error, "no random bytes");
            return;
        }
        let now = hub.clock.now();
        let mut session = Session::new(config, &wanted, object, Seed::new(seed), now);
        let mut opened = None;
        let finish = connect(&hub, address, &mut session, &mut opened).await;
        hub.relay.borrow_mut().interrupt();
        hub.online.set(0);
        if let Some(opened) = opened {
            waits.worked_for(hub.clock.now().since(opened));
        }
        match finish {
            Ok(ended) => tracing::info!(upstream = %address, ?ended, "upstream has ended the link"),
            Err(error) => tracing::info!(upstream = %address, %error, "upstream is cut off"),
        }
        wait(&mut waits, Duration::ZERO, &hub).await;
    }
}

fn wanted(watch: &Watch) -> Wanted<'_> {
    Wanted {
        scope: match &watch.namespace {
            Some(namespace) => Scope::Namespace(namespace.as_str()),
            None => Scope::Resource,
        },
        labels: &watch.labels,
        fields: &watch.fields,
        bookmark_every: BOOKMARKS,
        ..Wanted::all(&watch.resource)
    }
}

async fn connect(
    hub: &Hub,
    address: &Address,
    session: &mut Session<'_>,
    opened: &mut Option<Instant>,
) -> io::Result<Ended> {
    let wire = address.connect().await?;
    let mut buffer = vec![0; 16 * 1024];
    let mut out = vec![0; PACKET + 16];
    let mut told = false;
    let mut standings = [None; MAX_WATCHES];
    loop {
        loop {
            let now = hub.clock.now();
            let len = {
                let mut relay = hub.relay.borrow_mut();
                let bytes = session.poll_output(relay.tracks_mut(), now, &mut out);
                match bytes.map(<[u8]>::len) {
                    None => session
                        .report(relay.restarts_mut(), &mut out)
                        .map(<[u8]>::len),
                    len => len,
                }
            };
            let Some(bytes) = len.and_then(|len| out.get(..len)) else {
                break;
            };
            wire.write_all(bytes).await?;
        }
        if let Some(ended) = session.ended() {
            return Ok(ended);
        }
        if session.is_open() && hub.online.replace(1) == 0 {
            *opened = Some(hub.clock.now());
            tracing::info!(upstream = %address, "upstream is there");
        }
        report(session, &mut standings);
        if hub.is_stopping() && !told {
            told = true;
            session.close(Code::Done);
            continue;
        }
        let deadline = hub.clock.at(session.next_deadline());
        tokio::select! {
            read = wire.read(&mut buffer) => {
                let len = read?;
                add(&hub.metrics.bytes_up, len as u64);
                let bytes = buffer.get(..len).unwrap_or_default();
                let now = hub.clock.now();
                session.receive(hub.relay.borrow_mut().tracks_mut(), bytes, now);
                hub.changed.notify_waiters();
            }
            () = tokio::time::sleep_until(deadline) => {}
            // Perhaps a node has restarted.
            () = hub.changed.notified() => {}
            () = hub.stopped() => {}
        }
    }
}

/// Says so when the upstream refuses something.
fn report(session: &Session<'_>, standings: &mut [Option<Standing>; MAX_WATCHES]) {
    for (track, before) in standings.iter_mut().enumerate() {
        let standing = session.standing(track);
        if *before != standing
            && let Some(Standing::Failed { code, detail }) = standing
        {
            tracing::warn!(track, ?code, detail, "upstream refuses a watch");
        }
        *before = standing;
    }
}
