//! What firmware does when its objects change.

/// Called by an [`Informer`](super::Informer) when the view has changed.
pub trait Handler<T> {
    /// Whether it can take a notice now. While it cannot, notices are folded together; call
    /// [`Informer::flush`](super::Informer::flush) when it can again.
    fn is_ready(&mut self) -> bool {
        true
    }

    /// An object came into view.
    fn on_add(&mut self, key: &str, new: &T);

    /// An object changed. `old` is the value before, if this notice was not delayed; the value
    /// that a delayed notice replaces is not kept.
    fn on_update(&mut self, key: &str, old: Option<&T>, new: &T);

    /// An object is gone; `last` is its last value.
    fn on_delete(&mut self, key: &str, last: &T);
}

/// Does nothing: for programs that look at the view when they need it.
impl<T> Handler<T> for () {
    fn on_add(&mut self, _: &str, _: &T) {}
    fn on_update(&mut self, _: &str, _: Option<&T>, _: &T) {}
    fn on_delete(&mut self, _: &str, _: &T) {}
}
