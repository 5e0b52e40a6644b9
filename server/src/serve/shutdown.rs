//! One signal that the server is to stop, for all who have to act on it.

use tokio::sync::watch;

/// Knows whether the server is stopping. Cheap to clone and to wait on.
#[derive(Debug, Clone)]
pub struct Shutdown {
    stopping: watch::Receiver<bool>,
}

/// Begins a [`Shutdown`]. Dropping it begins it too, so that nobody waits for a signal that cannot come.
#[derive(Debug)]
pub struct Stop {
    stopping: watch::Sender<bool>,
}

impl Shutdown {
    /// A signal and who gives it.
    pub fn new() -> (Stop, Self) {
        let (sender, receiver) = watch::channel(false);
        let stop = Stop { stopping: sender };
        let shutdown = Self { stopping: receiver };
        (stop, shutdown)
    }

    /// Whether it has begun: `/readyz` fails from now on.
    pub fn has_begun(&self) -> bool {
        *self.stopping.borrow() || self.stopping.has_changed().is_err()
    }

    /// Whether it has begun since this value was made, as a look at a number and not at a lock. Tells nothing once
    /// [`begun`](Self::begun) was called on this very value.
    pub(super) fn is_news(&self) -> bool {
        self.stopping.has_changed().unwrap_or(true)
    }

    /// Waits until it begins. Returns at once if it has.
    pub async fn begun(&mut self) {
        // An error means that the sender is gone, which begins it too.
        let _ = self.stopping.wait_for(|stopping| *stopping).await;
    }
}

impl Stop {
    /// Begins the shutdown.
    pub fn begin(&self) {
        self.stopping.send_replace(true);
    }
}
