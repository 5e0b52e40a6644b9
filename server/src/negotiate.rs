//! Which form of an answer a client wants, and which form of a body it sends.
//!
//! ```
//! use ringwatch_server::negotiate::{Form, Media, Offer, Request, accept};
//! use ringwatch_server::table::Version;
//!
//! let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
//! let answer = accept(Some(kubectl), &Offer::built_in(Request::List))?;
//! assert_eq!((answer.media, answer.form), (Media::Json, Form::Table(Version::V1)));
//! # Ok::<(), ringwatch_server::negotiate::NotAcceptable>(())
//! ```
//!
//! Clauses of an `Accept` header are tried by their weight `q`, then exact types before wildcards, then
//! in the order given; a clause that names a type or a transformation which is not offered is passed
//! over. A weight of 0 is the least there is, not a refusal: this is what Kubernetes does. Where a
//! kube-apiserver is odd, this is not: `application/*` is taken for what it says.

mod body;
mod clause;
mod pretty;

use std::error::Error;
use std::fmt;

pub use body::{Patch, UnsupportedMediaType, content_type, patch_type};
pub use pretty::pretty;

use crate::table::Version;
use clause::Clause;

/// An encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

impl Media {
    /// All of them, the preferred first.
    const ALL: [Self; 3] = [Self::Json, Self::Yaml, Self::Protobuf];

    /// The media type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// What stands behind the slash.
    fn subtype(self) -> &'static str {
        self.as_str()
            .split_once('/')
            .map_or("", |(_, subtype)| subtype)
    }
}

/// What an answer is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The objects themselves.
    Whole,
    /// A `Table`.
    Table(Version),
    /// `PartialObjectMetadata`, in a list `PartialObjectMetadataList`.
    Metadata(Version),
    /// All of discovery in one document, of the version `v2`.
    Discovery,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// One object: read or written.
    Object,
    /// A list.
    List,
    /// A watch.
    Watch,
    /// `/api` or `/apis`.
    Discovery,
}

/// What the server can answer with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// What is asked for.
    pub request: Request,
    /// Whether whole objects can be had as protobuf: those of custom resources cannot.
    pub protobuf: bool,
    /// Whether the kind can be printed: what is only answered to, like an access review, cannot.
    pub table: bool,
    /// Whether a type that nobody knows is refused in the words of the router, which sits before the
    /// built-in kinds.
    pub router: bool,
}

impl Offer {
    /// For a built-in kind.
    #[must_use]
    pub const fn built_in(request: Request) -> Self {
        Self {
            request,
            protobuf: true,
            table: true,
            router: true,
        }
    }

    /// For a custom resource.
    #[must_use]
    pub const fn custom(request: Request) -> Self {
        Self {
            request,
            protobuf: false,
            table: true,
            router: false,
        }
    }

    /// Whether whole objects can be had in this encoding. A stream of YAML has no frames.
    fn encodes(&self, media: Media) -> bool {
        match media {
            Media::Json => true,
            Media::Yaml => self.request != Request::Watch,
            Media::Protobuf => self.protobuf,
        }
    }

