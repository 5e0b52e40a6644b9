//! What is known of a kind besides its objects: what it is called, and which columns a table of it has.
//!
//! A Kubernetes API upstream says it, in its discovery and, for kinds of one's own, in the definition of the kind. A relay that relays definitions knows them as objects,
//! whatever its upstream is. The settings may say columns too, and win. What was learned is kept on disk with the objects, so that it holds while the upstream is away.

mod path;

use serde::{Deserialize, Serialize};

pub use path::{JsonPath, JsonPathError};

/// The most columns that are taken of a definition.
pub const MAX_COLUMNS: usize = 32;

/// A kind, as its API server describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// The version in which it was asked for.
    pub version: String,
    /// The kind of its objects.
    pub kind: String,
    /// What one of it is called.
    pub singular: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Other names that people type.
    #[serde(default)]
    pub short_names: Vec<String>,
    /// Groups of kinds that it belongs to.
    #[serde(default)]
    pub categories: Vec<String>,
    /// The columns that its definition asks for; `None` if it has none that could be read.
    #[serde(default)]
    pub columns: Option<Vec<Column>>,
    /// The fields besides the name by which its definition lets clients select, if that could be read.
    #[serde(default)]
    pub selectable: Option<Vec<String>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// What its cells are.
    #[serde(default, rename = "type")]
    pub kind: ColumnKind,
    /// Where its values are in an object.
    pub path: JsonPath,
    /// Above 0: shown by `-o wide` only.
    #[serde(default)]
    pub priority: i32,
    /// What its texts mean; mostly nothing.
    #[serde(default)]
    pub format: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
}

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Text.
    #[default]
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A time, shown as how long ago it was.
    Date,
}

impl ColumnKind {
    /// The name in a Table and in a definition.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
        }
    }
}

impl Definition {
    /// Finds a resource in a group's list of resources.
    pub fn from_discovery(version: &str, plural: &str, body: &[u8]) -> Option<Self> {
        let list: ResourceList = serde_json::from_slice(body).ok()?;
        let mut resources = list.resources.into_iter();
        let found = resources.find(|resource| resource.name == plural)?;
        Some(Self {
            version: version.to_owned(),
            kind: found.kind,
            singular: found.singular_name,
            namespaced: found.namespaced,
            short_names: found.short_names,
            categories: found.categories,
            columns: None,
            selectable: None,
        })
    }

    /// Reads the definition of a kind of one's own, as of this version of it, or of the first one that is served. Also says which columns were left out.
    pub fn from_definition(version: Option<&str>, body: &[u8]) -> Option<(Self, Vec<String>)> {
        let CustomResource { spec } = serde_json::from_slice(body).ok()?;
        let mut versions = spec.versions.iter();
        let found = versions.find(|own| version.map_or(own.served, |version| own.name == version));
        let mut definition = Self {
            version: found?.name.clone(),
            singular: spec.names.singular,
            namespaced: spec.scope == "Namespaced",
            short_names: spec.names.short_names,
            categories: spec.names.categories,
            kind: spec.names.kind,
            columns: None,
            selectable: None,
        };
        let left_out = definition.read_versions(spec.versions);
        Some((definition, left_out))
    }

    /// Takes columns and selectable fields of this version from the definition of a kind of one's own. A column whose path cannot be understood is left out and named.
    pub fn read_definition(&mut self, body: &[u8]) -> Vec<String> {
        match serde_json::from_slice::<CustomResource>(body) {
            Ok(definition) => self.read_versions(definition.spec.versions),
            Err(_) => Vec::new(),
        }
    }

    fn read_versions(&mut self, versions: Vec<CustomResourceVersion>) -> Vec<String> {
        let mut versions = versions.into_iter();
        let Some(version) = versions.find(|version| version.name == self.version) else {
            return Vec::new();
        };
        let mut left_out = Vec::new();
        let columns = version.additional_printer_columns.into_iter();
        let columns = columns.filter_map(|column| match JsonPath::parse(&column.json_path) {
            Ok(path) => Some(Column {
                name: column.name,
                kind: column.kind,
                path,
                priority: column.priority,
                format: column.format,
                description: column.description,
            }),
            Err(_) => {
                left_out.push(column.name);
                None
            }
        });
        self.columns = Some(columns.take(MAX_COLUMNS).collect());
        let fields = version.selectable_fields.into_iter();
        let fields = fields.map(|field| field.json_path.trim_start_matches('.').to_owned());
        self.selectable = Some(fields.collect());
        left_out
    }
}

