//! One pass over an object: everything is validated, wanted values are remembered.

use super::error::ScanError;
use super::path::{MAX_SEGMENTS, Path};
use super::skip::{self, DEPTH_BOUND};
use super::text::Text;
use super::value::Value;

/// Most paths one scan can look for: one bit each.
pub const MAX_PATHS: usize = 64;

/// How large and how deep a text may be.
///
/// ```
/// use ringwatch_core::json::{Limits, ScanError, scan};
///
/// let small = Limits { max_bytes: 8, ..Limits::default() };
/// assert_eq!(scan(b"{\"a\":100}", &small, &[], &mut []), Err(ScanError::TooLarge { len: 9, max: 8 }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes in the text; 3 MiB unless set, twice what etcd takes by default.
    pub max_bytes: usize,
    /// Most containers open at once, the outermost included; 64 unless set. More than 127 counts as
    /// 127.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 3 << 20,
            max_depth: 64,
        }
    }
}

/// Validates `bytes` as one JSON object and puts the value of `paths[i]` into `found[i]`, or `None`
/// where the object has no such value.
///
/// # Errors
///
/// The first fault in the text; what is in `found` is then not to be used.
pub fn scan<'a>(
    bytes: &'a [u8],
    limits: &Limits,
    paths: &[Path<'_>],
    found: &mut [Option<Value<'a>>],
) -> Result<(), ScanError> {
    if bytes.len() > limits.max_bytes {
        return Err(ScanError::TooLarge {
            len: bytes.len(),
            max: limits.max_bytes,
        });
    }
    let room = found.len().min(MAX_PATHS);
    if paths.len() > room {
        return Err(ScanError::Paths { room });
    }
    found.fill(None);
    let text = core::str::from_utf8(bytes).map_err(|error| ScanError::NotUtf8 {
        offset: error.valid_up_to(),
    })?;
    let start = skip::blank(bytes, 0);
    if skip::at(bytes, start) != b'{' {
        return Err(ScanError::NotAnObject { offset: start });
    }
    let max_depth = limits.max_depth.min(DEPTH_BOUND);
    let mut scanner = Scanner {
        text,
        paths,
        found,
        max_depth,
    };
    let end = skip::blank(bytes, scanner.walk(start)?);
    if end < bytes.len() {
        return Err(ScanError::Trailing { offset: end });
    }
    Ok(())
}

struct Scanner<'a, 's> {
    text: &'a str,
    paths: &'s [Path<'s>],
    found: &'s mut [Option<Value<'a>>],
    max_depth: usize,
}

/// A container that holds something wanted. Sets are bit masks over the paths.
#[derive(Clone, Copy, Default)]
struct Frame {
    /// Position of the opening bracket.
    start: usize,
    /// Paths that lead on into this container.
    active: u64,
    /// Paths that end at this container.
    whole: u64,
    /// Active paths whose next key was met, to find duplicates.
    met: u64,
    object: bool,
    /// Index of the next element, in an array.
    index: usize,
}

