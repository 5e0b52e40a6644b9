//! The grammar of label selectors.
//!
//! ```text
//! selector    = [ requirement *( "," requirement ) ]
//! requirement = [ "!" ] key
//!             | key ( "=" | "==" | "!=" ) [ value ]
//!             | key ( "in" | "notin" ) "(" [ value ] *( "," [ value ] ) ")"
//!             | key ( ">" | "<" ) integer
//! ```
//!
//! One token of lookahead is enough. A key is checked before its operator is read and values after their list is
//! complete, so that of several faults the one reported is the one Kubernetes reports.

use heapless::Vec;

use super::error::{SelectorError, SelectorErrorKind};
use super::lex::{Kind, Lexer, Token};
use super::names::{check_key, check_value};
use super::requirement::{Operator, Requirement, Span};
use super::table::push;

/// The requirements of a label selector.
pub(super) fn requirements<const R: usize>(
    text: &str,
) -> Result<Vec<Requirement, R>, SelectorError> {
    let mut parser = Parser::new(text);
    let mut rows = Vec::new();
    match parser.next.kind {
        Kind::End => return Ok(rows),
        Kind::Identifier | Kind::Not => {}
        _ => return Err(fault(parser.next, SelectorErrorKind::ExpectedRequirement)),
    }
    loop {
        let offset = parser.next.start;
        push(&mut rows, parser.requirement()?, offset)?;
        let separator = parser.take();
        match (separator.kind, parser.next.kind) {
            (Kind::End, _) => return Ok(rows),
            (Kind::Comma, Kind::Identifier | Kind::Not) => {}
            (Kind::Comma, _) => {
                let kind = SelectorErrorKind::ExpectedRequirementAfterComma;
                return Err(fault(parser.next, kind));
            }
            _ => return Err(fault(separator, SelectorErrorKind::ExpectedCommaOrEnd)),
        }
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token after those taken.
    next: Token<'a>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::at(text, 0);
        let next = lexer.token();
        Self { lexer, next }
    }

    fn take(&mut self) -> Token<'a> {
        core::mem::replace(&mut self.next, self.lexer.token())
    }

    /// The next token, if it is an identifier.
    fn take_identifier(&mut self) -> Result<Token<'a>, SelectorError> {
        let token = self.take();
        match token.kind {
            Kind::Identifier => Ok(token),
            _ => Err(fault(token, SelectorErrorKind::ExpectedIdentifier)),
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let negated = self.next.kind == Kind::Not;
        if negated {
            self.take();
        }
        let key = self.take_identifier()?;
        check_key(key.text).map_err(|kind| fault(key, kind))?;

        let (operator, values) = if negated {
            (Operator::NotExists, Span::default())
        } else if self.at_requirement_end() {
            (Operator::Exists, Span::default())
        } else {
            let operator = self.operator()?;
            let values = match operator {
                Operator::In | Operator::NotIn => self.list()?,
                _ => self.value(operator)?,
            };
            (operator, values)
        };
        Ok(Requirement {
            key: span(key.start, key.end())?,
            operator,
            values,
        })
    }

    fn at_requirement_end(&self) -> bool {
        matches!(self.next.kind, Kind::End | Kind::Comma)
    }

    fn operator(&mut self) -> Result<Operator, SelectorError> {
        let token = self.take();
        Ok(match (token.kind, token.text) {
            (Kind::Equals, _) => Operator::Equals,
            (Kind::NotEquals, _) => Operator::NotEquals,
            (Kind::Greater, _) => Operator::GreaterThan,
            (Kind::Less, _) => Operator::LessThan,
            (Kind::Identifier, "in") => Operator::In,
            (Kind::Identifier, "notin") => Operator::NotIn,
            _ => return Err(fault(token, SelectorErrorKind::ExpectedOperator)),
        })
    }

    /// The value of a comparison; nothing before the requirement's end is the empty string.
    fn value(&mut self, operator: Operator) -> Result<Span, SelectorError> {
        let value = if self.at_requirement_end() {
            Token {
                text: "",
                ..self.next
            }
        } else {
            self.take_identifier()?
        };
        let compares = matches!(operator, Operator::GreaterThan | Operator::LessThan);
        if compares && value.text.parse::<i64>().is_err() {
            return Err(fault(value, SelectorErrorKind::NotAnInteger));
        }
        check_value(value.text).map_err(|kind| fault(value, kind))?;
        span(value.start, value.end())
    }

    /// All between the parentheses of `in` and `notin`.
    fn list(&mut self) -> Result<Span, SelectorError> {
        let open = self.take();
        if open.kind != Kind::Open {
            return Err(fault(open, SelectorErrorKind::ExpectedOpen));
        }
        let mut checked = Ok(());
        loop {
            if self.next.kind == Kind::Identifier {
                let value = self.take();
                checked = checked
                    .and_then(|()| check_value(value.text).map_err(|kind| fault(value, kind)));
                if !matches!(self.next.kind, Kind::Comma | Kind::Close) {
                    return Err(fault(self.next, SelectorErrorKind::ExpectedCommaOrClose));
                }
            }
            let separator = self.take();
            match separator.kind {
                Kind::Comma => {}
                Kind::Close => {
                    checked?;
                    return span(open.end(), separator.start);
                }
                _ => return Err(fault(separator, SelectorErrorKind::ExpectedValue)),
            }
        }
    }
}

fn fault(token: Token<'_>, kind: SelectorErrorKind) -> SelectorError {
    SelectorError::new(token.start, kind)
}

/// The caller has refused texts too long for spans; the error only spares a panic.
fn span(start: usize, end: usize) -> Result<Span, SelectorError> {
    Span::new(start, end).ok_or(SelectorError::new(start, SelectorErrorKind::TextTooLong))
}
