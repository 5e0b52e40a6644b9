//! Who owns what after a story of writes, from text files: the rules, without storage.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ringwatch_server::definitions::Custom;
use ringwatch_server::managed::{self, Entries, FieldSet, Node, Writer};
use ringwatch_server::patch::merge;
use ringwatch_server::resources::{Catalog, Origin, Resource};
use ringwatch_server::schema::path::FieldPath;
use ringwatch_server::structural::Schema;
use serde_json::{Value, json};

#[path = "text/cases.rs"]
mod text;
use text::{Case, cases};

#[test]
fn stories_end_as_written() {
    let mut differing = String::new();
    let files = [
        (include_str!("managed/apply.txt"), 40),
        (include_str!("managed/update.txt"), 25),
        (include_str!("managed/custom.txt"), 10),
    ];
    for (text, at_least) in files {
        for case in &cases(text, at_least) {
            if let Err(why) = tell(case) {
                writeln!(differing, "{}: {why}", case.title).unwrap();
            }
        }
    }
    assert!(differing.is_empty(), "{differing}");
}

/// An object and what is said of it, line by line.
struct Story {
    resource: Resource,
    /// Of a custom kind.
    schema: Option<Schema>,
    object: Option<Value>,
    /// What the last step failed with.
    failure: Option<String>,
    /// How many steps were taken: the seconds of the moment.
    steps: u32,
}

fn tell(case: &Case<'_>) -> Result<(), String> {
    let mut story = Story {
        resource: resource(case.line("of").expect("a resource")),
        schema: None,
        object: None,
        failure: None,
        steps: 0,
    };
    let mut owners = None;
    for (word, rest) in &case.lines {
        match *word {
            "of" => {}
            "schema" => story.schema = Some(schema(rest)),
            "object" => story.check_object(&serde_json::from_str(rest).expect("JSON"))?,
            "managed" => story.check_managed(rest)?,
            "fails" => match story.failure.take() {
                Some(said) if said == rest.replace("\\n", "\n") => {}
                said => return Err(format!("{said:?}")),
            },
            "owns" => {
                let owners = owners.get_or_insert_with(|| story.owners());
                let (who, fields) = rest.split_once(' ').expect("an owner and fields");
                let found = owners
                    .remove(who)
                    .ok_or(format!("{who} owns nothing: {owners:?}"))?;
                if found.split(' ').collect::<Vec<_>>()
                    != fields.split_whitespace().collect::<Vec<_>>()
                {
                    return Err(format!("{who} owns {found}"));
                }
            }
            step => {
                let more = owners.take().unwrap_or_default();
                check_nobody_else(&more)?;
                if let Some(failure) = story.failure.take() {
                    return Err(failure);
                }
                let (who, value) = rest.split_once(' ').expect("a manager and JSON");
                story.step(step, who, serde_json::from_str(value).expect("JSON"));
            }
        }
    }
    match story.failure {
        Some(failure) => Err(failure),
        None => check_nobody_else(&owners.unwrap_or_default()),
    }
}

fn check_nobody_else(owners: &BTreeMap<String, String>) -> Result<(), String> {
    match owners.iter().next() {
        Some((who, fields)) => Err(format!("{who} owns {fields}")),
        None => Ok(()),
    }
}

impl Story {
    fn step(&mut self, step: &str, who: &str, value: Value) {
        self.steps += 1;
        let now = format!("2024-01-01T00:00:{:02}Z", self.steps);
        let (who, version) = match who.split_once('@') {
            Some((who, version)) => (who, version.to_owned()),
            None => (who, self.resource.api_version().into_owned()),
        };
        let (manager, subresource) = who.split_once('/').unwrap_or((who, ""));
        let writer = Writer {
            manager,
            api_version: &version,
            subresource,
            now: &now,
        };
        let with_status = !subresource.is_empty() || !self.resource.has_status();
        let types = match &self.schema {
            Some(schema) => Node::custom(Some(schema)),
            None => Node::of(&self.resource),
        };
        let old = self.object.clone();
        let written = match step {
            "create" | "update" | "patch" => {
                let mut new = match step {
                    "patch" => old.clone().expect("an object to patch"),
                    _ => json!({}),
                };
                merge::apply(&mut new, value.as_object().expect("an object"));
                managed::record(types, &writer, old.as_ref(), &mut new, with_status);
                Ok(new)
            }
            "apply" | "force" => managed::merge(types, writer, old.as_ref(), &value, with_status)
                .map_err(|error| error.to_string())
                .and_then(|merged| {
                    merged
                        .settle(old.as_ref(), step == "force")
                        .map_err(|conflicts| conflicts.to_string())
                }),
            // What was there before anybody kept account.
            "found" => Ok(value),
            other => panic!("no step is {other}"),
        };
        match written {
            Ok(object) => self.object = Some(object),
            Err(failure) => self.failure = Some(failure),
        }
    }

