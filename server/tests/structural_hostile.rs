//! Schemas and objects that are made to hurt: each ends in bounded time, with an error that says why or with the right result.

use std::time::Duration;

use ringwatch_server::schema::path::FieldPath;
use ringwatch_server::structural::{MAX_DEPTH, MAX_NODES, Schema};
use ringwatch_server::validation::Invalid;
use serde_json::{Map, Value, json};

fn read(schema: &Value) -> Result<Schema, Vec<Invalid>> {
    Schema::parse(schema, &FieldPath::Root)
}

fn accepted(spec: Value) -> Schema {
    read(&json!({"type": "object", "properties": {"spec": spec}})).expect("a good schema")
}

/// The first thing that is said of a schema to be refused.
fn refusal(spec: Value) -> String {
    match read(&json!({"type": "object", "properties": {"spec": spec}})) {
        Ok(_) => "accepted".to_owned(),
        Err(faults) => faults[0].to_string(),
    }
}

/// Generous for a debug build on a busy machine; what is not bounded takes minutes.
const SOON: Duration = Duration::from_secs(20);

/// The outcome, if it comes soon. It runs on a stack of the size that a request has.
fn soon<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let work = move || (work(), time_on_processor());
    let (outcome, took) = thread.spawn(work).unwrap().join().expect("no panic");
    assert!(took < SOON, "took {took:?}");
    outcome
}

/// How long this thread has had a processor: what others do beside it does not count.
fn time_on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = text.split_whitespace().next().unwrap().parse().unwrap();
    Duration::from_nanos(nanoseconds)
}

fn nested(levels: usize, inside: Value) -> Value {
    (0..levels).fold(
        inside,
        |below, _| json!({"type": "object", "properties": {"a": below}}),
    )
}

#[test]
fn a_schema_that_is_nested_too_deeply_is_refused() {
    let text = soon(|| refusal(nested(120, json!({"type": "string"}))));
    assert!(
        text.ends_with(&format!(
            "Forbidden: must not be nested deeper than {MAX_DEPTH} levels"
        )),
        "{text}"
    );
    soon(|| accepted(nested(MAX_DEPTH - 2, json!({"type": "string"}))));
    let alternatives = (0..120).fold(json!({}), |below, _| json!({"not": below}));
    soon(move || {
        refusal(json!({"type": "object", "not": alternatives}));
    });
}

#[test]
fn a_schema_with_too_many_nodes_is_refused() {
    let text = soon(|| {
        let fields: Map<String, Value> = (0..MAX_NODES + 1000)
            .map(|number| (format!("f{number}"), json!({"type": "string"})))
            .collect();
        refusal(json!({"type": "object", "properties": fields}))
    });
    assert!(
        text.contains("a schema must have at most 20000 nodes"),
        "{text}"
    );
}

#[test]
fn a_schema_can_have_no_loop() {
    let text = refusal(json!({"type": "object", "$ref": "#"}));
    assert!(
        text.ends_with("$ref: Forbidden: $ref is not supported"),
        "{text}"
    );
}

#[test]
fn patterns_run_in_linear_time() {
    soon(|| {
        for pattern in [
            "^(a+)+$",
            "^(a|a)*$",
            "(.*a){20}$",
            "^(([a-z])+.)+[A-Z]([a-z])+$",
        ] {
            let schema = accepted(json!({"type": "string", "pattern": pattern}));
            let object = json!({"spec": "a".repeat(1_000_000) + "!"});
            assert_eq!(schema.validate(&object).len(), 1, "{pattern}");
        }
    });
}

