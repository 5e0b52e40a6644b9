//! What every storage must do, as cases over the trait.
//!
//! A case gets a storage and a *space*: a key prefix that nobody else uses, beginning and ending in `/`. So many
//! cases run on one server, also side by side; only those that [need](Needs) compaction want it for themselves.
//! A case that fails panics and says what it expected. It waits for conditions, with a limit, and never for time to
//! pass.
//!
//! A backend is put under the suite by two lines in `tests/conformance.rs`, either as one test per case:
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use ringwatch_server::storage::Storage;
//! # use ringwatch_tests::{conformance_tests, reference::Reference};
//! async fn reference() -> Arc<dyn Storage> {
//!     Arc::new(Reference::new())
//! }
//! conformance_tests!(reference, reference());
//! # fn main() {}
//! ```
//!
//! or, where a store is too dear to be made seventy times, as one test with [`run_all`].
//!
//! To add a case: a function in the file of its subject, and a line in the list below.

pub mod commit;
pub mod compaction;
pub mod list;
pub mod read;
mod reader;
mod recorder;
mod run;
mod store;
pub mod ttl;
pub mod update;
mod wait;
pub mod watch;

use std::pin::Pin;

use ringwatch_server::storage::Storage;

pub use run::{UnderTest, attempt, run, run_all};

/// One case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Subject and function: `list::limit_zero_lists_all`.
    pub name: &'static str,
    /// The case itself. Panics if the storage is at fault; wants a runtime with several threads.
    pub run: for<'a> fn(&'a dyn Storage, &'a str) -> CaseFuture<'a>,
    /// What it needs.
    pub needs: Needs,
}

/// A case on its way.
pub type CaseFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What a case needs beyond a space of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// The whole store, since it compacts: to be run alone, and last.
    Compaction,
    /// Some seconds, until leases expire.
    Time,
}

/// Every case.
pub const CASES: &[Case] = crate::__conformance_list!(table);

/// Makes a test of each case for one backend: `conformance_tests!(name, future of the storage)`.
///
/// The tests are called `name::subject::case`. Each makes a storage; the future's output is anything that becomes an
/// [`UnderTest`](crate::conformance::UnderTest).
#[macro_export]
macro_rules! conformance_tests {
    ($backend:ident, $make:expr) => {
        $crate::__conformance_list!(tests $backend, $make);
    };
}