impl<'a> Scanner<'a, '_> {
    /// Walks the container at `start` and gives the position behind it.
    ///
    /// A path that is active at depth `d` has more than `d` segments, so the stack of frames cannot
    /// outgrow the longest path. What no path leads into is left to [`skip::value`].
    fn walk(&mut self, start: usize) -> Result<usize, ScanError> {
        let text = self.text.as_bytes();
        let mut frames = [Frame::default(); MAX_SEGMENTS];
        let active = self
            .paths
            .len()
            .checked_sub(1)
            .map_or(0, |last| u64::MAX >> (63 - last.min(63)));
        if active == 0 || self.max_depth == 0 {
            return skip::value(text, start, self.max_depth);
        }
        let mut depth = 0;
        let mut frame = Frame {
            start,
            active,
            object: true,
            ..Frame::default()
        };
        let mut pos = skip::blank(text, start + 1);
        let mut empty = skip::at(text, pos) == b'}';
        loop {
            if !core::mem::take(&mut empty) {
                // A member: its key or index decides which paths it belongs to.
                let matched;
                (matched, pos) = if frame.object {
                    self.key(&mut frame, depth, pos)?
                } else {
                    let index = frame.index;
                    frame.index += 1;
                    (
                        self.select(frame.active, |path| path.index_matches(depth, index)),
                        pos,
                    )
                };
                pos = skip::blank(text, pos);
                let inner = match matched {
                    0 => 0,
                    _ => self.select(matched, |path| path.len() > depth + 1),
                };
                let whole = matched & !inner;
                let open = skip::at(text, pos);
                if inner != 0 && matches!(open, b'{' | b'[') {
                    if depth + 1 >= self.max_depth {
                        return Err(ScanError::TooDeep { offset: pos });
                    }
                    // Room is certain: some path has more than `depth + 1` segments.
                    if let Some(place) = frames.get_mut(depth) {
                        *place = frame;
                    }
                    depth += 1;
                    let object = open == b'{';
                    frame = Frame {
                        start: pos,
                        active: inner,
                        whole,
                        object,
                        ..Frame::default()
                    };
                    pos = skip::blank(text, pos + 1);
                    empty = skip::at(text, pos) == frame.close();
                    continue;
                }
                let end = skip::value(text, pos, self.max_depth - (depth + 1))?;
                self.record(whole, pos, end);
                pos = skip::blank(text, end);
            }
            // Behind a member: the next one, or the end of one or more containers.
            loop {
                match skip::at(text, pos) {
                    b',' => {
                        pos = skip::blank(text, pos + 1);
                        break;
                    }
                    byte if byte == frame.close() => {
                        pos += 1;
                        self.record(frame.whole, frame.start, pos);
                        let Some(outer) = depth.checked_sub(1) else {
                            return Ok(pos);
                        };
                        depth = outer;
                        frame = frames.get(depth).copied().unwrap_or_default();
                        pos = skip::blank(text, pos);
                    }
                    _ => return Err(ScanError::Unexpected { offset: pos }),
                }
            }
        }
    }

    /// Reads a key and its colon; gives the paths that go on with this key and the position behind.
    fn key(&self, frame: &mut Frame, depth: usize, pos: usize) -> Result<(u64, usize), ScanError> {
        let text = self.text.as_bytes();
        let skip::Key {
            end,
            behind,
            escaped,
        } = skip::named_key(text, pos)?;
        let key = Text::with(self.text.get(pos + 1..end).unwrap_or_default(), escaped);
        let matched = self.select(frame.active, |path| path.key_matches(depth, &key));
        if matched & frame.met != 0 {
            return Err(ScanError::Duplicate { offset: pos });
        }
        frame.met |= matched;
        Ok((matched, behind))
    }

    /// The members of the set `of` for which `test` holds.
    #[inline(always)]
    fn select(&self, of: u64, test: impl Fn(&Path<'_>) -> bool) -> u64 {
        let mut selected = 0;
        let mut rest = of;
        while rest != 0 {
            let lowest = rest & rest.wrapping_neg();
            if self
                .paths
                .get(rest.trailing_zeros() as usize)
                .is_some_and(&test)
            {
                selected |= lowest;
            }
            rest ^= lowest;
        }
        selected
    }

    /// Remembers a value for every path in `whole`.
    fn record(&mut self, whole: u64, start: usize, end: usize) {
        let mut rest = whole;
        while rest != 0 {
            let place = self.found.get_mut(rest.trailing_zeros() as usize);
            if let (Some(place), Some(raw)) = (place, self.text.get(start..end)) {
                *place = Some(Value::new(raw, start));
            }
            rest &= rest - 1;
        }
    }
}

impl Frame {
    fn close(&self) -> u8 {
        if self.object { b'}' } else { b']' }
    }
}
