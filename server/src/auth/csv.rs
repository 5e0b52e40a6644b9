//! Comma-separated values, as far as token files have them: one record per line, fields quoted or not.

/// Why a line is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// A quote that is not closed on its line.
    Unclosed,
    /// Something between a closing quote and the next comma.
    AfterClose,
    /// A quote inside a field that does not begin with one.
    Stray,
}

/// The fields of a line. In a quoted field, a quote is written twice.
pub(super) fn fields(line: &str) -> Result<Vec<String>, Fault> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => take_quoted(quoted)?,
            None => take_plain(rest)?,
        };
        fields.push(field);
        match after {
            None => return Ok(fields),
            Some(after) => rest = after,
        }
    }
}

type Taken<'a> = (String, Option<&'a str>);

fn take_plain(text: &str) -> Result<Taken<'_>, Fault> {
    let (field, after) = match text.split_once(',') {
        Some((field, after)) => (field, Some(after)),
        None => (text, None),
    };
    match field.contains('"') {
        true => Err(Fault::Stray),
        false => Ok((field.to_owned(), after)),
    }
}

fn take_quoted(mut text: &str) -> Result<Taken<'_>, Fault> {
    let mut field = String::new();
    loop {
        let (part, after) = text.split_once('"').ok_or(Fault::Unclosed)?;
        field.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                field.push('"');
                text = after;
            }
            None if after.is_empty() => return Ok((field, None)),
            None => {
                let after = after.strip_prefix(',').ok_or(Fault::AfterClose)?;
                return Ok((field, Some(after)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_what_was_written() {
        let good: [(&str, &[&str]); 5] = [
            ("a,b,c", &["a", "b", "c"]),
            ("a,,", &["a", "", ""]),
            (r#"a,b,c,"x,y""#, &["a", "b", "c", "x,y"]),
            (r#""say ""hi""",b"#, &[r#"say "hi""#, "b"]),
            (r#""""#, &[""]),
        ];
        for (line, expected) in good {
            assert_eq!(fields(line).unwrap(), expected, "{line}");
        }
        assert_eq!(fields(r#"a,"b"#), Err(Fault::Unclosed));
        assert_eq!(fields(r#"a,"b"c"#), Err(Fault::AfterClose));
        assert_eq!(fields(r#"a,b"c""#), Err(Fault::Stray));
    }
}
