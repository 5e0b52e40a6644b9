//! Why a selector was refused, in the words that people know from other servers.
//!
//! The parser says which rule was broken and where; upstream says what it found there and what it would have taken. Rules
//! that upstream words by regular expressions keep our own words.

use ringwatch_core::selector::{SelectorError, SelectorErrorKind as Kind};

/// What is wrong with a label selector.
pub(super) fn label(text: &str, error: &SelectorError) -> String {
    let found = token(text, error.offset);
    let expected = match error.kind {
        Kind::ExpectedRequirement => {
            return format!("found '{found}', expected: !, identifier, or 'end of string'");
        }
        Kind::ExpectedRequirementAfterComma => {
            return format!("found '{found}', expected: identifier after ','");
        }
        Kind::ExpectedCommaOrEnd => {
            return format!("found '{found}', expected: ',' or 'end of string'");
        }
        Kind::ExpectedIdentifier => ", expected: identifier",
        Kind::ExpectedOperator => ", expected: in, notin, =, ==, !=, gt, lt",
        // Without the comma there, too.
        Kind::ExpectedOpen => " expected: '('",
        Kind::ExpectedValue => ", expected: ',', ')' or identifier",
        Kind::ExpectedCommaOrClose => ", expected: ',' or ')'",
        Kind::NotAnInteger => {
            return format!(
                "unable to parse requirement: values[0]: Invalid value: {found:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            );
        }
        Kind::KeyHasManySlashes
        | Kind::KeyPrefixTooLong
        | Kind::KeyPrefixInvalid
        | Kind::KeyNameTooLong
        | Kind::KeyNameInvalid => {
            return format!(
                "unable to parse requirement: <nil>: Invalid value: {found:?}: {}",
                error.kind
            );
        }
        _ => return format!("unable to parse requirement: {error}"),
    };
    format!("unable to parse requirement: found '{found}'{expected}")
}

/// What is wrong with a field selector.
pub(super) fn field(text: &str, error: &SelectorError) -> String {
    let rest = text.get(error.offset..).unwrap_or("");
    match error.kind {
        Kind::NoOperator => {
            let term = rest.split(',').next().unwrap_or("");
            format!("invalid selector: '{text}'; can't understand '{term}'")
        }
        Kind::UnescapedEquals => {
            let found = u32::from('=');
            format!("invalid field selector: unescaped character in value: {found}")
        }
        Kind::InvalidEscape => {
            let escape: String = rest.chars().take(2).collect();
            format!("invalid field selector: invalid escape sequence: {escape}")
        }
        _ => format!("invalid field selector: {error}"),
    }
}

/// What a parser sees from this byte on: a symbol, or all up to the next one; nothing at the end.
fn token(text: &str, offset: usize) -> &str {
    let rest = text.get(offset..).unwrap_or("");
    let symbol = |byte: u8| b"=!(),<>".contains(&byte);
    let length = match rest.as_bytes() {
        [b'=' | b'!', b'=', ..] => 2,
        [first, ..] if symbol(*first) => 1,
        bytes => {
            let ends = |byte: &u8| symbol(*byte) || byte.is_ascii_whitespace();
            bytes.iter().position(ends).unwrap_or(bytes.len())
        }
    };
    rest.get(..length).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_symbol_or_what_is_before_the_next() {
        for (text, offset, expected) in [
            ("", 0, ""),
            ("ab=c", 0, "ab"),
            ("a==b", 1, "=="),
            ("a!=b", 1, "!="),
            ("a,b", 1, ","),
            ("é b", 0, "é"),
            ("a", 1, ""),
            ("a", 9, ""),
        ] {
            assert_eq!(token(text, offset), expected, "{text} from {offset}");
        }
    }
}