    /// The types that can be had, as a refusal lists them.
    fn listed(&self) -> String {
        // Protobuf is among them even where only the metadata can be had in it, as upstream lists it.
        let known = Media::ALL
            .into_iter()
            .filter(|media| *media == Media::Protobuf || self.encodes(*media));
        let names = known.map(|media| match self.request {
            Request::Watch => format!("{};stream=watch", media.as_str()),
            _ => media.as_str().to_owned(),
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

/// The form that was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The encoding.
    pub media: Media,
    /// What is encoded.
    pub form: Form,
    /// Whether the clause asked for indentation; see [`pretty`] for the other ways to ask.
    pub pretty: bool,
}

impl Answer {
    /// Objects as JSON, on one line.
    pub const JSON: Self = Self {
        media: Media::Json,
        form: Form::Whole,
        pretty: false,
    };

    /// The `Content-Type` of the answer.
    #[must_use]
    pub const fn content_type(&self, request: Request) -> &'static str {
        match (self.media, self.form, request) {
            (Media::Json, Form::Discovery, _) => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            (Media::Protobuf, _, Request::Watch) => {
                "application/vnd.kubernetes.protobuf;stream=watch"
            }
            (media, _, _) => media.as_str(),
        }
    }
}

/// Finds the best answer to an `Accept` header; without one, JSON.
///
/// # Errors
///
/// [`NotAcceptable`] if no clause can be met: a 406.
pub fn accept(header: Option<&str>, offer: &Offer) -> Result<Answer, NotAcceptable> {
    let header = header.map_or("", str::trim);
    if header.is_empty() {
        return Ok(Answer::JSON);
    }
    let clauses = clause::sorted(header);
    for clause in &clauses {
        if let Some(answer) = meet(clause, offer)? {
            return Ok(answer);
        }
    }
    let known = clauses
        .iter()
        .any(|clause| Media::ALL.into_iter().any(|media| clause.names(media)));
    Err(if offer.router && !known {
        NotAcceptable::Router {
            request: offer.request,
        }
    } else {
        NotAcceptable::Types {
            listed: offer.listed(),
        }
    })
}

/// The encoding for an error, which must be told whatever was asked for; and whether it is indented,
/// as it is when the client named nothing that can be had.
#[must_use]
pub fn for_error(header: Option<&str>) -> (Media, bool) {
    let header = header.map_or("", str::trim);
    if header.is_empty() {
        return (Media::Json, false);
    }
    let clauses = clause::sorted(header);
    let mut named = clauses
        .iter()
        .flat_map(|clause| Media::ALL.into_iter().filter(|media| clause.names(*media)));
    named
        .next()
        .map_or((Media::Json, true), |media| (media, false))
}

/// The answer that a clause describes, if it can be had.
fn meet(clause: &Clause<'_>, offer: &Offer) -> Result<Option<Answer>, NotAcceptable> {
    // What can be streamed can be had at once as well; YAML has no frames.
    let streams = |media: Media| match clause.stream {
        None => true,
        Some(stream) => stream == "watch" && media != Media::Yaml,
    };
    let named = |media: &Media| clause.names(*media) && streams(*media);
    for media in Media::ALL.into_iter().filter(named) {
        let form = match clause.kind {
            "" => offer.encodes(media).then_some(Form::Whole),
            _ => transformed(clause, media, offer)?,
        };
        if let Some(form) = form {
            return Ok(Some(Answer {
                media,
                form,
                pretty: clause.pretty,
            }));
        }
    }
    Ok(None)
}

/// The form that a clause with `as` describes, if it can be had.
fn transformed(
    clause: &Clause<'_>,
    media: Media,
    offer: &Offer,
) -> Result<Option<Form>, NotAcceptable> {
    if offer.request == Request::Discovery {
        let agreed = clause.group == "apidiscovery.k8s.io"
            && clause.version == "v2"
            && clause.kind == "APIGroupDiscoveryList"
            && media == Media::Json;
        return Ok(agreed.then_some(Form::Discovery));
    }
    let Some(version) = Version::parse(clause.version).filter(|_| clause.group == "meta.k8s.io")
    else {
        return Ok(None);
    };
    let watched_yaml = media == Media::Yaml && offer.request == Request::Watch;
    match clause.kind {
        "Table" => {
            let can = offer.table && media != Media::Protobuf && !watched_yaml;
            Ok(can.then_some(Form::Table(version)))
        }
        "PartialObjectMetadata" | "PartialObjectMetadataList" if watched_yaml => Ok(None),
        // The wrong one of the two is refused, not passed over: the client is mistaken in its request.
        "PartialObjectMetadata" if offer.request == Request::List => Err(NotAcceptable::IsList {
            kind: String::new(),
        }),
        "PartialObjectMetadataList" if offer.request != Request::List => {
            Err(NotAcceptable::IsNoList {
                kind: String::new(),
            })
        }
        "PartialObjectMetadata" | "PartialObjectMetadataList" => Ok(Some(Form::Metadata(version))),
        _ => Ok(None),
    }
}

/// Why there is no acceptable answer. The text is the message of the Status; its reason is
/// `NotAcceptable` and its code 406.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAcceptable {
    /// No clause names a known type.
    Router {
        /// What was asked for.
        request: Request,
    },
    /// Types or transformations that are not offered here.
    Types {
        /// What is.
        listed: String,
    },
    /// The metadata of one object was asked for, and it is a list.
    IsList {
        /// Of what; empty if nobody has said.
        kind: String,
    },
    /// A list of metadata was asked for, and it is one object.
    IsNoList {
        /// Which; empty if nobody has said.
        kind: String,
    },
}

impl NotAcceptable {
    /// The refusal, with the kind of object that was asked for.
    #[must_use]
    pub fn about(self, kind: &str) -> Self {
        match self {
            Self::IsList { .. } => Self::IsList {
                kind: format!("{kind}List"),
            },
            Self::IsNoList { .. } => Self::IsNoList {
                kind: kind.to_owned(),
            },
            other => other,
        }
    }
}

impl fmt::Display for NotAcceptable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Router { request } => {
                let streamed = match request {
                    Request::List | Request::Watch => {
                        ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
                    }
                    Request::Object | Request::Discovery => "",
                };
                let plain = Offer::built_in(Request::Object).listed();
                write!(
                    f,
                    "406: Not Acceptable\n\nAvailable representations: {plain}{streamed}"
                )
            }
            Self::Types { listed } => {
                write!(f, "only the following media types are accepted: {listed}")
            }
            Self::IsList { kind } => {
                f.write_str(
                    "you requested PartialObjectMetadata, but the requested object is a list",
                )?;
                in_brackets(kind, f)
            }
            Self::IsNoList { kind } => {
                f.write_str(
                    "you requested PartialObjectMetadataList, but the requested object is not a list",
                )?;
                in_brackets(kind, f)
            }
        }
    }
}

fn in_brackets(kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if kind.is_empty() {
        return Ok(());
    }
    write!(f, " ({kind})")
}

impl Error for NotAcceptable {}
