//! Sorting with little memory, for canonical texts.
//!
//! There is nowhere to keep a sorted copy of a list that may have thousands of items. So the items are walked again
//! and again, and each walk collects the next few in order. The time is still quadratic, but divided by the size of
//! that batch: a hostile list of the greatest length holds up a log line for a fraction of a second, not for ten.

use core::cmp::Ordering;
use core::fmt;

use heapless::Vec;

/// The items in ascending order, equal ones once; each walk over `items` collects the next `B` of them.
pub(super) fn ascending<const B: usize, I>(
    items: I,
    compare: impl Fn(&I::Item, &I::Item) -> Ordering,
) -> impl Iterator<Item = I::Item>
where
    I: Iterator<Item: Copy> + Clone,
{
    const { assert!(B > 0, "an empty batch would never hold the next item") };
    let mut batch = Vec::<I::Item, B>::new();
    let mut given = 0;
    core::iter::from_fn(move || {
        if given == batch.len() {
            batch = smallest_above(batch.last().copied(), items.clone(), &compare);
            given = 0;
        }
        let next = batch.get(given).copied()?;
        given += 1;
        Some(next)
    })
    // The batch after the last is empty, and after an empty one the walk would begin anew.
    .fuse()
}

/// The smallest items above `floor`, sorted, as many as there is room for.
fn smallest_above<T: Copy, const B: usize>(
    floor: Option<T>,
    items: impl Iterator<Item = T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Vec<T, B> {
    let mut batch = Vec::new();
    for item in items {
        if floor.is_some_and(|floor| compare(&item, &floor).is_le()) {
            continue;
        }
        // The common case in a long list, for the price of one comparison.
        if batch.is_full()
            && batch
                .last()
                .is_some_and(|last| compare(&item, last).is_ge())
        {
            continue;
        }
        if let Err(place) = batch.binary_search_by(|held| compare(held, &item)) {
            if batch.is_full() {
                batch.pop();
            }
            // Cannot fail: there is room, and the place is within the batch.
            let _ = batch.insert(place, item);
        }
    }
    batch
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
