//! What a list says of itself.

use super::text;

/// The metadata of a list or of one page of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Page<'a> {
    /// The revision of the list; left out if empty.
    pub resource_version: &'a str,
    /// The token for the next page; left out if empty.
    pub next: &'a str,
    /// How many objects follow this page, if that is known.
    pub remaining: Option<u64>,
}

impl<'a> Page<'a> {
    /// A list that is complete at this revision.
    #[must_use]
    pub fn at(resource_version: &'a str) -> Self {
        Self {
            resource_version,
            ..Self::default()
        }
    }

    /// Appends it as a JSON object.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let mut separator = b'{';
        let mut key = |name: &[u8], out: &mut Vec<u8>| {
            out.push(std::mem::replace(&mut separator, b','));
            out.extend_from_slice(name);
        };
        if !self.resource_version.is_empty() {
            key(br#""resourceVersion":"#, out);
            text(self.resource_version, out);
        }
        if !self.next.is_empty() {
            key(br#""continue":"#, out);
            text(self.next, out);
        }
        if let Some(remaining) = self.remaining {
            key(br#""remainingItemCount":"#, out);
            out.extend_from_slice(remaining.to_string().as_bytes());
        }
        if separator == b'{' {
            out.push(b'{');
        }
        out.push(b'}');
    }
}

impl Page<'_> {
    /// Appends it as lists of custom kinds have it: in the order of names, and always with a token, be it empty.
    pub fn write_sorted(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"continue":"#);
        text(self.next, out);
        if let Some(remaining) = self.remaining {
            let remaining = format!(r#","remainingItemCount":{remaining}"#);
            out.extend_from_slice(remaining.as_bytes());
        }
        out.extend_from_slice(br#","resourceVersion":"#);
        text(self.resource_version, out);
        out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_said() {
        for (page, expected) in [
            (Page::default(), "{}"),
            (Page::at("7"), r#"{"resourceVersion":"7"}"#),
            (
                Page {
                    resource_version: "7",
                    next: "tok\"en",
                    remaining: Some(3),
                },
                r#"{"resourceVersion":"7","continue":"tok\"en","remainingItemCount":3}"#,
            ),
            (
                Page {
                    remaining: Some(0),
                    ..Page::default()
                },
                r#"{"remainingItemCount":0}"#,
            ),
        ] {
            let mut out = Vec::new();
            page.write_to(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
