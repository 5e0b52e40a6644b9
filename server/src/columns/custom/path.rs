//! JSONPath as definitions of custom resources use it.
//!
//! ```text
//! path    = *( "." name | "." "*" | ".." name | "[" inside "]" )
//! name    = letters, digits, "_", "-" and whatever follows a "\"
//! inside  = index | [from] ":" [to] [":" step] | "*" | quoted *( "," quoted ) | "?(" filter ")"
//! index   = whole number, negative from the end
//! filter  = "@" path [ op literal ]         op: == != < <= > >=
//! literal = quoted | number | true | false
//! ```
//!
//! A path is parsed once; steps, length and nesting are bounded.

use std::error::Error;
use std::fmt;

/// Most bytes of a path.
pub const MAX_BYTES: usize = 2048;

/// Most steps of a path, those in filters included.
pub const MAX_STEPS: usize = 32;

/// Most filters in filters.
const MAX_NESTING: usize = 4;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    pub(super) steps: Vec<Step>,
}

/// From values to values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// The members with these keys.
    Keys(Vec<String>),
    /// The element at this place, counted from the end if negative.
    Index(i64),
    /// The elements from one place to before another.
    Slice {
        from: Option<i64>,
        to: Option<i64>,
        step: i64,
    },
    /// All members or elements.
    Every,
    /// The value itself and all below it.
    Deep,
    /// The elements for which this holds.
    Filter(Filter),
}

/// What an element must be like.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filter {
    pub(super) path: JsonPath,
    /// How the value compares; without it, it must only be there.
    pub(super) test: Option<(Op, Literal)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Number(f64),
    Bool(bool),
}

