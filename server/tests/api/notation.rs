//! Long and unprintable things in tables.
//!
//! `<<N:text>>` stands for the text N times, with a `#` in it for the count; `\xNN`, `\r` and `\n` for those bytes.

/// Bytes for a text: repetitions and escapes are written out.
pub(crate) fn expand(text: &str) -> Vec<u8> {
    unescape(&repeat(text))
}

/// The text with its repetitions written out.
pub(crate) fn repeat(text: &str) -> String {
    let mut repeated = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<<") {
        let (count, after) = after.split_once(':').expect("a count");
        let (part, after) = after.split_once(">>").expect("an end");
        repeated += before;
        let count: usize = count.parse().expect("a number");
        if part.contains('#') {
            repeated.extend((0..count).map(|index| part.replace('#', &index.to_string())));
        } else {
            repeated += &part.repeat(count);
        }
        rest = after;
    }
    repeated + rest
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let digits = after.strip_prefix('x').and_then(|after| after.get(..2));
        let (byte, taken) = match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => (byte, 3),
            None if after.starts_with('r') => (b'\r', 1),
            None if after.starts_with('n') => (b'\n', 1),
            None => (b'\\', 0),
        };
        bytes.push(byte);
        rest = &after[taken..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}
