//! From the JSON of a schema to the tree.
//!
//! First the words of each node are read, and whether they go together; what no tree can be made of ends there. Then what needs
//! the whole tree: whether alternatives speak of known fields only, defaults fit, and rules compile.

use serde_json::Value;

use super::node::{Additional, Checks, ListType, MapType, Node, Type};
use super::pattern::Patterns;
use super::rules::{self, Rule};
use super::{MAX_DEPTH, MAX_NODES, validate};
use crate::schema::path::FieldPath;
use crate::validation::{Faults, Invalid, Reason};

mod checks;
mod coherence;
mod words;

use words::Words;

pub(super) use words::warnings;

/// How many rules a schema may have.
const MAX_RULES: usize = 2000;

pub(super) fn schema(schema: &Value, path: &FieldPath<'_>) -> Result<Node, Vec<Invalid>> {
    let mut reader = Reader {
        faults: Faults::default(),
        nodes: 0,
        rules: 0,
        patterns: Patterns::default(),
    };
    let root = reader.node(schema, path, Place::ROOT);
    let Reader {
        mut faults,
        mut patterns,
        ..
    } = reader;
    if faults.is_empty() {
        coherence::check(&root, path, &mut faults);
        check_defaults(&root, path, &mut faults);
        rules::compile(&root, path, &mut patterns, &mut faults);
    }
    if faults.is_empty() {
        Ok(root)
    } else {
        Err(faults.into_vec())
    }
}

/// Where a node stands in the schema.
#[derive(Debug, Clone, Copy)]
struct Place {
    level: Level,
    /// Whether it is part of an alternative: it then only restricts what is said elsewhere.
    nested: bool,
    /// Why there may be no default.
    no_default: Option<&'static str>,
    inside_meta: bool,
    depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

impl Place {
    const ROOT: Self = Self {
        level: Level::Root,
        nested: false,
        no_default: None,
        inside_meta: false,
        depth: 0,
    };

    fn below(self, level: Level) -> Self {
        Self {
            level,
            depth: self.depth + 1,
            ..self
        }
    }
}

struct Reader {
    faults: Faults,
    nodes: usize,
    rules: usize,
    patterns: Patterns,
}

impl Reader {
    fn node(&mut self, schema: &Value, path: &FieldPath<'_>, place: Place) -> Node {
        self.nodes += 1;
        if self.faults.is_full() {
            return Node::default();
        }
        if self.nodes > MAX_NODES || place.depth > MAX_DEPTH {
            self.too_large(path, place);
            return Node::default();
        }
        let Value::Object(map) = schema else {
            self.faults.invalid(path, schema, "must be a schema");
            return Node::default();
        };
        words::refuse_unsupported(map, path, &mut self.faults);
        let words = Words { map, path };
        let mut node = Node {
            of: self.type_of(words, place),
            nullable: words.flag("nullable", &mut self.faults),
            int_or_string: words.flag("x-kubernetes-int-or-string", &mut self.faults),
            preserve: self.preserve(words),
            embedded: words.flag("x-kubernetes-embedded-resource", &mut self.faults),
            ..Node::default()
        };
        self.fields(&mut node, words, place);
        self.elements(&mut node, words, place);
        self.default(&mut node, words, place);
        node.checks = self.checks(words, place, &node);
        self.merge_words(&mut node, words);
        node.rules = self.rules(words);
        let below = node.properties.iter().any(|(_, below)| below.has_rules)
            || node.additional().is_some_and(|below| below.has_rules)
            || node.items().is_some_and(|below| below.has_rules);
        node.has_rules = below || !node.rules.is_empty();
        if place.nested {
            self.refuse_structure(&node, words);
        } else {
            self.check_structure(&node, words, place);
        }
        node
    }

    /// Told once: the rest of the schema is not read.
    fn too_large(&mut self, path: &FieldPath<'_>, place: Place) {
        if place.depth > MAX_DEPTH {
            let detail = format!("must not be nested deeper than {MAX_DEPTH} levels");
            self.faults.forbidden(path, &detail);
        } else if self.nodes == MAX_NODES + 1 {
            let detail = format!("a schema must have at most {MAX_NODES} nodes");
            self.faults.forbidden(path, &detail);
        }
    }

    fn type_of(&mut self, words: Words<'_>, place: Place) -> Option<Type> {
        let text = words.text("type", &mut self.faults)?;
        let path = words.path.field("type");
        let known = [
            Type::Array,
            Type::Boolean,
            Type::Integer,
            Type::Number,
            Type::Object,
            Type::String,
        ];
        match known.into_iter().find(|of| of.name() == text) {
            Some(of) => {
                if place.level == Level::Root && of != Type::Object && !place.nested {
                    self.faults
                        .invalid(path, &text.into(), "must be object at the root");
                }
                Some(of)
            }
            None if text.is_empty() => None,
            None if text == "null" => {
                let detail = "type cannot be set to null, use nullable as an alternative";
                self.faults.forbidden(path, detail);
                None
            }
            None => {
                let names = known.map(Type::name);
                self.faults.unsupported(path, &text.into(), &names);
                None
            }
        }
    }