impl JsonPath {
    /// Parses a path, with or without braces around it.
    ///
    /// # Errors
    ///
    /// [`PathError`] says what is wrong and at which byte.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > MAX_BYTES {
            return Err(PathError::new(0, Fault::TooLong));
        }
        let braced = text
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'));
        let mut parser = Parser {
            text: braced.unwrap_or(text),
            at: 0,
            steps: 0,
            nesting: 0,
        };
        if parser.text.is_empty() {
            return Err(PathError::new(0, Fault::Empty));
        }
        let path = parser.path()?;
        match parser.peek() {
            None => Ok(path),
            Some(_) => Err(parser.fault(Fault::Unexpected)),
        }
    }

    /// The path to an object's age.
    pub(super) fn creation() -> Self {
        let keys = ["metadata", "creationTimestamp"];
        Self {
            steps: keys.map(|key| Step::Keys(vec![key.to_owned()])).into(),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    steps: usize,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn path(&mut self) -> Result<JsonPath, PathError> {
        let mut steps = Vec::new();
        // A leading `$` is the object, as is its absence.
        if self.at == 0 {
            self.take("$");
        }
        loop {
            if self.take("..") {
                steps.push(self.counted(Step::Deep)?);
                if self.peek() != Some('[') {
                    let step = self.name()?;
                    steps.push(self.counted(step)?);
                }
            } else if self.take(".") {
                // A dot before a bracket, or alone, leads nowhere else.
                if !matches!(self.peek(), Some('[') | None) {
                    let step = self.name()?;
                    steps.push(self.counted(step)?);
                }
            } else if self.take("[") {
                let step = self.inside()?;
                steps.push(self.counted(step)?);
                self.demand("]")?;
            } else if steps.is_empty() && self.at == 0 && self.peek().is_some() {
                // The first dot may be missing.
                let step = self.name()?;
                steps.push(self.counted(step)?);
            } else {
                return Ok(JsonPath { steps });
            }
        }
    }

    fn counted(&mut self, step: Step) -> Result<Step, PathError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(self.fault(Fault::TooManySteps));
        }
        Ok(step)
    }

    fn name(&mut self) -> Result<Step, PathError> {
        if self.take("*") {
            return Ok(Step::Every);
        }
        let mut name = String::new();
        while let Some(next) = self.peek() {
            if next == '\\' {
                self.at += 1;
                let Some(escaped) = self.peek() else {
                    return Err(self.fault(Fault::Unended));
                };
                name.push(escaped);
                self.at += escaped.len_utf8();
            } else if next.is_alphanumeric() || matches!(next, '_' | '-' | '$' | '/') {
                name.push(next);
                self.at += next.len_utf8();
            } else {
                break;
            }
        }
        if name.is_empty() {
            return Err(self.fault(Fault::NoName));
        }
        Ok(Step::Keys(vec![name]))
    }

    fn inside(&mut self) -> Result<Step, PathError> {
        match self.peek() {
            Some('*') => {
                self.at += 1;
                Ok(Step::Every)
            }
            Some('\'' | '"') => {
                let mut keys = vec![self.quoted()?];
                while self.take(",") {
                    self.blank();
                    keys.push(self.quoted()?);
                    let next = keys.len();
                    if next > MAX_STEPS {
                        return Err(self.fault(Fault::TooManySteps));
                    }
                }
                Ok(Step::Keys(keys))
            }
            Some('?') => {
                self.at += 1;
                self.demand("(")?;
                self.nesting += 1;
                if self.nesting > MAX_NESTING {
                    return Err(self.fault(Fault::TooManySteps));
                }
                let filter = self.filter()?;
                self.nesting -= 1;
                self.demand(")")?;
                Ok(Step::Filter(filter))
            }
            _ => self.range(),
        }
    }

    /// An index or a slice.
    fn range(&mut self) -> Result<Step, PathError> {
        let from = self.integer()?;
        if !self.take(":") {
            return from.map_or_else(
                || Err(self.fault(Fault::Unexpected)),
                |at| Ok(Step::Index(at)),
            );
        }
        let to = self.integer()?;
        let step = match self.take(":") {
            true => self.integer()?.unwrap_or(1),
            false => 1,
        };
        if step < 1 {
            return Err(self.fault(Fault::BadNumber));
        }
        Ok(Step::Slice { from, to, step })
    }

    fn integer(&mut self) -> Result<Option<i64>, PathError> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '-')
            .unwrap_or(rest.len());
        let (digits, _) = rest.split_at(end);
        if digits.is_empty() {
            return Ok(None);
        }
        let number = digits.parse().map_err(|_| self.fault(Fault::BadNumber))?;
        self.at += end;
        Ok(Some(number))
    }

    fn filter(&mut self) -> Result<Filter, PathError> {
        self.blank();
        self.demand("@")?;
        let path = self.path()?;
        self.blank();
        let ops = [
            ("==", Op::Equal),
            ("!=", Op::NotEqual),
            ("<=", Op::LessOrEqual),
            (">=", Op::GreaterOrEqual),
            ("<", Op::Less),
            (">", Op::Greater),
        ];
        let Some((_, op)) = ops.into_iter().find(|(sign, _)| self.take(sign)) else {
            return Ok(Filter { path, test: None });
        };
        self.blank();
        let literal = self.literal()?;
        self.blank();
        Ok(Filter {
            path,
            test: Some((op, literal)),
        })
    }

    fn literal(&mut self) -> Result<Literal, PathError> {
        if let Some('\'' | '"') = self.peek() {
            return self.quoted().map(Literal::Text);
        }
        for (word, value) in [("true", true), ("false", false)] {
            if self.take(word) {
                return Ok(Literal::Bool(value));
            }
        }
        let rest = self.rest();
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        let (number, _) = rest.split_at(end);
        let number = number.parse().map_err(|_| self.fault(Fault::BadNumber))?;
        self.at += end;
        Ok(Literal::Number(number))
    }

    /// A text in single or double quotes; a backslash takes the next character as it is.
    fn quoted(&mut self) -> Result<String, PathError> {
        let start = self.at;
        let Some(quote @ ('\'' | '"')) = self.peek() else {
            return Err(self.fault(Fault::Unexpected));
        };
        self.at += 1;
        let mut text = String::new();
        let mut escaped = false;
        while let Some(next) = self.peek() {
            self.at += next.len_utf8();
            if escaped {
                text.push(next);
                escaped = false;
            } else if next == '\\' {
                escaped = true;
            } else if next == quote {
                return Ok(text);
            } else {
                text.push(next);
            }
        }
        Err(PathError::new(start, Fault::Unended))
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, token: &str) -> bool {
        let there = self.rest().starts_with(token);
        if there {
            self.at += token.len();
        }
        there
    }

    fn demand(&mut self, token: &'static str) -> Result<(), PathError> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.fault(Fault::Missing(token)))
        }
    }

    fn blank(&mut self) {
        while self.take(" ") {}
    }

    fn fault(&self, fault: Fault) -> PathError {
        PathError::new(self.at, fault)
    }
}

/// Why a text is no path, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathError {
    at: usize,
    fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Empty,
    TooLong,
    TooManySteps,
    NoName,
    BadNumber,
    Unended,
    Missing(&'static str),
    Unexpected,
}

impl PathError {
    fn new(at: usize, fault: Fault) -> Self {
        Self { at, fault }
    }

    /// The byte where the text goes wrong.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            Fault::Empty => f.write_str("the path is empty")?,
            Fault::TooLong => write!(f, "the path has more than {MAX_BYTES} bytes")?,
            Fault::TooManySteps => write!(f, "the path has more than {MAX_STEPS} steps")?,
            Fault::NoName => f.write_str("expected a name")?,
            Fault::BadNumber => f.write_str("expected a number")?,
            Fault::Unended => f.write_str("the text does not end")?,
            Fault::Missing(token) => write!(f, "expected `{token}`")?,
            Fault::Unexpected => f.write_str("unexpected character or end")?,
        }
        write!(f, " at byte {}", self.at)
    }
}

impl Error for PathError {}