#[test]
fn patterns_that_explode_are_refused() {
    for pattern in [
        "(((a{1000}){1000}){1000}){1000}".to_owned(),
        "\\pL{5000}".to_owned(),
        "(".repeat(5000) + &")".repeat(5000),
        "a".repeat(100_000),
    ] {
        let text = soon(move || refusal(json!({"type": "string", "pattern": pattern})));
        assert!(text.contains("must be a valid regular expression, but isn't"));
    }
    let patterns = |different: usize| -> Value {
        let field = |number: usize| {
            let pattern = format!("^a{{{}}}$", number % different);
            (
                format!("f{number}"),
                json!({"type": "string", "pattern": pattern}),
            )
        };
        let fields: Map<String, Value> = (0..5000).map(field).collect();
        json!({"type": "object", "properties": fields})
    };
    soon(move || accepted(patterns(50)));
    let text = soon(move || refusal(patterns(900)));
    assert!(
        text.contains("a schema may have 500 different ones"),
        "{text}"
    );
}

#[test]
fn many_rules_are_refused() {
    let rules = |count: usize, rule: fn(usize) -> String| {
        let rules: Vec<Value> = (0..count)
            .map(|number| json!({"rule": rule(number)}))
            .collect();
        json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": rules})
    };
    let text = soon(move || refusal(rules(50_000, |_| "true".into())));
    assert!(
        text.contains("a schema must have at most 2000 rules"),
        "{text}"
    );
    let text = soon(move || refusal(rules(1900, |number| format!("self.matches('^a{number}$')"))));
    assert!(
        text.contains("a schema may have 500 different ones"),
        "{text}"
    );
}

#[test]
fn an_object_of_a_hundred_thousand_fields_is_checked() {
    soon(|| {
        let schema = accepted(json!({"type": "object", "properties": {
            "known": {"type": "object", "additionalProperties": {"type": "integer", "default": 1, "maximum": 5}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
                "type": "object", "required": ["k"], "properties": {"k": {"type": "integer"}}}},
        }}));
        let fields = |count: usize| -> Map<String, Value> {
            (0..count)
                .map(|number| (format!("f{number}"), json!(number)))
                .collect()
        };
        let mut object = json!({"spec": {
            "known": fields(100_000),
            "set": (0..100_000).map(|number| number.to_string()).collect::<Vec<_>>(),
            "map": (0..50_000).map(|k| json!({"k": k})).collect::<Vec<_>>(),
        }, "unknown": fields(100_000)});
        object["spec"]
            .as_object_mut()
            .unwrap()
            .extend(fields(100_000));
        assert_eq!(schema.prune(&mut object).len(), 100);
        assert_eq!(object["spec"].as_object().unwrap().len(), 3);
        schema.fill(&mut object).unwrap();
        assert_eq!(schema.validate(&object).len(), 100);
        assert_eq!(schema.validate_update(&object, &object.clone()), []);
        let mut changed = object.clone();
        changed["spec"]["set"].as_array_mut().unwrap().reverse();
        changed["spec"]["map"].as_array_mut().unwrap().reverse();
        assert_eq!(schema.validate_update(&changed, &object), []);
        changed["spec"]["set"][7] = "0".into();
        let faults = schema.validate_update(&changed, &object);
        assert_eq!(
            faults[0].to_string(),
            "spec.set[99999]: Duplicate value: \"0\""
        );
    });
}

#[test]
fn an_object_of_the_deepest_nesting_is_checked() {
    soon(|| {
        let schema = accepted(json!({"x-kubernetes-preserve-unknown-fields": true}));
        let deep = (0..120).fold(json!(1), |below, _| json!([below]));
        let mut object = json!({"spec": deep});
        assert_eq!(schema.prune(&mut object), Vec::<String>::new());
        schema.fill(&mut object).unwrap();
        assert_eq!(schema.validate(&object), []);
    });
}

#[test]
fn alternatives_of_many_elements_are_given_up() {
    soon(|| {
        let alternatives: Vec<Value> = (0..400)
            .map(|number| json!({"pattern": format!("^x{number}$")}))
            .collect();
        let schema =
            accepted(json!({"type": "array", "items": {"type": "string", "oneOf": alternatives}}));
        let object = json!({"spec": vec!["x1"; 100_000]});
        let faults = schema.validate(&object);
        assert_eq!(
            faults.last().unwrap().to_string(),
            "<nil>: Forbidden: checking the object against its schema takes too long"
        );
    });
}

