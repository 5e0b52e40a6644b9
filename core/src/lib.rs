//! The list/watch core of Ringwatch: the same code in a datacentre, on a gateway and on a microcontroller.
//!
//! No allocator, no unsafe, no I/O, no clock, no async: values and bytes go in, values and bytes come
//! out, and the time is an argument. Memory is what the caller lays down; a full container is a result, never a panic.
//!
//! ```text
//!  JSON bytes ─► json::scan ─► Object          Store ◄── Change ──► History
//!                                                │                     │
//!                                                └─────► Watcher ◄─────┘
//!                                                           │ Event
//!                                          json::line ◄─────┴─────► link::serve ═══► link::node
//!                                          (HTTP clients)           (projection)         │
//!                                                                                    Informer ─► Handler
//! ```
//!
//! # The journey of a change
//!
//! Someone owns a [`store`] and a [`history`] and applies each change to both. [Watchers](watcher)
//! pull from there, each seeing only what its [`predicate`] selects. What they yield is written as
//! a [JSON line](json::line) for an HTTP client or as a [compact](mod@compact) event whose body is a
//! [`projection`] for a device, where an [`informer`] takes it in. Between machines, the [node link](link) does the latter, with
//! sessions that resume and repair themselves; step by step it is this:
//!
//! ```
//! # use core::time::Duration;
//! # use ringwatch_core::{key::Key, object::Object, revision::Revision};
//! use ringwatch_core::compact::CompactEvent;
//! use ringwatch_core::history::History;
//! use ringwatch_core::informer::Informer;
//! use ringwatch_core::json::{Limits, line::EventLine};
//! use ringwatch_core::object::Change;
//! use ringwatch_core::predicate::Everything;
//! use ringwatch_core::projection::{self, Projection};
//! use ringwatch_core::store::Store;
//! use ringwatch_core::time::Instant;
//! use ringwatch_core::watcher::{Options, Start, Step, Watcher};
//!
//! # #[derive(Debug, Clone, PartialEq)]
//! # struct Device { json: &'static str }
//! # impl Object for Device {
//! #     fn key(&self) -> Key<'_> { Key::parse("hall/heater").unwrap() }
//! #     fn revision(&self) -> Revision { Revision::new(7) }
//! #     fn label(&self, _: &str) -> Option<&str> { None }
//! #     fn field(&self, _: &str) -> Option<&str> { None }
//! # }
//! # fn main() -> Result<(), Box<dyn core::error::Error>> {
//! // The owner's state. `Device` implements `Object`: its key, revision, labels and fields.
//! let mut store = Store::<&str, Device, [_; 8]>::array();
//! let mut history = History::<Change<Device>, [_; 64]>::array();
//! let now = Instant::from_millis(0);
//! let mut watcher = Watcher::start(Everything, Start::Now, Options::default(), &store, &history, now)?;
//!
//! // A change arrives.
//! let device = Device { json: r#"{"kind":"Device","spec":{"setpoint":21.5,"mode":"heat"}}"# };
//! let revision = Revision::new(7);
//! let previous = store.put("hall/heater", revision, device.clone())?.previous;
//! store.advance(revision);
//! history.push(revision, Change::Put { previous: previous.map(|old| old.value), current: device })?;
//!
//! // A watcher sees it.
//! let Step::Event(event) = watcher.poll(&store, &history, now) else { panic!("no event") };
//! let object = event.object.json.as_bytes();
//!
//! // For kubectl: a line around the object's own bytes.
//! let mut line = [0; 256];
//! let len = EventLine::new(event.kind, object).write_to(&mut line)?;
//! assert!(line[..len].starts_with(br#"{"type":"ADDED","object":{"kind":"Device""#));
//!
//! // For a device: the one field it wants, in 22 bytes all told.
//! let wanted = Projection::<_>::parse("spec.setpoint:f32")?;
//! let (mut body, mut frame) = ([0; 32], [0; 64]);
//! let body = wanted.project(object, &Limits::default(), &mut body)?.bytes;
//! let event = CompactEvent { kind: event.kind, revision: event.revision, key: "hall/heater", body };
//! let frame = event.encode(&mut frame)?;
//! assert_eq!(frame.len(), 22);
//!
//! // On the device.
//! let mut setpoints = Informer::<heapless::String<16>, f32, [_; 4]>::array();
//! let (event, _) = CompactEvent::decode(frame)?;
//! let ((setpoint,), _) = projection::read::<(Option<f32>,)>(event.body)?;
//! setpoints.put(event.key, event.revision, setpoint.unwrap_or(5.0), &mut ())?;
//! assert_eq!(setpoints.get("hall/heater"), Some(&21.5));
//! # Ok(())
//! # }
//! ```
//!
//! # The journey of a watch
//!
//! Text is parsed once, where a request enters: [`revision`] and [`selector`] refuse what is wrong before any state exists. The
//! rest is typed:
//!
//! ```
//! use ringwatch_core::history::{Expired, History};
//! use ringwatch_core::predicate::{Predicate, Scope};
//! use ringwatch_core::revision::Revision;
//! use ringwatch_core::selector::{FieldSelector, LabelSelector};
//!
//! # fn main() -> Result<(), Box<dyn core::error::Error>> {
//! let wanted = Predicate {
//!     scope: Scope::Namespace("hall"),
//!     labels: LabelSelector::<&str>::parse("tier in (web, api), !legacy")?,
//!     fields: FieldSelector::<&str>::parse("spec.mode=heat")?,
//! };
//! assert!(LabelSelector::<&str>::parse("tier in web").is_err_and(|error| error.offset == 8));
//!
//! // Where to begin: after a revision that the client has seen, if the history still knows.
//! let mut history = History::<&str, [_; 2]>::array();
//! for n in 1..=4 {
//!     history.push(Revision::new(n), "a change")?;
//! }
//! let seen: Revision = "2".parse()?;
//! assert!(history.since(seen).is_ok());
//! assert_eq!(history.since("1".parse()?), Err(Expired { floor: Revision::new(2) }));
//! # let _ = wanted;
//! # Ok(())
//! # }
//! ```
#![no_std]
// What keeps panics and std out. Here and not in the manifest, where it would bind tests as well.
#![warn(
    clippy::std_instead_of_core,
    clippy::alloc_instead_of_core,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::string_slice
)]

#[cfg(test)]
extern crate std;

pub mod compact;
pub mod digest;
pub mod history;
pub mod informer;
pub mod json;
pub mod key;
pub mod link;
pub mod object;
pub mod predicate;
pub mod projection;
pub mod revision;
pub mod room;
pub mod selector;
pub mod slots;
pub mod store;
pub mod time;
pub mod transition;
pub mod watcher;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
