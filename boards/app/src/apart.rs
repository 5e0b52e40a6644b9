//! Stack that is given back while others run.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};

/// Waits for a future that is polled in a stack frame of its own.
///
/// A compiler that makes one function of everything that a task does gives it a frame for everything, of which each part has to bear that of all
/// others below its own.
pub(crate) fn apart<F: Future>(mut future: Pin<&mut F>) -> impl Future<Output = F::Output> {
    poll_fn(move |cx| poll(future.as_mut(), cx))
}

#[inline(never)]
fn poll<F: Future>(future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    future.poll(cx)
}
