//! The node: devices watched over the sealed node link, an output driven by them, and a cursor that outlives the power.

use core::convert::Infallible;
use core::time::Duration;

use embassy_futures::select::{Either, select};
use embassy_net::Stack;
use embassy_net::tcp::TcpSocket;
use embassy_time::Timer;
use embedded_io_async::Write;
use embedded_storage_async::nor_flash::NorFlash;
use heapless::String;
use ringwatch_core::informer::Held;
use ringwatch_core::link::PresharedKey;
use ringwatch_core::link::frame::{How, Restart};
use ringwatch_core::link::node::{
    Config, Mirror, News, Security, Session, Standing, Told, View, Wanted, projected,
};
use ringwatch_core::revision::Revision;
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;
use ringwatch_edge::engine::Backoff;
use ringwatch_settings::{Endpoint, Settings};

use crate::clock::{moment, now};
use crate::device::{Device, Drive, Output, PROJECTION};
use crate::keep::{Keep, Restored};
use crate::network;
use crate::random::Random;
use crate::restart::Note;
use crate::upstream::{self, Lost};

/// Devices that a node has a place for.
pub const DEVICES: usize = 16;
/// The longest key of a device.
const KEY: usize = 64;
/// The longest packet.
const PACKET: usize = 512;
/// What TCP may have on its way, in either direction.
const WINDOW: usize = 1024;

type Name = String<KEY>;
type Devices = Mirror<Name, Device, [Slot<Name, Held<Device>>; DEVICES]>;
type Link<'a> = Session<'a, 1, PACKET, DEVICES, KEY>;

/// What the node keeps in RAM, apart from the network stack: a static of the board's.
pub struct Memory<F: NorFlash> {
    devices: Devices,
    keep: Keep<F, DEVICES>,
    output: Output,
    link: Option<Link<'static>>,
    /// What the other end is still to be told.
    restart: Option<Restart<'static>>,
    packet: [u8; PACKET + 8],
}

/// Buffers of the connection; a static of the board's too.
pub struct Buffers {
    receive: [u8; WINDOW],
    send: [u8; WINDOW],
}

impl Buffers {
    /// Empty ones.
    pub const EMPTY: Self = Self {
        receive: [0; WINDOW],
        send: [0; WINDOW],
    };
}

impl<F: NorFlash> Memory<F> {
    /// A node that knows nothing yet, and this flash, of at least two pages. It prints, and drives nothing.
    pub fn new(flash: F) -> Self {
        Self::driving(flash, |_| {})
    }

    /// The same, with something that setpoints drive.
    pub fn driving(flash: F, drive: Drive) -> Self {
        Self {
            devices: Mirror::array(),
            keep: Keep::new(flash),
            output: Output(drive),
            link: None,
            restart: None,
            packet: [0; PACKET + 8],
        }
    }

    /// Counts the start, and puts the last state into effect. The start's number comes back.
    ///
    /// Flash that cannot be read is erased, and the node begins from nothing.
    pub async fn start(&mut self, settings: &Settings<'_>, restarted: &'static Note) -> u32 {
        let boot = self.keep.count().await;
        log::info!("node {}, boot {boot}", settings.name);
        self.restart = restarted.restart(boot);
        upstream::say_why(self.restart);
        let restored = self
            .keep
            .restore(&mut self.devices, &mut self.output, now());
        match restored.await {
            Ok(Restored::Nothing) => log::info!("restored nothing"),
            Ok(Restored::At(revision)) => {
                let devices = self.devices.informer().len();
                log::info!("restored {devices} devices at {revision}");
            }
            Ok(Restored::Doubtful) => log::warn!("restored what was being saved, to be repaired"),
            Err(_) => {
                log::warn!("the last state cannot be read, and is erased");
                let _ = self.keep.erase().await;
                self.devices = Mirror::array();
            }
        }
        boot
    }

