//! The OpenAPI documents, from which kubectl explains, validates and merges.
//!
//! A document is a few hundred kilobytes of text that most servers are never asked for, so it is made on the
//! first request, written piece by piece into a compressor, and only the compressed bytes are kept.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Read, Write};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha512};

use crate::resources::catalog::{Group, GroupVersion};
use crate::resources::{Catalog, Resource, Subresource};
use crate::schema::{Definition, KUBERNETES_VERSION};
use crate::structural::publish::{self, Form};

mod operations;
pub mod v2;

/// The documents of one catalog.
#[derive(Debug)]
pub struct OpenApi {
    catalog: Catalog,
    index: OnceLock<Bytes>,
    groups: Vec<Arc<Documents>>,
    v2_json: OnceLock<Packed>,
    v2_protobuf: OnceLock<Packed>,
}

impl OpenApi {
    /// The documents of a catalog. Nothing is made yet.
    pub fn new(catalog: Catalog) -> Self {
        Self::with(catalog, None)
    }

    /// The documents of another catalog. What was made for this one and would be the same is taken over.
    pub fn next(&self, catalog: Catalog) -> Self {
        Self::with(catalog, Some(self))
    }

    fn with(catalog: Catalog, before: Option<&Self>) -> Self {
        let before = before.iter().flat_map(|before| &before.groups);
        // Groups that are the same have the same address.
        let known: HashMap<*const Group, &Arc<Documents>> = before
            .map(|known| (Arc::as_ptr(&known.group), known))
            .collect();
        let documents = |group: &Arc<Group>| match known.get(&Arc::as_ptr(group)) {
            Some(known) => (*known).clone(),
            None => Arc::new(Documents::of(group)),
        };
        Self {
            groups: catalog.groups().iter().map(documents).collect(),
            index: OnceLock::new(),
            v2_json: OnceLock::new(),
            v2_protobuf: OnceLock::new(),
            catalog,
        }
    }

    /// `/openapi/v3`: which documents there are. The address of each changes with its content, so clients may keep
    /// them for good.
    pub fn index(&self) -> &Bytes {
        self.index.get_or_init(|| {
            let entry = |(version, document): (&GroupVersion, &Document)| {
                let path = version.path();
                let hash = document.hash(&version.resources);
                let url = format!("/openapi/v3/{path}?hash={hash}");
                (path, json!({"serverRelativeURL": url}))
            };
            let all = self.groups.iter().flat_map(|group| group.iter());
            let paths: BTreeMap<String, Value> = all.map(entry).collect();
            json!({"paths": paths}).to_string().into()
        })
    }

    /// `/openapi/v3/PATH`: the document of a group version, where `path` is `api/v1` or `apis/G/V`.
    pub fn document(&self, path: &str) -> Option<&Packed> {
        let (group, version) = match path.strip_prefix("apis/") {
            Some(rest) => rest.split_once('/')?,
            None => ("", path.strip_prefix("api/")?),
        };
        let mut groups = self.groups.iter();
        let group = groups.find(|candidate| candidate.group.name == group)?;
        let mut documents = group.iter();
        let (version, document) = documents.find(|(known, _)| known.version == version)?;
        Some(document.packed(&version.resources))
    }

    /// `/openapi/v2` as JSON.
    pub fn v2_json(&self) -> &Packed {
        self.v2_json
            .get_or_init(|| Packed::new(|out| v2::write_json(&self.catalog, out)))
    }

    /// `/openapi/v2` as protobuf, the only form that kubectl before 1.27 reads; asked for by
    /// [`v2::PROTOBUF_ACCEPT`], answered as [`v2::PROTOBUF`].
    pub fn v2_protobuf(&self) -> &Packed {
        self.v2_protobuf
            .get_or_init(|| Packed::new(|out| v2::write_protobuf(&self.catalog, out)))
    }
}

/// The documents of a group, one for each version.
#[derive(Debug)]
struct Documents {
    group: Arc<Group>,
    /// In the order of the group's versions.
    versions: Vec<Document>,
}