/// A list of resources, as far as it is of interest.
#[derive(Deserialize)]
struct ResourceList {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    name: String,
    kind: String,
    #[serde(default)]
    singular_name: String,
    namespaced: bool,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
}

/// A CustomResourceDefinition, as far as it is of interest. Its schemas, which can be large, are passed over and not kept.
#[derive(Deserialize)]
struct CustomResource {
    spec: CustomResourceSpec,
}

#[derive(Deserialize)]
struct CustomResourceSpec {
    names: CustomResourceNames,
    scope: String,
    versions: Vec<CustomResourceVersion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CustomResourceNames {
    kind: String,
    #[serde(default)]
    singular: String,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CustomResourceVersion {
    name: String,
    served: bool,
    #[serde(default)]
    additional_printer_columns: Vec<PrinterColumn>,
    #[serde(default)]
    selectable_fields: Vec<SelectableField>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SelectableField {
    json_path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PrinterColumn {
    name: String,
    #[serde(default, rename = "type")]
    kind: ColumnKind,
    json_path: String,
    #[serde(default)]
    priority: i32,
    #[serde(default)]
    format: String,
    #[serde(default)]
    description: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESOURCES: &[u8] = br#"{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[
        {"name":"lamps/status","singularName":"","namespaced":true,"kind":"Lamp","verbs":["get"]},
        {"name":"lamps","singularName":"lamp","namespaced":true,"kind":"Lamp","verbs":["get"],"shortNames":["lp"],"categories":["all"]}]}"#;

    #[test]
    fn a_kind_is_put_together_from_what_its_server_says() {
        let mut lamp = Definition::from_discovery("v1", "lamps", RESOURCES).unwrap();
        assert_eq!(
            (lamp.kind.as_str(), &lamp.short_names),
            ("Lamp", &vec!["lp".to_owned()])
        );
        assert_eq!(Definition::from_discovery("v1", "lights", RESOURCES), None);
        let definition = br#"{"spec":{"scope":"Namespaced","names":{"kind":"Lamp","plural":"lamps","singular":"lamp","shortNames":["lp"],"categories":["all"]},"versions":[
            {"name":"v0","served":false,"additionalPrinterColumns":[{"name":"Old","type":"string","jsonPath":".old"}]},
            {"name":"v1","served":true,"selectableFields":[{"jsonPath":".spec.room"}],"schema":{"openAPIV3Schema":{"type":"object"}},"additionalPrinterColumns":[
                {"name":"Room","type":"string","jsonPath":".spec.room"},
                {"name":"Odd","type":"string","jsonPath":".spec.rooms[0:2]"},
                {"name":"Lit","type":"date","jsonPath":".status.lit","priority":1}]}]}}"#;
        assert_eq!(lamp.read_definition(definition), ["Odd"]);
        let columns = lamp.columns.clone().unwrap();
        let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["Room", "Lit"]);
        assert_eq!(lamp.selectable, Some(vec!["spec.room".to_owned()]));
        assert_eq!(
            (columns[1].kind, columns[1].priority),
            (ColumnKind::Date, 1)
        );
        // The same from the definition alone.
        for version in [None, Some("v1")] {
            let (same, left_out) = Definition::from_definition(version, definition).unwrap();
            assert_eq!(
                (same, left_out.as_slice()),
                (lamp.clone(), &["Odd".to_owned()][..])
            );
        }
        assert_eq!(Definition::from_definition(Some("v9"), definition), None);
        // As it is kept on disk.
        let kept = serde_json::to_vec(&lamp).unwrap();
        assert_eq!(serde_json::from_slice::<Definition>(&kept).unwrap(), lamp);
    }

    #[test]
    fn what_is_no_definition_changes_nothing() {
        assert_eq!(Definition::from_discovery("v1", "lamps", b"{}"), None);
        let mut lamp = Definition::from_discovery("v1", "lamps", RESOURCES).unwrap();
        for wrong in [&b""[..], b"{}", br#"{"spec":{"versions":[{"name":"v9"}]}}"#] {
            assert!(lamp.read_definition(wrong).is_empty());
            assert_eq!(lamp.columns, None);
        }
    }
}
