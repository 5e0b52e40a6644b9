//! JSON patch, RFC 6902: a list of operations, applied in order, all or none.
//!
//! Where the library that Kubernetes uses departs from the RFC, so does this, or clients could tell:
//!
//! - A field that an object has not is null: `replace` sets it, `copy` copies null, `test` compares with null. What is below it is missing.
//! - A negative index counts from the end of a list.
//! - The whole document can be tested, and replaced by an object or a list, but not added, removed, moved or copied.
//! - An operation without a `value` has null. One that does not exist is found out when it is its turn: 422 and not 400.
//!
//! The number of operations is bounded, and so are the bytes that `copy` adds (a document copied into itself doubles each time)
//! and the values that are walked or shifted in all.

use serde_json::{Map, Value};

use super::depth::{Size, measure};
use super::pointer::{self, Pointer};
use super::{Error, MAX_DEPTH};

/// How many operations a patch may have.
pub const MAX_OPERATIONS: usize = 10_000;

/// How many bytes of JSON the `copy` operations of a patch may add.
pub const MAX_COPIED: usize = 3 * 1024 * 1024;

/// How many values a patch may walk or shift: about a second's worth.
pub const MAX_WORK: usize = 50_000_000;

/// A JSON patch.
#[derive(Debug, Clone)]
pub struct Patch {
    operations: Vec<Result<Operation, Error>>,
}

#[derive(Debug, Clone)]
enum Operation {
    Add { path: Pointer, value: Value },
    Remove { path: Pointer },
    Replace { path: Pointer, value: Value },
    Move { from: Pointer, path: Pointer },
    Copy { from: Pointer, path: Pointer },
    Test { path: Pointer, value: Value },
}

impl Patch {
    /// Reads a list of operations.
    pub fn parse(patch: Value) -> Result<Self, Error> {
        let Value::Array(items) = patch else {
            return Err(Error::Malformed("the patch is not a list".to_owned()));
        };
        if items.len() > MAX_OPERATIONS {
            return Err(Error::TooManyOperations { count: items.len() });
        }
        let operations = items
            .into_iter()
            .map(|item| match item {
                Value::Object(map) => Ok(Operation::parse(map)),
                _ => Err(Error::Malformed("an operation is not an object".to_owned())),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { operations })
    }

    /// The document after all operations.
    pub fn apply(&self, mut document: Value) -> Result<Value, Error> {
        let mut run = Run { work: 0, copied: 0 };
        for operation in &self.operations {
            run.step(&mut document, operation.as_ref().map_err(Error::clone)?)?;
        }
        Ok(document)
    }
}

impl Operation {
    fn parse(mut map: Map<String, Value>) -> Result<Self, Error> {
        let kind = match map.get("op") {
            Some(Value::String(kind)) => kind.clone(),
            _ => return Err(Error::BadOperation("Unexpected kind: unknown".to_owned())),
        };
        let pointer = |name: &str| {
            map.get(name)
                .and_then(Value::as_str)
                .and_then(Pointer::parse)
                .ok_or_else(|| {
                    Error::BadOperation(format!("{kind} operation failed to decode {name}"))
                })
        };
        let path = pointer("path");
        let from = pointer("from");
        let value = map.remove("value").unwrap_or(Value::Null);
        Ok(match kind.as_str() {
            "add" => Self::Add { path: path?, value },
            "remove" => Self::Remove { path: path? },
            "replace" => Self::Replace { path: path?, value },
            "move" => Self::Move {
                from: from?,
                path: path?,
            },
            "copy" => Self::Copy {
                from: from?,
                path: path?,
            },
            "test" => Self::Test { path: path?, value },
            other => return Err(Error::BadOperation(format!("Unexpected kind: {other}"))),
        })
    }
}

/// What one application of a patch has cost so far.
struct Run {
    work: usize,
    copied: usize,
}

impl Run {
    fn step(&mut self, document: &mut Value, operation: &Operation) -> Result<(), Error> {
        match operation {
            Operation::Add { path, value } => self.add("add", document, path, value.clone()),
            Operation::Remove { path } => self.remove("remove", document, path).map(drop),
            Operation::Replace { path, value } => self.replace(document, path, value),
            Operation::Move { from, path } => {
                if from.holds(path) {
                    return Err(missing("move", path));
                }
                let value = self.remove("move", document, from)?;
                self.add("move", document, path, value)
            }
            Operation::Copy { from, path } => {
                let value = from
                    .find(document)
                    .filter(|_| from.len() > 0)
                    .ok_or_else(|| missing("copy", from))?;
                let size = self.measure(path, value)?;
                self.copied += size.bytes;
                if self.copied > MAX_COPIED {
                    return Err(Error::CopiesTooMuch);
                }
                let value = value.clone();
                self.add("copy", document, path, value)
            }
            Operation::Test { path, value } => {
                let found = path.find(document).ok_or_else(|| missing("test", path))?;
                if found == value {
                    Ok(())
                } else {
                    Err(Error::TestFailed {
                        path: path.to_string(),
                    })
                }
            }
        }
    }

