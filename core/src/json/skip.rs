//! Steps over one JSON value and checks it on the way.
//!
//! This is where a large object spends its time, so the loop works on sixteen bytes of a string at
//! once and keeps the open brackets as bits of one integer: no recursion, no tree. Everything here
//! takes the whole text and a position and gives back the position behind what it read, so offsets
//! in errors need no translation. The text is known to be UTF-8.

use super::error::ScanError;

/// Deepest nesting the bit stack can hold.
pub(crate) const DEPTH_BOUND: usize = 127;

/// The position behind the value that begins at `start`, which may be white space.
///
/// `room` says how many containers may be open at once, this value included.
pub(crate) fn value(text: &[u8], start: usize, room: usize) -> Result<usize, ScanError> {
    let mut pos = start;
    // One bit per open container, the innermost lowest: 1 is an object, 0 an array.
    let mut kinds: u128 = 0;
    let mut depth: usize = 0;
    'value: loop {
        match at(text, pos) {
            QUOTE => pos = string(text, pos + 1, &mut false)?,
            b'{' => {
                if depth >= room {
                    return Err(ScanError::TooDeep { offset: pos });
                }
                pos = trim(text, pos + 1);
                if at(text, pos) == b'}' {
                    pos += 1;
                } else {
                    pos = key(text, pos)?;
                    depth += 1;
                    kinds = kinds << 1 | 1;
                    continue 'value;
                }
            }
            b'[' => {
                if depth >= room {
                    return Err(ScanError::TooDeep { offset: pos });
                }
                pos = trim(text, pos + 1);
                if at(text, pos) == b']' {
                    pos += 1;
                } else {
                    depth += 1;
                    kinds <<= 1;
                    continue 'value;
                }
            }
            b'0'..=b'9' | b'-' => pos = number(text, pos)?,
            b't' => pos = literal(text, pos, b"true")?,
            b'f' => pos = literal(text, pos, b"false")?,
            b'n' => pos = literal(text, pos, b"null")?,
            b' ' | b'\n' | b'\r' | b'\t' => {
                pos = blank(text, pos + 1);
                continue 'value;
            }
            _ => return Err(ScanError::Unexpected { offset: pos }),
        }
        // Behind a value: close what it closes, then go on to its neighbour.
        loop {
            if depth == 0 {
                return Ok(pos);
            }
            let inside_object = kinds & 1 == 1;
            match at(text, pos) {
                b',' => {
                    pos += 1;
                    if inside_object {
                        pos = key(text, trim(text, pos))?;
                    }
                    continue 'value;
                }
                b'}' if inside_object => {}
                b']' if !inside_object => {}
                b' ' | b'\n' | b'\r' | b'\t' => {
                    pos = blank(text, pos + 1);
                    continue;
                }
                _ => return Err(ScanError::Unexpected { offset: pos }),
            }
            pos += 1;
            depth -= 1;
            kinds >>= 1;
        }
    }
}

/// The position behind an object's key and its colon; `pos` is where the key's quote must be.
#[inline(always)]
fn key(text: &[u8], pos: usize) -> Result<usize, ScanError> {
    Ok(named_key(text, pos)?.behind)
}

/// An object's key, for those who want to know which.
pub(crate) struct Key {
    /// The position of the closing quote.
    pub(crate) end: usize,
    /// The position behind the colon.
    pub(crate) behind: usize,
    /// Whether the key has escapes.
    pub(crate) escaped: bool,
}

/// The key whose opening quote must be at `pos`.
#[inline(always)]
pub(crate) fn named_key(text: &[u8], pos: usize) -> Result<Key, ScanError> {
    if at(text, pos) != QUOTE {
        return Err(ScanError::Unexpected { offset: pos });
    }
    let mut escaped = false;
    let behind_quote = string(text, pos + 1, &mut escaped)?;
    let pos = trim(text, behind_quote);
    if at(text, pos) != b':' {
        return Err(ScanError::Unexpected { offset: pos });
    }
    Ok(Key {
        end: behind_quote - 1,
        behind: pos + 1,
        escaped,
    })
}

/// The position behind the closing quote of a string whose first content byte is at `pos`; `escaped`
/// is set if there are escapes on the way.
#[inline(always)]
fn string(text: &[u8], mut pos: usize, escaped: &mut bool) -> Result<usize, ScanError> {
    loop {
        let Some(window) = text.get(pos..).and_then(|rest| rest.first_chunk::<16>()) else {
            let end = string_tail(text, pos)?;
            *escaped |= text.get(pos..end).is_some_and(|tail| tail.contains(&b'\\'));
            return Ok(end);
        };
        let (low, high) = halves(window);
        let (low, high) = (marks(low), marks(high));
        // Branches, not arithmetic: the processor then guesses the length of the string and reads on
        // while the marks are still being computed, which is worth a third of the speed.
        if low != 0 {
            pos += (low.trailing_zeros() >> 3) as usize;
        } else if high != 0 {
            pos += 8 + (high.trailing_zeros() >> 3) as usize;
        } else {
            pos += 16;
            continue;
        }
        match at(text, pos) {
            QUOTE => return Ok(pos + 1),
            b'\\' => {
                *escaped = true;
                pos = if at(text, pos + 1) == QUOTE {
                    pos + 2
                } else {
                    escape(text, pos)?
                };
            }
            _ => return Err(ScanError::Control { offset: pos }),
        }
    }
}

