//! Server-side apply: what a manager wants a few fields to be, merged into what is there.
//!
//! It takes two steps, since what comes of the [first](merge) has to be made an object of its kind before it can be compared with what
//! is there: amounts and moments have more than one form.

use std::fmt;

use serde_json::{Map, Value};

use super::claim::claim;
use super::entry::{Entries, Entry, Operation};
use super::merge as values;
use super::prune::{prune, settle};
use super::record::before_first_apply;
use super::{FieldSet, Node, Writer, compare, last_applied};
use crate::objects::meta;

/// What is wanted does not fit the type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotTyped(Vec<String>);

impl fmt::Display for NotTyped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [fault] => f.write_str(fault),
            faults => write!(f, "errors:\n  {}", faults.join("\n  ")),
        }
    }
}

impl std::error::Error for NotTyped {}

/// What is wanted, merged into what is there.
#[derive(Debug)]
pub struct Merged<'a> {
    /// The object. It is the caller's to make it one of its kind.
    pub object: Value,
    types: Node<'a>,
    writer: Writer<'a>,
    with_status: bool,
    wanted: &'a Value,
    /// The fields that are wanted.
    fields: FieldSet,
    /// The writer's entry of the last time.
    last: Option<Entry>,
    others: Entries,
}

/// Merges what a writer wants into an object, or into nothing, and takes out what it wanted the last time and does not any more.
///
/// # Errors
///
/// [`NotTyped`] if what is wanted does not fit the type.
pub fn merge<'a>(
    types: Node<'a>,
    writer: Writer<'a>,
    live: Option<&Value>,
    wanted: &'a Value,
    with_status: bool,
) -> Result<Merged<'a>, NotTyped> {
    let (all, faults) = claim(types, wanted);
    if !faults.is_empty() {
        return Err(NotTyped(faults));
    }
    let mut others = match live {
        None => Entries::default(),
        Some(live) => {
            let stored = meta::get(live, "managedFields").cloned();
            let entries = Entries::trusted(stored.unwrap_or_default());
            if entries.0.is_empty() {
                before_first_apply(types, &writer, live, with_status)
            } else {
                entries
            }
        }
    };
    for entry in &mut others.0 {
        entry.fields = settle(types, &entry.fields);
    }
    let last = others.take(&Entry::new(&writer, Operation::Apply));
    let mut object = live.cloned().unwrap_or_else(|| Map::new().into());
    meta::metadata(&mut object).remove("managedFields");
    let mut object = values::merge(types, object, wanted);
    if let Some(last) = &last {
        let mut owned = all.clone();
        for other in &others.0 {
            owned.unite(other.fields.clone());
        }
        object = prune(types, object, &last.fields, &owned);
    }
    let mut fields = all;
    fields.strip();
    Ok(Merged {
        object,
        types,
        writer,
        with_status,
        wanted,
        fields,
        last,
        others,
    })
}

/// A field that another manager owns and wants to be something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns it, as messages say it.
    pub manager: String,
    /// Which it is.
    pub field: String,
}

/// All fields that are in conflict, by owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Conflict { manager, field }] = self.0.as_slice() {
            return write!(
                f,
                "Apply failed with 1 conflict: conflict with {manager}: {field}"
            );
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        for (place, of_one) in self.0.chunk_by(|a, b| a.manager == b.manager).enumerate() {
            let Some(first) = of_one.first() else {
                continue;
            };
            let line = if place > 0 { "\n" } else { "" };
            write!(f, "{line}conflicts with {}:", first.manager)?;
            for conflict in of_one {
                write!(f, "\n- {}", conflict.field)?;
            }
        }
        Ok(())
    }
}

impl Merged<'_> {
    /// The object with its owners, if no other owner wants anything in it to be something else, or if that does not matter.
    ///
    /// # Errors
    ///
    /// [`Conflicts`] with other owners.
    pub fn settle(mut self, live: Option<&Value>, force: bool) -> Result<Value, Conflicts> {
        let empty = Value::Object(Map::new());
        let live = live.unwrap_or(&empty);
        let mut difference = compare(self.types, live, &self.object);
        for set in [&mut difference.changed, &mut difference.removed] {
            set.strip();
            if !self.with_status {
                set.remove_tree("status");
            }
        }
        if !force {
            self.check(live, &difference.changed)?;
        }
        for other in &mut self.others.0 {
            other.fields.subtract(&difference.changed);
            other.fields.subtract(&difference.removed);
        }
        let mut entry = Entry::new(&self.writer, Operation::Apply);
        entry.time = match &self.last {
            Some(last) if difference.is_empty() && last.fields == self.fields => last.time.clone(),
            _ => Some(self.writer.now.to_owned()),
        };
        entry.fields = self.fields;
        self.others.0.push(entry);
        self.others.cap();
        let mut object = self.object;
        meta::set(&mut object, "managedFields", self.others.into_value());
        if self.writer.manager == last_applied::MANAGER {
            last_applied::renew(&mut object, self.wanted);
        }
        Ok(object)
    }

    fn check(&self, live: &Value, changed: &FieldSet) -> Result<(), Conflicts> {
        let mut found: Vec<(&Entry, FieldSet)> = self
            .others
            .0
            .iter()
            .map(|other| (other, other.fields.intersection(changed)))
            .filter(|(_, fields)| !fields.is_empty())
            .collect();
        if found.is_empty() {
            return Ok(());
        }
        if self.writer.manager == last_applied::MANAGER {
            // What the same tool applied in another way is its own.
            if let Some(own) = last_applied::fields(self.types, self.writer.api_version, live) {
                found
                    .iter_mut()
                    .for_each(|(_, fields)| fields.subtract(&own));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.identity().cmp(&b.identity()));
        let conflicts = found.iter().flat_map(|(other, fields)| {
            let manager = shown(other);
            let conflict = move |field| Conflict {
                manager: manager.clone(),
                field,
            };
            fields.paths().into_iter().map(conflict)
        });
        match conflicts.collect::<Vec<_>>() {
            none if none.is_empty() => Ok(()),
            conflicts => Err(Conflicts(conflicts)),
        }
    }
}

/// A manager as messages name it.
fn shown(entry: &Entry) -> String {
    let mut text = format!("{:?}", entry.manager);
    if !entry.subresource.is_empty() {
        text.push_str(&format!(" with subresource {:?}", entry.subresource));
    }
    if entry.operation == Operation::Update {
        text.push_str(&format!(" using {}", entry.api_version));
    }
    text
}
