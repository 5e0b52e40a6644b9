//! Faults on the way of a watch's items.

use std::time::Duration;

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{ChangeSender, Changes, StorageError, WatchItem};
use tokio::time::timeout;

use super::Fault;

/// The watch, with the fault in it. `newest` was the newest revision when it began.
pub(super) fn distorted(mut inner: Changes, fault: Fault, newest: Revision) -> Changes {
    let (mut sender, outer) = Changes::channel();
    tokio::spawn(async move {
        let mut items = Items {
            fault,
            count: 0,
            held: None,
        };
        if fault == Fault::ProgressComesTooEarly {
            sender.send(Ok(WatchItem::Progress(newest))).await;
        }
        loop {
            tokio::select! {
                asked = sender.asked() => {
                    if !asked {
                        return;
                    }
                    inner.request_progress();
                }
                next = inner.next() => {
                    let Some(next) = next else { return };
                    for item in items.distort(next) {
                        if !send(&sender, fault, item).await {
                            return;
                        }
                    }
                }
            }
        }
    });
    outer
}

type Item = Result<WatchItem, StorageError>;

async fn send(sender: &ChangeSender, fault: Fault, item: Item) -> bool {
    if fault != Fault::WatchLosesEventsWhenFull {
        return sender.send(item).await;
    }
    let sent = timeout(Duration::from_millis(1), sender.send(item)).await;
    sent.unwrap_or(true)
}

struct Items {
    fault: Fault,
    count: usize,
    held: Option<Item>,
}

impl Items {
    fn distort(&mut self, item: Item) -> Vec<Item> {
        match item {
            Ok(WatchItem::Progress(revision)) if self.fault == Fault::ProgressGoesTooFar => {
                vec![Ok(WatchItem::Progress(Revision::new(revision.get() + 1)))]
            }
            Ok(WatchItem::Changes { .. }) => {
                self.count += 1;
                self.distort_changes(item)
            }
            _ => vec![item],
        }
    }

    fn distort_changes(&mut self, mut item: Item) -> Vec<Item> {
        let third = self.count.is_multiple_of(3);
        let Ok(WatchItem::Changes { revision, changes }) = &mut item else {
            return vec![item];
        };
        match self.fault {
            Fault::WatchLosesAnEvent if third => vec![],
            Fault::WatchRepeatsAnEvent if third => vec![item.clone(), item],
            Fault::WatchSwapsEvents if third => {
                self.held = Some(item);
                vec![]
            }
            Fault::WatchSwapsEvents => [Some(item), self.held.take()]
                .into_iter()
                .flatten()
                .collect(),
            Fault::WatchTearsTransactions => changes
                .iter()
                .map(|change| {
                    Ok(WatchItem::Changes {
                        revision: *revision,
                        changes: vec![change.clone()],
                    })
                })
                .collect(),
            Fault::WatchShowsWrongPrevious => {
                for change in changes {
                    if let (Some(current), Some(previous)) = (&change.current, &mut change.previous)
                    {
                        previous.value = current.value.clone();
                    }
                }
                vec![item]
            }
            Fault::WatchShowsNoPreviousOfDeletions => {
                changes
                    .iter_mut()
                    .filter(|change| change.current.is_none())
                    .for_each(|change| change.previous = None);
                vec![item]
            }
            _ => vec![item],
        }
    }
}
