//! Which objects a watcher wants, and whether an object is one of them: written apart from the code under test, so
//! that both cannot be wrong in the same way.

use serde_json::Value;

use super::history::Version;

/// Which objects. All that is demanded must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only of this namespace.
    pub namespace: Option<String>,
    /// Only the one with this key, `namespace/name`.
    pub object: Option<String>,
    /// What labels must be.
    pub labels: Vec<(String, Demand)>,
    /// What fields must be, by path: `spec.mode`. Only [`Demand::Is`] and [`Demand::IsNot`].
    pub fields: Vec<(String, Demand)>,
}

/// What is demanded of a label or field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Demand {
    /// This value.
    Is(String),
    /// Another value, or none.
    IsNot(String),
    /// One of these.
    In(Vec<String>),
    /// None of these, or none at all.
    NotIn(Vec<String>),
    /// Any value.
    Exists,
    /// None at all.
    Absent,
}

impl Selection {
    /// Whether an object with this version is wanted. Keys in storage end with `namespace/name`.
    pub fn wants(&self, version: &Version) -> bool {
        let mut parts = version.key.rsplit('/');
        let (name, namespace) = (parts.next(), parts.next());
        let in_namespace = |wanted: &String| namespace == Some(wanted.as_str());
        let is_object = |wanted: &String| wanted.split('/').eq(namespace.into_iter().chain(name));
        self.namespace.as_ref().is_none_or(in_namespace)
            && self.object.as_ref().is_none_or(is_object)
            && self.labels.iter().all(|(label, demand)| {
                let labels = version.json.pointer("/metadata/labels");
                demand.holds(labels.and_then(|labels| labels.get(label)?.as_str()))
            })
            && self.fields.iter().all(|(path, demand)| {
                let pointer = format!("/{}", path.replace('.', "/"));
                let value = version.json.pointer(&pointer).and_then(Value::as_str);
                // A field that is not there counts as empty.
                demand.holds(Some(value.unwrap_or("")))
            })
    }

    /// The label selector as a client writes it.
    pub fn label_text(&self) -> String {
        text(&self.labels)
    }

    /// The field selector as a client writes it.
    pub fn field_text(&self) -> String {
        text(&self.fields)
    }
}

impl Demand {
    fn holds(&self, value: Option<&str>) -> bool {
        let among =
            |values: &[String]| value.is_some_and(|value| values.iter().any(|v| v == value));
        match self {
            Self::Is(wanted) => value == Some(wanted),
            Self::IsNot(unwanted) => value != Some(unwanted),
            Self::In(values) => among(values),
            Self::NotIn(values) => !among(values),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
        }
    }
}

fn text(demands: &[(String, Demand)]) -> String {
    let demands = demands.iter().map(|(name, demand)| match demand {
        Demand::Is(value) => format!("{name}={value}"),
        Demand::IsNot(value) => format!("{name}!={value}"),
        Demand::In(values) => format!("{name} in ({})", values.join(",")),
        Demand::NotIn(values) => format!("{name} notin ({})", values.join(",")),
        Demand::Exists => name.clone(),
        Demand::Absent => format!("!{name}"),
    });
    demands.collect::<Vec<_>>().join(",")
}
