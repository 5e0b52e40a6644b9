//! What the node link costs, for the Device example: a thermostat as an API server would store it.

#[path = "common/link.rs"]
#[expect(dead_code, reason = "only the objects' world is wanted here")]
mod link;

use std::time::Duration;

use link::{Device, Hop, KEYS, KINDS, World};
use ringwatch_core::json::Limits;
use ringwatch_core::json::line::EventLine;
use ringwatch_core::link::frame::{Body, Event, KeyRef};
use ringwatch_core::projection::Projection;
use ringwatch_core::time::Instant;
use ringwatch_core::transition::EventKind;

const DEVICE: &str = r#"{"apiVersion":"example.com/v1","kind":"Device","metadata":{"annotations":{"example.com/installed-by":"crew-7"},"creationTimestamp":"2026-05-04T10:11:12Z","generation":12,"labels":{"app.kubernetes.io/part-of":"heating","floor":"2","room":"hall"},"managedFields":[{"apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:mode":{},"f:on":{},"f:schedule":{},"f:setpoint":{}}},"manager":"planner","operation":"Update","time":"2026-05-04T10:11:12Z"}],"name":"heater-17","namespace":"hall","resourceVersion":"1234567","uid":"0b3c1f6e-6f9d-4c6e-9d0a-0f1e2d3c4b5a"},"spec":{"mode":"heat","on":true,"schedule":[{"at":"06:00","setpoint":21.5},{"at":"22:00","setpoint":17.0}],"setpoint":21.5},"status":{"conditions":[{"lastTransitionTime":"2026-05-04T10:11:12Z","message":"","reason":"Reported","status":"True","type":"Ready"}],"measured":20.9,"reportedAt":"2026-05-04T10:12:12Z"}}"#;
const FIELDS: &str = "spec.setpoint:f32,spec.mode:text(8),spec.on:bool";

#[test]
fn a_projected_event_is_a_twentieth_of_its_line() {
    let mut buffer = [0; 2_000];
    let line = EventLine::new(EventKind::Modified, DEVICE.as_bytes());
    let line = line.write_to(&mut buffer).unwrap();
    let mut body = [0; 64];
    let projection = Projection::<_>::parse(FIELDS).unwrap();
    let projected = projection
        .project(DEVICE.as_bytes(), &Limits::default(), &mut body)
        .unwrap();
    assert!(projected.issues.is_empty());
    let size = |key, revision| {
        let event = Event {
            sub: 0,
            kind: EventKind::Modified,
            settles: true,
            revision,
            key,
            mark: None,
            body: Body::Whole(projected.bytes),
        };
        event.encode(&mut [0; 128]).unwrap()
    };
    let key = "hall/heater-17";
    let first = size(KeyRef::New { slot: Some(3), key }, 1_000);
    let later = size(KeyRef::Known(3), 1_000);
    println!(
        "| the JSON watch line | {line} B |\n| the first event of a key | {first} B |\n| later ones | {later} B |"
    );
    assert!(line > 900, "{line}");
    assert!(first <= 48, "{first}");
    assert_eq!((first, later), (36, 21));

    // Besides key and body: flags, subscription, a revision up to 67 million later, the length of the body.
    let (slot, body) = (1, projected.bytes.len());
    for (revision, most) in [(1, 4), (8_191, 5), (1_000_000, 6), (67_000_000, 7)] {
        let besides = size(KeyRef::Known(3), revision) - slot - body;
        assert!(
            besides <= most,
            "{besides} bytes for a revision {revision} later"
        );
    }
}

/// What it missed fits one packet: Hello and Subscribe go up, Welcome and the rest come down, and that is all. (The second subscription of these
/// nodes does not fit their short Hello.)
#[test]
fn a_node_that_wakes_is_in_step_after_one_round_trip() {
    for kind in &KINDS {
        let mut world = World::new(1);
        world.write([("b/x", Some(3))]);
        let mut hops = vec![Hop::new(&world, 16)];
        hops[0].follow(&world, u64::MAX);
        let mut device = Device::new(kind);
        let mut now = Instant::from_millis(0);
        device.settle(&hops, &world, 0, &mut now);
        device.cut();
        now = now + Duration::from_secs(3_600);
        world.write([("b/x", Some(4)), (KEYS[5], Some(1))]);
        hops[0].follow(&world, u64::MAX);
        device.connect(0, now);
        device.pump(&hops, &world, usize::MAX, usize::MAX, now);
        assert!(device.has(0, &world));
    }
}
