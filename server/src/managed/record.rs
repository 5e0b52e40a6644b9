//! What a create, an update or a patch does to the owners: what it changed is the writer's.

use serde_json::{Map, Value};

use super::entry::{Entries, Entry, Operation};
use super::prune::settle;
use super::{Difference, Node, Writer, compare};
use crate::objects::meta;

/// Whose the fields are of which only the object is known that they were in before anybody applied.
pub(super) const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Writes the owners into `new`, which takes the place of `old` or is a new object.
///
/// A writer may bring owners, and they count, unless it writes below the object's path. It gets rid of them all with a list of an
/// empty entry: then nobody is kept until somebody applies. `with_status` is whether the status is written here at all.
pub fn record(
    types: Node<'_>,
    writer: &Writer<'_>,
    old: Option<&Value>,
    new: &mut Value,
    with_status: bool,
) {
    let given = meta::metadata(new).remove("managedFields");
    let stored = old.and_then(|old| meta::get(old, "managedFields"));
    let given = given.filter(|_| writer.subresource.is_empty());
    let owners = match given {
        Some(given) if Some(&given) == stored => Owners::Stored(given),
        Some(given) if is_reset(&given) => Owners::Given(Entries::default()),
        Some(given) => match Entries::parse(given) {
            Ok(entries) if !entries.0.is_empty() => Owners::Given(entries),
            // Whoever does not know what it is does not get rid of it.
            _ => Owners::Stored(stored.cloned().unwrap_or_default()),
        },
        None => Owners::Stored(stored.cloned().unwrap_or_default()),
    };
    if owners.is_empty() && old.is_some() {
        return;
    }
    let empty = Value::Object(Map::new());
    let mut difference = compare(types, old.unwrap_or(&empty), new);
    for set in [&mut difference.changed, &mut difference.removed] {
        set.strip();
        if !with_status {
            set.remove_tree("status");
        }
    }
    let managed = match owners {
        Owners::Stored(value) if difference.is_empty() => {
            Some(value).filter(|value| !value.is_null())
        }
        Owners::Stored(value) => take(types, writer, Entries::trusted(value), difference),
        Owners::Given(entries) => take(types, writer, entries, difference),
    };
    meta::set(new, "managedFields", managed);
}

/// Where the owners before the write are from.
enum Owners {
    /// The object as it was stored.
    Stored(Value),
    /// The writer.
    Given(Entries),
}

impl Owners {
    fn is_empty(&self) -> bool {
        match self {
            Self::Stored(value) => value.as_array().is_none_or(Vec::is_empty),
            Self::Given(entries) => entries.0.is_empty(),
        }
    }
}

fn is_reset(given: &Value) -> bool {
    let entry = given.as_array().filter(|list| list.len() == 1);
    let entry = entry.and_then(|list| list.first()?.as_object());
    entry.is_some_and(Map::is_empty)
}

fn take(
    types: Node<'_>,
    writer: &Writer<'_>,
    mut entries: Entries,
    difference: Difference,
) -> Option<Value> {
    let new = Entry::new(writer, Operation::Update);
    let Difference { changed, removed } = difference;
    for entry in &mut entries.0 {
        if types.may_change() {
            entry.fields = settle(types, &entry.fields);
        }
        entry.fields.subtract(&changed);
        entry.fields.subtract(&removed);
    }
    if !changed.is_empty() {
        let mut own = entries.take(&new).unwrap_or(new);
        own.fields.unite(changed);
        own.time = Some(writer.now.to_owned());
        entries.0.push(own);
    }
    entries.0.retain(|entry| !entry.fields.is_empty());
    entries.cap();
    entries.into_value()
}

/// The entry of whoever made an object of which no owners are known.
pub(super) fn before_first_apply(
    types: Node<'_>,
    writer: &Writer<'_>,
    live: &Value,
    with_status: bool,
) -> Entries {
    let earlier = Writer {
        manager: BEFORE_FIRST_APPLY,
        ..*writer
    };
    let mut difference = compare(types, &Value::Object(Map::new()), live);
    difference.changed.strip();
    if !with_status {
        difference.changed.remove_tree("status");
    }
    let mut entry = Entry::new(&earlier, Operation::Update);
    entry.fields = difference.changed;
    entry.time = Some(writer.now.to_owned());
    Entries(vec![entry])
}
