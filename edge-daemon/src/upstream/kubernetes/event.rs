//! What an API says: lines of a watch and pages of a list, read without building a tree.

use ringwatch_core::json::{Limits, Path, Value, scan};
use ringwatch_core::revision::Revision;
use ringwatch_core::transition::EventKind;

const LIMITS: Limits = Limits {
    max_bytes: usize::MAX,
    max_depth: 100,
};

/// A line of a watch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Something happened to an object.
    Event(EventKind, &'a str),
    /// Nothing else has, up to here.
    Bookmark { revision: Revision, ends_list: bool },
    /// The watch is over.
    Error { code: u16 },
}

fn find<'a, const N: usize>(json: &'a [u8], paths: [&str; N]) -> Option<[Option<Value<'a>>; N]> {
    let mut found = [None; N];
    let paths: Vec<Path<'_>> = paths
        .iter()
        .map(|path| Path::parse(path).ok())
        .collect::<Option<_>>()?;
    scan(json, &LIMITS, &paths, &mut found).ok()?;
    Some(found)
}

/// A text at a path.
pub(super) fn text(json: &[u8], path: &str) -> Option<String> {
    let [value] = find(json, [path])?;
    Some(value?.as_text()?.chars().collect())
}

fn revision(value: Option<Value<'_>>) -> Option<Revision> {
    value?.as_text()?.plain()?.parse().ok()
}

impl<'a> Line<'a> {
    /// Reads one line.
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        let paths = [
            "type",
            "object",
            "object.metadata.resourceVersion",
            "object.metadata.annotations",
            "object.code",
        ];
        let [kind, object, version, annotations, code] = find(line, paths)?;
        let kind = kind?.as_text()?.plain()?;
        let event = |kind| Some(Self::Event(kind, object?.raw()));
        match kind {
            "ADDED" => event(EventKind::Added),
            "MODIFIED" => event(EventKind::Modified),
            "DELETED" => event(EventKind::Deleted),
            "BOOKMARK" => {
                let mut entries = annotations.iter().flat_map(Value::entries);
                let ends = |(name, value): (ringwatch_core::json::Text<'_>, Value<'_>)| {
                    name.plain() == Some("k8s.io/initial-events-end") && value.raw() == "\"true\""
                };
                Some(Self::Bookmark {
                    revision: revision(version)?,
                    ends_list: entries.any(ends),
                })
            }
            "ERROR" => Some(Self::Error {
                code: code
                    .and_then(|code| code.as_u64())
                    .and_then(|code| code.try_into().ok())
                    .unwrap_or(500),
            }),
            _ => None,
        }
    }
}

/// A page of a list.
#[derive(Debug)]
pub(super) struct Page<'a> {
    /// Of when the list is.
    pub(super) revision: Revision,
    items: Option<Value<'a>>,
    next: Option<Value<'a>>,
    /// What a list leaves out of its items: `"kind":…,"apiVersion":…,`.
    head: String,
}

impl<'a> Page<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let paths = [
            "metadata.resourceVersion",
            "metadata.continue",
            "items",
            "kind",
            "apiVersion",
        ];
        let [version, next, items, kind, api] = find(body, paths)?;
        let (kind, api) = (kind?.as_text()?.plain()?, api?.as_text()?.plain()?);
        let kind = kind.strip_suffix("List")?;
        Some(Self {
            revision: revision(version)?,
            items,
            next,
            head: format!(r#"{{"kind":"{kind}","apiVersion":"{api}","#),
        })
    }

    /// The objects, each with its kind.
    pub(super) fn items(&self) -> impl Iterator<Item = Vec<u8>> {
        let items = self.items.iter().flat_map(Value::elements);
        items.map(|item| {
            let raw = item.raw();
            let has_kind = matches!(find(raw.as_bytes(), ["kind"]), Some([Some(_)]));
            match raw.strip_prefix('{').filter(|_| !has_kind) {
                Some(rest) => format!("{}{rest}", self.head).into_bytes(),
                None => raw.as_bytes().to_vec(),
            }
        })
    }

    /// From where the next page goes on.
    pub(super) fn next(&self) -> Option<String> {
        let next: String = self.next?.as_text()?.chars().collect();
        Some(next).filter(|next| !next.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let event = br#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"7"}}}"#;
        assert!(
            matches!(Line::read(event), Some(Line::Event(EventKind::Added, json)) if json.starts_with(r#"{"kind""#))
        );
        let bookmark = br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        assert_eq!(
            Line::read(bookmark),
            Some(Line::Bookmark {
                revision: Revision::new(9),
                ends_list: true
            })
        );
        let gone = br#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#;
        assert_eq!(Line::read(gone), Some(Line::Error { code: 410 }));
        for wrong in [&b"{"[..], b"{}", br#"{"type":"WHAT","object":{}}"#, b"\xff"] {
            assert_eq!(Line::read(wrong), None);
        }
    }

    #[test]
    fn a_page_gives_its_items_their_kind() {
        let body = br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"12","continue":"abc"},"items":[{"metadata":{"name":"a"}},{"kind":"Pod","metadata":{}}]}"#;
        let page = Page::read(body).unwrap();
        assert_eq!(
            (page.revision, page.next().as_deref()),
            (Revision::new(12), Some("abc"))
        );
        let items: Vec<String> = page
            .items()
            .map(|item| String::from_utf8(item).unwrap())
            .collect();
        assert_eq!(
            items,
            [
                r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}"#,
                r#"{"kind":"Pod","metadata":{}}"#
            ]
        );
    }
}