impl Documents {
    fn of(group: &Arc<Group>) -> Self {
        Self {
            versions: group.versions.iter().map(|_| Document::default()).collect(),
            group: group.clone(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&GroupVersion, &Document)> {
        self.group.versions.iter().zip(&self.versions)
    }
}

/// The document of a group version, made of its resources when somebody asks.
#[derive(Debug, Default)]
struct Document {
    hash: OnceLock<String>,
    packed: OnceLock<Packed>,
}

impl Document {
    fn hash(&self, resources: &[Arc<Resource>]) -> &str {
        self.hash.get_or_init(|| {
            let mut hash = Sha512::new();
            write_document(resources, &mut |piece| hash.update(piece));
            hex(hash)
        })
    }

    fn packed(&self, resources: &[Arc<Resource>]) -> &Packed {
        self.packed.get_or_init(|| {
            Packed::new(|out| write_document(resources, &mut |piece| out(piece.as_bytes())))
        })
    }
}

/// A document, compressed.
#[derive(Debug, Clone)]
pub struct Packed {
    /// The document as gzip, for clients that take it.
    pub gzip: Bytes,
    /// For the header, quotes included.
    pub etag: String,
    size: usize,
}

impl Packed {
    fn new(write: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Self {
        let mut hash = Sha512::new();
        let mut size = 0;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        write(&mut |piece| {
            hash.update(piece);
            size += piece.len();
            // Writing to memory cannot fail.
            let _ = encoder.write_all(piece);
        });
        let mut gzip = encoder.finish().unwrap_or_default();
        gzip.shrink_to_fit();
        Self {
            gzip: gzip.into(),
            etag: format!("\"{}\"", hex(hash)),
            size,
        }
    }

    /// The document for clients that do not take gzip.
    pub fn plain(&self) -> Vec<u8> {
        let mut plain = Vec::with_capacity(self.size);
        // What we packed ourselves can be unpacked.
        let _ = GzDecoder::new(&*self.gzip).read_to_end(&mut plain);
        plain
    }
}

fn hex(hash: Sha512) -> String {
    let digits = |byte: u8| {
        [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0'))
    };
    let digits = hash.finalize().into_iter().flat_map(digits);
    digits.map(|digit| digit.to_ascii_uppercase()).collect()
}

/// Writes the document of a group version, piece by piece.
fn write_document(resources: &[Arc<Resource>], out: &mut dyn FnMut(&str)) {
    let head = json!({"title": "Kubernetes", "version": KUBERNETES_VERSION});
    out(&format!(
        "{{\"openapi\":\"3.0.0\",\"info\":{head},\"paths\":{{"
    ));
    let mut comma = "";
    for resource in resources {
        for (path, item) in operations::paths(resource) {
            out(&format!("{comma}{}:{item}", Value::from(path)));
            comma = ",";
        }
    }
    out("},\"components\":{\"schemas\":{");
    let mut comma = "";
    let mut all = schemas(resources);
    all.extend(
        custom_schemas(resources, Form::V3).map(|(name, schema)| (name, schema.to_string())),
    );
    for (name, schema) in all {
        out(&format!("{comma}\"{name}\":"));
        out(&schema);
        comma = ",";
    }
    out(concat!(
        "},\"securitySchemes\":{\"BearerToken\":{\"description\":\"Bearer Token authentication\",",
        "\"type\":\"apiKey\",\"name\":\"authorization\",\"in\":\"header\"}}}}"
    ));
}

/// The name of the type of an object in the document.
fn schema_name(resource: &Resource) -> String {
    match resource.schema_name() {
        Some(name) => name.into(),
        None => {
            // As upstream names them: the group turned around.
            let mut parts: Vec<&str> = resource.group.split('.').rev().collect();
            parts.extend([&*resource.version, &*resource.kind]);
            parts.join(".")
        }
    }
}

const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
const BINDING: &str = "io.k8s.api.core.v1.Binding";

/// The type that a subresource takes and answers, where it has one of its own.
fn subresource_schema(sub: &Subresource) -> Option<&'static str> {
    match sub {
        Subresource::Scale(_) => Some(SCALE),
        Subresource::Binding => Some(BINDING),
        Subresource::Status | Subresource::Finalize => None,
    }
}

/// Every type of the program that the resources need, by name.
fn schemas<'a>(resources: impl IntoIterator<Item = &'a Arc<Resource>>) -> BTreeMap<String, String> {
    let mut needed = BTreeSet::new();
    let mut schemas = BTreeMap::new();
    for name in [STATUS, DELETE_OPTIONS, LIST_META] {
        add_with_references(name, &mut needed);
    }
    schemas.insert(
        PATCH.into(),
        json!({"description": "What to change, in the form that the media type names.", "type": "object"}).to_string(),
    );
    for resource in resources {
        match resource.schema_name() {
            Some(schema) => {
                add_with_references(schema, &mut needed);
                add_with_references(&format!("{schema}List"), &mut needed);
            }
            None => add_with_references(OBJECT_META, &mut needed),
        }
        let own = resource.subresources.iter().filter_map(subresource_schema);
        own.for_each(|name| add_with_references(name, &mut needed));
    }
    let definitions = needed.into_iter().filter_map(Definition::find);
    schemas
        .extend(definitions.map(|definition| (definition.name().into(), definition.json().into())));
    schemas
}

fn add_with_references(name: &str, needed: &mut BTreeSet<&'static str>) {
    let Some(definition) = Definition::find(name) else {
        return;
    };
    let mut open = vec![definition];
    while let Some(definition) = open.pop() {
        if needed.insert(definition.name()) {
            open.extend(definition.references());
        }
    }
}

/// The types of custom kinds and of their lists.
fn custom_schemas(
    resources: &[Arc<Resource>],
    form: Form,
) -> impl Iterator<Item = (String, Value)> {
    let custom = resources
        .iter()
        .filter_map(|row| Some((row, row.custom()?)));
    custom.flat_map(move |(resource, custom)| {
        let name = schema_name(resource);
        let kind = publish::Kind {
            group: &resource.group,
            version: &resource.version,
            kind: &resource.kind,
        };
        let source = custom.source();
        let schema = publish::kind(source.as_ref(), &kind, form);
        let list = custom_list(resource, &name, form);
        [(format!("{name}List"), list), (name, schema)]
    })
}

fn custom_list(resource: &Resource, item: &str, form: Form) -> Value {
    let place = match form {
        Form::V2 => "#/definitions",
        Form::V3 => "#/components/schemas",
    };
    let reference = |name: &str| json!({"$ref": format!("{place}/{name}")});
    json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": reference(LIST_META),
            "items": {"type": "array", "items": reference(item)},
        },
        KIND_WORD: [gvk(resource, &resource.list_kind)],
    })
}

const KIND_WORD: &str = "x-kubernetes-group-version-kind";

fn gvk(resource: &Resource, kind: &str) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": kind})
}