#[test]
fn alternatives_cannot_multiply_themselves() {
    soon(|| {
        let alternatives = (0..30).fold(
            json!({"minimum": 1}),
            |below, _| json!({"anyOf": [below, {"maximum": 0}]}),
        );
        let mut schema = alternatives;
        schema["type"] = "integer".into();
        assert_eq!(accepted(schema).validate(&json!({"spec": 5})), []);
    });
}

fn rule(properties: Value, rule: &str) -> Value {
    json!({"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule}]})
}

#[test]
fn rules_that_may_explode_are_refused_with_the_schema() {
    let list = || json!({"l": {"type": "array", "items": {"type": "string"}}});
    for bomb in [
        "self.l.all(a, self.l.all(b, self.l.all(c, a == b && b == c)))",
        "self.l.map(a, self.l.map(b, a + b)).size() > 0",
        "[0,0,0,0,0,0,0,0].all(a, [0,0,0,0,0,0,0,0].all(b, [0,0,0,0,0,0,0,0].all(c, [0,0,0,0,0,0,0,0].all(d, [0,0,0,0,0,0,0,0].all(e, [0,0,0,0,0,0,0,0].all(f, [0,0,0,0,0,0,0,0].all(g, [0,0,0,0,0,0,0,0].all(h, true))))))))",
        "self.l.exists(a, self.l.filter(b, b.contains(a)).size() > 0)",
    ] {
        let text = soon(move || refusal(rule(list(), bomb)));
        assert!(
            text.contains("cost exceeds budget by factor of"),
            "{bomb}: {text}"
        );
    }
}

#[test]
fn expressions_that_are_too_large_are_refused() {
    for bomb in [
        "[".repeat(3000) + &"]".repeat(3000),
        "1".to_owned() + &"+1".repeat(8000) + " == 1",
        "self".to_owned() + &".a".repeat(8000),
        "self".to_owned() + &"[0]".repeat(5000),
        "true ? ".repeat(2000) + "true" + &" : true".repeat(2000),
        "has(".repeat(2000),
        "x".repeat(100_000),
        "\"".repeat(10_000),
        "self.all(a, ".repeat(1000) + "true" + &")".repeat(1000),
        "{1:".repeat(3000) + "1" + &"}".repeat(3000),
        "a?".repeat(5000),
        "\u{0}\u{1}\u{fffd}".repeat(1000),
    ] {
        let begin: String = bomb.chars().take(20).collect();
        let text = soon(move || refusal(rule(json!({"a": {"type": "integer"}}), &bomb)));
        assert!(
            text.contains("x-kubernetes-validations[0].rule: "),
            "{begin}: {text}"
        );
    }
}

#[test]
fn what_only_looks_deep_does_no_harm() {
    for odd in [
        "(".repeat(1000) + "true" + &")".repeat(1000),
        "!".repeat(5000) + "true",
        "-".repeat(5000) + "1 == 1",
        "true".to_owned() + &" && true".repeat(2000),
    ] {
        soon(move || {
            let schema = rule(json!({"a": {"type": "integer"}}), &odd);
            if let Ok(schema) = read(&json!({"type": "object", "properties": {"spec": schema}})) {
                assert_eq!(schema.validate(&json!({"spec": {"a": 1}})), []);
            }
        });
    }
}

#[test]
fn a_rule_runs_on_a_budget() {
    // What the schema allows is within the estimate's limit, and what is there is beyond what one run may cost.
    let list = json!({"l": {"type": "array", "maxItems": 1000, "items": {"type": "integer"}}});
    let faults = soon(move || {
        let schema = accepted(rule(list, "self.l.all(a, self.l.all(b, a + b >= 0))"));
        schema.validate(&json!({"spec": {"l": vec![1; 1000]}}))
    });
    assert_eq!(
        faults[0].to_string(),
        "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules \
         will be run due to call cost exceeds limit for rule: self.l.all(a, self.l.all(b, a + b >= 0))"
    );
}

#[test]
fn all_rules_together_run_on_a_budget() {
    let element = json!({"type": "array", "maxItems": 300, "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.exists(b, a == b + 1000)) || true"}]});
    let spec = json!({"type": "array", "maxItems": 10, "items": element});
    let faults = soon(move || {
        let schema = accepted(spec);
        schema.validate(&json!({"spec": vec![vec![1; 300]; 40]}))
    });
    assert_eq!(
        faults[0].to_string(),
        "spec: Too many: 40: must have at most 10 items"
    );
    assert_eq!(faults.len(), 2);
    let element = json!({"type": "array", "maxItems": 300, "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, a == b))"}]});
    let faults = soon(move || {
        let schema = accepted(json!({"type": "array", "maxItems": 20, "items": element}));
        schema.validate(&json!({"spec": vec![vec![1; 300]; 20]}))
    });
    let text = faults[0].to_string();
    assert!(
        text.ends_with("validation failed due to running out of cost budget, no further validation rules will be run"),
        "{text}"
    );
}

