//! YAML in both directions, and documents that mean harm.

use std::time::{Duration, Instant};

use ringwatch_server::yaml::{Fault, Limits, from_json, to_json};
use serde_json::{Value, json};

fn read(yaml: &str) -> Value {
    match to_json(yaml.as_bytes(), &Limits::default()) {
        Ok(document) => document.value,
        Err(error) => panic!("{error} in {yaml}"),
    }
}

fn refused(yaml: &str) -> (usize, Fault) {
    let error = to_json(yaml.as_bytes(), &Limits::default()).unwrap_err();
    (error.line, error.fault)
}

#[test]
fn what_people_apply_is_read() {
    let yaml = "\
# a comment
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: demo
  labels: {app: web, \"on\": 'yes'}
data:
  script: |
    #!/bin/sh
    echo hi
  folded: >-
    one
    two
  number: \"8080\"
  empty:
list:
- 1
- two
-
  - three
...
";
    assert_eq!(
        read(yaml),
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "demo", "labels": {"app": "web", "on": "yes"}},
            "data": {"script": "#!/bin/sh\necho hi\n", "folded": "one two", "number": "8080", "empty": null},
            "list": [1, "two", ["three"]],
        })
    );
}

#[test]
fn json_is_yaml_and_nothing_is_null() {
    assert_eq!(
        read(r#"{"a": [1, true, null, "x\u0041\n"]}"#),
        json!({"a":[1,true,null,"xA\n"]})
    );
    assert_eq!(read(""), Value::Null);
    assert_eq!(read("# nothing\n"), Value::Null);
    assert_eq!(read("\u{feff}a: 1"), json!({"a":1}));
}

#[test]
fn aliases_and_merges_are_followed() {
    assert_eq!(read("a: &x [1, 2]\nb: *x\n"), json!({"a":[1,2],"b":[1,2]}));
    assert_eq!(
        read("base: &b {x: 1, z: 2}\nuse:\n  z: 3\n  <<: *b\n"),
        json!({"base":{"x":1,"z":2},"use":{"x":1,"z":3}})
    );
    assert_eq!(
        read("a: &a {x: 1}\nb: &b {x: 2, z: 2}\nc:\n  <<: [*a, *b]\n")["c"],
        json!({"x":1,"z":2})
    );
    assert_eq!(read("\"<<\": {x: 1}\n"), json!({"<<":{"x":1}}));
    assert_eq!(refused("a:\n  <<: 5\n"), (2, Fault::Merge));
}

#[test]
fn keys_become_texts() {
    assert_eq!(
        read("1: a\ny: b\n1.5: c\n"),
        json!({"1":"a","true":"b","1.5":"c"})
    );
    assert_eq!(refused("? [1]\n: x\n").1, Fault::Key);
    assert_eq!(refused("~: x\n").1, Fault::Key);
}

#[test]
fn tags_say_what_a_value_is() {
    assert_eq!(
        read("a: !!str 5\nb: !!int '7'\nc: !!float 2\nd: !!bool 'yes'"),
        json!({"a":"5","b":7,"c":2,"d":true})
    );
    assert_eq!(read("a: ! 5"), json!({"a":"5"}));
    assert!(matches!(refused("a: !!int x"), (1, Fault::Tag(_))));
    assert!(matches!(refused("a: !thing x"), (1, Fault::Tag(_))));
    assert!(matches!(refused("\na: !thing {}"), (2, Fault::Tag(_))));
    assert!(matches!(refused("a: .inf"), (1, Fault::Number(_))));
}

#[test]
fn a_key_that_occurs_twice_is_told() {
    let document = to_json(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", &Limits::default()).unwrap();
    assert_eq!(document.value, json!({"a":3,"b":{"c":2}}));
    let told: Vec<_> = document
        .duplicates
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "line 4: key \"c\" already set in map",
            "line 5: key \"a\" already set in map"
        ]
    );
}

#[test]
fn faults_name_their_line() {
    assert_eq!(refused("a: 1\n---\nb: 2\n").1, Fault::SecondDocument);
    assert!(matches!(refused("a: 1\nb: [1,\n"), (2.., Fault::Syntax(_))));
    assert!(matches!(refused("a: b: c"), (1, Fault::Syntax(_))));
    assert!(matches!(refused("a: *missing"), (1, Fault::Syntax(_))));
    let error = to_json(&[b'a', b':', b' ', 0xff], &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "yaml: the document is not UTF-8");
}

