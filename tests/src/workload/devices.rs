//! What is written, and what is selected of it.

use std::sync::Arc;

use bytes::Bytes;
use ringwatch_core::predicate::Scope;
use ringwatch_core::selector::{FieldSelector, LabelSelector, Requirement};
use ringwatch_server::cache::Predicate;

use crate::random::Random;
use crate::recorder::{Demand, Selection};

/// What the keys of the resource begin with.
pub const PREFIX: &str = "/devices/";

const NAMESPACES: usize = 8;
const TIERS: usize = 8;
const ZONES: usize = 4;
const MODES: [&str; 6] = ["heat", "cool", "fan", "dry", "auto", "off"];

/// The path of the field that can be selected by.
pub(super) const FIELD: &str = "spec.mode";

/// The key in storage of a writer's n-th device.
pub(super) fn key(writer: usize, number: usize) -> Arc<str> {
    let namespace = (writer + number) % NAMESPACES;
    format!("{PREFIX}n{namespace}/d{writer}-{number}").into()
}

/// A device with random labels and a random mode: each write may move it into selections and out of others.
pub(super) fn value(random: &mut Random, serial: u64) -> Bytes {
    let tier = random.below(TIERS);
    let zone = random.below(ZONES);
    let canary = match random.below(8) {
        0 => r#","canary":"yes""#,
        _ => "",
    };
    let mode = MODES[random.below(MODES.len())];
    format!(
        r#"{{"kind":"Device","metadata":{{"labels":{{"tier":"t{tier}","zone":"z{zone}"{canary}}}}},"spec":{{"mode":"{mode}"}},"status":{{"serial":{serial}}}}}"#
    )
    .into()
}

/// One of the kinds of selections that clients use; `number` chooses, and chooses values.
pub fn selection(number: usize) -> Selection {
    let turn = number / KINDS;
    let tier = format!("t{}", turn % TIERS);
    let other_tier = format!("t{}", (turn + 3) % TIERS);
    let zone = format!("z{}", turn % ZONES);
    let mode = MODES[turn % MODES.len()].to_owned();
    let namespace = Some(format!("n{}", turn % NAMESPACES));
    let label = |name: &str, demand| vec![(name.to_owned(), demand)];
    let field = |demand| vec![(FIELD.to_owned(), demand)];
    let all = Selection::default();
    match number % KINDS {
        0 => all,
        1 => Selection { namespace, ..all },
        2 => Selection {
            object: key(turn % 8, turn % 5).strip_prefix(PREFIX).map(Into::into),
            ..all
        },
        3 => Selection {
            labels: label("tier", Demand::Is(tier)),
            ..all
        },
        4 => Selection {
            labels: label("tier", Demand::In(vec![tier, other_tier])),
            ..all
        },
        5 => Selection {
            namespace,
            labels: label("tier", Demand::NotIn(vec![tier, other_tier])),
            ..all
        },
        6 => Selection {
            labels: label("canary", Demand::Exists),
            ..all
        },
        7 => Selection {
            namespace,
            labels: label("canary", Demand::Absent),
            ..all
        },
        8 => Selection {
            fields: field(Demand::Is(mode)),
            ..all
        },
        9 => Selection {
            namespace,
            fields: field(Demand::IsNot(mode)),
            ..all
        },
        10 => Selection {
            labels: label("tier", Demand::Is(tier)),
            fields: field(Demand::Is(mode)),
            ..all
        },
        11 => Selection {
            labels: [
                label("zone", Demand::IsNot(zone)),
                label("tier", Demand::Is(tier)),
            ]
            .concat(),
            ..all
        },
        _ => Selection {
            namespace,
            labels: label("zone", Demand::Is(zone)),
            fields: field(Demand::Is(mode)),
            ..all
        },
    }
}

const KINDS: usize = 13;

/// The selection as the cache takes it: through the text that a client would send.
///
/// # Panics
///
/// If the texts are no selectors.
pub fn predicate(selection: &Selection) -> Predicate {
    type Table = heapless::Vec<Requirement, 4>;
    let labels = LabelSelector::<Box<str>, Table>::parse(selection.label_text().into());
    let fields = FieldSelector::<Box<str>, Table>::parse(selection.field_text().into());
    Predicate {
        scope: match (&selection.object, &selection.namespace) {
            (Some(object), _) => Scope::Object(object.as_str().into()),
            (None, Some(namespace)) => Scope::Namespace(namespace.as_str().into()),
            (None, None) => Scope::Resource,
        },
        labels: labels
            .expect("a label selector")
            .map_table(|rows| rows.iter().copied().collect()),
        fields: fields
            .expect("a field selector")
            .map_table(|rows| rows.iter().copied().collect()),
    }
}
