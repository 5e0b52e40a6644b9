//! The clauses of an `Accept` header.

use super::Media;

/// Most clauses that are looked at; a client that lists more gets what the first ones allow.
const MAX_CLAUSES: usize = 64;

/// One media range with the parameters that mean something here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clause<'a> {
    kind_of_media: &'a str,
    subtype: &'a str,
    weight: f32,
    /// `as`: the kind to answer with; empty for the objects themselves.
    pub(super) kind: &'a str,
    /// `g`: the group of that kind.
    pub(super) group: &'a str,
    /// `v`: its version.
    pub(super) version: &'a str,
    /// `stream`: how events are framed.
    pub(super) stream: Option<&'a str>,
    /// `pretty=1`
    pub(super) pretty: bool,
}

impl<'a> Clause<'a> {
    /// Reads one clause; `None` if it is no media range.
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let range = parts.next()?;
        let (kind_of_media, subtype) = match range.split_once('/') {
            Some((kind, subtype)) => (kind.trim(), subtype.trim()),
            // Some old Java clients mean everything by a bare star.
            None if range == "*" => ("*", "*"),
            None => return None,
        };
        if kind_of_media.is_empty() || subtype.is_empty() {
            return None;
        }
        let mut clause = Self {
            kind_of_media,
            subtype,
            weight: 1.0,
            kind: "",
            group: "",
            version: "",
            stream: None,
            pretty: false,
        };
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                continue;
            };
            let value = value.trim().trim_matches('"');
            match key.trim() {
                "q" => clause.weight = weight(value),
                "as" => clause.kind = value,
                "g" => clause.group = value,
                "v" => clause.version = value,
                "stream" => clause.stream = Some(value),
                "pretty" => clause.pretty = value == "1",
                _ => {}
            }
        }
        Some(clause)
    }

    /// Whether the range covers this type.
    pub(super) fn names(&self, media: Media) -> bool {
        match (self.kind_of_media, self.subtype) {
            ("*", "*") => true,
            (kind, "*") => kind.eq_ignore_ascii_case("application"),
            (kind, subtype) => {
                kind.eq_ignore_ascii_case("application")
                    && subtype.eq_ignore_ascii_case(media.subtype())
            }
        }
    }

    /// How little the range says: 0 for a type, 2 for everything.
    fn vagueness(&self) -> u8 {
        u8::from(self.kind_of_media == "*") + u8::from(self.subtype == "*")
    }
}

/// A weight that makes no sense is none.
fn weight(text: &str) -> f32 {
    match text.parse::<f32>() {
        Ok(weight) if (0.0..=1.0).contains(&weight) => weight,
        _ => 1.0,
    }
}

/// The clauses in the order in which they are tried.
pub(super) fn sorted(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<_> = header
        .split(',')
        .filter_map(Clause::parse)
        .take(MAX_CLAUSES)
        .collect();
    clauses.sort_by(|a, b| {
        let by_weight = b.weight.total_cmp(&a.weight);
        by_weight.then_with(|| a.vagueness().cmp(&b.vagueness()))
    });
    clauses
}