#[test]
fn nothing_catches_a_budget_that_is_used_up() {
    let list = json!({"l": {"type": "array", "maxItems": 1000, "items": {"type": "integer"}}});
    let faults = soon(move || {
        let schema = accepted(rule(
            list,
            "self.l.all(a, self.l.all(b, a + b >= 0)) || true",
        ));
        schema.validate(&json!({"spec": {"l": vec![1; 1000]}}))
    });
    assert!(
        faults[0].to_string().contains("actual cost limit exceeded"),
        "{faults:?}"
    );
}

#[test]
fn texts_cannot_be_doubled_for_ever() {
    let bomb = (0..10).fold("self.s".to_owned(), |text, _| format!("({text} + {text})"));
    let text = soon(move || {
        refusal(rule(
            json!({"s": {"type": "string"}}),
            &format!("size({bomb}) > 0"),
        ))
    });
    assert!(
        text.contains("x-kubernetes-validations[0].rule: "),
        "{text}"
    );
}

#[test]
fn texts_that_would_grow_are_paid_for_before_they_are_made() {
    let fields = || json!({"s": {"type": "string", "maxLength": 1_000_000}, "l": {"type": "array", "maxItems": 20_000, "items": {"type": "string", "maxLength": 1}}});
    for bomb in [
        "self.l.join(self.s).size() > 0",
        "self.s.replace('a', self.s).size() > 0",
    ] {
        let outcome = soon(move || {
            let schema = rule(fields(), bomb);
            let schema = read(&json!({"type": "object", "properties": {"spec": schema}})).ok()?;
            let object = json!({"spec": {"s": "a".repeat(1_000_000), "l": vec!["b"; 20_000]}});
            Some(schema.validate(&object))
        });
        // Refused with the schema, or stopped.
        let stopped =
            |faults: Vec<Invalid>| faults[0].to_string().contains("actual cost limit exceeded");
        assert!(outcome.is_none_or(stopped), "{bomb}");
    }
}

#[test]
fn faults_of_long_keys_are_short() {
    let schema = accepted(
        json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}}),
    );
    let key = "k".repeat(1_000_000);
    let faults = schema.validate(&json!({"spec": {key: vec!["x"; 200]}}));
    let total: usize = faults.iter().map(|fault| fault.to_string().len()).sum();
    assert_eq!(faults.len(), 100);
    assert!(total < 1_000_000, "{total}");
}

#[test]
fn defaults_cannot_multiply_an_object() {
    let long = "x".repeat(100_000);
    let element =
        json!({"type": "object", "properties": {"a": {"type": "string", "default": long}}});
    let schema = accepted(json!({"type": "array", "items": element}));
    let mut object = json!({"spec": vec![json!({}); 100_000]});
    let fault = soon(move || schema.fill(&mut object)).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "<nil>: Forbidden: the object is too large with the defaults of its schema"
    );
}
