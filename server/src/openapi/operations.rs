//! The paths of a resource, and what can be done at each.
//!
//! Clients read three things here: which kind is at a path, which options a request takes (kubectl leaves validation to
//! the server only if PATCH takes `fieldValidation`), and which forms of patch there are.

use serde_json::{Map, Value, json};

use super::{DELETE_OPTIONS, KIND_WORD, PATCH, STATUS, gvk, schema_name, subresource_schema};
use crate::resources::{Resource, Subresource, Verb};

/// The paths of a resource and its subresources, as OpenAPI 3.0 path items.
pub(super) fn paths(resource: &Resource) -> Vec<(String, Value)> {
    let own = Content {
        object: schema_name(resource),
        list: format!("{}List", schema_name(resource)),
        kind: gvk(resource, &resource.kind),
    };
    let root = match &*resource.group {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let mut paths = Vec::new();
    let everywhere = format!("{root}/{}", resource.plural);
    let collection = if resource.is_namespaced() {
        format!("{root}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        everywhere.clone()
    };
    let object = format!("{collection}/{{name}}");
    let on_collection = [Verb::List, Verb::Create, Verb::DeleteCollection];
    let on_object = [Verb::Get, Verb::Update, Verb::Patch, Verb::Delete];
    let mut add = |path: &str, verbs: &[Verb], sub: Option<&Subresource>, content: &Content| {
        let allowed = sub.map_or(resource.verbs, Subresource::verbs);
        let verbs = verbs.iter().filter(|verb| allowed.contains(**verb));
        let mut item: Map<String, Value> = verbs
            .map(|verb| {
                let operation = operation(resource, sub, *verb, path, content);
                (method(*verb).into(), operation)
            })
            .collect();
        if !item.is_empty() {
            item.insert("parameters".into(), path_parameters(path));
            paths.push((path.into(), item.into()));
        }
    };
    add(&collection, &on_collection, None, &own);
    add(&object, &on_object, None, &own);
    if resource.is_namespaced() {
        add(&everywhere, &[Verb::List], None, &own);
    }
    for sub in &resource.subresources {
        let content = match (subresource_schema(sub), sub.own_kind()) {
            (Some(schema), Some([group, version, kind])) => Content {
                object: schema.into(),
                list: String::new(),
                kind: json!({"group": group, "version": version, "kind": kind}),
            },
            _ => own.clone(),
        };
        let verbs = [Verb::Get, Verb::Create, Verb::Update, Verb::Patch];
        add(
            &format!("{object}/{}", sub.name()),
            &verbs,
            Some(sub),
            &content,
        );
    }
    paths
}

/// What is at a path.
#[derive(Clone)]
struct Content {
    object: String,
    list: String,
    kind: Value,
}

fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "post",
        Verb::Delete | Verb::DeleteCollection => "delete",
        Verb::Get | Verb::List | Verb::Watch => "get",
        Verb::Patch => "patch",
        Verb::Update => "put",
    }
}

fn operation(
    resource: &Resource,
    sub: Option<&Subresource>,
    verb: Verb,
    path: &str,
    content: &Content,
) -> Value {
    let (words, action) = match verb {
        Verb::Create => ("create", "post"),
        Verb::Delete => ("delete", "delete"),
        Verb::DeleteCollection => ("deleteCollection", "deletecollection"),
        Verb::Get => ("read", "get"),
        Verb::List | Verb::Watch => ("list", "list"),
        Verb::Patch => ("patch", "patch"),
        Verb::Update => ("replace", "put"),
    };
    let answer = match verb {
        Verb::List => &content.list,
        Verb::Delete | Verb::DeleteCollection => STATUS,
        _ => &content.object,
    };
    let created = json!({"description": "Created", "content": {"application/json": {"schema": reference(answer)}}});
    let mut responses = json!({
        "200": {"description": "OK", "content": {"application/json": {"schema": reference(answer)}}},
        "401": {"description": "Unauthorized"},
    });
    if let (Verb::Create | Verb::Update | Verb::Patch, Some(map)) =
        (verb, responses.as_object_mut())
    {
        map.insert("201".into(), created);
    }
    let id = operation_id(words, resource, sub, path);
    let mut operation = json!({
        "operationId": id,
        "parameters": options(verb),
        "responses": responses,
        "x-kubernetes-action": action,
        KIND_WORD: content.kind,
    });
    let body = match verb {
        Verb::Create | Verb::Update => Some(json!({"*/*": {"schema": reference(&content.object)}})),
        Verb::Delete | Verb::DeleteCollection => {
            Some(json!({"*/*": {"schema": reference(DELETE_OPTIONS)}}))
        }
        Verb::Patch => Some(patch_bodies(resource)),
        Verb::Get | Verb::List | Verb::Watch => None,
    };
    if let (Some(body), Some(map)) = (body, operation.as_object_mut()) {
        let required = !matches!(verb, Verb::Delete | Verb::DeleteCollection);
        let mut request = json!({"content": body});
        if let (true, Some(request)) = (required, request.as_object_mut()) {
            request.insert("required".into(), true.into());
        }
        map.insert("requestBody".into(), request);
    }
    operation
}

