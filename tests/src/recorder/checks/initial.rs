//! Watches that begin with a state.
//!
//! A watch with bookmarks says which state it was. One without does not, so every state that it can have been is tried, and
//! one of them must explain all that was told.

use std::sync::Arc;

use ringwatch_core::revision::Revision;
use ringwatch_core::transition::EventKind;

use super::super::history::Version;
use super::super::run::Contents;
use super::super::session::{End, Seen, Session};
use super::super::timeline::Timeline;
use super::super::{Property, Violation};

pub(super) fn check(
    timeline: &Timeline,
    session: &Session,
    (from, to): (Revision, Revision),
    contents: &mut Contents,
) -> Vec<Violation> {
    let ended = session
        .seen
        .iter()
        .enumerate()
        .find_map(|(at, seen)| match seen {
            Seen::Bookmark {
                revision,
                initial_end: true,
            } => Some((at, *revision)),
            _ => None,
        });
    if let Some((count, base)) = ended {
        let mut violations = judge(timeline, session, base, Some(count), contents);
        let mut others = states(timeline, from, to);
        if objects(timeline, session, base, Some(count), contents).is_err()
            && let Some(true_base) = others
                .find(|other| objects(timeline, session, *other, Some(count), contents).is_ok())
        {
            violations = vec![Violation {
                property: Property::Bookmarkable,
                detail: format!("it ends initial objects that are those of {true_base}"),
                ..violation(session, base, String::new())
            }];
        }
        if base < from || base > to {
            let detail = format!("the state is not one between {from} and {to}");
            violations.push(violation(session, base, detail));
        }
        return violations;
    }
    if session.bookmarks && session.end == End::Open {
        let detail = "the initial objects never ended".to_owned();
        return vec![violation(session, to, detail)];
    }
    let states = states(timeline, from, to);
    let verdicts = states.map(|base| judge(timeline, session, base, None, contents));
    // The best explanation counts.
    let mut best: Option<Vec<Violation>> = None;
    for verdict in verdicts {
        if best.as_ref().is_none_or(|best| verdict.len() < best.len()) {
            best = Some(verdict);
        }
        if best.as_ref().is_some_and(Vec::is_empty) {
            break;
        }
    }
    best.unwrap_or_default()
}

/// The revisions of the states between two.
fn states(
    timeline: &Timeline,
    from: Revision,
    to: Revision,
) -> impl Iterator<Item = Revision> + use<'_> {
    let between = timeline.first_after(from)..timeline.first_after(to);
    let groups = timeline.groups.get(between).into_iter().flatten();
    [from].into_iter().chain(groups.map(|group| group.revision))
}

/// What is wrong if the state was that of `base`. `count` initial objects were told, or as many as there were.
fn judge(
    timeline: &Timeline,
    session: &Session,
    base: Revision,
    count: Option<usize>,
    contents: &mut Contents,
) -> Vec<Violation> {
    match objects(timeline, session, base, count, contents) {
        Ok(initial) => super::after(timeline, session, (base, initial), contents),
        // What follows would be out of step with it.
        Err(detail) => vec![violation(session, base, detail)],
    }
}

/// How many initial objects there are if they are those of `base`, or why they are not.
fn objects(
    timeline: &Timeline,
    session: &Session,
    base: Revision,
    count: Option<usize>,
    contents: &mut Contents,
) -> Result<usize, String> {
    let state = timeline.state_at(base);
    let wanted = state
        .values()
        .filter(|version| session.selection.wants(version));
    let wanted: Vec<_> = wanted.collect();
    let left_early = match session.end {
        End::Left { resume } => resume.is_none(),
        End::Expired { .. } => true,
        End::Open => false,
    };
    let there = session.seen.len();
    let expected = count.unwrap_or(if left_early {
        wanted.len().min(there)
    } else {
        wanted.len()
    });
    if count.is_some_and(|count| count != wanted.len()) || expected > there {
        let told = count.unwrap_or(there);
        return Err(format!(
            "{told} initial objects instead of {}",
            wanted.len()
        ));
    }
    for (seen, version) in session.seen.iter().take(expected).zip(&wanted) {
        if let Some(problem) = problem(seen, version, contents) {
            return Err(format!("{}: {problem}", version.key));
        }
    }
    Ok(expected)
}

fn problem(seen: &Seen, version: &Arc<Version>, contents: &mut Contents) -> Option<&'static str> {
    match seen {
        Seen::Event {
            kind: EventKind::Added,
            key,
            object,
            content,
            revision,
        } if *key == version.key => {
            let genuine = *object == version.revision
                && *revision == version.revision
                && contents.are(content, version);
            (!genuine).then_some("another content or revision")
        }
        _ => Some("missing, or something else in its place"),
    }
}

fn violation(session: &Session, revision: Revision, detail: String) -> Violation {
    Violation {
        property: Property::InitialState,
        watcher: session.watcher,
        revision,
        detail,
    }
}
