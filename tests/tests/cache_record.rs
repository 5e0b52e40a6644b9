//! A recorded run over the cache that meets everything a watch can meet, in a few seconds: a ring that wraps, readers that are
//! too slow, resumption everywhere, relists, transactions, initial states of several chunks.
//!
//! `cargo xtask mutants` runs this test, and nothing else, on broken variants of the cache.

use std::{sync::Arc, time::Duration};

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{Embedded, Storage};
use ringwatch_tests::{
    random::Random,
    recorder::End,
    workload::{Acknowledged, Habit, Pace, Resume, Site, Watcher, Writer},
};

/// Changes that the ring holds: little, so that it wraps all the time.
const RING: usize = 150;
const WRITERS: usize = 40;
const KEYS: usize = 10;
const WATCHERS: usize = 130;
const ROUNDS: usize = 60;

/// Everyone takes turns in one task, so that each run is nearly the same.
#[tokio::test]
async fn a_cache_keeps_its_promises() {
    let storage: Arc<dyn Storage> = Arc::new(Embedded::in_memory());
    let bookmarks = Duration::from_millis(5);
    let mut site = Site::open(storage.clone(), storage.clone(), RING, bookmarks).await;
    let mut writers: Vec<_> = (0..WRITERS).map(|n| Writer::new(n, KEYS)).collect();
    let mut random = Random::new(1);
    let mut acknowledged = Vec::new();
    for writer in &mut writers {
        acknowledged.extend(writer.fill(&*storage).await);
    }
    catch_up(&site, &acknowledged).await;
    // Some sleep in tasks and are woken; the others are read from now and then, so that they lag, wrap and resume.
    site.watch(WATCHERS..WATCHERS + 26);
    let mut watchers: Vec<_> = (0..WATCHERS)
        .map(|number| Watcher::new(number, habit(number), &site.cache, site.start))
        .collect();
    for round in 0..ROUNDS {
        if round % 12 == 6 {
            // The cache is cut off for longer than the storage remembers.
            site.tap.cut();
            write(&storage, &mut writers, &mut random, 40, &mut acknowledged).await;
            let newest = last(&acknowledged);
            site.follower.reached(newest).await;
            storage.compact(newest).await.expect("a compaction");
            site.tap.mend();
        }
        let writes = 1 + random.below(20);
        write(
            &storage,
            &mut writers,
            &mut random,
            writes,
            &mut acknowledged,
        )
        .await;
        catch_up(&site, &acknowledged).await;
        for (number, watcher) in watchers.iter_mut().enumerate() {
            match number % 7 {
                // Those who read everything at once sleep at the end of the ring.
                0..=3 => watcher.read(usize::MAX).await,
                // Batches are handed out in part.
                4 => watcher.read(1 + random.below(7)).await,
                5 if random.below(3) == 0 => watcher.read(usize::MAX).await,
                6 if random.below(12) == 0 => watcher.read(usize::MAX).await,
                _ => {}
            }
        }
        // Lets those in tasks run.
        tokio::task::yield_now().await;
    }
    let report = site.close(&acknowledged, watchers).await;
    println!("{report}");
    report.assert_sound();
    // All of it happened, or the verdict would say little.
    assert!(report.bridges.len() >= 4, "{report}");
    assert!(report.ended(|end| matches!(end, End::Expired { .. })) > 50);
    assert!(report.ended(|end| matches!(end, End::Left { .. })) > 500);
}

fn habit(number: usize) -> Habit {
    let leaves = match number % 5 {
        0 => Some((20, Resume::Position)),
        1 => Some((10, Resume::Bookmark)),
        2 => Some((5, Resume::LastEvent)),
        _ => None,
    };
    Habit {
        leaves,
        pace: Pace::Eager,
        ..Habit::of(number)
    }
}

async fn write(
    storage: &Arc<dyn Storage>,
    writers: &mut [Writer],
    random: &mut Random,
    count: usize,
    acknowledged: &mut Vec<Acknowledged>,
) {
    for _ in 0..count {
        let writer = random.below(writers.len());
        acknowledged.extend(writers[writer].step(&**storage).await);
    }
}

/// The last change to the resource.
fn last(acknowledged: &[Acknowledged]) -> Revision {
    let mut devices = acknowledged.iter().rev();
    let last = devices.find(|commit| !commit.keys.is_empty());
    last.expect("a change").revision
}

/// Waits until the cache has what was written.
async fn catch_up(site: &Site, acknowledged: &[Acknowledged]) {
    let caught_up = async {
        while site.cache.revision() < last(acknowledged) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let caught_up = tokio::time::timeout(Duration::from_secs(20), caught_up).await;
    caught_up.expect("a cache that follows");
}
