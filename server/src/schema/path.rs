//! Where in an object something is.

use std::fmt;

/// A place in an object, as a chain from the inside out. It lives on the stack of whoever walks the object, and costs
/// nothing until it is written down.
#[derive(Debug, Clone, Copy)]
pub enum FieldPath<'a> {
    /// The object.
    Root,
    /// A field of an object, or an entry of a map.
    Field(&'a FieldPath<'a>, &'a str),
    /// An element of a list.
    Index(&'a FieldPath<'a>, usize),
    /// An entry of a map whose keys are data: `data[a]`.
    Key(&'a FieldPath<'a>, &'a str),
}

impl<'a> FieldPath<'a> {
    /// A field below this place.
    pub fn field(&'a self, name: &'a str) -> Self {
        Self::Field(self, name)
    }

    /// An element below this place.
    pub fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }

    /// An entry of the map at this place.
    pub fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    /// The path without places in lists, as Go's decoder writes it.
    pub fn without_indexes(&self) -> String {
        let mut text = String::new();
        self.push_names(&mut text);
        text
    }

    fn push_names(&self, text: &mut String) {
        match self {
            Self::Root => {}
            // The decoder names the field that holds a list or map, not the entry.
            Self::Index(parent, _) | Self::Key(parent, _) => parent.push_names(text),
            Self::Field(parent, name) => {
                parent.push_names(text);
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
        }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Key(parent, key) => write!(f, "{parent}[{key}]"),
        }
    }
}
