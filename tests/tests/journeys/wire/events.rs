//! The events of a watch.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use super::{Form, revision};
use crate::PATIENCE;

/// The events of a watch.
pub(crate) struct Events {
    body: Incoming,
    form: Form,
    /// What has come of events that were not asked for yet.
    buffer: Vec<u8>,
}

/// An event of a watch.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) object: Value,
}

impl Events {
    pub(super) fn new(body: Incoming, form: Form) -> Self {
        Self {
            body,
            form,
            buffer: Vec::new(),
        }
    }

    /// The next one; `None` when the watch has ended, be it because the server has.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.take() {
                return Some(event);
            }
            let frame = timeout(PATIENCE, self.body.frame()).await;
            let frame = frame.expect("an event in time")?.ok()?;
            if let Some(bytes) = frame.data_ref() {
                self.buffer.extend_from_slice(bytes);
            }
        }
    }

    /// The next one, which there has to be, in short: what happened to whom.
    #[track_caller]
    pub(crate) fn expect(&mut self) -> impl Future<Output = Event> + use<'_> {
        let caller = std::panic::Location::caller();
        async move {
            let event = self.next().await;
            event.unwrap_or_else(|| panic!("the watch ended, at {caller}"))
        }
    }

    /// The next one of which all has come.
    fn take(&mut self) -> Option<Event> {
        match self.form {
            Form::Json => {
                let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
                let line: Vec<_> = self.buffer.drain(..=end).collect();
                let mut event = Form::Json.read(&line);
                Some(Event {
                    kind: event["type"].as_str().expect("a type").to_owned(),
                    object: event["object"].take(),
                })
            }
            Form::Protobuf => {
                let length = u32::from_be_bytes(*self.buffer.first_chunk()?) as usize;
                let frame = self.buffer.get(4..4 + length)?;
                // WatchEvent { 1: type, 2: RawExtension { 1: the object in its envelope } }
                let kind = String::from_utf8(field(frame, 1).to_vec()).expect("a type");
                let object = Form::Protobuf.read(field(field(frame, 2), 1));
                self.buffer.drain(..4 + length);
                Some(Event { kind, object })
            }
        }
    }
}

impl Event {
    pub(crate) fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().expect("a name")
    }

    pub(crate) fn revision(&self) -> u64 {
        revision(&self.object)
    }
}

/// The bytes of a field in a protobuf message of which all fields are bytes.
fn field(mut message: &[u8], wanted: u8) -> &[u8] {
    const BYTES: u8 = 2;
    while let [tag, rest @ ..] = message {
        let mut rest = rest;
        let mut length = 0;
        let mut shift = 0;
        while let [byte, after @ ..] = rest {
            rest = after;
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (bytes, after) = rest.split_at(length);
        if *tag == wanted << 3 | BYTES {
            return bytes;
        }
        message = after;
    }
    panic!("no field {wanted}");
}
