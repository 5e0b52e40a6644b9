//! What label and field selectors have in common: texts that are read, printed and read again.

use ringwatch_core::selector::SelectorError;

/// What a selector is, as far as can be seen: how it prints and what it matches.
type Seen = (String, [bool; 5]);

/// Any text is parsed or refused. An error points into the text and can be described. What was parsed prints a
/// text that parses again, prints the same and matches the same.
///
/// `read` parses a text, if it can, and says which of the values match.
pub(super) fn round_trip(
    data: &[u8],
    read: impl Fn(&str, [Option<&str>; 5]) -> Result<Seen, SelectorError>,
) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let values = [None, Some(""), Some("a"), Some("5"), Some(text)];
    match read(text, values) {
        Ok(seen) => {
            let again = read(&seen.0, values)
                .unwrap_or_else(|error| panic!("{text:?} printed as {:?}: {error}", seen.0));
            assert_eq!(again, seen, "from {text:?}");
        }
        Err(error) => {
            assert!(error.offset <= text.len(), "{error} in {text:?}");
            assert!(!error.describe(text).to_string().is_empty());
        }
    }
}
