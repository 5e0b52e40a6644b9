//! The conformance suite finds faults: each deliberate one is caught by the case named beside it.

use std::sync::Arc;

use ringwatch_server::storage::Storage;
use ringwatch_tests::{
    conformance::{CASES, Case, UnderTest, attempt},
    mutant::{Fault, Mutant},
};

const CAUGHT_BY: &[(Fault, &str)] = &[
    (Fault::WatchLosesAnEvent, "watch::from_now"),
    (Fault::WatchRepeatsAnEvent, "watch::from_now"),
    (Fault::WatchSwapsEvents, "watch::from_the_past"),
    (
        Fault::WatchTearsTransactions,
        "watch::transaction_is_one_item",
    ),
    (
        Fault::WatchShowsWrongPrevious,
        "watch::create_update_delete_recreate",
    ),
    (
        Fault::WatchShowsNoPreviousOfDeletions,
        "watch::create_update_delete_recreate",
    ),
    (
        Fault::WatchLosesEventsWhenFull,
        "watch::slow_watcher_loses_nothing_and_holds_up_nobody",
    ),
    (
        Fault::WatchLeaksPastThePrefix,
        "watch::prefix_does_not_leak",
    ),
    (Fault::WatchForgetsThePast, "watch::from_the_past"),
    (Fault::WatchRepeatsTheStart, "watch::from_each_revision"),
    (
        Fault::WatchSkipsWhatIsCompacted,
        "compaction::watch_from_before_fails_and_ends",
    ),
    (
        Fault::ProgressComesTooEarly,
        "watch::progress_waits_for_the_past",
    ),
    (
        Fault::ProgressGoesTooFar,
        "watch::progress_reaches_the_newest",
    ),
    (Fault::ListIsOffByOne, "list::each_past_revision_is_exact"),
    (
        Fault::ListIgnoresItsRevision,
        "list::pages_are_one_state_while_others_write",
    ),
    (
        Fault::ListRepeatsTheLastOfThePage,
        "list::after_leaves_out_the_key_itself",
    ),
    (Fault::ListTakesZeroForNone, "list::limit_zero_lists_all"),
    (
        Fault::ListMiscountsTheRest,
        "list::limit_cuts_and_counts_the_rest",
    ),
    (Fault::ListOrdersByFolder, "list::keys_come_in_byte_order"),
    (Fault::ListLeaksPastThePrefix, "list::prefix_is_exact_text"),
    (Fault::ReadsAreOld, "read::reads_see_acknowledged_writes"),
    (
        Fault::CreateRevisionIsForgotten,
        "commit::update_at_the_right_revision",
    ),
    (Fault::EverythingIsStale, "update::no_op_writes_nothing"),
    (Fault::CommitIsTorn, "commit::transaction_is_all_or_nothing"),
    (
        Fault::CommitTakesARevisionPerWrite,
        "commit::transaction_shares_one_revision",
    ),
    (
        Fault::CommitIgnoresConditions,
        "commit::update_at_a_wrong_revision_conflicts",
    ),
    (
        Fault::CommitChecksTooEarly,
        "commit::one_of_many_racers_wins",
    ),
    (
        Fault::CommitTakesDuplicates,
        "commit::duplicate_key_is_refused",
    ),
    (
        Fault::ConflictShowsNothing,
        "commit::create_of_an_existing_key_conflicts_and_shows_it",
    ),
    (
        Fault::TtlOutlivesAnUpdate,
        "ttl::update_without_ttl_keeps_the_key",
    ),
    (
        Fault::TtlEndsTooEarly,
        "ttl::expiry_is_an_ordinary_deletion",
    ),
    (Fault::TtlIsNotKept, "ttl::kept_ttl_ends_when_it_would_have"),
    (
        Fault::TtlBeginsAnewWhenKept,
        "ttl::kept_ttl_ends_when_it_would_have",
    ),
    (Fault::CompactionIsNotTold, "compaction::floor_is_told"),
    (
        Fault::CompactionForgetsTooMuch,
        "compaction::older_states_go_and_the_named_one_stays",
    ),
    (
        Fault::CompactionForgetsNothing,
        "compaction::older_states_go_and_the_named_one_stays",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_fault_is_caught_by_its_case() {
    let mut missed = Vec::new();
    for (fault, name) in CAUGHT_BY {
        match caught(*fault, case(name)).await {
            None => missed.push((fault, name)),
            // Shown by `--no-capture`: whether the words would help whoever has the fault.
            Some(why) => println!("{fault:?}: {name}: {why}\n"),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}

/// What the case says of the fault. It is asked again if it says nothing: racers may miss each other once, and a machine that stands still for a
/// second makes a life that ends too early look right.
async fn caught(fault: Fault, case: &'static Case) -> Option<String> {
    for round in 1..=3 {
        match attempt(case, &mutant(fault)).await {
            Ok(()) => println!("{fault:?}: {}: not caught in round {round}\n", case.name),
            Err(why) => return Some(why),
        }
    }
    None
}

/// Else the wrapper, and not the fault, might be what is caught.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_fault_the_same_cases_pass() {
    for (_, name) in CAUGHT_BY {
        if let Err(why) = attempt(case(name), &mutant(Fault::None)).await {
            panic!("a mutant without a fault fails {name}: {why}");
        }
    }
}

fn case(name: &str) -> &'static Case {
    CASES
        .iter()
        .find(|case| case.name == name)
        .unwrap_or_else(|| panic!("there is no case `{name}`"))
}

fn mutant(fault: Fault) -> UnderTest {
    let storage: Arc<dyn Storage> = Arc::new(Mutant::new(fault));
    storage.into()
}
