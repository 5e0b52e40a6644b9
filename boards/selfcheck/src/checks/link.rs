//! Both ends of the node link on the device: a sealed handshake, a snapshot, an event, and a repair after a cut.

use heapless::String;
use ringwatch_core::{
    history::History,
    key::Key,
    link::{
        PresharedKey, Seed,
        frame::Origin,
        node::{self, Mirror, Security, View, Wanted, projected},
        serve::{self, Admission, Content, Local, LocalWatch},
    },
    object::{Change, Object},
    revision::Revision,
    store::Store,
    time::Instant,
};

use super::ensure;

#[derive(Clone)]
struct Heater {
    revision: u64,
    json: &'static [u8],
}

impl Object for Heater {
    fn key(&self) -> Key<'_> {
        Key::checked_before("hall/heater")
    }
    fn revision(&self) -> Revision {
        Revision::new(self.revision)
    }
    fn label(&self, _: &str) -> Option<&str> {
        None
    }
    fn field(&self, _: &str) -> Option<&str> {
        None
    }
}

impl Content for Heater {
    fn json(&self) -> &[u8] {
        self.json
    }
}

type Name = String<16>;
type Setpoints = Mirror<
    Name,
    (Option<f32>,),
    [ringwatch_core::store::Slot<Name, ringwatch_core::informer::Held<(Option<f32>,)>>; 2],
>;
type Objects = Store<Name, Heater, [ringwatch_core::store::Slot<Name, Heater>; 2]>;
type Ring = History<
    Change<Heater>,
    [ringwatch_core::slots::Place<ringwatch_core::history::Entry<Change<Heater>>>; 4],
>;

const KEY: PresharedKey = PresharedKey::new([5; 32]);
const NOW: Instant = Instant::from_millis(0);
const WANTED: [Wanted<'static>; 1] = [Wanted {
    projection: "spec.setpoint:f32",
    ..Wanted::all("devices")
}];

pub(crate) fn joins_both_ends() -> Result<(), &'static str> {
    let mut store = Objects::array();
    let mut history = Ring::array();
    let mut mirror = Setpoints::array();
    put(
        &mut store,
        &mut history,
        1,
        br#"{"spec":{"setpoint":19.5}}"#,
    )?;
    connect(&store, &history, &mut mirror, 1)?;
    let setpoint = |mirror: &Setpoints| mirror.informer().get("hall/heater").copied();
    ensure(
        setpoint(&mirror) == Some((Some(19.5),)),
        "the snapshot did not arrive",
    )?;
    // The next session resumes.
    put(
        &mut store,
        &mut history,
        2,
        br#"{"spec":{"setpoint":21.0}}"#,
    )?;
    connect(&store, &history, &mut mirror, 3)?;
    ensure(
        setpoint(&mirror) == Some((Some(21.0),)),
        "the event did not arrive",
    )?;
    ensure(
        mirror.informer().revision() == Some(Revision::new(2)),
        "it is not in step",
    )
}

fn put(
    store: &mut Objects,
    history: &mut Ring,
    revision: u64,
    json: &'static [u8],
) -> Result<(), &'static str> {
    let at = Revision::new(revision);
    let current = Heater { revision, json };
    let name = Name::try_from("hall/heater").map_err(|_| "the key is short")?;
    let put = store
        .put(name, at, current.clone())
        .map_err(|_| "there was room")?;
    store.advance(at);
    let previous = put.previous.map(|entry| entry.value);
    history
        .push(at, Change::Put { previous, current })
        .map_err(|_| "it was newer")
}

/// One session, until there is nothing more to say.
fn connect(
    store: &Objects,
    history: &Ring,
    mirror: &mut Setpoints,
    seed: u8,
) -> Result<(), &'static str> {
    let source = Local {
        resource: "devices",
        origin: Origin([1; 8]),
        store,
        history,
        in_step: NOW,
    }
    .selecting::<16>();
    let access = |_: &str, _: bool| Admission::Sealed(KEY);
    let mut server = serve::Session::<LocalWatch<Name, 16>, Heater, 1, 512, 4>::new(
        serve::Config::default(),
        Seed::new([seed; 32]),
        NOW,
    );
    let config = node::Config::new("heater-1", Security::Sealed(&KEY));
    let mut node =
        node::Session::<1, 256, 4, 16>::new(config, &WANTED, [], Seed::new([seed + 1; 32]), NOW);
    let mut handler = ();
    let mut feed = mirror.feed(projected, &mut handler);
    let mut views: [&mut dyn View; 1] = [&mut feed];
    let mut wire = [0; 520];
    let mut quiet = false;
    while !quiet {
        quiet = true;
        while let Some(bytes) = node.poll_output(&views, NOW, &mut wire) {
            server.receive(bytes, &access, &source, NOW);
            quiet = false;
        }
        while let Some(bytes) = server.poll_output(&source, NOW, &mut wire) {
            node.receive(bytes, &mut views, NOW);
            quiet = false;
        }
    }
    ensure(
        node.ended().is_none() && server.ended().is_none(),
        "a session has ended",
    )
}
