//! The entries of `metadata.managedFields`: a manager each, with the fields that it owns.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::Writer;
use super::set::FieldSet;

/// How many managers who update are told apart. The oldest beyond that share an entry.
const MAX_UPDATERS: usize = 10;
/// Who owns what the oldest managers did.
const ANCIENT: &str = "ancient-changes";
/// The one form of sets that there is.
const FIELDS_TYPE: &str = "FieldsV1";

/// How a manager came to own its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// It applied them.
    Apply,
    /// It wrote them in another way.
    Update,
}

impl Operation {
    /// As it is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// A manager and what it owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub manager: String,
    /// How it came to own them.
    pub operation: Operation,
    /// The version of the object that it wrote.
    pub api_version: String,
    /// Below which path; empty for the object's own.
    pub subresource: String,
    /// When it last changed something, as it is stored.
    pub time: Option<String>,
    /// The fields.
    pub fields: FieldSet,
}

impl Entry {
    /// An entry of a writer who owns nothing yet.
    pub(super) fn new(writer: &Writer<'_>, operation: Operation) -> Self {
        Self {
            manager: writer.manager.to_owned(),
            operation,
            api_version: writer.api_version.to_owned(),
            subresource: writer.subresource.to_owned(),
            time: None,
            fields: FieldSet::default(),
        }
    }

    /// Whose entry it is. Whoever applies is the same in every version.
    fn owner(&self) -> (&str, Operation, &str, &str) {
        let version = match self.operation {
            Operation::Apply => "",
            Operation::Update => &self.api_version,
        };
        (&self.manager, self.operation, version, &self.subresource)
    }

    /// By what entries are told apart, in the order in which conflicts are told.
    pub(super) fn identity(&self) -> (&str, &str, &str, &str) {
        let operation = self.operation.as_str();
        (
            &self.manager,
            operation,
            &self.api_version,
            &self.subresource,
        )
    }

    /// By what entries are in order: the oldest first.
    fn age(&self) -> (&str, (&str, &str, &str, &str)) {
        (self.time.as_deref().unwrap_or_default(), self.identity())
    }

    fn parse(value: Value, trusted: bool) -> Result<Self, NoEntries> {
        let Value::Object(mut map) = value else {
            return Err(NoEntries("no object".into()));
        };
        let fields = map.remove("fieldsV1");
        let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(NoEntries("operation must be `Apply` or `Update`".into())),
        };
        if text("apiVersion").is_empty() {
            return Err(NoEntries("apiVersion must not be empty".into()));
        }
        if text("fieldsType") != FIELDS_TYPE {
            let found = text("fieldsType");
            return Err(NoEntries(format!("invalid fieldsType {found:?}")));
        }
        let fields = match fields {
            None => FieldSet::default(),
            Some(fields) if trusted => FieldSet::trusted(fields),
            Some(fields) => {
                FieldSet::parse(fields).map_err(|error| NoEntries(error.to_string()))?
            }
        };
        Ok(Self {
            manager: text("manager").to_owned(),
            operation,
            api_version: text("apiVersion").to_owned(),
            subresource: text("subresource").to_owned(),
            time: map.get("time").and_then(Value::as_str).map(str::to_owned),
            fields,
        })
    }

    fn into_value(self) -> Value {
        let mut map = Map::new();
        let mut put = |name: &str, value: String| {
            if !value.is_empty() {
                map.insert(name.to_owned(), value.into());
            }
        };
        put("manager", self.manager);
        put("operation", self.operation.as_str().to_owned());
        put("apiVersion", self.api_version);
        put("time", self.time.unwrap_or_default());
        put("fieldsType", FIELDS_TYPE.to_owned());
        put("subresource", self.subresource);
        map.insert("fieldsV1".to_owned(), self.fields.into_value());
        map.into()
    }
}

/// The managers of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entries(pub(super) Vec<Entry>);

/// Why a value is no list of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoEntries(String);

impl fmt::Display for NoEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoEntries {}

impl Entries {
    /// Reads what a client sent.
    ///
    /// # Errors
    ///
    /// [`NoEntries`] if any of them is none.
    pub fn parse(value: Value) -> Result<Self, NoEntries> {
        let Value::Array(list) = value else {
            return Err(NoEntries("no list".into()));
        };
        // Of those that are the same manager's the last counts.
        let entries = list.into_iter().rev();
        let entries = entries.map(|value| Entry::parse(value, false));
        let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by(|a, b| a.owner().cmp(&b.owner()));
        entries.dedup_by(|next, kept| next.owner() == kept.owner());
        Ok(Self(entries))
    }

    /// Reads what the server wrote itself; what cannot be read is left out.
    pub(super) fn trusted(value: Value) -> Self {
        let Value::Array(list) = value else {
            return Self::default();
        };
        let entries = list.into_iter().map(|value| Entry::parse(value, true));
        Self(entries.filter_map(Result::ok).collect())
    }

    /// As they are stored; nothing if there are none.
    pub fn into_value(mut self) -> Option<Value> {
        self.0.retain(|entry| !entry.fields.is_empty());
        if self.0.is_empty() {
            return None;
        }
        self.0.sort_by(|a, b| {
            let order = a.operation.cmp(&b.operation);
            order.then_with(|| a.age().cmp(&b.age()))
        });
        let values = self.0.into_iter().map(Entry::into_value);
        Some(Value::Array(values.collect()))
    }

    /// Takes out the entry of the same manager.
    pub(super) fn take(&mut self, like: &Entry) -> Option<Entry> {
        let place = self
            .0
            .iter()
            .position(|entry| entry.owner() == like.owner())?;
        Some(self.0.swap_remove(place))
    }

    /// Has the oldest of too many updaters share an entry, one for each version.
    pub(super) fn cap(&mut self) {
        let is_updater = |entry: &Entry| entry.operation == Operation::Update;
        let updaters = self.0.iter().filter(|entry| is_updater(entry)).count();
        if updaters <= MAX_UPDATERS {
            return;
        }
        let all = std::mem::take(&mut self.0);
        let (mut updaters, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_updater);
        updaters.sort_by(|a, b| a.age().cmp(&b.age()));
        let mut left = updaters.len();
        // By version.
        let mut shared: BTreeMap<String, Entry> = BTreeMap::new();
        let mut kept = others;
        for entry in updaters {
            if left <= MAX_UPDATERS {
                kept.push(entry);
                continue;
            }
            match shared.get_mut(&entry.api_version) {
                Some(first) => {
                    first.fields.unite(entry.fields);
                    first.time = entry.time;
                    first.manager = ANCIENT.to_owned();
                    first.subresource = String::new();
                    left -= 1;
                }
                None => {
                    shared.insert(entry.api_version.clone(), entry);
                }
            }
        }
        kept.extend(shared.into_values());
        self.0 = kept;
    }
}