/// As [`string`], for the last bytes of the text.
#[cold]
#[inline(never)]
fn string_tail(text: &[u8], mut pos: usize) -> Result<usize, ScanError> {
    loop {
        match at(text, pos) {
            QUOTE => return Ok(pos + 1),
            b'\\' => pos = escape(text, pos)?,
            0..=0x1f => return Err(end_or(text, pos, ScanError::Control { offset: pos })),
            _ => pos += 1,
        }
    }
}

#[inline(always)]
fn halves(window: &[u8; 16]) -> (u64, u64) {
    let whole = u128::from_le_bytes(*window);
    (whole as u64, (whole >> 64) as u64)
}

/// The high bit of every byte that ends a plain run: quote, backslash, control character.
///
/// Only the lowest mark is sure to be true: a borrow can raise false ones behind it.
#[inline(always)]
fn marks(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    // Flipping bit 1 brings the quote (0x22) down to 0x20 and lifts 0x20 and 0x21 above it, so that
    // one subtraction finds quotes and control characters.
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * 0x5c)).wrapping_sub(ONES);
    (quote_or_control | backslash) & !word & (ONES << 7)
}

/// The position behind the escape whose backslash is at `pos`.
#[cold]
fn escape(text: &[u8], pos: usize) -> Result<usize, ScanError> {
    match at(text, pos + 1) {
        QUOTE | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(pos + 2),
        b'u' => match unit(text, pos) {
            Some(0xd800..=0xdbff) => match unit(text, pos + 6) {
                Some(0xdc00..=0xdfff) => Ok(pos + 12),
                _ => Err(ScanError::LoneSurrogate { offset: pos }),
            },
            Some(0xdc00..=0xdfff) => Err(ScanError::LoneSurrogate { offset: pos }),
            Some(_) => Ok(pos + 6),
            None => Err(ScanError::BadEscape { offset: pos }),
        },
        _ => Err(end_or(text, pos + 1, ScanError::BadEscape { offset: pos })),
    }
}

/// The code unit of a whole `\uXXXX` at `pos`.
pub(crate) fn unit(text: &[u8], pos: usize) -> Option<u16> {
    let [b'\\', b'u', digits @ ..] = text.get(pos..)?.first_chunk::<6>()? else {
        return None;
    };
    digits.iter().try_fold(0, |unit: u16, &digit| {
        let value = char::from(digit).to_digit(16)?;
        Some(unit << 4 | value as u16)
    })
}

/// The position behind the number that begins at `pos` with a digit or a minus sign.
#[inline(always)]
fn number(text: &[u8], mut pos: usize) -> Result<usize, ScanError> {
    if at(text, pos) == b'-' {
        pos += 1;
    }
    // A zero stands alone; any digit after it is refused by whoever reads on.
    pos = if at(text, pos) == b'0' {
        pos + 1
    } else {
        digits(text, pos)?
    };
    if at(text, pos) == b'.' {
        pos = digits(text, pos + 1)?;
    }
    if matches!(at(text, pos), b'e' | b'E') {
        pos += 1;
        if matches!(at(text, pos), b'+' | b'-') {
            pos += 1;
        }
        pos = digits(text, pos)?;
    }
    Ok(pos)
}

#[inline(always)]
fn digits(text: &[u8], mut pos: usize) -> Result<usize, ScanError> {
    if !at(text, pos).is_ascii_digit() {
        return Err(end_or(text, pos, ScanError::BadNumber { offset: pos }));
    }
    while at(text, pos).is_ascii_digit() {
        pos += 1;
    }
    Ok(pos)
}

#[inline(always)]
fn literal(text: &[u8], pos: usize, word: &[u8]) -> Result<usize, ScanError> {
    let end = pos + word.len();
    if text.get(pos..end) == Some(word) {
        Ok(end)
    } else {
        Err(ScanError::Unexpected { offset: pos })
    }
}

/// The first position from `pos` on that is not white space; made for text that has none.
#[inline(always)]
fn trim(text: &[u8], pos: usize) -> usize {
    if at(text, pos) > b' ' {
        pos
    } else {
        blank(text, pos)
    }
}

/// The first position from `pos` on that is not white space.
#[inline(never)]
pub(crate) fn blank(text: &[u8], mut pos: usize) -> usize {
    while matches!(at(text, pos), b' ' | b'\n' | b'\r' | b'\t') {
        pos += 1;
    }
    pos
}

/// The byte at `pos`, or 0 behind the end: the grammar allows a zero byte nowhere, so that the end
/// is refused by the same branches as a wrong byte.
#[inline(always)]
pub(crate) fn at(text: &[u8], pos: usize) -> u8 {
    text.get(pos).copied().unwrap_or(0)
}

/// Prefers "the text ends here" to a complaint about a byte that is not there.
#[cold]
fn end_or(text: &[u8], pos: usize, error: ScanError) -> ScanError {
    if pos >= text.len() {
        ScanError::Unexpected { offset: text.len() }
    } else {
        error
    }
}

const QUOTE: u8 = b'"';