    fn add(
        &mut self,
        operation: &'static str,
        document: &mut Value,
        path: &Pointer,
        value: Value,
    ) -> Result<(), Error> {
        self.measure(path, &value)?;
        match path.parent(document) {
            Some((Value::Object(map), name)) => {
                map.insert(name.to_owned(), value);
            }
            Some((Value::Array(items), token)) => {
                let place = if token == "-" {
                    items.len()
                } else {
                    // One past the end is a place to add at.
                    pointer::index(token, items.len() + 1)
                        .ok_or_else(|| missing(operation, path))?
                };
                self.spend(items.len() - place)?;
                items.insert(place, value);
            }
            _ => return Err(missing(operation, path)),
        }
        Ok(())
    }

    fn replace(
        &mut self,
        document: &mut Value,
        path: &Pointer,
        value: &Value,
    ) -> Result<(), Error> {
        self.measure(path, value)?;
        let place = match path.parent(document) {
            None if path.len() == 0 => {
                if !value.is_object() && !value.is_array() {
                    let why = "replace operation value must be object or array";
                    return Err(Error::BadOperation(why.to_owned()));
                }
                *document = value.clone();
                return Ok(());
            }
            Some((Value::Object(map), name)) => Some(map.entry(name).or_insert(Value::Null)),
            Some((Value::Array(items), token)) => {
                pointer::index(token, items.len()).and_then(|place| items.get_mut(place))
            }
            _ => None,
        };
        *place.ok_or_else(|| missing("replace", path))? = value.clone();
        Ok(())
    }

    fn remove(
        &mut self,
        operation: &'static str,
        document: &mut Value,
        path: &Pointer,
    ) -> Result<Value, Error> {
        match path.parent(document) {
            Some((Value::Object(map), name)) => map.remove(name),
            Some((Value::Array(items), token)) => match pointer::index(token, items.len()) {
                Some(place) => {
                    self.spend(items.len() - place)?;
                    Some(items.remove(place))
                }
                None => None,
            },
            _ => None,
        }
        .ok_or_else(|| missing(operation, path))
    }

    /// Measures a value that is about to be put at `path`.
    fn measure(&mut self, path: &Pointer, value: &Value) -> Result<Size, Error> {
        let size = measure(value);
        self.spend(size.values)?;
        if path.len() + size.depth > MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        Ok(size)
    }

    fn spend(&mut self, values: usize) -> Result<(), Error> {
        self.work += values;
        if self.work > MAX_WORK {
            return Err(Error::TooMuchWork);
        }
        Ok(())
    }
}

fn missing(operation: &'static str, path: &Pointer) -> Error {
    Error::MissingPath {
        operation,
        path: path.to_string(),
    }
}
