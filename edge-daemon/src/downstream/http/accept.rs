//! Which form of an answer a client takes.
//!
//! There is one encoding here, JSON, and three forms of it. Clauses of an `Accept` header are tried by their weight `q`, then in the order
//! given; one that names something else is passed over, so that clients which prefer protobuf and take JSON get JSON.

use std::cmp::Reverse;

use super::answer::Refusal;

/// The version in which tables and metadata are shown; both are the same but for the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V1Beta1,
}

impl Version {
    /// The `apiVersion`.
    pub(super) const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// What an answer is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The objects themselves.
    Whole,
    /// Rows of a `Table`.
    Table(Version),
    /// `PartialObjectMetadata`.
    Metadata(Version),
}

/// Which objects are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Object,
    List,
    Watch,
}

/// How much a document of discovery says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Names, from which the client goes on.
    Plain,
    /// Everything at once.
    Aggregated,
}

/// The form in which a client wants objects.
pub(super) fn form(accept: &str, asked: Asked) -> Result<Form, Refusal> {
    choose(accept, Form::Whole, |clause| clause.form(asked))
}

/// The style in which a client wants discovery.
pub(super) fn style(accept: &str) -> Result<Style, Refusal> {
    choose(accept, Style::Plain, |clause| clause.style())
}

/// What the best clause that can be satisfied asks for.
fn choose<T>(
    accept: &str,
    unsaid: T,
    offer: impl Fn(&Clause<'_>) -> Option<T>,
) -> Result<T, Refusal> {
    if accept.trim().is_empty() {
        return Ok(unsaid);
    }
    let clauses = accept.split(',').map(Clause::parse);
    let mut clauses: Vec<Clause<'_>> = clauses.filter(Clause::is_json).collect();
    clauses.sort_by_key(|clause| Reverse(clause.weight));
    let chosen = clauses.iter().find_map(offer);
    chosen.ok_or_else(Refusal::not_acceptable)
}

struct Clause<'a> {
    media: &'a str,
    /// In thousandths.
    weight: u16,
    shape: &'a str,
    group: &'a str,
    version: &'a str,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut clause = Self {
            media: parts.next().unwrap_or_default(),
            weight: 1000,
            shape: "",
            group: "",
            version: "",
        };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name {
                "as" => clause.shape = value,
                "g" => clause.group = value,
                "v" => clause.version = value,
                "q" => {
                    let weight: f32 = value.parse().unwrap_or(1.0);
                    clause.weight = (weight.clamp(0.0, 1.0) * 1000.0) as u16;
                }
                _ => {}
            }
        }
        clause
    }

    /// Whether it is of the encoding that there is.
    fn is_json(&self) -> bool {
        matches!(self.media, "application/json" | "application/*" | "*/*")
    }

    fn form(&self, asked: Asked) -> Option<Form> {
        let version = match self.version {
            "v1" => Some(Version::V1),
            "v1beta1" => Some(Version::V1Beta1),
            _ => None,
        };
        match (self.group, self.shape, asked) {
            (_, "", _) => Some(Form::Whole),
            ("meta.k8s.io", "Table", _) => version.map(Form::Table),
            ("meta.k8s.io", "PartialObjectMetadata", Asked::Object | Asked::Watch)
            | ("meta.k8s.io", "PartialObjectMetadataList", Asked::List | Asked::Watch) => {
                version.map(Form::Metadata)
            }
            _ => None,
        }
    }

    fn style(&self) -> Option<Style> {
        match (self.group, self.shape, self.version) {
            (_, "", _) => Some(Style::Plain),
            ("apidiscovery.k8s.io", "APIGroupDiscoveryList", "v2") => Some(Style::Aggregated),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

    #[test]
    fn what_real_clients_send() {
        let table = Form::Table(Version::V1);
        let metadata = Form::Metadata(Version::V1);
        for (accept, asked, expected) in [
            ("", Asked::List, Some(Form::Whole)),
            (TABLE, Asked::List, Some(table)),
            (TABLE, Asked::Watch, Some(table)),
            (
                "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
                Asked::Object,
                Some(Form::Table(Version::V1Beta1)),
            ),
            (
                "application/vnd.kubernetes.protobuf, */*",
                Asked::List,
                Some(Form::Whole),
            ),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Asked::Object,
                Some(Form::Whole),
            ),
            ("application/vnd.kubernetes.protobuf", Asked::List, None),
            ("application/yaml", Asked::Watch, None),
            (
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                Asked::Watch,
                Some(metadata),
            ),
            (
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                Asked::List,
                None,
            ),
            (
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                Asked::List,
                Some(metadata),
            ),
            (
                "application/json;q=0.5,application/json;as=Table;v=v1;g=meta.k8s.io",
                Asked::List,
                Some(table),
            ),
        ] {
            assert_eq!(form(accept, asked).ok(), expected, "{accept} {asked:?}");
        }
    }

    #[test]
    fn discovery_is_told_at_once_to_those_who_ask() {
        const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let both = format!("{V2},application/json");
        let old = V2.replace("v=v2", "v=v2beta1");
        for (accept, expected) in [
            ("", Some(Style::Plain)),
            ("application/json, */*", Some(Style::Plain)),
            (&both, Some(Style::Aggregated)),
            (&old, None),
            ("application/yaml", None),
        ] {
            assert_eq!(style(accept).ok(), expected, "{accept}");
        }
    }
}
