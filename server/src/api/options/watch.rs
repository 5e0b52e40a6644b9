//! What a watch asks for.

use std::time::Duration;

use ringwatch_core::revision::StartFrom;

use super::{MATCH, Options, Version, forbidden, list, unsupported};
use crate::api::query::Query;
use crate::cache::{WatchRequest, WatchStart};
use crate::resources::Target;
use crate::status::Failure;

/// A watch, ready to be asked of a reader.
#[derive(Debug)]
pub struct WatchPlan {
    /// What to ask.
    pub request: WatchRequest,
    /// Whether the end of the initial objects is marked, if bookmarks are wanted at all.
    pub marks_initial_end: bool,
    /// Whether it is a list in the form of a watch: those may be compressed.
    pub is_watch_list: bool,
    /// Its time was over before it began.
    pub already_over: bool,
}

impl WatchPlan {
    /// Reads and checks the options of a watch. One that does not say how long it lasts does so for at least
    /// `min_timeout` and at most twice as long, so that watches that began together do not end together.
    pub fn parse(
        target: &Target,
        query: &Query<'_>,
        min_timeout: Duration,
    ) -> Result<Self, Failure> {
        let mut options = Options::decode(query)?;
        if options.watch {
            default(&mut options);
        }
        validate(&options)?;
        let predicate = options.selectors.clone().predicate(target)?;
        let version = Version::parse(options.resource_version).map_err(Failure::bad_request)?;
        let initial = options.send_initial_events;
        // The old paths show the state without having been asked for it.
        let state = initial.unwrap_or(!options.watch && !matches!(version, Version::At(_)));
        let start = match (version, state) {
            (Version::Unset, true) if options.watch => WatchStart::State(StartFrom::Newest),
            (Version::Unset | Version::Any, true) => WatchStart::State(StartFrom::Any),
            (Version::Unset, false) => WatchStart::Newest,
            (Version::Any, false) => WatchStart::Now,
            (Version::At(revision), true) => WatchStart::State(StartFrom::NotOlderThan(revision)),
            (Version::At(revision), false) => WatchStart::After(revision),
        };
        let seconds = options.timeout.filter(|seconds| *seconds != 0);
        let timeout = match seconds {
            Some(seconds) => Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
            None => crate::backoff::jittered(min_timeout, min_timeout),
        };
        Ok(Self {
            request: WatchRequest {
                predicate,
                start,
                bookmarks: options.bookmarks,
                timeout: Some(timeout),
            },
            marks_initial_end: options.watch && state,
            is_watch_list: initial == Some(true) && options.bookmarks,
            already_over: seconds.is_some_and(|seconds| seconds < 0),
        })
    }
}

/// A watch of nothing in particular begins with the state.
fn default(options: &mut Options<'_>) {
    let anywhere = matches!(options.resource_version, "" | "0");
    if anywhere && options.send_initial_events.is_none() && options.version_match.is_empty() {
        options.send_initial_events = Some(true);
        options.version_match = "NotOlderThan";
    }
}

fn validate(options: &Options<'_>) -> Result<(), Failure> {
    // The old paths watch without being told to, and are checked as lists.
    if !options.watch {
        return list::validate(options);
    }
    let mut faults = Vec::new();
    let matching = options.version_match;
    match options.send_initial_events {
        None if !matching.is_empty() => faults.push(forbidden(
            MATCH,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        )),
        Some(_) if matching != "NotOlderThan" => faults.push(forbidden(
            MATCH,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        )),
        _ => {}
    }
    if !matching.is_empty() && matching != "NotOlderThan" {
        faults.push(unsupported(MATCH, matching, &["NotOlderThan"]));
    }
    if !matching.is_empty() && !options.continue_token.is_empty() {
        faults.push(forbidden(
            MATCH,
            "resourceVersionMatch is forbidden when continue is provided",
        ));
    }
    match faults.as_slice() {
        [] => Ok(()),
        faults => Err(Failure::invalid_options("ListOptions", faults)),
    }
}
