//! Reading the table. A line that cannot be read is a mistake in the source tree, so reading panics; a test reads it all.

use super::{Else, Field, Form, Message, Omit, Package, Place, Schema, Shape};

/// A type whose fields still name other types by text.
struct Draft {
    package: &'static str,
    group_version: &'static str,
    name: &'static str,
    is_kind: bool,
    lines: Vec<&'static str>,
}

pub(super) fn read(text: &'static str) -> Schema {
    let mut packages: Vec<Package> = Vec::new();
    let mut drafts: Vec<Draft> = Vec::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with(' ') {
            let draft = drafts.last_mut().expect("a field belongs to a type");
            draft.lines.push(line);
            continue;
        }
        let mut words = line.split(' ');
        let (what, name) = (words.next(), words.next().expect("a name"));
        if what == Some("package") {
            packages.push(Package {
                name,
                group_version: words.next().expect("a group and version"),
            });
            continue;
        }
        let package = packages.last().expect("a type belongs to a package");
        drafts.push(Draft {
            package: package.name,
            group_version: package.group_version,
            name,
            is_kind: what == Some("kind"),
            lines: Vec::new(),
        });
    }
    drafts.sort_by_key(|draft| (draft.package, draft.name));
    let messages = drafts.iter().map(|draft| message(draft, &drafts)).collect();
    Schema { packages, messages }
}

fn message(draft: &Draft, all: &[Draft]) -> Message {
    let fields: Box<[Field]> = draft
        .lines
        .iter()
        .map(|line| field(line, draft.package, all))
        .collect();
    assert!(
        fields.is_sorted_by(|a, b| a.number < b.number),
        "the fields of {} are not in order",
        draft.name
    );
    let mut names: Vec<(&str, u16)> = fields
        .iter()
        .zip(0..)
        .filter(|(field, _)| !field.is_inline())
        .map(|(field, place)| (field.name, place))
        .collect();
    names.sort_unstable();
    Message {
        package: draft.package,
        name: draft.name,
        group_version: draft.group_version,
        is_kind: draft.is_kind,
        fields,
        by_name: names.into_iter().map(|(_, place)| place).collect(),
    }
}

fn field(line: &'static str, package: &str, all: &[Draft]) -> Field {
    let mut words = line.split_whitespace();
    let mut word = || words.next().expect("a number, a name and a type");
    let number = word().parse().expect("a number");
    let name = word();
    let (shape, form) = mark(word());
    Field {
        number,
        name,
        shape,
        form: self::form(form, package, all),
        omit: match words.next() {
            None => Omit::Empty,
            Some("always") => Omit::Never,
            Some("omitzero") => Omit::Zero,
            Some(other) => panic!("no field is {other}"),
        },
    }
}

fn mark(text: &'static str) -> (Shape, &'static str) {
    for (mark, shape) in [
        ("?", Shape::Optional),
        ("[]", Shape::List),
        ("{}", Shape::Map),
    ] {
        if let Some(rest) = text.strip_prefix(mark) {
            return (shape, rest);
        }
    }
    (Shape::One, text)
}

fn form(text: &str, package: &str, all: &[Draft]) -> Form {
    match text {
        "bool" => Form::Bool,
        "int32" => Form::Int32,
        "int64" => Form::Int64,
        "double" => Form::Double,
        "string" => Form::Text,
        "bytes" => Form::Bytes,
        "time" => Form::Time,
        "microtime" => Form::MicroTime,
        "quantity" => Form::Quantity,
        "intorstring" => Form::IntOrString,
        "raw" => Form::Raw,
        "strings" => Form::Strings,
        name => match name.split_once('|') {
            None => Form::Message(place(name, package, all)),
            Some((name, other)) => {
                let other = match other {
                    "list" => Else::List,
                    "bool" => Else::Bool,
                    "strings" => Else::Strings,
                    other => panic!("nothing is {other} instead"),
                };
                Form::Either(place(name, package, all), other)
            }
        },
    }
}

/// Where the type is that a field names; without a package, that of the field's own.
fn place(name: &str, package: &str, all: &[Draft]) -> Place {
    let (package, name) = name.rsplit_once('.').unwrap_or((package, name));
    let place = all
        .binary_search_by_key(&(package, name), |draft| (draft.package, draft.name))
        .unwrap_or_else(|_| panic!("no type is called {package}.{name}"));
    Place(u16::try_from(place).expect("few types"))
}
