//! Sorting without memory, for canonical texts.
//!
//! There is nowhere to keep a sorted copy, so the next item is searched for each time. That is quadratic in the
//! number of distinct items: meant for log lines and index keys, not for every event.

use core::cmp::Ordering;
use core::fmt;

/// The items in ascending order, equal ones once.
pub(super) fn ascending<I>(
    items: I,
    compare: impl Fn(&I::Item, &I::Item) -> Ordering,
) -> impl Iterator<Item = I::Item>
where
    I: Iterator<Item: Copy> + Clone,
{
    let mut last = None;
    core::iter::from_fn(move || {
        last = items
            .clone()
            .filter(|item| last.is_none_or(|last| compare(item, &last).is_gt()))
            .min_by(&compare);
        last
    })
    // Without it, a call after the end would find no last item and begin again.
    .fuse()
}

/// Writes the items with commas between them.
pub(super) fn write_joined(
    f: &mut fmt::Formatter<'_>,
    items: impl Iterator<Item: fmt::Display>,
) -> fmt::Result {
    for (index, item) in items.enumerate() {
        if index > 0 {
            f.write_str(",")?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}
