//! What a write makes of an object, case by case from text files: the decisions, without storage.

use std::fmt::Write as _;

use jiff::Timestamp;
use ringwatch_server::definitions::Custom;
use ringwatch_server::objects::body::Expected;
use ringwatch_server::objects::create::{self, Stamp};
use ringwatch_server::objects::delete::{self, Verdict};
use ringwatch_server::objects::options::{DeleteOptions, FieldValidation, Of, WriteOptions};
use ringwatch_server::objects::update::{self, Next, Part};
use ringwatch_server::resources::{Catalog, Origin, Resource, UpdateRules};
use ringwatch_server::schema::parse;
use ringwatch_server::status::Failure;
use serde_json::{Value, json};

#[path = "text/cases.rs"]
mod text;
use text::{Case, cases};

/// What became of an object: the object if there is one to see, what else is said of it, and warnings.
struct Became {
    object: Value,
    word: &'static str,
    warnings: Vec<String>,
}

/// Runs every case of a file, and fails with all that differ.
fn run(text: &str, at_least: usize, act: impl Fn(&Case<'_>) -> Result<Became, Failure>) {
    let mut differing = String::new();
    for case in &cases(text, at_least) {
        if let Err(why) = check(case, act(case)) {
            writeln!(differing, "{}: {why}", case.title).unwrap();
        }
    }
    assert!(differing.is_empty(), "{differing}");
}

fn check(case: &Case<'_>, outcome: Result<Became, Failure>) -> Result<(), String> {
    let became = match (outcome, case.line("fails")) {
        (Err(failure), Some(wanted)) => {
            let Failure {
                code,
                reason,
                message,
                ..
            } = failure;
            let said = format!("{code} {reason} {message}");
            return if said == wanted { Ok(()) } else { Err(said) };
        }
        (Err(failure), None) => return Err(failure.to_string()),
        (Ok(became), Some(_)) => return Err(format!("no failure: {}", became.object)),
        (Ok(became), None) => became,
    };
    let warned = case.line("warns").into_iter().collect::<Vec<_>>();
    if became.warnings != warned {
        return Err(format!("{:?}", became.warnings));
    }
    let words = ["makes", "has", "keeps", "goes", "waits", "reads"];
    let expected = words.iter().find(|word| case.line(word).is_some());
    let right = match *expected.expect("an outcome") {
        "makes" => became.word == "makes" && became.object == case.value("makes"),
        "has" => became.word == "makes" && has(&became.object, &case.value("has")),
        "reads" => became.object == *case.line("reads").expect("found above"),
        word => became.word == word,
    };
    if right {
        Ok(())
    } else {
        Err(format!("{} {}", became.word, became.object))
    }
}

/// Whether an object has these parts; null is for what it must not have.
fn has(object: &Value, parts: &Value) -> bool {
    match parts {
        Value::Null => object.is_null(),
        Value::Object(parts) => parts
            .iter()
            .all(|(name, part)| has(object.get(name).unwrap_or(&Value::Null), part)),
        other => object == other,
    }
}

fn now() -> Timestamp {
    "2024-05-06T07:08:09.123Z".parse().unwrap()
}

fn resource(case: &Case<'_>) -> Resource {
    let name = case.line("of").expect("a resource");
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    if group != "example.com" {
        let found = Catalog::builtin().find(group, "v1", plural).cloned();
        return (*found.expect("a built-in resource")).clone();
    }
    let deployments = Catalog::builtin()
        .find("apps", "v1", "deployments")
        .cloned();
    Resource {
        group: "example.com".into(),
        kind: "Lamp".into(),
        plural: "lamps".into(),
        origin: Origin::Custom(Custom::any("example.com", "v1")),
        update: UpdateRules {
            generation: true,
            unconditional: false,
            creates: false,
        },
        ..(*deployments.unwrap()).clone()
    }
}

fn validation(case: &Case<'_>) -> FieldValidation {
    match case.line("strict") {
        Some(_) => FieldValidation::Strict,
        None => FieldValidation::Warn,
    }
}

#[test]
fn creates() {
    run(include_str!("objects/create.txt"), 40, |case| {
        let resource = resource(case);
        let body = parse(case.line("send").unwrap().as_bytes()).unwrap();
        let (mut object, mut warnings) = Expected::from(&resource).read(body, validation(case))?;
        create::place(&resource, case.line("in"), &mut object)?;
        let stamp = Stamp {
            now: now(),
            uid: "00000000-0000-4000-8000-000000000001".into(),
            suffix: "bcdfg".into(),
        };
        warnings.extend(create::prepare(&resource, &mut object, &stamp)?);
        Ok(Became {
            object,
            word: "makes",
            warnings,
        })
    });
}

/// The stored object of a case, with what all have.
fn old(resource: &Resource, case: &Case<'_>) -> Value {
    let mut object = case.value("old");
    object["kind"] = (*resource.kind).into();
    object["apiVersion"] = resource.api_version().into();
    let mut metadata = json!({
        "name": "a",
        "uid": "u",
        "creationTimestamp": "2024-01-01T00:00:00Z",
        "resourceVersion": "7",
    });
    if resource.is_namespaced() {
        metadata["namespace"] = "default".into();
    }
    if let Some(Value::Object(more)) = object.get("metadata") {
        metadata.as_object_mut().unwrap().extend(more.clone());
    }
    object["metadata"] = metadata;
    object
}

#[test]
fn updates() {
    run(include_str!("objects/update.txt"), 35, |case| {
        let resource = resource(case);
        let old = old(&resource, case);
        let mut body = parse(case.line("send").unwrap().as_bytes()).unwrap();
        if body.value["metadata"]["name"].is_null() {
            body.value["metadata"]["name"] = "a".into();
        }
        let (new, mut warnings) = Expected::from(&resource).read(body, validation(case))?;
        let namespace = resource.is_namespaced().then_some("default");
        update::check_name(&new, namespace, "a")?;
        let key = format!("/{}/default/a", resource.plural);
        update::check_uid(&resource, &key, "a", &new, Some(&old))?;
        let part = match case.line("part") {
            None => Part::Whole,
            Some("status") => Part::Status,
            Some("finalize") => Part::Finalize,
            Some(other) => panic!("{other}"),
        };
        let (next, more) = update::decide(&resource, part, new, &old, None)?;
        warnings.extend(more);
        let (word, object) = match next {
            Next::Write(object) => ("makes", object),
            Next::Keep => ("keeps", old),
            Next::Delete(object) => ("goes", object),
        };
        Ok(Became {
            object,
            word,
            warnings,
        })
    });
}

#[test]
fn deletes() {
    run(include_str!("objects/delete.txt"), 40, |case| {
        let resource = resource(case);
        let old = old(&resource, case);
        let body = case
            .line("send")
            .map(|body| parse(body.as_bytes()).unwrap());
        let options = DeleteOptions::read(body, query(case))?;
        let (word, object) = match delete::decide(&resource, &old, &options, now())? {
            Verdict::Mark(object) => ("makes", object),
            Verdict::Remove => ("goes", old),
            Verdict::Pending => ("waits", old),
        };
        Ok(Became {
            object,
            word,
            warnings: Vec::new(),
        })
    });
}

fn query<'a>(case: &Case<'a>) -> Vec<(&'a str, &'a str)> {
    let query = case.line("query").unwrap_or_default();
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect()
}

#[test]
fn options() {
    run(include_str!("objects/options.txt"), 8, |case| {
        let of = match case.line("of") {
            Some("create") => Of::Create,
            Some("update") => Of::Update,
            Some("apply") => Of::Apply,
            _ => Of::Patch,
        };
        let WriteOptions {
            dry_run,
            field_manager,
            field_validation,
            force,
        } = WriteOptions::from_query(of, query(case))?.or_agent(case.line("agent"));
        let force = if force { ",force" } else { "" };
        Ok(Became {
            object: format!("{dry_run},{field_manager},{field_validation:?}{force}").into(),
            word: "reads",
            warnings: Vec::new(),
        })
    });
}

#[test]
fn a_stamp_is_a_random_uuid_and_letters() {
    let stamp = Stamp::new(now(), [0xff; create::RANDOM]);
    assert_eq!(stamp.uid, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    assert_eq!(
        Stamp::new(now(), [0; create::RANDOM]).uid,
        "00000000-0000-4000-8000-000000000000"
    );
    assert_eq!(stamp.suffix.len(), 5);
    let mut random = [0; create::RANDOM];
    random[0] = 1;
    assert_eq!(Stamp::new(now(), random).suffix, "cbbbb");
}
