//! Which lease a key with a limited life is put under.
//!
//! A lease costs etcd more than a key, so keys written at about the same time share one: each lives a
//! little longer than asked, by 5 % and at most a minute. When a lease ends, all its keys go in one
//! transaction; hence a bound on how many share it.

use std::time::{Duration, Instant};

/// How many keys share a lease.
const MAX_KEYS: usize = 1000;
const LONGEST_EXTENSION: Duration = Duration::from_secs(60);
/// Which part of the asked time the extension is.
const EXTENSION_PART: u32 = 20;

/// The lease granted last, and what is known about it.
#[derive(Debug, Default)]
pub(super) struct Leases {
    last: Option<Lease>,
}

#[derive(Debug)]
struct Lease {
    id: i64,
    /// Not later than etcd's own idea of it: counted from before it was asked.
    expires: Instant,
    keys: usize,
}

impl Leases {
    /// The lease for `keys` more keys that are to live for `ttl` from `now`, if the last one will do.
    pub(super) fn reuse(&mut self, now: Instant, ttl: Duration, keys: usize) -> Option<i64> {
        let lease = self.last.as_mut()?;
        let soonest = now + ttl;
        let fits = soonest < lease.expires && lease.expires <= soonest + extension(ttl);
        if !fits || lease.keys + keys > MAX_KEYS {
            return None;
        }
        lease.keys += keys;
        Some(lease.id)
    }

    /// A lease was granted for `ttl`, asked for at `asked`; `keys` keys are put under it at once.
    pub(super) fn granted(&mut self, id: i64, asked: Instant, ttl: Duration, keys: usize) {
        self.last = Some(Lease {
            id,
            expires: asked + ttl + extension(ttl),
            keys,
        });
    }

    /// etcd does not know this lease any more.
    pub(super) fn forget(&mut self, id: i64) {
        if self.last.as_ref().is_some_and(|lease| lease.id == id) {
            self.last = None;
        }
    }
}

/// The life, in seconds, to ask for a lease on which keys are to live for `ttl`.
pub(super) fn seconds_to_ask(ttl: Duration) -> i64 {
    let life = ttl + extension(ttl);
    let seconds = life.as_secs() + u64::from(life.subsec_nanos() > 0);
    i64::try_from(seconds).unwrap_or(i64::MAX).max(1)
}

fn extension(ttl: Duration) -> Duration {
    (ttl / EXTENSION_PART).min(LONGEST_EXTENSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const SECOND: Duration = Duration::from_secs(1);

    fn granted(now: Instant) -> Leases {
        let mut leases = Leases::default();
        assert_eq!(leases.reuse(now, HOUR, 1), None);
        leases.granted(7, now, HOUR, 1);
        leases
    }

    #[test]
    fn a_lease_is_reused_until_it_would_end_too_soon() {
        let now = Instant::now();
        let mut leases = granted(now);
        assert_eq!(leases.reuse(now, HOUR, 1), Some(7));
        assert_eq!(leases.reuse(now + 59 * SECOND, HOUR, 1), Some(7));
        // The key would live for exactly an hour: etcd's clock may be a moment ahead.
        assert_eq!(leases.reuse(now + 60 * SECOND, HOUR, 1), None);
    }

    #[test]
    fn a_lease_that_ends_too_late_is_not_reused() {
        let now = Instant::now();
        let mut leases = granted(now);
        assert_eq!(leases.reuse(now, HOUR - SECOND, 1), None);
        assert_eq!(leases.reuse(now, SECOND, 1), None);
        assert_eq!(leases.reuse(now, HOUR * 2, 1), None);
    }

    #[test]
    fn a_lease_holds_a_thousand_keys() {
        let now = Instant::now();
        let mut leases = granted(now);
        assert_eq!(leases.reuse(now, HOUR, MAX_KEYS - 2), Some(7));
        assert_eq!(leases.reuse(now, HOUR, 2), None);
        assert_eq!(leases.reuse(now, HOUR, 1), Some(7));
        assert_eq!(leases.reuse(now, HOUR, 1), None);
    }

    #[test]
    fn a_lost_lease_is_not_offered_again() {
        let now = Instant::now();
        let mut leases = granted(now);
        leases.forget(8);
        assert_eq!(leases.reuse(now, HOUR, 1), Some(7));
        leases.forget(7);
        assert_eq!(leases.reuse(now, HOUR, 1), None);
    }

    #[test]
    fn etcd_counts_in_whole_seconds_and_never_less_than_asked() {
        assert_eq!(seconds_to_ask(HOUR), 3660);
        assert_eq!(seconds_to_ask(100 * SECOND), 105);
        assert_eq!(seconds_to_ask(SECOND), 2);
        assert_eq!(seconds_to_ask(Duration::ZERO), 1);
    }
}