    fn check_object(&self, wanted: &Value) -> Result<(), String> {
        let mut object = self.object.clone().unwrap_or_default();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
            if metadata.is_empty() {
                object.as_object_mut().unwrap().remove("metadata");
            }
        }
        if object == *wanted {
            Ok(())
        } else {
            Err(object.to_string())
        }
    }

    fn managed(&self) -> Value {
        let object = self.object.as_ref().expect("an object");
        object["metadata"]["managedFields"].clone()
    }

    /// The whole of it, as it is stored.
    fn check_managed(&self, wanted: &str) -> Result<(), String> {
        let found = self.managed();
        let wanted: Value = serde_json::from_str(wanted).expect("JSON");
        if found == wanted {
            Ok(())
        } else {
            Err(found.to_string())
        }
    }

    /// Who owns what, with the step at which it last changed it.
    fn owners(&self) -> BTreeMap<String, String> {
        let mut owners = BTreeMap::new();
        for entry in self.managed().as_array().into_iter().flatten() {
            let text = |name: &str| entry[name].as_str().unwrap_or_default();
            let mut who = text("manager").to_owned();
            if !text("subresource").is_empty() {
                who = format!("{who}/{}", text("subresource"));
            }
            if text("apiVersion") != self.resource.api_version() {
                who = format!("{who}@{}", text("apiVersion"));
            }
            let step = text("time")
                .get(17..19)
                .unwrap_or("00")
                .trim_start_matches('0');
            let word = if text("operation") == "Apply" {
                "apply"
            } else {
                "update"
            };
            let fields = FieldSet::parse(entry["fieldsV1"].clone()).expect("fields");
            owners.insert(format!("{who}:{word}:{step}"), fields.paths().join(" "));
        }
        owners
    }
}

/// The schema of a custom kind with this schema of its `spec`.
fn schema(spec: &str) -> Schema {
    let spec: Value = serde_json::from_str(spec).expect("JSON");
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    Schema::parse(&schema, &FieldPath::Root).expect("a structural schema")
}

fn resource(name: &str) -> Resource {
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
        ..(*deployments.unwrap()).clone()
    }
}

/// A set of fields has one form.
#[test]
fn sets_are_read_and_written_in_one_form() {
    for case in &cases(include_str!("managed/sets.txt"), 20) {
        let read = FieldSet::parse(case.value("read"));
        let wrong = case.line("fails").is_some();
        assert_eq!(read.is_err(), wrong, "{}: {read:?}", case.title);
        let Ok(set) = read else {
            assert_eq!(
                read.unwrap_err().to_string(),
                case.line("fails").unwrap(),
                "{}",
                case.title
            );
            continue;
        };
        let paths = case.line("paths").unwrap_or_default();
        assert_eq!(set.paths().join(" "), paths, "{}", case.title);
        assert_eq!(set.into_value(), case.value("writes"), "{}", case.title);
    }
}

#[test]
fn sets_are_united_subtracted_and_intersected() {
    for case in &cases(include_str!("managed/arithmetic.txt"), 12) {
        let [left, right] =
            ["left", "right"].map(|side| FieldSet::parse(case.value(side)).unwrap());
        let mut both = left.clone();
        both.unite(right.clone());
        let mut rest = left.clone();
        rest.subtract(&right);
        assert_eq!(
            both.clone().into_value(),
            case.value("both"),
            "{}",
            case.title
        );
        assert_eq!(
            rest.clone().into_value(),
            case.value("rest"),
            "{}",
            case.title
        );
        assert_eq!(
            left.intersection(&right).into_value(),
            case.value("common"),
            "{}",
            case.title
        );
        assert!(left.is_subset(&both) && right.is_subset(&both) && rest.is_subset(&left));
    }
}

#[test]
fn entries_are_read_or_refused() {
    for case in &cases(include_str!("managed/entries.txt"), 8) {
        match (Entries::parse(case.value("read")), case.line("fails")) {
            (Err(error), Some(wanted)) => assert_eq!(error.to_string(), wanted, "{}", case.title),
            (Ok(entries), None) => {
                let written = entries.into_value().unwrap_or_default();
                assert_eq!(written, case.value("writes"), "{}", case.title);
            }
            (found, _) => panic!("{}: {found:?}", case.title),
        }
    }
}
