//! Makes the types of the built-in kinds from the schema crate, which is large and therefore no part of the server:
//! what is needed of it becomes a table in the program's read-only data.
//!
//! Two things come out for each type: its published schema as JSON text, with the words about merging that the crate leaves
//! out, and its fields in a form that values can be checked against without reading that text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use k8s_openapi::api;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as extensions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::schemars::SchemaGenerator;
use k8s_openapi::schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

// Shared with the server, which uses more of it.
#[allow(dead_code, unreachable_pub)]
#[path = "src/resources/merge_keys.rs"]
mod merge_keys;

use merge_keys::{Ownership, Rule};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/resources/merge_keys.rs");
    println!("cargo::rerun-if-changed=src/codec/schema.txt");
    let mut types = Types::collect();
    types.finish();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("definitions.rs");
    fs::write(out, types.render()).expect("the build's folder can be written");
}

/// Named types as JSON schemas.
struct Types {
    schemas: BTreeMap<String, Value>,
}

/// Collects kinds, with their lists where they have some.
struct Collector {
    generator: SchemaGenerator,
    /// Schema name; group, version and kind.
    kinds: Vec<(String, [&'static str; 3])>,
    lists: Vec<(String, [&'static str; 3])>,
}

impl Collector {
    fn kind<T: k8s_openapi::schemars::JsonSchema + k8s_openapi::Resource>(&mut self) {
        self.generator.subschema_for::<T>();
        let name = T::schema_name().into_owned();
        self.kinds.push((name, [T::GROUP, T::VERSION, T::KIND]));
    }

    fn listed<T: k8s_openapi::schemars::JsonSchema + k8s_openapi::ListableResource>(&mut self) {
        self.kind::<T>();
        let name = T::schema_name().into_owned();
        self.lists.push((name, [T::GROUP, T::VERSION, T::KIND]));
    }
}

impl Types {
    /// The kinds that the server's table of resources names, and what requests about them carry.
    fn collect() -> Self {
        let mut all = Collector {
            generator: SchemaSettings::openapi3().into_generator(),
            kinds: Vec::new(),
            lists: Vec::new(),
        };
        all.listed::<api::core::v1::ConfigMap>();
        all.listed::<api::core::v1::Endpoints>();
        all.listed::<api::core::v1::Event>();
        all.listed::<api::core::v1::LimitRange>();
        all.listed::<api::core::v1::Namespace>();
        all.listed::<api::core::v1::Node>();
        all.listed::<api::core::v1::PersistentVolume>();
        all.listed::<api::core::v1::PersistentVolumeClaim>();
        all.listed::<api::core::v1::Pod>();
        all.listed::<api::core::v1::PodTemplate>();
        all.listed::<api::core::v1::ReplicationController>();
        all.listed::<api::core::v1::ResourceQuota>();
        all.listed::<api::core::v1::Secret>();
        all.listed::<api::core::v1::Service>();
        all.listed::<api::core::v1::ServiceAccount>();
        all.listed::<api::apps::v1::ControllerRevision>();
        all.listed::<api::apps::v1::DaemonSet>();
        all.listed::<api::apps::v1::Deployment>();
        all.listed::<api::apps::v1::ReplicaSet>();
        all.listed::<api::apps::v1::StatefulSet>();
        all.listed::<api::batch::v1::CronJob>();
        all.listed::<api::batch::v1::Job>();
        all.listed::<api::coordination::v1::Lease>();
        all.listed::<api::discovery::v1::EndpointSlice>();
        all.listed::<api::events::v1::Event>();
        all.listed::<api::networking::v1::Ingress>();
        all.listed::<api::networking::v1::NetworkPolicy>();
        all.listed::<extensions::CustomResourceDefinition>();
        all.kind::<api::authentication::v1::SelfSubjectReview>();
        all.kind::<api::authorization::v1::SelfSubjectAccessReview>();
        all.kind::<api::authorization::v1::SelfSubjectRulesReview>();
        all.kind::<api::autoscaling::v1::Scale>();
        all.kind::<api::core::v1::Binding>();
        all.kind::<meta::Status>();
        all.generator.subschema_for::<meta::ListMeta>();
        all.generator.subschema_for::<meta::DeleteOptions>();

        let mut schemas: BTreeMap<String, Value> =
            all.generator.take_definitions(true).into_iter().collect();
        for (name, gvk) in &all.lists {
            let [group, version, kind] = *gvk;
            schemas.insert(format!("{name}List"), list_schema(name, kind));
            add_kind(
                &mut schemas,
                &format!("{name}List"),
                [group, version, &format!("{kind}List")],
            );
        }
        for (name, gvk) in &all.kinds {
            add_kind(&mut schemas, name, *gvk);
        }
        // Options of a deletion may call themselves by any group: clients send that of the object.
        let mut versions: Vec<[&str; 2]> = all
            .kinds
            .iter()
            .map(|(_, [group, version, _])| [*group, *version])
            .collect();
        versions.sort_unstable();
        versions.dedup();
        for [group, version] in versions {
            add_kind(
                &mut schemas,
                DELETE_OPTIONS,
                [group, version, "DeleteOptions"],
            );
        }
        Self { schemas }
    }

    /// Puts in what the crate leaves out.
    fn finish(&mut self) {
        for (name, schema) in &mut self.schemas {
            match name.as_str() {
                INT_OR_STRING => {
                    add(schema, "format", json!("int-or-string"));
                    add(
                        schema,
                        "oneOf",
                        json!([{"type": "integer"}, {"type": "string"}]),
                    );
                }
                QUANTITY => add(
                    schema,
                    "oneOf",
                    json!([{"type": "string"}, {"type": "number"}]),
                ),
                // Anything, or one of several: upstream says nothing of their type, and clients validate by what is said.
                _ if name.starts_with(EXTENSIONS) && is_any(name) => {
                    let object = schema.as_object_mut().expect("schemas are objects");
                    object.retain(|word, _| word == "description");
                }
                _ => {}
            }
            if merge_keys::is_atomic(name) {
                add(schema, "x-kubernetes-map-type", json!("atomic"));
            }
            let is_list = name.ends_with("List");
            let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
                continue;
            };
            for (field, schema) in fields {
                let rule = merge_keys::find(name, field);
                annotate(schema, rule, is_list && field == "items");
                // The one part of a key that may be left out.
                if field == "protocol"
                    && (name.ends_with(".ContainerPort") || name.ends_with(".ServicePort"))
                {
                    add(schema, "default", json!("TCP"));
                }
            }
        }
        for rule in merge_keys::rules() {
            let known = &self
                .schemas
                .get(rule.schema)
                .and_then(|schema| schema["properties"].get(rule.field));
            assert!(
                known.is_some(),
                "a rule about {}.{}, which is not there",
                rule.schema,
                rule.field
            );
        }
    }

    fn render(&self) -> String {
        let places: BTreeMap<&str, usize> =
            self.schemas.keys().map(String::as_str).zip(0..).collect();
        let implied = implied(include_str!("src/codec/schema.txt"));
        let mut text = String::from("static DEFINITIONS: &[Definition] = &[\n");
        for (name, schema) in &self.schemas {
            let shape = match schema.get("properties").and_then(Value::as_object) {
                Some(fields) => render_fields(name, fields, &places, &implied),
                None => "None".into(),
            };
            let json = schema.to_string();
            let atomic = merge_keys::is_atomic(name);
            writeln!(
                text,
                "    Definition {{ name: {name:?}, fields: {shape}, atomic: {atomic}, json: {json:?} }},"
            )
            .expect("a string takes everything");
        }
        text.push_str("];\n");
        text
    }
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const EXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/// Whether a type of definitions may be any value, or values of several types.
fn is_any(name: &str) -> bool {
    let name = name.strip_prefix(EXTENSIONS).unwrap_or_default();
    name == "JSON" || name.starts_with("JSONSchemaPropsOr")
}

fn add(schema: &mut Value, key: &str, value: Value) {
    let object = schema.as_object_mut().expect("schemas are objects");
    object.remove("x-kubernetes-int-or-string");
    object.insert(key.into(), value);
}

fn add_kind(schemas: &mut BTreeMap<String, Value>, name: &str, [group, version, kind]: [&str; 3]) {
    let schema = schemas.get_mut(name).and_then(Value::as_object_mut);
    let kinds = schema
        .expect("collected before")
        .entry("x-kubernetes-group-version-kind");
    let kinds = kinds.or_insert_with(|| json!([]));
    let kinds = kinds.as_array_mut().expect("made here");
    kinds.push(json!({"group": group, "version": version, "kind": kind}));
}

fn list_schema(item: &str, kind: &str) -> Value {
    json!({
        "description": format!("{kind}List is a list of {kind} objects."),
        "type": "object",
        "properties": {
            "apiVersion": {"description": "The version of the API that this list is written in.", "type": "string"},
            "kind": {"description": "What this is.", "type": "string"},
            "metadata": {
                "allOf": [{"$ref": format!("#/components/schemas/{META}ListMeta")}],
                "description": "Metadata of the list.",
            },
            "items": {
                "description": "The objects.",
                "type": "array",
                "items": {"$ref": format!("#/components/schemas/{item}")},
            },
        },
        "required": ["items"],
    })
}

/// The words about merging. A list without a rule is owned as a whole, but for the items of a list of objects.
fn annotate(schema: &mut Value, rule: Option<&Rule>, items: bool) {
    let is_array = schema["type"] == "array";
    if let Some(rule) = rule {
        if let Some(strategy) = rule.patch.strategy() {
            add(schema, "x-kubernetes-patch-strategy", json!(strategy));
        }
        if let Some(key) = rule.patch.key() {
            add(schema, "x-kubernetes-patch-merge-key", json!(key));
        }
    }
    let word = if is_array {
        "x-kubernetes-list-type"
    } else {
        "x-kubernetes-map-type"
    };
    match rule.map(|rule| rule.ownership) {
        None if is_array && !items => add(schema, word, json!("atomic")),
        None | Some(Ownership::Granular) => {}
        Some(Ownership::Atomic) => add(schema, word, json!("atomic")),
        Some(Ownership::Set) => add(schema, word, json!("set")),
        Some(Ownership::Map(keys)) => {
            add(schema, word, json!("map"));
            add(schema, "x-kubernetes-list-map-keys", json!(keys));
        }
    }
}

fn render_fields(
    of: &str,
    fields: &Map<String, Value>,
    places: &BTreeMap<&str, usize>,
    implied: &BTreeSet<(String, &str)>,
) -> String {
    let mut text = String::from("Some(&[");
    for (name, schema) in fields {
        let ownership = match merge_keys::find(of, name) {
            Some(rule) => rule.ownership,
            None if schema["type"] == "array" => Ownership::Atomic,
            None => Ownership::Granular,
        };
        let ownership = match ownership {
            Ownership::Map(keys) => format!("Map(&{keys:?})"),
            other => format!("{other:?}"),
        };
        let is_implied = implied.contains(&(of.to_owned(), name.as_str()));
        let of = render_type(schema, places);
        write!(
            text,
            "Field {{ name: {name:?}, of: {of}, ownership: Ownership::{ownership}, implied: {is_implied} }}, "
        )
        .expect("a string takes everything");
    }
    text.push_str("])");
    text
}

/// The fields that Go writes even into an empty object: types without a mark, and lists, maps and pointers that are
/// written always. Each is named by its type and its name.
fn implied(table: &'static str) -> BTreeSet<(String, &'static str)> {
    const SCALARS: &str =
        "bool int32 int64 string bytes time microtime quantity intorstring raw strings";
    let mut package = "";
    let mut owner = String::new();
    let mut implied = BTreeSet::new();
    let mut inlined = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["package", name, _] => package = name,
            ["kind" | "type", name] => owner = format!("{package}.{name}"),
            [_, ".", of, ..] if of.contains('.') => inlined.push((owner.clone(), (*of).to_owned())),
            [_, ".", of, ..] => inlined.push((owner.clone(), format!("{package}.{of}"))),
            [_, name, of, word @ ..] => {
                let marked = of.starts_with(['?', '[', '{']);
                let is_type = !marked && SCALARS.split(' ').all(|scalar| scalar != *of);
                if is_type && word != ["omitzero"] || marked && word == ["always"] {
                    implied.insert((owner.clone(), *name));
                }
            }
            _ => {}
        }
    }
    for (owner, of) in inlined {
        let fields: Vec<&str> = implied
            .iter()
            .filter(|(owner, _)| *owner == of)
            .map(|(_, name)| *name)
            .collect();
        implied.extend(fields.into_iter().map(|name| (owner.clone(), name)));
    }
    implied
}

/// A schema as an expression of the type `Type`. A schema of a new form must not pass as something else, so it stops the
/// build.
fn render_type(schema: &Value, places: &BTreeMap<&str, usize>) -> String {
    let reference = schema
        .get("$ref")
        .or_else(|| schema["allOf"].get(0)?.get("$ref"));
    if let Some(reference) = reference.and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return match name.strip_prefix(META) {
            Some("Time") => "Type::Time".into(),
            Some("MicroTime") => "Type::MicroTime".into(),
            Some("FieldsV1") => "Type::Any".into(),
            _ if name == INT_OR_STRING => "Type::IntOrString".into(),
            _ if name == QUANTITY => "Type::Quantity".into(),
            _ if name.ends_with(".runtime.RawExtension") => "Type::Any".into(),
            _ => match name.strip_prefix(EXTENSIONS) {
                Some("JSON" | "JSONSchemaPropsOrStringArray") => "Type::Any".into(),
                Some("JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool") => {
                    let schema = format!("{EXTENSIONS}JSONSchemaProps");
                    format!("Type::ObjectOr({})", places[&*schema])
                }
                _ => format!("Type::Object({})", places[name]),
            },
        };
    }
    let format = schema["format"].as_str().unwrap_or_default();
    match (schema["type"].as_str().unwrap_or_default(), format) {
        ("string", "byte") => "Type::Bytes".into(),
        ("string", "") => "Type::String".into(),
        ("boolean", "") => "Type::Boolean".into(),
        ("integer", "int32") => "Type::Int32".into(),
        ("integer", "int64") => "Type::Int64".into(),
        ("number", "double") => "Type::Number".into(),
        ("array", "") => format!("Type::List(&{})", render_type(&schema["items"], places)),
        ("object", "") if schema.get("additionalProperties").is_some() => {
            format!(
                "Type::Map(&{})",
                render_type(&schema["additionalProperties"], places)
            )
        }
        _ => panic!("no type for {schema}"),
    }
}
