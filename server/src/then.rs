//! What follows something that was polled for.

/// Whether to ask again at once, told with what was given.
///
/// Who polls a stream has to ask once more after the last item, to be noted for the next. Where items come one at a time that
/// is every other question; so whoever knows that there is no more takes note of the task at once, and says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Perhaps more: ask again.
    Ask,
    /// Nothing yet. The task has been noted and is woken, as if it had asked again and was told to wait.
    Wait,
}
