//! A process that writes is killed again and again, at random moments: nothing that it acknowledged is lost, and no
//! transaction is torn.
//!
//! The process is this test binary, called to run the one test that writes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::embedded::{Durability, Options};
use ringwatch_server::storage::{Embedded, KeyValue, List, Outcome, Storage, Write};

/// How many stores, and how often each is killed: a store that grew large would spend the test opening itself.
const STORES: u64 = 6;
const ROUNDS: u64 = 20;
const WRITERS: u64 = 8;

/// Names the folder to write to, and makes the test below a writer.
const FOLDER: &str = "RINGWATCH_CRASH_FOLDER";
/// Set if the writer is to work without fsync.
const NO_FSYNC: &str = "RINGWATCH_CRASH_NO_FSYNC";

/// Not a check of its own: what is killed.
#[test]
fn write_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    println!("\nopening");
    let durability = match std::env::var_os(NO_FSYNC) {
        Some(_) => Durability::None,
        None => Durability::Fsync,
    };
    let store = Embedded::open(folder, Options::default().durability(durability)).unwrap();
    runtime.block_on(async {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| tokio::spawn(write(store.clone(), writer)))
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

/// Counts in three keys at once and says what was acknowledged.
async fn write(store: Embedded, writer: u64) {
    let mut found = Vec::new();
    for key in keys(writer) {
        found.push(store.get(&key).await.unwrap().found);
    }
    let mut count = found[0].as_ref().map_or(0, count);
    let mut expected = found[0]
        .as_ref()
        .map_or(Revision::ZERO, |found| found.mod_revision);
    loop {
        count += 1;
        let writes = keys(writer).map(|key| Write::update(key, expected, count.to_string()));
        match store.commit(writes.into()).await {
            Ok(Outcome::Committed(revision)) => expected = revision,
            other => panic!("{other:?}"),
        }
        println!("acknowledged {writer} {count} {expected}");
        if count % 16 == 0 {
            store
                .compact(Revision::new(expected.get() - 5))
                .await
                .unwrap();
        }
    }
}

fn keys(writer: u64) -> [String; 3] {
    ["x", "y", "z"].map(|key| format!("/{writer}/{key}"))
}

fn count(found: &KeyValue) -> u64 {
    std::str::from_utf8(&found.value).unwrap().parse().unwrap()
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut random = seed.as_nanos() as u64 | 1;
    println!("seed {random}");
    let mut written = 0;
    for _ in 0..STORES {
        let folder = folder();
        let mut known = Known::default();
        for round in 0..ROUNDS {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Some die while they open the store, most while they write.
            let lines = if random.is_multiple_of(8) {
                0
            } else {
                random % 200
            };
            let child = start(folder.path(), round % 2 == 1);
            known.take_in(kill_after(child, lines as usize));
            check(folder.path(), &mut known);
        }
        written += known.acknowledged.values().map(|it| it.0).sum::<u64>();
    }
    println!("{written} transactions");
    assert!(written > STORES * ROUNDS);
}

/// A database takes many files to make; dying between any two of them must not be the end of the store.
#[test]
fn a_store_that_was_killed_while_it_was_made_is_made_anew() {
    for _ in 0..60 {
        let folder = folder();
        kill_after(start(folder.path(), false), 0);
        check(folder.path(), &mut Known::default());
    }
}

/// What must be true from now on.
#[derive(Default)]
struct Known {
    /// For each writer the last count that is certain, and its revision.
    acknowledged: BTreeMap<u64, (u64, u64)>,
    revision: u64,
}

impl Known {
    fn take_in(&mut self, lines: Vec<String>) {
        for line in lines {
            let mut words = line.split(' ');
            if words.next() != Some("acknowledged") {
                continue;
            }
            let mut number = || words.next().unwrap().parse::<u64>().unwrap();
            let (writer, count, revision) = (number(), number(), number());
            let before = self.acknowledged.insert(writer, (count, revision));
            assert!(before.is_none_or(|before| before < (count, revision)));
            self.revision = self.revision.max(revision);
        }
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn start(folder: &Path, no_fsync: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "write_until_killed", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped());
    if no_fsync {
        command.env(NO_FSYNC, "1");
    }
    command.spawn().unwrap()
}

/// Kills it once it has begun to open the store and said so many lines more; all whole lines that it said.
fn kill_after(mut child: Child, more: usize) -> Vec<String> {
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut lines = Vec::new();
    let mut rest = None;
    loop {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        // The last line may be cut off by the end.
        let Some(line) = line.strip_suffix('\n') else {
            child.wait().unwrap();
            assert_eq!(rest, Some(0), "the writer ended by itself: {lines:?}");
            return lines;
        };
        lines.push(line.to_owned());
        match &mut rest {
            None if line == "opening" => rest = Some(more),
            Some(rest) => *rest = rest.saturating_sub(1),
            None => {}
        }
        if rest == Some(0) {
            // SIGKILL; no harm if it is dead already. What it said before is still read.
            child.kill().unwrap();
        }
    }
}

fn check(folder: &Path, known: &mut Known) {
    let store = Embedded::open(folder, Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let revision = store.revision().await.unwrap().get();
        assert!(
            revision >= known.revision,
            "{revision} after {}",
            known.revision
        );
        known.revision = revision;
        let page = store.list(&List::default()).await.unwrap();
        for writer in 0..WRITERS {
            let acknowledged = known.acknowledged.get(&writer).copied().unwrap_or_default();
            let found: Vec<_> = keys(writer)
                .iter()
                .filter_map(|key| page.items.iter().find(|item| &*item.key == key))
                .map(|item| (count(item), item.mod_revision.get()))
                .collect();
            if found.is_empty() {
                assert_eq!(acknowledged, (0, 0), "writer {writer} lost everything");
                continue;
            }
            assert_eq!(found, [found[0]; 3], "a torn transaction");
            // One more than was acknowledged may have been on its way.
            let (count, revision) = found[0];
            let same = found[0] == acknowledged;
            let next = count == acknowledged.0 + 1 && revision > acknowledged.1;
            assert!(same || next, "{:?} after {acknowledged:?}", found[0]);
            known.acknowledged.insert(writer, found[0]);
        }
    });
}
