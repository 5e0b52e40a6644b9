//! Why a patch was refused, and whose fault it is.

use core::fmt;

/// What an [`Error`] means to the client: the HTTP status that Kubernetes answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// 400: the patch is not of its format.
    Malformed,
    /// 413: the patch asks for too much.
    TooLarge,
    /// 422: the patch does not fit the object.
    Unprocessable,
    /// 500 upstream, although the patch is at fault: it does not fit the type of the object.
    Misfit,
}

/// Why a patch was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Not JSON, or JSON of the wrong shape.
    Malformed(String),
    /// A JSON patch of too many operations.
    TooManyOperations {
        /// How many there were.
        count: usize,
    },
    /// The operations of a JSON patch copy more than [`super::json::MAX_COPIED`] bytes.
    CopiesTooMuch,
    /// A JSON patch walks or shifts more values than [`super::json::MAX_WORK`].
    TooMuchWork,
    /// The result would be nested deeper than [`super::MAX_DEPTH`].
    TooDeep,
    /// A JSON patch has an operation that does not exist or lacks a part.
    BadOperation(String),
    /// An operation of a JSON patch names a place that is not there.
    MissingPath {
        /// The operation.
        operation: &'static str,
        /// The place, as a JSON pointer.
        path: String,
    },
    /// A JSON patch's test found another value.
    TestFailed {
        /// The place, as a JSON pointer.
        path: String,
    },
    /// No type of this name is known.
    UnknownType(String),
    /// `$patch` says something other than merge, replace or delete, or says it where it cannot.
    BadDirective(String),
    /// `$deleteFromPrimitiveList/…` is not a list, or names no field.
    BadPrimitiveList,
    /// `$setElementOrder/…` is not a list, or names no field.
    BadElementOrder,
    /// `$retainKeys` is not a list of names, or leaves out a field that the patch sets.
    BadRetainKeys,
    /// The elements of the patch are not in the order that `$setElementOrder/…` gives them.
    OrderMismatch {
        /// The list.
        field: String,
    },
    /// An element of a merging list lacks the field that tells the elements apart.
    MissingMergeKey {
        /// The list.
        field: String,
        /// The field that is not there.
        key: &'static str,
    },
    /// A merging list mixes kinds of values.
    MixedList {
        /// The list.
        field: String,
    },
    /// A merging list holds lists.
    ListOfLists,
}

impl Error {
    /// What the error means to the client.
    pub fn class(&self) -> Class {
        match self {
            Self::Malformed(_)
            | Self::BadPrimitiveList
            | Self::BadElementOrder
            | Self::BadRetainKeys => Class::Malformed,
            Self::TooManyOperations { .. } | Self::CopiesTooMuch | Self::TooMuchWork => {
                Class::TooLarge
            }
            Self::TooDeep
            | Self::BadOperation(_)
            | Self::MissingPath { .. }
            | Self::TestFailed { .. }
            | Self::ListOfLists => Class::Unprocessable,
            Self::UnknownType(_)
            | Self::BadDirective(_)
            | Self::OrderMismatch { .. }
            | Self::MissingMergeKey { .. }
            | Self::MixedList { .. } => Class::Misfit,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => write!(f, "invalid JSON document: {why}"),
            Self::TooManyOperations { count } => write!(
                f,
                "The allowed maximum operations in a JSON patch is {}, got {count}",
                super::json::MAX_OPERATIONS
            ),
            Self::CopiesTooMuch => write!(
                f,
                "Unable to complete the copy, the accumulated size increase of copy is more than the limit {}",
                super::json::MAX_COPIED
            ),
            Self::TooMuchWork => f.write_str("the patch moves too many values"),
            Self::TooDeep => write!(f, "the result is nested deeper than {}", super::MAX_DEPTH),
            Self::BadOperation(why) => f.write_str(why),
            Self::MissingPath { operation, path } => write!(
                f,
                "{operation} operation does not apply: doc is missing path: \"{path}\": missing value"
            ),
            Self::TestFailed { path } => write!(f, "testing value {path} failed: test failed"),
            Self::UnknownType(name) => write!(f, "no type is called {name}"),
            Self::BadDirective(directive) => write!(f, "unknown patch type: {directive}"),
            Self::BadPrimitiveList => f.write_str("invalid patch format of primitive list"),
            Self::BadElementOrder => f.write_str("invalid patch format of setElementOrder list"),
            Self::BadRetainKeys => f.write_str("invalid patch format of retainKeys"),
            Self::OrderMismatch { field } => {
                write!(
                    f,
                    "the order in the patch list {field} doesn't match its $setElementOrder list"
                )
            }
            Self::MissingMergeKey { field, key } => {
                write!(
                    f,
                    "an element of {field} does not contain declared merge key: {key}"
                )
            }
            Self::MixedList { field } => {
                write!(f, "list element types of {field} are not identical")
            }
            Self::ListOfLists => f.write_str("lists of lists are not supported"),
        }
    }
}

impl core::error::Error for Error {}
