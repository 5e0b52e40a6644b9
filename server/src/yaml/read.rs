//! From the parser's events to a JSON value.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::{Map, Value};

use super::scalar;
use super::{Document, Duplicate, Fault, Limits, YamlError};

/// Most duplicate keys that are told.
const MAX_TOLD: usize = 16;

/// Reads one YAML document. An empty one is null.
///
/// # Errors
///
/// [`YamlError`] says what is wrong and at which line.
pub fn to_json(yaml: &[u8], limits: &Limits) -> Result<Document, YamlError> {
    if yaml.len() > limits.max_bytes {
        return Err(whole(Fault::TooLarge));
    }
    let text = str::from_utf8(yaml).map_err(|_| whole(Fault::NotUtf8))?;
    let mut reader = Reader {
        parser: Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text)),
        anchors: HashMap::new(),
        copies: limits.max_copied,
        depth: limits.max_depth,
        duplicates: Vec::new(),
        line: 0,
    };
    let value = reader.document()?;
    Ok(Document {
        value,
        duplicates: reader.duplicates,
    })
}

fn whole(fault: Fault) -> YamlError {
    YamlError { line: 0, fault }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// What complete anchored values are, for aliases to copy.
    anchors: HashMap<usize, Value>,
    /// How much may still be copied.
    copies: usize,
    /// How many more containers may be opened.
    depth: usize,
    duplicates: Vec<Duplicate>,
    /// The line of the last event.
    line: usize,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Value, YamlError> {
        let mut document = None;
        loop {
            match self.next()? {
                Event::StreamEnd => return Ok(document.unwrap_or(Value::Null)),
                Event::DocumentStart(_) if document.is_some() => {
                    return Err(self.fault(Fault::SecondDocument));
                }
                Event::DocumentStart(_) => {
                    let event = self.next()?;
                    document = Some(self.value(event)?);
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<Event<'a>, YamlError> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.line = line(&span);
                Ok(event)
            }
            Some(Err(error)) => Err(syntax(&error)),
            None => Ok(Event::StreamEnd),
        }
    }

    /// The value that begins with `event`. Recurs with the depth of the document, which is bounded.
    fn value(&mut self, event: Event<'a>) -> Result<Value, YamlError> {
        match event {
            Event::Alias(anchor) => {
                let Some(value) = self.anchors.get(&anchor) else {
                    return Err(self.fault(Fault::Recursive));
                };
                let value = value.clone();
                self.charge(&value)?;
                Ok(value)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(text, style, tag.as_deref())?;
                self.anchored(anchor, value)
            }
            Event::SequenceStart(anchor, tag) => {
                self.container_tag(tag.as_deref(), "seq")?;
                self.open()?;
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => break,
                        event => items.push(self.value(event)?),
                    }
                }
                self.depth += 1;
                self.anchored(anchor, Value::Array(items))
            }
            Event::MappingStart(anchor, tag) => {
                self.container_tag(tag.as_deref(), "map")?;
                self.open()?;
                let members = self.members()?;
                self.depth += 1;
                self.anchored(anchor, Value::Object(members))
            }
            // The parser gives no other event where a value begins.
            _ => Err(self.fault(Fault::Syntax("expected a value".to_owned()))),
        }
    }

    fn members(&mut self) -> Result<Map<String, Value>, YamlError> {
        let mut members = Map::new();
        let mut merged = Vec::new();
        loop {
            let event = self.next()?;
            let merge = match &event {
                Event::MappingEnd => break,
                Event::Scalar(text, ScalarStyle::Plain, _, None) => text == "<<",
                _ => false,
            };
            if merge {
                let line = self.line;
                let event = self.next()?;
                merged.push((line, self.value(event)?));
                continue;
            }
            let key = self.value(event)?;
            let key = self.key(key)?;
            let line = self.line;
            let event = self.next()?;
            let value = self.value(event)?;
            if members.contains_key(&key) && self.duplicates.len() < MAX_TOLD {
                self.duplicates.push(Duplicate {
                    key: key.clone(),
                    line,
                });
            }
            members.insert(key, value);
        }
        // What is merged gives way to what is said, and later to earlier.
        for (line, value) in merged {
            let values = match value {
                Value::Array(values) => values,
                value => vec![value],
            };
            for value in values {
                let Value::Object(inherited) = value else {
                    let fault = Fault::Merge;
                    return Err(YamlError { line, fault });
                };
                for (key, value) in inherited {
                    members.entry(key).or_insert(value);
                }
            }
        }
        Ok(members)
    }

    /// A key as JSON has it: a text, whatever it was.
    fn key(&self, key: Value) -> Result<String, YamlError> {
        match key {
            Value::String(text) => Ok(text),
            Value::Bool(value) => Ok(value.to_string()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => Err(self.fault(Fault::Key)),
        }
    }

    fn scalar(
        &self,
        text: Cow<'a, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
    ) -> Result<Value, YamlError> {
        let no_number = || self.fault(Fault::Number(text.clone().into_owned()));
        let Some(tag) = tag else {
            return if style == ScalarStyle::Plain {
                scalar::plain(&text).map_err(|_| no_number())
            } else {
                Ok(Value::String(text.into_owned()))
            };
        };
        let core = tag.is_yaml_core_schema();
        let value = match tag.suffix.as_str() {
            // A lone exclamation mark says that it is what it looks like: a text.
            "!" if tag.handle.is_empty() => Some(Value::String(text.clone().into_owned())),
            "str" if core => Some(Value::String(text.clone().into_owned())),
            "bool" if core => scalar::boolean(&text).map(Value::Bool),
            "null" if core => matches!(&*text, "" | "~" | "null").then_some(Value::Null),
            "int" | "float" if core => match scalar::number(&text) {
                Some(Ok(number)) => Some(Value::Number(number)),
                Some(Err(_)) => return Err(no_number()),
                None => None,
            },
            _ => None,
        };
        value.ok_or_else(|| self.fault(Fault::Tag(tag.to_string())))
    }

    /// A container may say of itself what it is.
    fn container_tag(&self, tag: Option<&Tag>, own: &str) -> Result<(), YamlError> {
        match tag {
            Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == own) => {
                Err(self.fault(Fault::Tag(tag.to_string())))
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self) -> Result<(), YamlError> {
        self.depth = match self.depth.checked_sub(1) {
            Some(depth) => depth,
            None => return Err(self.fault(Fault::TooDeep)),
        };
        Ok(())
    }

    /// Remembers a value that has an anchor; 0 is none.
    fn anchored(&mut self, anchor: usize, value: Value) -> Result<Value, YamlError> {
        if anchor != 0 {
            self.charge(&value)?;
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    /// Takes the size of a copy off what may be copied.
    fn charge(&mut self, value: &Value) -> Result<(), YamlError> {
        let left = self.copies.checked_sub(size(value));
        self.copies = left.ok_or_else(|| self.fault(Fault::TooMuchCopied))?;
        Ok(())
    }

    fn fault(&self, fault: Fault) -> YamlError {
        YamlError {
            line: self.line,
            fault,
        }
    }
}

/// Roughly the bytes of a value in memory. Recurs with its depth, which is bounded.
fn size(value: &Value) -> usize {
    const EACH: usize = 32;
    EACH + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(key, value)| key.len() + EACH + size(value))
                .sum()
        }
    }
}

fn line(span: &Span) -> usize {
    span.start.line()
}

fn syntax(error: &ScanError) -> YamlError {
    YamlError {
        line: error.marker().line(),
        fault: Fault::Syntax(error.info().to_owned()),
    }
}
