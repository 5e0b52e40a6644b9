//! The query of a request, as kube-apiserver reads one.

use std::borrow::Cow;

use crate::status::Failure;

/// Parameters by name. Of several with one name, the first counts; what nobody asks for is ignored.
#[derive(Debug, Clone, Default)]
pub struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// Reads what stands behind the `?`.
    pub fn parse(query: Option<&'a str>) -> Self {
        let parts = query.unwrap_or("").split('&');
        // A part with a raw semicolon is dropped: some servers would split there, and nobody should profit from
        // that they disagree.
        let sound = parts.filter(|part| !part.contains(';'));
        Self(
            sound
                .flat_map(|part| form_urlencoded::parse(part.as_bytes()))
                .collect(),
        )
    }

    /// All parameters, in their order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The text of a parameter, if it is there.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| &**value)
    }

    /// The text of a parameter; empty if it is not there.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or("")
    }

    /// A switch: on unless absent, `0` or `false`. Even the empty text switches it on.
    pub fn flag(&self, name: &str) -> bool {
        self.optional_flag(name).unwrap_or(false)
    }

    /// A switch that may be absent.
    pub fn optional_flag(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?;
        Some(value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A number, if there is one.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Failure> {
        let Some(text) = self.get(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| {
            let range = text.strip_prefix('-').unwrap_or(text);
            let digits = !range.is_empty() && range.bytes().all(|byte| byte.is_ascii_digit());
            let why = if digits {
                "value out of range"
            } else {
                "invalid syntax"
            };
            Failure::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_upstream_does() {
        let query = Query::parse(Some(
            "watch&limit=5&limit=6&a;b=1&x=%2Fa+b&y=False&z=0&n=9x",
        ));
        assert!(query.flag("watch"));
        assert_eq!(query.number("limit"), Ok(Some(5)));
        assert_eq!(query.get("a;b"), None);
        assert_eq!(query.text("x"), "/a b");
        assert_eq!(query.optional_flag("y"), Some(false));
        assert_eq!(query.optional_flag("z"), Some(false));
        assert_eq!(query.optional_flag("w"), None);
        let message = query.number("n").unwrap_err().message;
        assert_eq!(message, "strconv.ParseInt: parsing \"9x\": invalid syntax");
    }
}
