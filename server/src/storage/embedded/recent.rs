//! The last changes, in memory, for watches that keep up.

use std::collections::VecDeque;
use std::sync::Arc;

use ringwatch_core::revision::Revision;

use super::versions::Held;

/// What is counted for a change besides its key and values.
const OVERHEAD: usize = 256;

/// All changes of one revision.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) revision: Revision,
    pub(super) changes: Vec<Change>,
}

/// A key that was changed.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) key: Arc<str>,
    /// With its value, if it is not a deletion.
    pub(super) current: Held,
    /// `None` if the key did not exist.
    pub(super) previous: Option<Held>,
}

/// The last transactions, without a gap, as many as the budget allows.
#[derive(Debug)]
pub(super) struct Recent {
    transactions: VecDeque<Arc<Transaction>>,
    bytes: usize,
    budget: usize,
}

impl Recent {
    pub(super) fn new(budget: usize) -> Self {
        Self {
            transactions: VecDeque::new(),
            bytes: 0,
            budget,
        }
    }

    /// Adds the transaction that follows the last one.
    pub(super) fn push(&mut self, transaction: Transaction) {
        self.bytes += size(&transaction);
        self.transactions.push_back(Arc::new(transaction));
        while self.bytes > self.budget {
            self.pop();
        }
    }

    /// Forgets what no watch may ask for any more.
    pub(super) fn compact(&mut self, floor: Revision) {
        while self
            .transactions
            .front()
            .is_some_and(|first| first.revision <= floor)
        {
            self.pop();
        }
    }

    /// The transactions after a revision, if it reaches back that far.
    pub(super) fn after(
        &self,
        revision: Revision,
    ) -> Option<impl Iterator<Item = &Arc<Transaction>>> {
        let first = self.transactions.front()?.revision.get();
        let skip = (revision.get() + 1).checked_sub(first)?;
        // Revisions have no gaps, so the place follows from the number.
        let skip = usize::try_from(skip).ok()?.min(self.transactions.len());
        Some(self.transactions.range(skip..))
    }

    fn pop(&mut self) {
        if let Some(gone) = self.transactions.pop_front() {
            self.bytes -= size(&gone);
        }
    }
}

fn size(transaction: &Transaction) -> usize {
    let held = |held: &Held| held.value.as_ref().map_or(0, |value| value.len());
    transaction
        .changes
        .iter()
        .map(|change| {
            let previous = change.previous.as_ref().map_or(0, held);
            OVERHEAD + change.key.len() + held(&change.current) + previous
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revisions(recent: &Recent, after: u64) -> Option<Vec<u64>> {
        let found = recent.after(Revision::new(after))?;
        Some(found.map(|one| one.revision.get()).collect())
    }

    #[test]
    fn it_holds_the_last_ones_without_a_gap() {
        let mut recent = Recent::new(3 * OVERHEAD);
        assert_eq!(revisions(&recent, 1), None);
        for revision in 2..=6 {
            recent.push(transaction(revision));
        }
        assert_eq!(revisions(&recent, 2), None);
        assert_eq!(revisions(&recent, 3), Some(vec![4, 5, 6]));
        assert_eq!(revisions(&recent, 5), Some(vec![6]));
        assert_eq!(revisions(&recent, 9), Some(vec![]));
        recent.compact(Revision::new(5));
        assert_eq!(revisions(&recent, 4), None);
        assert_eq!(revisions(&recent, 5), Some(vec![6]));
    }

    fn transaction(revision: u64) -> Transaction {
        use super::super::versions::{Position, Version};
        let revision = Revision::new(revision);
        let version = Version {
            position: Position::start_of(revision),
            created: Revision::ZERO,
        };
        let current = Held {
            version,
            value: None,
        };
        let change = Change {
            key: "".into(),
            current,
            previous: None,
        };
        Transaction {
            revision,
            changes: vec![change],
        }
    }
}