/// The list, once, for whatever is made of it.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_list {
    ($($what:tt)*) => {
        $crate::__conformance_expand! { [$($what)*]
            read {
                absent_key_is_not_found: Nothing,
                created_key_is_found: Nothing,
                empty_value_is_not_absence: Nothing,
                any_bytes_are_kept: Nothing,
                large_values_are_kept: Nothing,
                odd_keys_are_told_apart: Nothing,
                a_key_is_not_its_prefix: Nothing,
                reads_see_acknowledged_writes: Nothing,
            }
            list {
                unused_prefix_lists_nothing: Nothing,
                keys_come_in_byte_order: Nothing,
                prefix_is_exact_text: Nothing,
                prefix_may_end_in_any_character: Nothing,
                items_carry_their_revisions: Nothing,
                limit_cuts_and_counts_the_rest: Nothing,
                limit_zero_lists_all: Nothing,
                after_leaves_out_the_key_itself: Nothing,
                after_may_be_a_deleted_key: Nothing,
                after_may_be_outside_the_prefix: Nothing,
                pages_are_one_state_while_others_write: Nothing,
                each_past_revision_is_exact: Nothing,
                future_revision_is_refused: Nothing,
                large_lists_pass: Nothing,
            }
            commit {
                create_of_an_existing_key_conflicts_and_shows_it: Nothing,
                update_at_the_right_revision: Nothing,
                update_at_a_wrong_revision_conflicts: Nothing,
                update_of_an_absent_key_conflicts: Nothing,
                delete_at_the_right_revision: Nothing,
                delete_at_a_wrong_revision_conflicts: Nothing,
                delete_of_an_absent_key_conflicts: Nothing,
                recreated_key_has_a_new_create_revision: Nothing,
                same_value_is_a_new_revision: Nothing,
                revisions_grow_by_one: Nothing,
                conflict_takes_no_revision: Nothing,
                transaction_shares_one_revision: Nothing,
                transaction_is_all_or_nothing: Nothing,
                conflict_shows_every_key_in_order: Nothing,
                duplicate_key_is_refused: Nothing,
                as_many_writes_as_promised: Nothing,
                one_of_many_racers_wins: Nothing,
                transfers_keep_the_sum: Nothing,
            }
            watch {
                from_now: Nothing,
                from_the_past: Nothing,
                from_each_revision: Nothing,
                from_the_future: Nothing,
                create_update_delete_recreate: Nothing,
                transaction_is_one_item: Nothing,
                transaction_across_prefixes_shows_the_watched_part: Nothing,
                prefix_does_not_leak: Nothing,
                conflicts_and_refusals_are_not_seen: Nothing,
                large_values_pass: Nothing,
                progress_reaches_the_newest: Nothing,
                progress_follows_foreign_writes: Nothing,
                progress_waits_for_the_past: Nothing,
                progress_never_lies: Nothing,
                no_gap_between_list_and_watch: Nothing,
                many_watchers_see_the_same: Nothing,
                slow_watcher_loses_nothing_and_holds_up_nobody: Nothing,
                dropped_watches_do_no_harm: Nothing,
            }
            update {
                writes_what_the_function_says: Nothing,
                no_op_writes_nothing: Nothing,
                no_op_on_a_true_hint_writes_nothing: Nothing,
                no_op_on_an_old_hint_is_done_anew: Nothing,
                stale_condition_writes_anyway: Nothing,
                wrong_hint_is_corrected: Nothing,
                rejection_of_an_old_hint_is_retried: Nothing,
                rejection_of_the_newest_value_is_final: Nothing,
                corrupt_hint_is_read_again: Nothing,
                absent_key_is_not_found: Nothing,
                concurrent_increments_all_count: Nothing,
            }
            ttl {
                expiry_is_an_ordinary_deletion: Time,
                expired_key_stays_readable_in_the_past: Time,
                several_keys_expire: Time,
                update_without_ttl_keeps_the_key: Time,
                update_with_a_longer_ttl_prolongs: Time,
                recreated_key_is_not_taken_along: Time,
                guaranteed_update_limits_the_life: Time,
                kept_ttl_ends_when_it_would_have: Time,
                keeping_no_ttl_sets_none: Time,
                very_long_ttl_is_taken: Nothing,
            }
            compaction {
                older_states_go_and_the_named_one_stays: Compaction,
                newest_reads_are_untouched: Compaction,
                watch_from_before_fails_and_ends: Compaction,
                watch_from_the_floor_goes_on: Compaction,
                running_watch_is_not_disturbed: Compaction,
                slow_watch_never_skips: Compaction,
                floor_does_not_go_back: Compaction,
                floor_is_told: Compaction,
                future_revision_is_refused: Compaction,
            }
        }
    };
}

/// What is made of the list.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_expand {
    ([table] $($subject:ident { $($case:ident: $needs:ident,)* })*) => {
        &[$($(
            $crate::conformance::Case {
                name: concat!(stringify!($subject), "::", stringify!($case)),
                run: |storage, space| {
                    Box::pin($crate::conformance::$subject::$case(storage, space))
                },
                needs: $crate::conformance::Needs::$needs,
            },
        )*)*]
    };
    ([tests $backend:ident, $make:expr] $($subject:ident { $($case:ident: $needs:ident,)* })*) => {
        mod $backend {
            use super::*;

            async fn under_test() -> $crate::conformance::UnderTest {
                $make.await.into()
            }

            $(mod $subject {
                $(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                    async fn $case() {
                        let name = concat!(stringify!($subject), "::", stringify!($case));
                        let storage = super::under_test().await;
                        $crate::conformance::run(stringify!($backend), name, storage).await;
                    }
                )*
            })*
        }
    };
}
