//! JSON with line breaks, for people.
//!
//! ```
//! use ringwatch_server::indent::indented;
//!
//! let json = indented(b"{\"a\":[1,{}],\"b\":\"x,y\"}\n");
//! assert_eq!(json, b"{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x,y\"\n}");
//! ```

/// Indents a JSON text by two blanks a level, without a line break at its end, as a kube-apiserver does.
///
/// One pass without a tree: the text must be valid, which it is if this server wrote it. What is not
/// valid is still copied sign by sign.
#[must_use]
pub fn indented(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + json.len() / 2);
    let mut depth = 0_usize;
    let mut in_text = false;
    let mut escaped = false;
    let mut bytes = json.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if in_text {
            out.push(byte);
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'{' | b'[' => {
                out.push(byte);
                while bytes.next_if(u8::is_ascii_whitespace).is_some() {}
                match bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    Some(close) => out.push(close),
                    None => {
                        depth += 1;
                        line(depth, &mut out);
                    }
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(depth, &mut out);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(depth, &mut out);
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                out.push(byte);
                in_text = byte == b'"';
            }
        }
    }
    out
}

/// Most levels that are shown; a deeper text goes on at this one, so that its blanks stay few.
const DEEPEST: usize = 128;

fn line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', depth.min(DEEPEST) * 2));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_left_alone() {
        let value = json!({"a\"{": "x\\", "b": ["\\\"]", "", {"c": {}}, []], "d": null});
        let expected = serde_json::to_string_pretty(&value).unwrap();
        for text in [value.to_string(), expected.clone()] {
            assert_eq!(
                String::from_utf8(indented(text.as_bytes())).unwrap(),
                expected
            );
        }
    }

    #[test]
    fn depth_does_not_multiply() {
        let deep = "[".repeat(100_000);
        assert!(indented(deep.as_bytes()).len() < 300 * deep.len());
    }
}
