//! Errors in the words Kubernetes clients know.
//!
//! An error is two numbers; with the text beside them, the offending token, the key it belongs to and its place in
//! a list can be found again. That costs a second walk over the text, on a path nobody is in a hurry on.

use core::fmt;

use super::error::{SelectorError, SelectorErrorKind};
use super::field::term_at;
use super::lex::{Kind, Lexer, Token};

impl SelectorError {
    /// The error as a Kubernetes API server would word it, for the `text` that was parsed.
    ///
    /// Any other text gives a wrong description, but no panic.
    ///
    /// ```
    /// use ringwatch_core::selector::FieldSelector;
    ///
    /// let error = FieldSelector::<&str>::parse("a=1,b").unwrap_err();
    /// assert_eq!(
    ///     format!("{}", error.describe("a=1,b")),
    ///     "invalid selector: 'a=1,b'; can't understand 'b'"
    /// );
    /// ```
    pub fn describe<'a>(&self, text: &'a str) -> impl fmt::Display + use<'a> {
        Description { error: *self, text }
    }
}

impl SelectorError {
    /// The key, value or symbol of the parsed `text` that is wrong; empty at its end.
    pub fn token<'a>(&self, text: &'a str) -> &'a str {
        Lexer::at(text, self.offset).token().text
    }
}

struct Description<'a> {
    error: SelectorError,
    text: &'a str,
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SelectorError { offset, kind } = self.error;
        match kind {
            SelectorErrorKind::TextTooLong | SelectorErrorKind::TooManyRequirements { .. } => {
                write!(f, "{kind}")
            }

            SelectorErrorKind::ExpectedRequirement => {
                self.found(f, ", expected: !, identifier, or 'end of string'")
            }
            SelectorErrorKind::ExpectedRequirementAfterComma => {
                self.found(f, ", expected: identifier after ','")
            }
            SelectorErrorKind::ExpectedCommaOrEnd => {
                self.found(f, ", expected: ',' or 'end of string'")
            }
            SelectorErrorKind::ExpectedIdentifier => self.found_inside(f, ", expected: identifier"),
            SelectorErrorKind::ExpectedOperator => {
                self.found_inside(f, ", expected: in, notin, =, ==, !=, gt, lt")
            }
            // Kubernetes has no comma in this one.
            SelectorErrorKind::ExpectedOpen => self.found_inside(f, " expected: '('"),
            SelectorErrorKind::ExpectedValue => {
                self.found_inside(f, ", expected: ',', ')' or identifier")
            }
            SelectorErrorKind::ExpectedCommaOrClose => {
                self.found_inside(f, ", expected: ',' or ')'")
            }

            SelectorErrorKind::KeyHasManySlashes
            | SelectorErrorKind::KeyPrefixTooLong
            | SelectorErrorKind::KeyPrefixInvalid
            | SelectorErrorKind::KeyNameTooLong
            | SelectorErrorKind::KeyNameInvalid => {
                let key = self.token().text;
                write!(f, "{INSIDE}<nil>: Invalid value: {key:?}: {kind}")
            }
            SelectorErrorKind::ValueTooLong | SelectorErrorKind::ValueInvalid => {
                let (key, index) = self.place();
                let value = self.value();
                write!(
                    f,
                    "{INSIDE}values[{index}][{key}]: Invalid value: {value:?}: {kind}"
                )
            }
            SelectorErrorKind::NotAnInteger => {
                let value = self.value();
                write!(f, "{INSIDE}values[0]: Invalid value: {value:?}: ")?;
                f.write_str("for 'Gt', 'Lt' operators, the value must be an integer")
            }

            SelectorErrorKind::InvalidEscape => {
                f.write_str("invalid field selector: invalid escape sequence: ")?;
                let rest = self.text.get(offset..).unwrap_or("");
                rest.chars()
                    .take(2)
                    .try_for_each(|character| write!(f, "{character}"))
            }
            SelectorErrorKind::UnescapedEquals => {
                let number = u32::from('=');
                write!(
                    f,
                    "invalid field selector: unescaped character in value: {number}"
                )
            }
            SelectorErrorKind::NoOperator => {
                let (text, term) = (self.text, term_at(self.text, offset));
                write!(f, "invalid selector: '{text}'; can't understand '{term}'")
            }
        }
    }
}

/// How an error within a requirement begins.
const INSIDE: &str = "unable to parse requirement: ";

impl<'a> Description<'a> {
    fn token(&self) -> Token<'a> {
        Lexer::at(self.text, self.error.offset).token()
    }

    /// The value at the error; it may be an omitted one, before a comma or the end.
    fn value(&self) -> &'a str {
        let token = self.token();
        match token.kind {
            Kind::Identifier => token.text,
            _ => "",
        }
    }

    fn found(&self, f: &mut fmt::Formatter<'_>, expected: &str) -> fmt::Result {
        write!(f, "found '{}'{expected}", self.token().text)
    }

    fn found_inside(&self, f: &mut fmt::Formatter<'_>, expected: &str) -> fmt::Result {
        f.write_str(INSIDE)?;
        self.found(f, expected)
    }

    /// The key whose value is at the error, and how many values come before it in its list.
    fn place(&self) -> (&'a str, usize) {
        let mut lexer = Lexer::at(self.text, 0);
        let (mut key, mut index) = (None, 0);
        let mut in_list = false;
        loop {
            let token = lexer.token();
            if token.start >= self.error.offset || token.kind == Kind::End {
                return (key.unwrap_or(""), index);
            }
            match token.kind {
                Kind::Identifier if key.is_none() => key = Some(token.text),
                Kind::Open => in_list = true,
                Kind::Comma if in_list => index += 1,
                Kind::Comma => key = None,
                Kind::Close => (in_list, index) = (false, 0),
                _ => {}
            }
        }
    }
}
