//! The types of the built-in kinds: which fields each has, what they are called in JSON and numbered in protobuf.
//!
//! The table is the text file `schema.txt`, which explains its own form. It is read when it is first needed and kept: some
//! 100 KB, and a process that never meets protobuf or a strategic merge patch does not pay it.
//!
//! ```
//! use ringwatch_server::codec::schema;
//!
//! let pod = schema::kind("v1", "Pod").unwrap();
//! let spec = pod.field("spec").unwrap().message().unwrap();
//! assert_eq!(spec.full_name(), "io.k8s.api.core.v1.PodSpec");
//! // `hostPath` belongs to the VolumeSource that is inlined into Volume.
//! let volume = spec.field("volumes").unwrap().message().unwrap();
//! assert!(volume.field("hostPath").is_some());
//! ```

mod read;

use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| read::read(include_str!("schema.txt")));

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The type with this full name, as `io.k8s.api.core.v1.Pod`.
pub fn message(full_name: &str) -> Option<&'static Message> {
    let (package, name) = full_name.rsplit_once('.')?;
    SCHEMA.find(package, name)
}

/// The type of objects with this `apiVersion` and `kind`.
///
/// The kinds of `meta.k8s.io` (`Status`, `DeleteOptions` and so on) exist in every group and version.
pub fn kind(api_version: &str, kind: &str) -> Option<&'static Message> {
    let own = SCHEMA
        .packages
        .iter()
        .find(|package| package.group_version == api_version)
        .and_then(|package| SCHEMA.find(package.name, kind))
        .filter(|message| message.is_kind);
    own.or_else(|| {
        let everywhere = !kind.starts_with("PartialObjectMetadata");
        SCHEMA
            .find(META, kind)
            .filter(|message| message.is_kind)
            .filter(|_| everywhere || api_version.starts_with("meta.k8s.io/"))
    })
}

/// Every type, in no particular order.
pub fn messages() -> impl Iterator<Item = &'static Message> {
    SCHEMA.messages.iter()
}

/// A type: an object in JSON, a message in protobuf.
#[derive(Debug)]
pub struct Message {
    package: &'static str,
    name: &'static str,
    group_version: &'static str,
    is_kind: bool,
    /// By number.
    fields: Box<[Field]>,
    /// Places in `fields`, by name; without the inlined ones.
    by_name: Box<[u16]>,
}

impl Message {
    /// The name without the package: for a kind, its `kind`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The name as in the published schemas, as `io.k8s.api.core.v1.Pod`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.package, self.name)
    }

    /// The group and version of the package, as `apps/v1`.
    pub fn group_version(&self) -> &'static str {
        self.group_version
    }

    /// Whether objects of this type stand alone, with `apiVersion` and `kind`.
    pub fn is_kind(&self) -> bool {
        self.is_kind
    }

    /// The fields in the order of their numbers.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field that is called `name` in JSON, wherever it is in protobuf.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let own = self.place(name).and_then(|place| self.fields.get(place));
        own.or_else(|| {
            self.fields
                .iter()
                .filter(|field| field.is_inline())
                .find_map(|field| field.message()?.field(name))
        })
    }

    /// The field with this number.
    pub(crate) fn numbered(&self, number: u32) -> Option<&Field> {
        let place = self
            .fields
            .binary_search_by_key(&number, |field| field.number)
            .ok()?;
        self.fields.get(place)
    }

    /// Where in [`Message::fields`] the field called `name` is; inlined ones have none.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        let at = |place: &u16| self.fields.get(usize::from(*place));
        let place = self
            .by_name
            .binary_search_by(|place| at(place).map_or("", |field| field.name).cmp(name))
            .ok()?;
        self.by_name.get(place).map(|place| usize::from(*place))
    }
}

/// A field of a type.
#[derive(Debug)]
pub struct Field {
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) form: Form,
    pub(crate) omit: Omit,
}

impl Field {
    /// The name in JSON; `.` if the fields of its type stand directly in the object.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the fields of its type stand directly in the object.
    pub fn is_inline(&self) -> bool {
        self.name == "."
    }

    /// How many values it holds.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// What a value is.
    pub fn form(&self) -> Form {
        self.form
    }

    /// If it holds a type or something else in its place: the type.
    pub(crate) fn either(&self) -> Option<&'static Message> {
        match self.form {
            Form::Either(place, _) => SCHEMA.messages.get(usize::from(place.0)),
            _ => None,
        }
    }

    /// The type of its value, its elements or its map's values.
    pub fn message(&self) -> Option<&'static Message> {
        match self.form {
            Form::Message(place) => SCHEMA.messages.get(usize::from(place.0)),
            _ => None,
        }
    }
}

/// How many values a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One, always there.
    One,
    /// One or none.
    Optional,
    /// A list.
    List,
    /// A map with text keys.
    Map,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// True or false.
    Bool,
    /// A number of 32 bits.
    Int32,
    /// A number of 64 bits.
    Int64,
    /// A number with a fraction.
    Double,
    /// Text.
    Text,
    /// Bytes; base64 in JSON.
    Bytes,
    /// A point in time, to the second.
    Time,
    /// A point in time, to the microsecond.
    MicroTime,
    /// A quantity: text in JSON.
    Quantity,
    /// A number or text.
    IntOrString,
    /// Any JSON.
    Raw,
    /// A list of text, wrapped in a message.
    Strings,
    /// Another type.
    Message(Place),
    /// Another type, or something else in its place.
    Either(Place, Else),
}

/// What may stand in the place of a type: JSON schemas have such fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Else {
    /// A list of the same type.
    List,
    /// True or false.
    Bool,
    /// A list of text.
    Strings,
}

/// Where a type is in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(u16);

/// When JSON leaves a field out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Omit {
    /// If it is empty, zero or false; types are never that.
    Empty,
    /// If it is zero, types included.
    Zero,
    /// Never.
    Never,
}

#[derive(Debug)]
struct Schema {
    packages: Vec<Package>,
    /// By package and name.
    messages: Vec<Message>,
}

#[derive(Debug)]
struct Package {
    name: &'static str,
    group_version: &'static str,
}

impl Schema {
    fn find(&self, package: &str, name: &str) -> Option<&Message> {
        let place = self
            .messages
            .binary_search_by(|message| (message.package, message.name).cmp(&(package, name)))
            .ok()?;
        self.messages.get(place)
    }
}
