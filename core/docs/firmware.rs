use ringwatch_core::informer::{Handler, Held};
use ringwatch_core::link::node::{Config, Mirror, Security, Session, View, Wanted, projected};
use ringwatch_core::link::{Ended, PresharedKey, Seed};
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;

/// What you want of each object; `wanted` below says where it is.
#[derive(serde::Deserialize)]
pub struct Heater {
    pub setpoint: Option<f32>,
}
pub type Name = heapless::String<32>;
/// Eight of them, and not a byte more. Make it a static, and keep it from one connection to the next: the next one goes on from there.
pub type Heaters = Mirror<Name, Heater, [Slot<Name, Held<Heater>>; 8]>;

/// What your firmware has anyway.
pub trait Board {
    fn now(&self) -> Instant;
    /// Sends all of it; `None` if the connection is gone.
    fn send(&mut self, bytes: &[u8]) -> Option<()>;
    /// Waits for bytes, but not longer than until then; `None` if the connection is gone.
    fn receive<'b>(&mut self, buffer: &'b mut [u8], until: Instant) -> Option<&'b [u8]>;
}

/// One connection to a server or relay, from its beginning to its end. `act` hears what is new, what has changed, and what is gone.
pub fn watch(
    heaters: &mut Heaters,
    act: &mut impl Handler<Heater>,
    board: &mut impl Board,
    key: &PresharedKey,
    seed: Seed,
) -> Option<Ended> {
    let wanted = [Wanted {
        projection: "spec.setpoint:f32",
        ..Wanted::all("devices.ringwatch.dev")
    }];
    let config = Config::new("heater-1", Security::Sealed(key));
    let mut link = Session::<1, 512, 8, 32>::new(config, &wanted, [], seed, board.now());
    let (mut packet, mut buffer) = ([0; 520], [0; 128]);
    loop {
        let mut feed = heaters.feed(projected, act);
        let mut views: [&mut dyn View; 1] = [&mut feed];
        while let Some(bytes) = link.poll_output(&views, board.now(), &mut packet) {
            board.send(bytes)?;
        }
        if let Some(ended) = link.ended() {
            return Some(ended);
        }
        let bytes = board.receive(&mut buffer, link.next_deadline())?;
        link.receive(bytes, &mut views, board.now());
    }
}
