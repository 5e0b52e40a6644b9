//! The test vectors in `golden/link`: what the bytes of the node link are.
//!
//! `RINGWATCH_BLESS=1` rewrites how the decoder shows each frame and what the handshake sends; the bytes of frames and of the wire are
//! written by hand and by another implementation, and are never rewritten.

#[path = "common/lamp.rs"]
mod lamp;

use std::fmt::Write;
use std::{env, fs};

use lamp::Lamp;
use ringwatch_core::history::History;
use ringwatch_core::link::frame::{Cause, Code, Frame, Origin, Restart};
use ringwatch_core::link::node::{self, Mirror, Security, View, Wanted, projected};
use ringwatch_core::link::serve::{self, Admission, Local, LocalWatch};
use ringwatch_core::link::{PresharedKey, Seed};
use ringwatch_core::object::Change;
use ringwatch_core::revision::Revision;
use ringwatch_core::store::Store;
use ringwatch_core::time::Instant;

fn path(name: &str) -> String {
    format!("{}/tests/golden/link/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap()
}

fn hex(text: &str) -> Vec<u8> {
    let bytes = text
        .split_whitespace()
        .map(|byte| u8::from_str_radix(byte, 16).unwrap());
    bytes.collect()
}

/// The sections of a file, by name.
fn sections(text: &str) -> Vec<(&str, Vec<&str>)> {
    let sections = text.split("\n== ").skip(1);
    sections
        .map(|section| {
            let mut lines = section.lines();
            (
                lines.next().unwrap(),
                lines.filter(|line| !line.is_empty()).collect(),
            )
        })
        .collect()
}

#[test]
fn frames_are_as_written() {
    let text = read("frames.txt");
    let mut shown = text.clone();
    let mut count = 0;
    for (name, lines) in sections(&text) {
        let bytes: Vec<u8> = lines
            .iter()
            .filter_map(|line| line.split_once('|'))
            .flat_map(|(bytes, _)| hex(bytes))
            .collect();
        if name.starts_with("refused") {
            assert!(Frame::decode(&bytes).is_err(), "{name}");
            continue;
        }
        let (frame, rest) =
            Frame::decode(&bytes).unwrap_or_else(|_| panic!("{name}: {bytes:02x?}"));
        assert!(rest.is_empty(), "{name}: {rest:02x?} is left");
        let mut buffer = vec![0; bytes.len()];
        let len = frame.encode(&mut buffer).unwrap();
        assert_eq!(buffer[..len], bytes, "{name}");
        for short in 0..bytes.len() {
            assert!(
                Frame::decode(&bytes[..short]).is_err(),
                "{name}, cut off at {short}"
            );
        }
        let expected = lines
            .iter()
            .find_map(|line| line.strip_prefix("= "))
            .unwrap();
        let actual = format!("{frame:?}");
        if env::var_os("RINGWATCH_BLESS").is_some() {
            let section = text.find(&format!("\n== {name}\n")).unwrap();
            let from = shown.len() - text.len();
            let at = shown[section + from..]
                .find(&format!("\n= {expected}\n"))
                .unwrap()
                + section
                + from
                + 3;
            shown.replace_range(at..at + expected.len(), &actual);
        } else {
            assert_eq!(actual, expected, "{name}");
        }
        count += 1;
    }
    assert!(count > 40, "only {count} vectors");
    if shown != text {
        fs::write(path("frames.txt"), shown).unwrap();
    }
}

/// Every kind has a vector.
#[test]
fn no_kind_is_left_out() {
    let text = read("frames.txt");
    let kinds = sections(&text)
        .into_iter()
        .filter(|(name, _)| !name.starts_with("refused"));
    let mut seen: Vec<u8> = kinds
        .map(|(_, lines)| hex(lines[0].split_once('|').unwrap().0)[0])
        .collect();
    seen.retain(|kind| *kind < 0x80);
    seen.dedup();
    assert_eq!(seen, (0..16).collect::<Vec<u8>>());
}

/// A node with a key and a server, each with a fixed seed, from the hello to the first bookmark.
#[test]
fn a_session_sends_these_bytes() {
    let text = read("session.txt");
    let given = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        <[u8; 32]>::try_from(hex(line)).unwrap()
    };
    let key = PresharedKey::new(given("key "));
    let now = Instant::from_millis(0);
    let mut store = Store::<Name, Lamp, [_; 2]>::array();
    let mut history = History::<Change<Lamp>, [_; 2]>::array();
    history.reset(Revision::new(1));
    let source = |store| {
        let origin = Origin([1, 2, 3, 4, 5, 6, 7, 8]);
        let (resource, history, in_step) = ("lamps", &history, now);
        let local = Local {
            resource,
            origin,
            store,
            history,
            in_step,
        };
        local.selecting::<16>()
    };
    store
        .put("a/x".try_into().unwrap(), Revision::new(1), LAMP)
        .unwrap();
    store.advance(Revision::new(1));
    let access = |_: &str, _: bool| Admission::Sealed(key.clone());
    let seed = Seed::new(given("server's seed "));
    let mut server = serve::Session::<LocalWatch<Name, 16>, Lamp, 1, 512, 4>::new(
        serve::Config::default(),
        seed,
        now,
    );
    let wanted = [Wanted {
        projection: "spec.on:bool",
        ..Wanted::all("lamps")
    }];
    let config = node::Config::new("lamp-1", Security::Sealed(&key));
    let seed = Seed::new(given("node's seed "));
    let mut node = node::Session::<1, 256, 4, 32>::new(config, &wanted, [], seed, now);
    let mut mirror = Mirror::<Name, (Option<bool>,), [_; 2]>::array();
    let mut handler = ();
    let mut feed = mirror.feed(projected, &mut handler);
    let mut views: [&mut dyn View; 1] = [&mut feed];

    let mut actual = String::new();
    let mut out = [0; 600];
    let mut record = |what: &str, bytes: &[u8]| {
        let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(actual, "{what} {}", bytes.join(" ")).unwrap();
    };
    while let Some(bytes) = node.poll_output(&views, now, &mut out) {
        record("node  ", bytes);
        server.receive(bytes, &access, &source(&store), now);
        let mut out = [0; 600];
        while let Some(bytes) = server.poll_output(&source(&store), now, &mut out) {
            record("server", bytes);
            node.receive(bytes, &mut views, now);
        }
    }
    let restart = Restart {
        node: "",
        boot: 2,
        cause: Cause::Stack,
        detail: "",
    };
    let bytes = node.report(&restart, &mut out).unwrap();
    record("node  ", bytes);
    server.receive(bytes, &access, &source(&store), now);
    let bytes = server.poll_output(&source(&store), now, &mut out).unwrap();
    record("server", bytes);
    node.receive(bytes, &mut views, now);
    assert!(node.noted());
    node.close(Code::Done);
    record("node  ", node.poll_output(&views, now, &mut out).unwrap());
    assert_eq!(mirror.informer().get("a/x"), Some(&(Some(true),)));

    let (before, expected) = text.split_once("bytes\n").unwrap();
    if env::var_os("RINGWATCH_BLESS").is_some() {
        fs::write(path("session.txt"), format!("{before}bytes\n{actual}")).unwrap();
    } else {
        assert_eq!(actual, expected);
    }
}

type Name = heapless::String<16>;

const LAMP: Lamp = Lamp {
    key: "a/x",
    revision: 1,
    json: r#"{"spec":{"on":true}}"#,
};