    fn preserve(&mut self, words: Words<'_>) -> bool {
        let word = "x-kubernetes-preserve-unknown-fields";
        if words.map.get(word) == Some(&Value::Bool(false)) {
            let path = words.path.field(word);
            self.faults
                .invalid(path, &false.into(), "must be true or undefined");
        }
        words.flag(word, &mut self.faults)
    }

    fn fields(&mut self, node: &mut Node, words: Words<'_>, place: Place) {
        let at = words.path.field("properties");
        let properties = words.object("properties", &mut self.faults);
        let is_object = place.level == Level::Root || node.embedded;
        // A map of JSON is in the order of its keys.
        let read = |(name, schema): (&String, &Value)| {
            let mut below = place.below(Level::Field);
            if is_object && super::prune::META_FIELDS.contains(&name.as_str()) {
                below.inside_meta = true;
                if place.level == Level::Root {
                    below.no_default = Some("in top-level metadata");
                }
            }
            let node = self.node(schema, &at.key(name), below);
            (name.as_str().into(), node)
        };
        let mut fields: Vec<(Box<str>, Node)> =
            properties.into_iter().flatten().map(read).collect();
        fields.sort_by(|(left, _), (right, _)| left.cmp(right));
        node.properties = fields.into();
        let at = words.path.field("additionalProperties");
        node.additional = match words.map.get("additionalProperties") {
            None | Some(Value::Null) => Additional::None,
            Some(Value::Bool(true)) => Additional::Any,
            Some(Value::Bool(false)) => {
                let detail = "additionalProperties cannot be set to false";
                self.faults.forbidden(at, detail);
                Additional::None
            }
            Some(schema) => {
                let mut below = place.below(Level::Field);
                if place.inside_meta {
                    below.no_default =
                        Some("inside additionalProperties applying to object metadata");
                }
                Additional::Of(Box::new(self.node(schema, &at, below)))
            }
        };
        if !node.properties.is_empty() && node.additional().is_some() {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.faults
                .forbidden(words.path.field("additionalProperties"), detail);
        }
    }

    fn elements(&mut self, node: &mut Node, words: Words<'_>, place: Place) {
        let at = words.path.field("items");
        node.items = match words.map.get("items") {
            None | Some(Value::Null) => None,
            Some(Value::Array(_)) => {
                let detail = "items must be a schema object and not an array";
                self.faults.forbidden(at, detail);
                None
            }
            Some(schema) => Some(Box::new(self.node(schema, &at, place.below(Level::Item)))),
        };
    }

    fn default(&mut self, node: &mut Node, words: Words<'_>, place: Place) {
        let Some(default) = words.map.get("default").filter(|value| !value.is_null()) else {
            return;
        };
        if let Some(reason) = place.no_default {
            let detail = format!("must not be set {reason}");
            self.faults.forbidden(words.path.field("default"), &detail);
        }
        node.default = Some(default.clone().into());
    }

    fn merge_words(&mut self, node: &mut Node, words: Words<'_>) {
        let text = words.text("x-kubernetes-list-type", &mut self.faults);
        node.list = match text {
            None | Some("atomic") => ListType::Atomic,
            Some("set") => ListType::Set,
            Some("map") => ListType::Map,
            Some(other) => {
                let path = words.path.field("x-kubernetes-list-type");
                self.faults
                    .unsupported(path, &other.into(), &["atomic", "set", "map"]);
                ListType::Atomic
            }
        };
        let text = words.text("x-kubernetes-map-type", &mut self.faults);
        node.map = match text {
            None | Some("granular") => MapType::Granular,
            Some("atomic") => MapType::Atomic,
            Some(other) => {
                let path = words.path.field("x-kubernetes-map-type");
                self.faults
                    .unsupported(path, &other.into(), &["atomic", "granular"]);
                MapType::Granular
            }
        };
        let keys = words.texts("x-kubernetes-list-map-keys", &mut self.faults);
        node.map_keys = keys.into_iter().map(Box::from).collect();
    }

    fn rules(&mut self, words: Words<'_>) -> Box<[Rule]> {
        let word = "x-kubernetes-validations";
        let at = words.path.field(word);
        let list = words.list(word, &mut self.faults);
        let mut rules = Vec::new();
        self.rules += list.len();
        if self.rules > MAX_RULES {
            let detail = format!("a schema must have at most {MAX_RULES} rules");
            self.faults.forbidden(at, &detail);
            return Box::default();
        }
        for (index, rule) in list.iter().enumerate() {
            rules.extend(Rule::read(rule, &at.index(index), &mut self.faults));
        }
        rules.into()
    }