#[test]
fn what_is_too_large_or_too_deep_is_refused() {
    let limits = Limits {
        max_bytes: 10,
        max_depth: 2,
        ..Limits::default()
    };
    let fault = |yaml: &str| to_json(yaml.as_bytes(), &limits).unwrap_err().fault;
    assert!(to_json(b"[[1]]", &limits).is_ok());
    assert_eq!(fault("[[[1]]]"), Fault::TooDeep);
    assert_eq!(fault("- - - 1"), Fault::TooDeep);
    assert_eq!(fault("a: {b: []}"), Fault::TooDeep);
    assert_eq!(fault("aaaaaaaaaaa"), Fault::TooLarge);
}

#[test]
fn a_small_document_cannot_stand_for_a_large_one() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..10 {
        let below = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [below.as_str(); 9].join(","));
    }
    assert_eq!(refused(&bomb).1, Fault::TooMuchCopied);
    // The same in the open: one anchor, many aliases.
    let wide = format!("a: &a {}\nb: [{}]\n", "x".repeat(1000), "*a,".repeat(2000));
    assert_eq!(refused(&wide).1, Fault::TooMuchCopied);
    assert!(matches!(
        refused("a: &a [*a]").1,
        Fault::Recursive | Fault::Syntax(_)
    ));
}

/// Nothing here may take long, whatever it says. The bound is far above what is needed and far below
/// what a quadratic parser would take.
#[test]
fn hostile_documents_end_soon() {
    let n = 50_000;
    for (name, yaml) in [
        ("brackets", "[".repeat(n)),
        ("braces", "{".repeat(n)),
        ("dashes", "- ".repeat(n)),
        ("questions", "? ".repeat(n)),
        ("keys", "a: ".repeat(n)),
        ("colons", ":".repeat(n)),
        ("quotes", "\"".repeat(n)),
        ("open quote", format!("\"{}", "a\n".repeat(n))),
        ("anchors", "- &a x\n".repeat(n)),
        ("aliases", format!("- &a x\n{}", "- *a\n".repeat(n))),
        ("comments", "#\n".repeat(n)),
        ("tags", "!".repeat(n)),
        ("spaces", format!("a:{}b", " ".repeat(n))),
        (
            "indents",
            (0..300).map(|i| format!("{}a:\n", " ".repeat(i))).collect(),
        ),
        ("commas", format!("[{}]", "a,".repeat(n))),
        ("flow keys", format!("{{{}}}", "a,".repeat(n))),
        ("long key", format!("{}: 1", "a".repeat(n))),
        ("directives", "%YAML 1.1\n".repeat(n)),
        ("documents", "---\n".repeat(n)),
    ] {
        let start = Instant::now();
        let outcome = to_json(yaml.as_bytes(), &Limits::default()).map(drop);
        let took = start.elapsed();
        assert!(
            took < Duration::from_secs(5),
            "{name} took {took:?}: {outcome:?}"
        );
    }
}

#[test]
fn answers_are_shown_as_kubectl_shows_them() {
    let value = json!({
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {"metadata": {"name": "a", "labels": {}}, "spec": {"list": [[1, 2], []], "on": false}},
            "text",
        ],
        "block": "one\n  two\n\nthree\n",
        "no break": "one\ntwo",
        "more": "one\ntwo\n\n",
        "odd": ["yes", "1", "", " x", "a: b", "#x", "null", "1e3", "2026-11-16", "é", "\u{7f}", "- a", "a\tb", "x:", "0x1f", "12:30", "@a"],
        "number": 1.5,
    });
    assert_eq!(
        from_json(&value),
        "\
apiVersion: v1
block: |
  one
    two

  three
items:
- metadata:
    labels: {}
    name: a
  spec:
    list:
    - - 1
      - 2
    - []
    \"on\": false
- text
kind: List
more: |+
  one
  two

no break: |-
  one
  two
number: 1.5
odd:
- \"yes\"
- \"1\"
- \"\"
- \" x\"
- \"a: b\"
- \"#x\"
- \"null\"
- \"1e3\"
- \"2026-11-16\"
- \"é\"
- \"\\x7f\"
- \"- a\"
- \"a\\tb\"
- \"x:\"
- \"0x1f\"
- \"12:30\"
- \"@a\"
"
    );
    assert_eq!(from_json(&json!({})), "{}\n");
    assert_eq!(from_json(&Value::Null), "null\n");
}
