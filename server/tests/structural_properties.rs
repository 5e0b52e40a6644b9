//! What holds of every schema and object.

use proptest::prelude::*;
use ringwatch_server::schema::path::FieldPath;
use ringwatch_server::structural::publish::{self, Form, Kind};
use ringwatch_server::structural::{Schema, warnings};
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["a", "b", "c-d", "metadata"];

fn name() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(&NAMES[..])
}

/// Any JSON, of the names that the schemas have.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-2.5f64..2.5).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
        Just(json!("2026-01-01T00:00:00Z")),
    ];
    leaf.prop_recursive(4, 40, 4, |inside| {
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name().prop_map(str::to_owned), inside, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// An expression on a value of any type as a rule.
fn rule() -> impl Strategy<Value = String> {
    expression().prop_map(|expression| format!("dyn({expression}) == true"))
}

/// An expression. Many do not compile.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(
        &[
            "self",
            "oldSelf",
            "1",
            "2.5",
            "'ab'",
            "true",
            "null",
            "[1, 2]",
            "{'a': 1}",
            "dyn(self)",
            "b'z'",
        ][..],
    );
    leaf.prop_map(str::to_owned)
        .prop_recursive(4, 20, 3, |inside| {
            let pair = (inside.clone(), inside.clone());
            prop_oneof![
                (
                    pair.clone(),
                    prop::sample::select(
                        &["+", "-", "*", "/", "%", "==", "<", "&&", "||", "in"][..]
                    )
                )
                    .prop_map(|((left, right), operator)| format!("({left} {operator} {right})")),
                (inside.clone(), name())
                    .prop_map(|(of, name)| format!("{of}.{}", name.replace('-', "__dash__"))),
                (
                    inside.clone(),
                    prop::sample::select(&["all", "exists", "map", "filter", "exists_one"][..]),
                    inside.clone()
                )
                    .prop_map(|(of, macro_name, body)| format!(
                        "{of}.{macro_name}(x, dyn({body}) == x)"
                    )),
                (
                    inside.clone(),
                    prop::sample::select(
                        &[
                            "size",
                            "string",
                            "int",
                            "duration",
                            "timestamp",
                            "quantity",
                            "type"
                        ][..]
                    )
                )
                    .prop_map(|(of, function)| format!("{function}({of})")),
                (
                    inside.clone(),
                    prop::sample::select(
                        &["contains", "split", "indexOf", "substring", "replace"][..]
                    ),
                    inside.clone()
                )
                    .prop_map(|(of, function, arg)| format!("{of}.{function}({arg})")),
                pair.prop_map(|(of, index)| format!("{of}[{index}]")),
                inside.prop_map(|of| format!("has({of}.a)")),
            ]
        })
}

/// A schema, most of them good.
fn schema() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "maxLength": 2, "nullable": true})),
        Just(json!({"type": "string", "pattern": "^a", "default": "ab"})),
        Just(json!({"type": "string", "format": "date-time"})),
        Just(json!({"type": "integer", "minimum": 0, "default": 1})),
        Just(json!({"type": "number", "multipleOf": 0.5, "maximum": 2, "exclusiveMaximum": true})),
        Just(json!({"type": "boolean", "default": true, "nullable": true})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"type": "object", "additionalProperties": true})),
        Just(json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}})),
        Just(json!({"type": "string", "enum": ["a", "b"]})),
        rule().prop_map(|rule| json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": rule}]})),
        rule().prop_map(|rule| json!({"x-kubernetes-int-or-string": true, "x-kubernetes-validations": [{"rule": rule}]})),
    ];
    plain.prop_recursive(4, 24, 4, |inside| {
        let fields = prop::collection::btree_map(name(), inside.clone(), 0..4);
        prop_oneof![
            4 => (fields.clone(), any::<bool>()).prop_map(|(fields, required)| {
                let required: Vec<&&str> = fields.keys().filter(|_| required).collect();
                json!({"type": "object", "required": required, "properties": fields})
            }),
            1 => fields.clone().prop_map(|fields| json!({"type": "object", "default": {}, "properties": fields})),
            1 => fields.prop_map(|fields| {
                let name = fields.keys().next().copied().unwrap_or_default();
                json!({"type": "object", "properties": fields, "oneOf": [{"required": [name]}, {"not": {"minProperties": 2}}]})
            }),
            1 => inside.clone().prop_map(|of| json!({"type": "object", "additionalProperties": of, "maxProperties": 3})),
            2 => inside.prop_map(|of| json!({"type": "array", "items": of, "maxItems": 3})),
        ]
    })
}

fn root(spec: &Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec}})
}

fn read(schema: &Value) -> Option<Schema> {
    Schema::parse(schema, &FieldPath::Root.field("schema")).ok()
}

