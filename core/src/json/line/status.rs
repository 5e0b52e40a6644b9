//! The two lines that carry no stored object: bookmark and error.
//!
//! Their texts are small and made from typed parts, so they go through a serializer that escapes
//! what has to be escaped.

use core::error::Error;
use core::fmt;

use serde::Serialize;

use super::digits::Digits;
use crate::revision::Revision;

/// A bookmark: the stream has reached a revision.
///
/// ```
/// use ringwatch_core::json::line::Bookmark;
/// use ringwatch_core::revision::Revision;
///
/// let bookmark = Bookmark {
///     kind: "Lamp",
///     api_version: "home/v1",
///     revision: Revision::new(282),
///     initial_events_end: true,
/// };
/// let mut buffer = [0; 256];
/// let len = bookmark.write_to(&mut buffer)?;
/// assert_eq!(
///     core::str::from_utf8(&buffer[..len])?,
///     concat!(
///         r#"{"type":"BOOKMARK","object":{"kind":"Lamp","apiVersion":"home/v1","metadata":"#,
///         r#"{"resourceVersion":"282","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
///         "\n",
///     ),
/// );
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bookmark<'a> {
    /// Kind of the watched resource.
    pub kind: &'a str,
    /// Its `apiVersion`.
    pub api_version: &'a str,
    /// Every event up to here was sent.
    pub revision: Revision,
    /// Whether this is the bookmark that ends the initial events of a streamed list.
    pub initial_events_end: bool,
}

impl Bookmark<'_> {
    /// Writes the line into the front of `buffer` and gives its length.
    ///
    /// # Errors
    ///
    /// [`LineFull`] if the buffer cannot hold it; try a larger one.
    pub fn write_to(&self, buffer: &mut [u8]) -> Result<usize, LineFull> {
        let revision = Digits::new(self.revision.get());
        let object = BookmarkObject {
            kind: self.kind,
            api_version: self.api_version,
            metadata: BookmarkMetadata {
                resource_version: revision.as_str(),
                annotations: self.initial_events_end.then_some(EndMark { end: "true" }),
            },
        };
        write_line(
            &Line {
                kind: "BOOKMARK",
                object,
            },
            buffer,
        )
    }
}

/// An ERROR event: why the stream ends. After this line the server closes the stream.
///
/// ```
/// use ringwatch_core::json::line::Status;
///
/// let expired = Status {
///     message: "too old resource version: 1 (2034)",
///     reason: Some("Expired"),
///     code: 410,
/// };
/// let mut buffer = [0; 256];
/// let len = expired.write_to(&mut buffer)?;
/// assert_eq!(
///     core::str::from_utf8(&buffer[..len])?,
///     concat!(
///         r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"#,
///         r#""status":"Failure","message":"too old resource version: 1 (2034)","#,
///         r#""reason":"Expired","code":410}}"#,
///         "\n",
///     ),
/// );
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status<'a> {
    /// For people.
    pub message: &'a str,
    /// For programs, such as `Expired`; errors that have no reason of their own leave it out.
    pub reason: Option<&'a str>,
    /// The HTTP status code that fits the reason.
    pub code: u16,
}

impl Status<'_> {
    /// Writes the line into the front of `buffer` and gives its length.
    ///
    /// # Errors
    ///
    /// [`LineFull`] if the buffer cannot hold it; try a larger one.
    pub fn write_to(&self, buffer: &mut [u8]) -> Result<usize, LineFull> {
        let object = StatusObject {
            kind: "Status",
            api_version: "v1",
            metadata: NoMetadata {},
            status: "Failure",
            message: self.message,
            reason: self.reason,
            code: self.code,
        };
        write_line(
            &Line {
                kind: "ERROR",
                object,
            },
            buffer,
        )
    }
}

/// A buffer that cannot hold a serialized line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LineFull {
    /// Bytes the buffer had, which were not enough.
    pub len: usize,
}

impl fmt::Display for LineFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the line needs more than {} bytes", self.len)
    }
}

impl Error for LineFull {}

#[derive(Serialize)]
struct Line<T> {
    #[serde(rename = "type")]
    kind: &'static str,
    object: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkObject<'a> {
    kind: &'a str,
    api_version: &'a str,
    metadata: BookmarkMetadata<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMetadata<'a> {
    resource_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<EndMark>,
}

#[derive(Serialize)]
struct EndMark {
    #[serde(rename = "k8s.io/initial-events-end")]
    end: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusObject<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: NoMetadata,
    status: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    code: u16,
}

#[derive(Serialize)]
struct NoMetadata {}

fn write_line<T: Serialize>(line: &Line<T>, buffer: &mut [u8]) -> Result<usize, LineFull> {
    let full = LineFull { len: buffer.len() };
    let len = serde_json_core::to_slice(line, buffer).map_err(|_| full)?;
    *buffer.get_mut(len).ok_or(full)? = b'\n';
    Ok(len + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_escaped() {
        let status = Status {
            message: "a\"b\\c\n\u{1}\u{1f}\u{7f}é😀",
            reason: None,
            code: 500,
        };
        let mut buffer = [0; 256];
        let len = status.write_to(&mut buffer).unwrap();
        let line: serde_json::Value = serde_json::from_slice(&buffer[..len]).unwrap();
        assert_eq!(line["object"]["message"], status.message);
        assert_eq!(line["object"].get("reason"), None);
        assert_eq!(
            buffer[..len].iter().filter(|&&byte| byte == b'\n').count(),
            1
        );
    }

    #[test]
    fn a_buffer_without_room_for_the_line_break_is_too_small() {
        let bookmark = Bookmark {
            kind: "A",
            api_version: "v1",
            revision: Revision::new(1),
            initial_events_end: false,
        };
        let mut buffer = [0; 256];
        let len = bookmark.write_to(&mut buffer).unwrap();
        assert_eq!(bookmark.write_to(&mut buffer[..len]), Ok(len));
        for short in 0..len {
            assert_eq!(
                bookmark.write_to(&mut buffer[..short]),
                Err(LineFull { len: short })
            );
        }
    }
}
