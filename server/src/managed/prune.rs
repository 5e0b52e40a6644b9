//! Takes away what a manager applied the last time and no longer does, if nobody else owns it.

use serde_json::{Map, Value};

use super::claim::claim;
use super::element;
use super::list::identity;
use super::node::{Member, Node, Relation, Shape};
use super::set::{Branch, FieldSet, below, has_itself};

/// The object without what is in `last` and not in `owned`, which has all that anybody owns now.
///
/// A field whose parts are all gone goes too; one in which somebody else owns something stays.
pub(super) fn prune(types: Node<'_>, object: Value, last: &FieldSet, owned: &FieldSet) -> Value {
    if last.is_subset(owned) {
        return object;
    }
    let whole = |set: &FieldSet| FieldSet(with_fields(types, &set.0));
    let named = |object: &Value| whole(&claim(types, object).0);
    let last = whole(last);
    let all = named(&object);
    // All that was applied, but for what is owned.
    let mut gone = all.clone();
    gone.subtract(&named(&without(types, object.clone(), &last)));
    gone.subtract(&whole(owned));
    // What went with it and was not applied is not to go.
    let mut gone = {
        let mut rest = all;
        rest.subtract(&named(&without(types, object.clone(), &gone)));
        rest
    };
    gone = gone.intersection(&last);
    // Nor is what is owned, although nothing may be left in it.
    gone.subtract(&whole(owned));
    without(types, object, &gone)
}

/// The set with every field of a type in it that something in the set is below.
fn with_fields(node: Node<'_>, set: &Map<String, Value>) -> Map<String, Value> {
    let mut result = Branch::default();
    for (element, set) in below(set) {
        let (node, is_field) = match element::name(element).map(|name| node.member(name)) {
            Some(Member::Field { node, .. }) => (node, true),
            Some(Member::Entry(node)) => (node, false),
            Some(Member::Unknown) => continue,
            None => (node.element(), false),
        };
        let branch = Branch {
            itself: is_field || has_itself(set),
            below: with_fields(node, set),
        };
        result.hang(|| element.clone(), branch);
    }
    result.below
}

/// The object without the fields in a set.
fn without(node: Node<'_>, mut object: Value, set: &FieldSet) -> Value {
    remove(node, &mut object, &set.0);
    object
}

fn remove(node: Node<'_>, value: &mut Value, set: &Map<String, Value>) {
    match (node.shape(), value) {
        (Shape::Object { atomic: false } | Shape::Untyped, Value::Object(fields)) => {
            for (element, set) in below(set) {
                let Some(name) = element::name(element) else {
                    continue;
                };
                if has_itself(set) {
                    fields.remove(name);
                    continue;
                }
                let (Member::Field { node, .. } | Member::Entry(node), Some(value)) =
                    (node.member(name), fields.get_mut(name))
                else {
                    continue;
                };
                // What is empty then is there for somebody: else it would be in the set itself.
                remove(node, value, set);
            }
        }
        (Shape::List(relation @ (Relation::Set | Relation::Keyed(_))), Value::Array(list)) => {
            let node = node.element();
            list.retain_mut(|value| {
                let Ok(element) = identity(node, relation, value) else {
                    return true;
                };
                match set.get(&element) {
                    Some(Value::Object(set)) if has_itself(set) => return false,
                    Some(Value::Object(set)) => remove(node, value, set),
                    _ => {}
                }
                true
            });
        }
        _ => {}
    }
}

/// Puts a set right that was made when the type had parts with owners of their own where it now has one value.
pub(super) fn settle(types: Node<'_>, set: &FieldSet) -> FieldSet {
    FieldSet(settled(types, &set.0).below)
}

fn settled(node: Node<'_>, set: &Map<String, Value>) -> Branch {
    let atomic = matches!(
        node.shape(),
        Shape::Object { atomic: true } | Shape::List(Relation::Atomic) | Shape::Opaque
    );
    if atomic {
        return Branch::leaf();
    }
    let mut branch = Branch {
        itself: has_itself(set),
        below: Map::new(),
    };
    for (element, set) in below(set) {
        let node = match element::name(element).map(|name| node.member(name)) {
            Some(Member::Field { node, .. } | Member::Entry(node)) => node,
            Some(Member::Unknown) => continue,
            None => node.element(),
        };
        branch.hang(|| element.clone(), settled(node, set));
    }
    branch
}
