//! What is to be looked at, by name, and when: namespaces to be emptied, definitions to be brought on. The time is an argument.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// What is not done yet, since somebody else holds it, is looked at again after this time, then after twice as much, and so on.
const FIRST: Duration = Duration::from_millis(50);
/// The longest time between two looks.
const MOST: Duration = Duration::from_secs(5);

/// Names to be looked at: at most as many as there are.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    waiting: BTreeMap<String, Look>,
}

#[derive(Debug)]
struct Look {
    due: Instant,
    delay: Duration,
}

impl Agenda {
    /// Something is to be done. If that is known, it is looked at when it would have been, or sooner: something changed.
    pub(super) fn add(&mut self, name: &str, now: Instant) {
        let look = self.waiting.entry(name.to_owned()).or_insert(Look {
            due: now,
            delay: FIRST,
        });
        look.due = look.due.min(now + look.delay);
    }

    /// Nothing more is to be done.
    pub(super) fn done(&mut self, name: &str) {
        self.waiting.remove(name);
    }

    /// When the next one is to be looked at.
    pub(super) fn due(&self) -> Option<Instant> {
        self.waiting.values().map(|look| look.due).min()
    }

    /// One whose time has come. Unless it is [done](Self::done), its turn comes again.
    pub(super) fn next(&mut self, now: Instant) -> Option<&str> {
        let ready = self.waiting.iter_mut().filter(|(_, look)| look.due <= now);
        let (name, look) = ready.min_by_key(|(_, look)| look.due)?;
        look.due = now + look.delay;
        look.delay = (look.delay * 2).min(MOST);
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_turn_again_later_and_later_until_it_is_done() {
        let start = Instant::now();
        let mut agenda = Agenda::default();
        assert_eq!(agenda.due(), None);
        agenda.add("a", start);
        agenda.add("b", start);
        assert_eq!(agenda.due(), Some(start));
        assert_eq!(agenda.next(start), Some("a"));
        assert_eq!(agenda.next(start), Some("b"));
        assert_eq!(agenda.next(start), None);
        agenda.done("b");

        let mut last = start;
        for _ in 0..20 {
            let due = agenda.due().unwrap();
            assert!(due > last && due - last <= MOST);
            assert_eq!(agenda.next(due), Some("a"));
            last = due;
        }
        assert_eq!(agenda.due(), Some(last + MOST));
        // A change brings its turn no later than a delay from now.
        agenda.add("a", last);
        assert_eq!(agenda.due(), Some(last + MOST));
        agenda.done("a");
        assert_eq!(agenda.due(), None);
    }
}
