//! The checks, in the order in which they run.

mod history;
mod informer;
mod link;
mod selector;
mod startup;
mod watch;

/// A check says in a few words what was wrong.
pub(crate) type Check = fn() -> Result<(), &'static str>;

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("data is copied from flash", startup::data_is_copied),
    ("bss is zeroed", startup::bss_is_zeroed),
    ("a full ring tells who fell behind", history::full_ring),
    ("selectors match and refuse", selector::match_and_refuse),
    ("an informer follows its sender", informer::follows),
    ("a full informer refuses", informer::refuses_when_full),
    (
        "a change goes from JSON to the informer",
        watch::from_json_to_informer,
    ),
    ("a sealed link joins both ends", link::joins_both_ends),
];

/// Passes if `holds`, else fails with `why`.
fn ensure(holds: bool, why: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(why) }
}
