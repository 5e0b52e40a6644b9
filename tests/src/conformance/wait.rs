//! Waiting with a limit, and working on several threads.

use std::{fmt::Debug, thread, time::Duration};

use tokio::{runtime::Handle, task::block_in_place, time::timeout};

/// How long anything may take, the expiry of a lease of a few seconds included. Far more than a loaded machine
/// needs: what reaches it is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What comes of `future`, which `what` describes.
pub(crate) async fn within<T>(limit: Duration, what: &str, future: impl Future<Output = T>) -> T {
    match timeout(limit, future).await {
        Ok(value) => value,
        Err(_) => panic!("expected {what}, but nothing came within {limit:?}"),
    }
}

/// The success of a call on the storage, which `what` describes.
pub(crate) async fn succeed<T, E: Debug>(
    what: &str,
    call: impl Future<Output = Result<T, E>>,
) -> T {
    match within(PATIENCE, what, call).await {
        Ok(value) => value,
        Err(error) => panic!("expected {what} to succeed, but it failed: {error:?}"),
    }
}

/// The failure of a call on the storage, which `what` describes.
pub(crate) async fn fail<T: Debug, E>(what: &str, call: impl Future<Output = Result<T, E>>) -> E {
    match within(PATIENCE, what, call).await {
        Ok(value) => panic!("expected {what} to fail, but got {value:?}"),
        Err(error) => error,
    }
}

/// Does `work` `count` times at once, each on a thread of its own, so that also a storage that never waits
/// meets true concurrency. Threads rather than tasks: they may borrow the storage.
pub(crate) async fn on_threads<T, F>(count: usize, work: impl Fn(usize) -> F + Sync) -> Vec<T>
where
    T: Send,
    F: Future<Output = T>,
{
    let runtime = Handle::current();
    block_in_place(|| {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..count)
                .map(|number| {
                    let (runtime, work) = (&runtime, &work);
                    scope.spawn(move || runtime.block_on(work(number)))
                })
                .collect();
            let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            ends.into_iter()
                .map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    })
}
