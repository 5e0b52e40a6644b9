//! Field selectors from any text.

use ringwatch_core::selector::FieldSelector;

/// Any text is parsed or refused. An error points into the text and can be described. What was parsed prints a
/// text that parses again, prints the same and matches the same.
pub fn run(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let selector = match FieldSelector::<&str>::parse(text) {
        Ok(selector) => selector,
        Err(error) => {
            assert!(error.offset <= text.len(), "{error} in {text:?}");
            assert!(!error.describe(text).to_string().is_empty());
            return;
        }
    };
    let printed = selector.to_string();
    let again = FieldSelector::<&str>::parse(&printed)
        .unwrap_or_else(|error| panic!("{text:?} printed as {printed:?}: {error}"));
    assert_eq!(again.to_string(), printed, "from {text:?}");
    for value in [None, Some(""), Some("a"), Some("5"), Some(text)] {
        assert_eq!(
            selector.matches(|_| value),
            again.matches(|_| value),
            "{text:?} and {printed:?} on {value:?}"
        );
    }
}
