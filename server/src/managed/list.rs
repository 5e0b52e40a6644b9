//! What tells the elements of a list apart.

use serde_json::{Map, Value};

use super::element;
use super::node::{Keys, Node, Relation};

/// The step to an element of a list whose elements have owners of their own.
///
/// # Errors
///
/// Why it has none.
pub(super) fn identity(
    element: Node<'_>,
    relation: Relation<'_>,
    value: &Value,
) -> Result<String, String> {
    match relation {
        Relation::Keyed(keys) => keyed(element, keys, value),
        Relation::Set | Relation::Atomic => plain(value),
    }
}

/// The steps to all elements, in their order; none if one of them has none.
pub(super) fn identities(
    element: Node<'_>,
    relation: Relation<'_>,
    values: &[Value],
) -> Option<Vec<String>> {
    let identity = |value| identity(element, relation, value).ok();
    values.iter().map(identity).collect()
}

fn keyed(element: Node<'_>, keys: Keys<'_>, value: &Value) -> Result<String, String> {
    let object = match value {
        Value::Object(object) => object,
        Value::Null => return Err("associative list with keys may not have a null element".into()),
        _ => return Err("associative list with keys may not have non-map elements".into()),
    };
    let mut found = Map::new();
    for key in keys.iter() {
        let value = object
            .get(key)
            .cloned()
            .or_else(|| element.key_default(key));
        let Some(value) = value else {
            return Err(format!(
                "associative list with keys has an element that omits key field {key:?} (and doesn't have default value)"
            ));
        };
        found.insert(key.to_owned(), value);
    }
    Ok(element::keys(&found))
}

fn plain(value: &Value) -> Result<String, String> {
    let why = match value {
        Value::Object(_) => "associative list without keys has an element that's a map type",
        Value::Array(_) => "not supported: associative list with lists as elements",
        Value::Null => "associative list without keys has an element that's an explicit null",
        value => return Ok(element::value(value)),
    };
    Err(why.into())
}