    fn alternatives(&mut self, words: Words<'_>, word: &str, place: Place) -> Box<[Node]> {
        let at = words.path.field(word);
        let list = words.list(word, &mut self.faults);
        let inside = Place {
            nested: true,
            ..place.below(place.level)
        };
        let read = |(index, schema): (usize, &Value)| self.node(schema, &at.index(index), inside);
        list.iter().enumerate().map(read).collect()
    }

    fn checks(&mut self, words: Words<'_>, place: Place, node: &Node) -> Option<Box<Checks>> {
        let mut checks = Checks {
            all_of: self.alternatives(words, "allOf", place),
            any_of: self.alternatives(words, "anyOf", place),
            one_of: self.alternatives(words, "oneOf", place),
            ..Checks::default()
        };
        if let Some(schema) = words.map.get("not").filter(|schema| !schema.is_null()) {
            let inside = Place {
                nested: true,
                ..place.below(place.level)
            };
            let at = words.path.field("not");
            checks.not = Some(Box::new(self.node(schema, &at, inside)));
        }
        let is_bare = checks::read(&mut checks, words, &mut self.patterns, &mut self.faults);
        if node.int_or_string && !place.nested {
            checks::drop_int_or_string(&mut checks);
        }
        let alternatives = checks.all_of.len() + checks.any_of.len() + checks.one_of.len();
        let is_empty = is_bare && alternatives == 0 && checks.not.is_none();
        (!is_empty).then(|| Box::new(checks))
    }

    /// An alternative may not say what structure there is, only restrict what is there.
    fn refuse_structure(&mut self, node: &Node, words: Words<'_>) {
        let undefined = "must be undefined to be structural";
        let empty = "must be empty to be structural";
        let off = "must be false to be structural";
        let refused = [
            ("additionalProperties", undefined, node.has_additional()),
            ("default", undefined, node.default.is_some()),
            ("title", empty, words.has_text("title")),
            ("description", empty, words.has_text("description")),
            ("nullable", off, node.nullable),
            (
                "externalDocs",
                undefined,
                words.map.contains_key("externalDocs"),
            ),
            ("x-kubernetes-preserve-unknown-fields", off, node.preserve),
            ("x-kubernetes-embedded-resource", off, node.embedded),
            ("x-kubernetes-int-or-string", off, node.int_or_string),
            (
                "x-kubernetes-list-map-keys",
                empty,
                !node.map_keys.is_empty(),
            ),
            (
                "x-kubernetes-list-type",
                undefined,
                words.map.contains_key("x-kubernetes-list-type"),
            ),
            (
                "x-kubernetes-map-type",
                undefined,
                words.map.contains_key("x-kubernetes-map-type"),
            ),
            ("x-kubernetes-validations", empty, !node.rules.is_empty()),
        ];
        for (word, detail, _) in refused.into_iter().filter(|(_, _, is_there)| *is_there) {
            self.faults.forbidden(words.path.field(word), detail);
        }
        if node.property("metadata").is_some() {
            let at = words.path.field("properties");
            let detail = "must not be specified in a nested context";
            self.faults.forbidden(at.key("metadata"), detail);
        }
    }

    fn check_structure(&mut self, node: &Node, words: Words<'_>, place: Place) {
        coherence::check_type(
            node,
            words,
            place.level == Level::Item,
            place.level == Level::Root,
            &mut self.faults,
        );
        coherence::check_lists(node, words, &mut self.faults);
        coherence::check_metadata(node, words, place.level == Level::Root, &mut self.faults);
        if place.inside_meta && node.embedded {
            let at = words.path.field("x-kubernetes-embedded-resource");
            self.faults
                .forbidden(at, "must not be used inside of resource meta");
        }
    }
}

/// Defaults must be what an object may hold, and hold nothing that would be pruned.
fn check_defaults(node: &Node, path: &FieldPath<'_>, faults: &mut Faults) {
    if faults.is_full() {
        return;
    }
    if let Some(default) = node.default_value() {
        let at = path.field("default");
        if super::prune::is_pruned(node, default) {
            validate::default(node, default, &at, faults);
        } else {
            faults.add(
                at,
                Reason::Invalid,
                Some(default),
                "must not have unknown fields",
            );
        }
    }
    let at = path.field("properties");
    for (name, below) in node.properties() {
        check_defaults(below, &at.key(name), faults);
    }
    if let Some(below) = node.additional() {
        check_defaults(below, &path.field("additionalProperties"), faults);
    }
    if let Some(below) = node.items() {
        check_defaults(below, &path.field("items"), faults);
    }
}