proptest! {
    /// Pruning and filling in change nothing the second time, and what they leave is checked without a panic.
    #[test]
    fn steps_come_to_rest(spec in schema(), given in value(), old in value()) {
        let Some(schema) = read(&root(&spec)) else { return Ok(()) };
        let mut object = json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}, "spec": given});
        schema.prune(&mut object);
        let mut again = object.clone();
        prop_assert_eq!(schema.prune(&mut again), Vec::<String>::new());
        prop_assert_eq!(&again, &object);
        schema.fill(&mut object).unwrap();
        let mut again = object.clone();
        schema.fill(&mut again).unwrap();
        prop_assert_eq!(&again, &object);
        // A default may bring in nothing that would be pruned.
        prop_assert_eq!(schema.prune(&mut again), Vec::<String>::new());
        prop_assert_eq!(&again, &object);
        let faults = schema.validate(&object);
        prop_assert!(faults.len() <= 101);
        let mut before = json!({"spec": old});
        schema.prune(&mut before);
        schema.fill(&mut before).unwrap();
        let changed = schema.validate_update(&object, &before);
        prop_assert!(changed.len() <= 101);
    }

    /// An object that nothing is changed of is never refused for its values.
    #[test]
    fn what_is_not_changed_is_not_refused(spec in schema(), given in value()) {
        let Some(schema) = read(&root(&spec)) else { return Ok(()) };
        let mut object = json!({"spec": given});
        schema.prune(&mut object);
        schema.fill(&mut object).unwrap();
        let about_values = schema.validate_update(&object, &object.clone()).into_iter().filter(|fault| {
            let text = fault.to_string();
            text.contains(" in body ") || text.contains("must validate")
        });
        prop_assert_eq!(about_values.count(), 0);
    }

    /// An empty object of a schema whose defaults were accepted has no fault that a default brought in.
    #[test]
    fn defaults_are_good_values(fields in prop::collection::btree_map(name().prop_map(str::to_owned), schema(), 0..4)) {
        let fields: serde_json::Map<String, Value> = fields.into_iter().collect();
        let Some(schema) = read(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}})) else {
            return Ok(());
        };
        let mut object = json!({"spec": {}});
        schema.fill(&mut object).unwrap();
        for fault in schema.validate(&object) {
            // A default of an object may lack what is required in it; types are right.
            prop_assert!(!fault.to_string().contains("must be of type"), "{} in {}", fault, object);
        }
    }

    /// No JSON is too odd to be refused as a schema, or to be warned of and published.
    #[test]
    fn anything_can_be_offered_as_a_schema(schema in value(), words in prop::collection::vec(prop::sample::select(&[
        "type", "properties", "items", "additionalProperties", "allOf", "not", "default", "enum", "required", "pattern",
        "maximum", "maxLength", "x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "$ref",
    ][..]), 0..5), held in value()) {
        let mut odd = json!({"type": "object"});
        for word in words {
            odd[word] = held.clone();
        }
        let kind = Kind { group: "g", version: "v1", kind: "K" };
        for schema in [schema, odd] {
            let _ = read(&schema);
            let _ = read(&root(&schema));
            let _ = warnings(&schema, &FieldPath::Root);
            for form in [Form::V2, Form::V3] {
                let _ = publish::kind(Some(&schema), &kind, form);
            }
        }
    }

    /// A rule that compiles can be run on anything, and if its type is right, says the same each time.
    #[test]
    fn rules_that_compile_run(rule in rule(), given in value(), old in value()) {
        let spec = json!({"x-kubernetes-int-or-string": true, "x-kubernetes-validations": [{"rule": rule}]});
        if let Some(schema) = read(&root(&spec)) {
            let [object, before] = [json!({"spec": given}), json!({"spec": old})];
            let first = schema.validate_update(&object, &before);
            prop_assert_eq!(schema.validate_update(&object, &before), first);
        }
    }

    /// No text is too odd for a rule.
    #[test]
    fn anything_can_be_offered_as_a_rule(text in "[a-z0-9().,\\[\\]{}?:!&|<>=+*/%'\"\\\\ -]{0,40}", noise in "\\PC{0,20}") {
        for rule in [text, noise] {
            let spec = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": rule}]});
            if let Some(schema) = read(&root(&spec)) {
                let _ = schema.validate(&json!({"spec": {"a": 1}}));
            }
        }
    }

    /// No text is too odd for a pattern, and one that is accepted can be matched.
    #[test]
    fn anything_can_be_offered_as_a_pattern(pattern in "[ab0\\[\\]\\\\^$.*+?(){}|dwQEbs&~:-]{0,20}", text in "[ab0 -]{0,10}") {
        if let Some(schema) = read(&root(&json!({"type": "string", "pattern": pattern}))) {
            let _ = schema.validate(&json!({"spec": text}));
        }
    }
}