fn operation_id(words: &str, resource: &Resource, sub: Option<&Subresource>, path: &str) -> String {
    let group = match &*resource.group {
        "" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    let place = match (resource.is_namespaced(), path.contains("{namespace}")) {
        (true, true) => "Namespaced",
        _ => "",
    };
    let tail = match (resource.is_namespaced(), place) {
        (true, "") => "ForAllNamespaces",
        _ => sub.map_or("", |sub| sub.name()),
    };
    let [group, version, tail] = [group, &resource.version, tail].map(capitalized);
    format!("{words}{group}{version}{place}{}{tail}", resource.kind)
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// Kinds without merge keys have no strategic merge.
fn patch_bodies(resource: &Resource) -> Value {
    let types: &[&str] = if !resource.protobuf {
        &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ]
    } else {
        &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
        ]
    };
    let body = |media: &&str| ((*media).to_owned(), json!({"schema": reference(PATCH)}));
    Value::Object(types.iter().map(body).collect())
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn path_parameters(path: &str) -> Value {
    let parts = [
        ("{name}", "name", "The name of the object."),
        ("{namespace}", "namespace", "The namespace."),
    ];
    let present = parts.iter().filter(|(mark, _, _)| path.contains(mark));
    let mut parameters: Vec<Value> = present
        .map(|(_, name, description)| {
            json!({
                "name": name, "in": "path", "required": true, "description": description,
                "schema": {"type": "string", "uniqueItems": true},
            })
        })
        .collect();
    parameters.push(parameter(&(
        "pretty",
        "string",
        "Indents the answer if true.",
    )));
    parameters.into()
}

fn options(verb: Verb) -> Value {
    let lists: &[&[Parameter]] = match verb {
        Verb::Get => &[],
        Verb::List | Verb::Watch => &[&READING],
        Verb::Create | Verb::Update => &[&WRITING],
        Verb::Patch => &[&WRITING, &PATCHING],
        Verb::Delete => &[&DELETING],
        Verb::DeleteCollection => &[&READING, &DELETING],
    };
    lists
        .iter()
        .flat_map(|list| list.iter())
        .map(parameter)
        .collect()
}

/// Name, type and meaning of a parameter in the query.
type Parameter = (&'static str, &'static str, &'static str);

fn parameter((name, of, description): &Parameter) -> Value {
    json!({
        "name": name, "in": "query", "description": description,
        "schema": {"type": of, "uniqueItems": true},
    })
}

const READING: [Parameter; 10] = [
    (
        "allowWatchBookmarks",
        "boolean",
        "Asks for events of type BOOKMARK.",
    ),
    ("continue", "string", "The token from the page before."),
    (
        "fieldSelector",
        "string",
        "Restricts the objects by their fields.",
    ),
    (
        "labelSelector",
        "string",
        "Restricts the objects by their labels.",
    ),
    (
        "limit",
        "integer",
        "The greatest number of objects in one answer.",
    ),
    (
        "resourceVersion",
        "string",
        "The state to read, or where a watch begins.",
    ),
    (
        "resourceVersionMatch",
        "string",
        "How resourceVersion is meant: Exact or NotOlderThan.",
    ),
    (
        "sendInitialEvents",
        "boolean",
        "Begins a watch with the objects there are.",
    ),
    (
        "timeoutSeconds",
        "integer",
        "Ends the request after so many seconds.",
    ),
    ("watch", "boolean", "Asks for changes instead of a list."),
];

const WRITING: [Parameter; 3] = [
    (
        "dryRun",
        "string",
        "All: does everything but store the result.",
    ),
    ("fieldManager", "string", "Who makes the change."),
    (
        "fieldValidation",
        "string",
        "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
    ),
];

const PATCHING: [Parameter; 1] = [(
    "force",
    "boolean",
    "Takes fields over that others manage; for apply only.",
)];

const DELETING: [Parameter; 4] = [
    ("dryRun", "string", "All: does everything but delete."),
    (
        "gracePeriodSeconds",
        "integer",
        "How long the object may take to end.",
    ),
    (
        "orphanDependents",
        "boolean",
        "Deprecated: use propagationPolicy.",
    ),
    (
        "propagationPolicy",
        "string",
        "What becomes of dependents: Orphan, Background or Foreground.",
    ),
];
