//! Field selectors from any text.

use ringwatch_core::selector::FieldSelector;

use super::selector::round_trip;

/// What can be read prints, and is read again as the same.
pub fn run(data: &[u8]) {
    round_trip(data, |text, values| {
        let selector = FieldSelector::<&str>::parse(text)?;
        let matched = values.map(|value| selector.matches(|_| value));
        Ok((selector.to_string(), matched))
    });
}
