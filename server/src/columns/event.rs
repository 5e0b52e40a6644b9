//! Events, of the old API and of the new: two spellings of one thing.

use std::borrow::Cow;

use jiff::Timestamp;

use super::row::Row;
use super::tree::{Object, Tree};
use super::{BuiltIn, Column, Needs, age};

pub(super) static CORE: BuiltIn = BuiltIn {
    columns: COLUMNS,
    needs: Needs::All,
    row: |event, now| row(event, now, &OLD),
};

pub(super) static EVENTS: BuiltIn = BuiltIn {
    columns: COLUMNS,
    needs: Needs::All,
    row: |event, now| row(event, now, &NEW),
};

const COLUMNS: &[Column] = &[
    Column::text("Last Seen", "The time since it last happened."),
    Column::text("Type", "Whether it is normal or a warning."),
    Column::text("Reason", "In one word, what happened."),
    Column::text("Object", "The object that it happened to."),
    Column::wide("Subobject", "The part of the object that it happened to."),
    Column::wide("Source", "Who saw it."),
    Column::text("Message", "What happened."),
    Column::wide("First Seen", "The time since it first happened."),
    Column::wide("Count", "How often it has happened."),
    {
        let mut name = Column::name();
        name.priority = 1;
        name
    },
];

/// What the members are called.
struct Spelling {
    object: &'static str,
    message: &'static str,
    source: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
    controller: &'static str,
}

static OLD: Spelling = Spelling {
    object: "involvedObject",
    message: "message",
    source: "source",
    first: "firstTimestamp",
    last: "lastTimestamp",
    count: "count",
    controller: "reportingComponent",
};

static NEW: Spelling = Spelling {
    object: "regarding",
    message: "note",
    source: "deprecatedSource",
    first: "deprecatedFirstTimestamp",
    last: "deprecatedLastTimestamp",
    count: "deprecatedCount",
    controller: "reportingController",
};

fn row<'a>(object: &'a Object<'_>, now: Timestamp, spelling: &Spelling) -> Row<'a> {
    let event = object.root();
    let about = event.get(spelling.object);
    let series = event.get("series");
    let (count, last_of_series) = match (series.is_null(), event.get(spelling.count).integer()) {
        (false, _) => (
            series.get("count").integer(),
            Some(series.get("lastObservedTime")),
        ),
        // An event without a count has happened.
        (true, 0) => (1, None),
        (true, count) => (count, None),
    };
    let given = |time: &'a Tree<'_>| age::parse(time.text()).is_some();
    let first = match event.get(spelling.first) {
        first if given(first) => first,
        _ => event.get("eventTime"),
    };
    let last = last_of_series.unwrap_or_else(|| match event.get(spelling.last) {
        last if given(last) => last,
        _ => first,
    });
    Row::new([
        age::since(last, now).into(),
        event.get("type").text().into(),
        event.get("reason").text().into(),
        target(about).into(),
        about.get("fieldPath").text().into(),
        source(event, spelling).into(),
        event.get(spelling.message).text().trim().into(),
        age::since(first, now).into(),
        count.into(),
        object.name().into(),
    ])
}

fn target(about: &Tree<'_>) -> String {
    let mut target = about.get("kind").text().to_lowercase();
    let name = about.get("name").text();
    if !name.is_empty() {
        target.push('/');
        target.push_str(name);
    }
    target
}

/// The component that reported the event, and on which host.
fn source<'a>(event: &'a Tree<'_>, spelling: &Spelling) -> Cow<'a, str> {
    let source = event.get(spelling.source);
    let controller = event.get(spelling.controller).text();
    let component = source.get("component").text_or(controller);
    match source
        .get("host")
        .text_or(event.get("reportingInstance").text())
    {
        "" => component.into(),
        instance => format!("{component}, {instance}").into(),
    }
}
