//! Being told to stop.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// The signals that stop the server.
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Interrupt,
    Terminate,
}

/// Listens for them from now on: none is lost while the server starts.
pub(super) fn listen() -> io::Result<Signals> {
    Ok(Signals {
        interrupt: signal(SignalKind::interrupt())?,
        terminate: signal(SignalKind::terminate())?,
    })
}

impl Signals {
    /// Waits for the next.
    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}

impl Signal {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }

    /// Ends the process as a shell shows the death by this signal. What was acknowledged is stored.
    pub(super) fn exit(self) -> ! {
        std::process::exit(match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        })
    }
}
