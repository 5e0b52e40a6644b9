//! The file with the keys.

use std::{
    error::Error,
    fmt,
    fs::{self, File, Metadata},
    io::{self, Read},
    path::{Path, PathBuf},
};

use base64ct::{Base64, Encoding, Error as Base64Error};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use zeroize::Zeroizing;

use super::envelope::{Entry, Transformer};

/// How large a key file may be.
const MAX_BYTES: usize = 64 << 10;
/// How many entries it may have. A value's key is searched among them one by one.
const MAX_ENTRIES: usize = 32;
/// How long a name may be. It is stored with each value.
const MAX_NAME: usize = 64;
/// How long a key is, in bytes.
const KEY: usize = 32;
/// The entry that stands for values that are not encrypted.
const PLAIN: &str = "plain";

impl Transformer {
    /// Reads a key file. Others than its owner and group must have no access to it.
    pub fn load(path: &Path) -> Result<Self, KeyFileError> {
        read(path)
            .map_err(|problem| KeyFileError {
                file: path.to_owned(),
                line: None,
                field: None,
                problem,
            })
            .and_then(|text| Self::parse(path, &text))
    }

    /// Reads the text of a key file, whose name is only for the errors.
    pub fn parse(file: &Path, text: &[u8]) -> Result<Self, KeyFileError> {
        let whole_file = |problem| KeyFileError {
            file: file.to_owned(),
            line: None,
            field: None,
            problem,
        };
        if text.len() > MAX_BYTES {
            return Err(whole_file(Problem::TooLarge));
        }
        let text = std::str::from_utf8(text).map_err(|_| whole_file(Problem::NotText))?;
        let mut lines: Vec<Line<'_>> = Vec::new();
        for (number, text) in (1..).zip(text.lines()) {
            let at = |(field, problem)| KeyFileError {
                file: file.to_owned(),
                line: Some(number),
                field: Some(field),
                problem,
            };
            let Some(line) = Line::parse(number, text).map_err(at)? else {
                continue;
            };
            for earlier in &lines {
                line.differs_from(earlier).map_err(at)?;
            }
            if lines.len() == MAX_ENTRIES {
                return Err(at((Field::Name, Problem::TooManyEntries)));
            }
            lines.push(line);
        }
        if lines.is_empty() {
            return Err(whole_file(Problem::NoEntry));
        }
        Ok(Self::new(lines.iter().map(Line::entry).collect()))
    }
}

/// Why a key file is not used. The text says where, and never shows a key.
///
/// # Format
///
/// One entry per line: a name and 32 bytes in base64, with white space between. The first entry writes, all read. Instead of a
/// key, an entry may be the word `plain`: values as they are. Empty lines and those that begin with `#` are
/// skipped.
///
/// ```text
/// # since November; made with: head -c 32 /dev/urandom | base64
/// 2026-11  AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
/// 2026-05  Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=
/// # what was stored before there were keys
/// plain
/// ```
///
/// A name has 1 to 64 of the characters `a`–`z`, `A`–`Z`, `0`–`9`, `-`, `_` and `.`. It is stored with each value, so a name
/// must keep its key for as long as there are such values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFileError {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1; `None` if it is the whole file.
    pub line: Option<usize>,
    /// The field in the line.
    pub field: Option<Field>,
    /// What is wrong with it.
    pub problem: Problem,
}

/// A field of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The first: a key's name, or `plain`.
    Name,
    /// The second: the key.
    Key,
    /// What comes after.
    Rest,
}

/// What is wrong with a key file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The system does not let it be read.
    Unreadable(String),
    /// A folder, a pipe or a device.
    NotAFile,
    /// Everyone on the machine can read or change it.
    OpenToOthers {
        /// Its permissions.
        mode: u32,
    },
    /// More than any number of keys takes.
    TooLarge,
    /// Not UTF-8.
    NotText,
    /// No entry at all.
    NoEntry,
    /// More entries than are taken.
    TooManyEntries,
    /// Not a name.
    NameSyntax,
    /// The key is not there.
    Missing,
    /// Something that has no place there.
    Unexpected,
    /// The same as in an earlier line.
    Repeated {
        /// That line.
        line: usize,
    },
    /// Not base64 with padding.
    NotBase64,
    /// Base64, but not of 32 bytes.
    Length,
    /// One byte over and over: an example, not a key.
    Guessable,
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match self.field {
            Some(Field::Name) => write!(f, ": name")?,
            Some(Field::Key) => write!(f, ": key")?,
            Some(Field::Rest) => write!(f, ": third field")?,
            None => {}
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => f.write_str(why),
            Self::NotAFile => f.write_str("not a file"),
            Self::OpenToOthers { mode } => {
                write!(
                    f,
                    "mode {mode:03o} lets everyone at the keys; use 600 or 640"
                )
            }
            Self::TooLarge => write!(f, "more than {MAX_BYTES} bytes"),
            Self::NotText => f.write_str("not UTF-8"),
            Self::NoEntry => f.write_str("no key, and no line `plain`"),
            Self::TooManyEntries => write!(f, "more than {MAX_ENTRIES} entries"),
            Self::NameSyntax => write!(f, "not 1 to {MAX_NAME} letters, digits, `-`, `_` or `.`"),
            Self::Missing => f.write_str("missing"),
            Self::Unexpected => f.write_str("nothing is expected here"),
            Self::Repeated { line } => write!(f, "the same as in line {line}"),
            Self::NotBase64 => f.write_str("not base64 with padding"),
            Self::Length => write!(f, "not {KEY} bytes"),
            Self::Guessable => f.write_str("one byte over and over is not a key"),
        }
    }
}

