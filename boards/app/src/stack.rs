//! How deep the stack has been, said in the log.

use embassy_time::Timer;

/// What a stack has taken of what it may take, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// The deepest that it has been since reset.
    pub used: usize,
    /// What there is for it.
    pub available: usize,
}

/// Says how deep the stack has been, whenever it was deeper than before; looked at every second.
pub async fn report(measure: fn() -> Depth) -> ! {
    let mut deepest = 0;
    loop {
        let Depth { used, available } = measure();
        if used > deepest {
            deepest = used;
            log::info!("stack {used} B of {available} B");
        }
        Timer::after_secs(1).await;
    }
}