    /// Watches for ever.
    pub async fn run(
        &mut self,
        stack: Stack<'static>,
        settings: &'static Settings<'static>,
        key: &'static PresharedKey,
        wanted: &'static [Wanted<'static>; 1],
        random: &mut Random,
        buffers: &mut Buffers,
    ) -> Infallible {
        let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(10));
        for endpoint in settings.upstream.iter().cycle() {
            let config = Config {
                silence: Duration::from_millis(settings.silence.into()),
                ..Config::new(settings.name, Security::Sealed(key))
            };
            self.link = Some(Session::new(config, wanted, [], random.seed(), now()));
            network::up(stack).await;
            let mut socket = TcpSocket::new(stack, &mut buffers.receive, &mut buffers.send);
            let save_every = Duration::from_millis(settings.save_every.into());
            let began = now();
            let (lost, was_live) = self.connect(&mut socket, endpoint, save_every).await;
            log::warn!("link lost: {lost}");
            self.save().await;
            if was_live {
                backoff.worked_for(now().since(began));
            }
            let wait = backoff.wait(random.number() as u32);
            Timer::after_millis(wait.as_millis() as u64).await;
        }
        // Settings name at least one address, so this is not reached.
        core::future::pending().await
    }

    /// One connection, from its beginning to its end: why it ended, and whether the node was ever in step.
    async fn connect(
        &mut self,
        socket: &mut TcpSocket<'_>,
        endpoint: &Endpoint,
        save_every: Duration,
    ) -> (Lost, bool) {
        if let Err(lost) = upstream::dial(socket, endpoint).await {
            return (lost, false);
        }
        let mut reported = None;
        let mut open = false;
        let mut save_at = now();
        let lost = loop {
            let Some(link) = &mut self.link else {
                break Lost::Network;
            };
            let mut feed = Told::new(self.devices.feed(projected, &mut self.output), say);
            let mut views: [&mut dyn View; 1] = [&mut feed];
            let mut sent = true;
            while let Some(bytes) = link.poll_output(&views, now(), &mut self.packet) {
                sent &= socket.write_all(bytes).await.is_ok();
            }
            if let Some(restart) = &self.restart
                && let Some(bytes) = link.report(restart, &mut self.packet)
            {
                sent &= socket.write_all(bytes).await.is_ok();
            }
            if let Some(ended) = link.ended() {
                break Lost::Ended(ended);
            }
            if !sent {
                break Lost::Network;
            }
            let due = match reported {
                Some(_) => link.next_deadline().min(save_at),
                None => link.next_deadline(),
            };
            let wait = Timer::at(moment(due));
            match select(
                socket.read_with(|bytes| (bytes.len(), take(link, bytes, &mut views))),
                wait,
            )
            .await
            {
                Either::First(Ok(0)) | Either::First(Err(_)) => break Lost::Network,
                Either::First(Ok(_)) | Either::Second(()) => {}
            }
            if link.is_open() && !open {
                open = true;
                upstream::say_open(endpoint);
            }
            if link.noted() {
                self.restart = None;
                log::info!("the restart is noted upstream");
            }
            let standing = link.standing(0);
            if let Some(Standing::Failed { code, .. }) = standing {
                log::warn!("the watch has failed: {code}");
            }
            if standing == Some(Standing::Live) {
                self.report(&mut reported);
            }
            if now() >= save_at {
                self.save().await;
                save_at = match self.keep.is_behind(&mut self.devices) {
                    true => now() + save_every,
                    false => Instant::NEVER,
                };
            } else if save_at == Instant::NEVER && self.keep.is_behind(&mut self.devices) {
                save_at = now() + save_every;
            }
        };
        upstream::hang_up(socket, lost).await;
        (lost, reported.is_some())
    }

    /// Says where the node is, whenever that has changed.
    fn report(&self, reported: &mut Option<Revision>) {
        let devices = self.devices.informer();
        let Some(revision) = devices.revision() else {
            return;
        };
        if reported.replace(revision) != Some(revision) {
            let digest = devices.digest();
            log::info!(
                "in step at {revision}: {} devices, digest {digest}",
                devices.len()
            );
        }
    }

    async fn save(&mut self) {
        match self.keep.save(&mut self.devices).await {
            Ok(0) => {}
            Ok(written) => {
                let revision = self.devices.informer().revision().unwrap_or(Revision::ZERO);
                log::info!("saved at {revision}: {written} written");
            }
            Err(_) => log::warn!("flash cannot be written"),
        }
    }
}

fn say(news: News<'_>) {
    match news {
        News::Begins(How::Snapshot) => log::info!("watch begins: snapshot"),
        News::Begins(How::Continued) => log::info!("watch begins: continued"),
        News::Begins(How::Resumed) => log::info!("watch begins: resumed"),
        News::Begins(How::Difference { .. }) => log::info!("watch begins: difference"),
        News::TooLarge { key, size } => log::warn!("too large: {key}, {size} B"),
        News::Differs { at } => log::warn!("the digest differs at {at}"),
    }
}

fn take(link: &mut Link<'_>, bytes: &[u8], views: &mut [&mut dyn View]) -> usize {
    link.receive(bytes, views, now());
    bytes.len()
}

/// What the settings ask for.
pub fn wanted(settings: &'static Settings<'static>) -> Wanted<'static> {
    upstream::wanted(&settings.watch, PROJECTION)
}