impl Error for KeyFileError {}

/// A line with an entry, while the file is read.
struct Line<'a> {
    number: usize,
    name: &'a str,
    /// `None` for `plain`. Wiped when the file has been read.
    key: Option<Zeroizing<[u8; KEY]>>,
}

impl<'a> Line<'a> {
    /// `None` if the line has no entry.
    fn parse(number: usize, text: &'a str) -> Result<Option<Self>, (Field, Problem)> {
        let mut fields = text.split_ascii_whitespace();
        let Some(name) = fields.next().filter(|name| !name.starts_with('#')) else {
            return Ok(None);
        };
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.len() > MAX_NAME || !name.bytes().all(allowed) {
            return Err((Field::Name, Problem::NameSyntax));
        }
        let key = match (name, fields.next()) {
            (PLAIN, None) => None,
            (PLAIN, Some(_)) => return Err((Field::Key, Problem::Unexpected)),
            (_, None) => return Err((Field::Key, Problem::Missing)),
            (_, Some(text)) => Some(key(text).map_err(|problem| (Field::Key, problem))?),
        };
        if fields.next().is_some() {
            return Err((Field::Rest, Problem::Unexpected));
        }
        Ok(Some(Self { number, name, key }))
    }

    fn differs_from(&self, earlier: &Self) -> Result<(), (Field, Problem)> {
        let line = earlier.number;
        if self.name == earlier.name {
            return Err((Field::Name, Problem::Repeated { line }));
        }
        if self.key.is_some() && self.key == earlier.key {
            return Err((Field::Key, Problem::Repeated { line }));
        }
        Ok(())
    }

    fn entry(&self) -> Entry {
        match &self.key {
            None => Entry::Plain,
            Some(key) => Entry::Key {
                name: self.name.into(),
                cipher: Box::new(XChaCha20Poly1305::new((&**key).into())),
            },
        }
    }
}

fn key(text: &str) -> Result<Zeroizing<[u8; KEY]>, Problem> {
    // Larger than a key, so that one that is too long by a little is told from text that is not base64.
    let mut room = Zeroizing::new([0; 2 * KEY]);
    let decoded = Base64::decode(text, room.as_mut()).map_err(|error| match error {
        Base64Error::InvalidEncoding => Problem::NotBase64,
        Base64Error::InvalidLength => Problem::Length,
    })?;
    let mut key = Zeroizing::new([0; KEY]);
    if decoded.len() != KEY {
        return Err(Problem::Length);
    }
    key.copy_from_slice(decoded);
    if key.iter().all(|byte| *byte == key[0]) {
        return Err(Problem::Guessable);
    }
    Ok(key)
}

/// The bytes of the file, wiped when they are no longer needed.
fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let unreadable = |error: io::Error| Problem::Unreadable(error.to_string());
    // Before it is opened, which would wait at a pipe.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(Problem::NotAFile);
    }
    let file = File::open(path).map_err(unreadable)?;
    let mode = mode(&file.metadata().map_err(unreadable)?);
    if mode & 0o007 != 0 {
        return Err(Problem::OpenToOthers { mode });
    }
    // All the room at once: a vector that grows leaves copies behind.
    let most = MAX_BYTES + 1;
    let mut text = Zeroizing::new(Vec::with_capacity(most));
    file.take(most as u64)
        .read_to_end(&mut text)
        .map_err(unreadable)?;
    Ok(text)
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o777
}

/// Where permissions are not kept in a mode, they are not checked.
#[cfg(not(unix))]
fn mode(_: &Metadata) -> u32 {
    0
}
