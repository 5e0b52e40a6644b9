//! The node link: a watch that a microcontroller can hold, resume anywhere, and check.
//!
//! ```text
//!   Source (store + history) ──► serve::Session ══ packets ══► node::Session ──► View (Mirror: informer ──► handler)
//!                                   one per node    sealed        subscriptions: a list of Wanted
//! ```
//!
//! Both ends are state machines without I/O: bytes go in by `receive`, bytes come out of `poll_output`, `now` is an argument, and
//! `next_deadline` says when to look again. The format is in `docs/node-link.md`; the layers, from the wire up, are packets
//! ([`Framing`]), Noise ([`PresharedKey`]), [`frame`]s, and the two sessions, [`serve`] and [`node`].
//!
//! What the two promise each other:
//!
//! - A node's view is what the source had at some revision, or the node knows that it is not. Each bookmark carries a digest; a
//!   difference is repaired without being asked.
//! - A node resumes at (origin, revision, digest), at any hop of the same origin, and also in the middle of a snapshot.
//! - Memory is fixed: two packets for each end, one event at the serving end, what the node chose for its dictionary and its
//!   objects. Nothing queues up.
//! - No bytes make it panic. What is wrong ends the session with a typed reason.
//!
//! ```
//! # use ringwatch_core::{key::Key, object::Object, revision::Revision, time::Instant};
//! use ringwatch_core::history::History;
//! use ringwatch_core::informer::Handler;
//! use ringwatch_core::link::frame::Origin;
//! use ringwatch_core::link::node::{self, Mirror, Security, Standing, View, Wanted, projected};
//! use ringwatch_core::link::serve::{self, Admission, Content, Local, LocalWatch};
//! use ringwatch_core::link::{PresharedKey, Seed};
//! use ringwatch_core::object::Change;
//! use ringwatch_core::store::Store;
//!
//! // The serving end: a store and a history of objects that know their JSON.
//! #[derive(Debug, Clone)]
//! struct Device { revision: u64, json: &'static str }
//! # impl Object for Device {
//! #     fn key(&self) -> Key<'_> { Key::checked_before("hall/heater") }
//! #     fn revision(&self) -> Revision { Revision::new(self.revision) }
//! #     fn label(&self, _: &str) -> Option<&str> { None }
//! #     fn field(&self, _: &str) -> Option<&str> { None }
//! # }
//! impl Content for Device {
//!     fn json(&self) -> &[u8] { self.json.as_bytes() }
//! }
//! type Name = heapless::String<32>;
//! let mut store = Store::<Name, Device, [_; 8]>::array();
//! let mut history = History::<Change<Device>, [_; 64]>::array();
//! let key = PresharedKey::new(*b"32 random bytes, known to the tw");
//! let access = |node: &str, _sealed: bool| match node {
//!     "heater-1" => Admission::Sealed(key.clone()),
//!     _ => Admission::Refused,
//! };
//! let now = Instant::from_millis(0);
//! let mut server =
//!     serve::Session::<LocalWatch<Name, 32>, Device, 4, 1024, 64>::new(serve::Config::default(), Seed::new([1; 32]), now);
//!
//! // The node: one field of each device, typed.
//! #[derive(serde::Deserialize)]
//! struct Setpoint(Option<f32>);
//! struct Heater(f32);
//! impl Handler<Setpoint> for Heater {
//!     fn on_add(&mut self, _: &str, new: &Setpoint) { self.0 = new.0.unwrap_or(5.0) }
//!     fn on_update(&mut self, _: &str, _: Option<&Setpoint>, new: &Setpoint) { self.0 = new.0.unwrap_or(5.0) }
//!     fn on_delete(&mut self, _: &str, _: &Setpoint) { self.0 = 5.0 }
//! }
//! let wanted = [Wanted { projection: "spec.setpoint:f32", ..Wanted::all("devices") }];
//! let config = node::Config::new("heater-1", Security::Sealed(&key));
//! let mut device = node::Session::<1, 256, 4, 32>::new(config, &wanted, [], Seed::new([2; 32]), now);
//! let mut mirror = Mirror::<Name, Setpoint, [_; 4]>::array();
//! let mut heater = Heater(5.0);
//!
//! // Between them: whatever moves bytes.
//! let mut run = |store: &Store<_, _, _>, history: &History<_, _>, heater: &mut Heater| {
//!     let source = Local { resource: "devices", origin: Origin([7; 8]), store, history, in_step: now }.selecting::<32>();
//!     let mut feed = mirror.feed(projected, heater);
//!     let mut views: [&mut dyn View; 1] = [&mut feed];
//!     let mut wire = [0; 1100];
//!     loop {
//!         let mut quiet = true;
//!         while let Some(bytes) = device.poll_output(&views, now, &mut wire) {
//!             server.receive(bytes, &access, &source, now);
//!             quiet = false;
//!         }
//!         while let Some(bytes) = server.poll_output(&source, now, &mut wire) {
//!             device.receive(bytes, &mut views, now);
//!             quiet = false;
//!         }
//!         if quiet { return device.standing(0) }
//!     }
//! };
//!
//! assert_eq!(run(&store, &history, &mut heater), Some(Standing::Live));
//! assert_eq!(heater.0, 5.0);
//!
//! let revision = Revision::new(7);
//! let current = Device { revision: 7, json: r#"{"kind":"Device","spec":{"setpoint":21.5}}"# };
//! store.put("hall/heater".try_into()?, revision, current.clone())?;
//! store.advance(revision);
//! history.push(revision, Change::Put { previous: None, current })?;
//! run(&store, &history, &mut heater);
//! assert_eq!(heater.0, 21.5);
//! assert_eq!(mirror.informer().revision(), Some(revision));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dictionary;
mod ended;
pub mod frame;
mod hello;
mod liveness;
pub mod node;
mod seal;
pub mod serve;
mod wire;

pub use ended::Ended;
pub use hello::{MAX_NAME, MIN_PACKET, VERSION};
pub use seal::{PresharedKey, REKEY_AFTER, Seed};
pub use wire::{Framing, WireError};
