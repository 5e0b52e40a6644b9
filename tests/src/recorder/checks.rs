//! Each property as a check of its own.

mod initial;

use std::collections::{BTreeMap, HashSet};

use ringwatch_core::revision::Revision;
use ringwatch_core::transition::EventKind;

use super::run::{Contents, Run, Told};
use super::session::{End, Seen, Session, Start};
use super::timeline::Timeline;
use super::{Property, Violation};

/// Checks one session.
pub(super) fn session(
    timeline: &Timeline,
    session: &Session,
    contents: &mut Contents,
) -> Vec<Violation> {
    match session.start {
        Start::After(base) => after(timeline, session, (base, 0), contents),
        Start::State { from, to } => initial::check(timeline, session, (from, to), contents),
    }
}

/// Checks what comes after the first `initial` objects, which are those at `base`.
fn after(
    timeline: &Timeline,
    session: &Session,
    (base, initial): (Revision, usize),
    contents: &mut Contents,
) -> Vec<Violation> {
    let horizon = match session.end {
        End::Open => Revision::new(u64::MAX),
        End::Left { resume } => resume.unwrap_or(base),
        End::Expired { .. } => base,
    };
    let run = Run::new(timeline, session, (base, initial), horizon);
    let mut found = Found {
        watcher: session.watcher,
        violations: Vec::new(),
    };
    filter(&run, &mut found);
    ordered(&run, &mut found);
    unique(&run, &mut found);
    atomic(&run, &mut found);
    bookmarkable(&run, &mut found);
    resumable(&run, &mut found);
    is_create(&run, &mut found);
    reliable(&run, horizon, contents, &mut found);
    prev_kv(&run, contents, &mut found);
    found.violations
}

struct Found {
    watcher: usize,
    violations: Vec<Violation>,
}

impl Found {
    fn add(&mut self, property: Property, revision: Revision, detail: impl Into<String>) {
        self.violations.push(Violation {
            property,
            watcher: self.watcher,
            revision,
            detail: detail.into(),
        });
    }
}

fn show(told: &Told<'_>) -> String {
    format!("{} {} {}", told.kind.as_str(), told.key, told.revision)
}

/// An event is told only if the object was in the selection, or is.
fn filter(run: &Run<'_>, found: &mut Found) {
    for told in &run.told {
        let Some(change) = run.change_of(told) else {
            continue;
        };
        if super::run::transition(&run.session.selection, change).is_none() {
            let detail = format!("{} is not selected", show(told));
            found.add(Property::Filter, told.revision, detail);
        }
    }
}

/// Groups come in their order, and revisions never fall, not even in the difference of a relist.
fn ordered(run: &Run<'_>, found: &mut Found) {
    for pair in run.told.windows(2) {
        let [one, two] = pair else { continue };
        let groups = one.group.zip(two.group);
        let falls = groups.is_some_and(|(one, two)| two < one) || two.revision < one.revision;
        if falls {
            let detail = format!("{} after {}", show(two), show(one));
            found.add(Property::Ordered, two.revision, detail);
        }
    }
}

/// No change is told twice, nor told if the initial objects have it.
fn unique(run: &Run<'_>, found: &mut Found) {
    let mut seen = HashSet::new();
    let from_state = matches!(run.session.start, Start::State { .. });
    for told in &run.told {
        let Some(group) = told.group else { continue };
        if !seen.insert((group, told.key)) {
            let detail = format!("{} comes again", show(told));
            found.add(Property::Unique, told.revision, detail);
        } else if from_state && run.revision(group) <= run.base {
            let detail = format!("{} was in the state of {}", show(told), run.base);
            found.add(Property::Unique, told.revision, detail);
        }
    }
}

/// Once a group is begun, it is finished before anything else comes, and nobody resumes in its middle.
fn atomic(run: &Run<'_>, found: &mut Found) {
    let mut told = run.told.iter().peekable();
    let mut begun: Option<(usize, usize)> = None;
    let is_complete = |begun: Option<(usize, usize)>| {
        begun.is_none_or(|(group, count)| count >= run.expected_of(group).len())
    };
    for (at, seen) in run.session.seen.iter().enumerate().skip(run.initial) {
        let group = told
            .next_if(|told| told.at == at)
            .and_then(|told| told.group);
        if let Some((same, count)) = begun.filter(|(begun, _)| group == Some(*begun)) {
            begun = Some((same, count + 1));
            continue;
        }
        if let Some((torn, _)) = begun.filter(|_| !is_complete(begun)) {
            let what = match seen {
                Seen::Event { .. } => "an event",
                Seen::Bookmark { .. } => "a bookmark",
            };
            let detail = format!("{what} comes before all of it was told");
            found.add(Property::Atomic, run.revision(torn), detail);
        }
        begun = group.map(|group| (group, 1));
    }
    let End::Left {
        resume: Some(resume),
    } = run.session.end
    else {
        return;
    };
    if let Some((group, _)) = begun.filter(|_| !is_complete(begun))
        && resume > run.timeline.groups[group].after
    {
        let detail = format!("resumes at {resume} before all of it was told");
        found.add(Property::Atomic, run.revision(group), detail);
    }
    if run
        .timeline
        .bridges
        .iter()
        .any(|bridge| bridge.contains(resume))
    {
        let detail = "resumes inside the difference of a relist";
        found.add(Property::Atomic, resume, detail);
    }
}

/// What a bookmark covers comes before it.
fn bookmarkable(run: &Run<'_>, found: &mut Found) {
    let mut told = run.told.iter().peekable();
    let mut last = run.base;
    for (at, seen) in run.session.seen.iter().enumerate().skip(run.initial) {
        match seen {
            Seen::Event { .. } => {
                let group = told
                    .next_if(|told| told.at == at)
                    .and_then(|told| told.group);
                if let Some(group) = group
                    && run.revision(group) <= last
                    && last > run.base
                {
                    let detail = format!("told after the bookmark {last}");
                    found.add(Property::Bookmarkable, run.revision(group), detail);
                }
            }
            Seen::Bookmark {
                revision,
                initial_end,
            } => {
                if !run.session.bookmarks {
                    found.add(Property::Bookmarkable, *revision, "nobody wanted one");
                }
                if *revision < last {
                    let detail = format!("a bookmark after that of {last}");
                    found.add(Property::Bookmarkable, *revision, detail);
                }
                if run.timeline.bridges.iter().any(|b| b.contains(*revision)) {
                    let detail = "inside the difference of a relist";
                    found.add(Property::Bookmarkable, *revision, detail);
                }
                let from_state = matches!(run.session.start, Start::State { .. });
                if *initial_end != (from_state && at == run.initial) {
                    let detail = "the end of the initial objects is not where it is";
                    found.add(Property::Bookmarkable, *revision, detail);
                }
                last = last.max(*revision);
            }
        }
    }
    // What is missing although a bookmark covers it; what came too late is above.
    let covered = last;
    for expected in run.expected.iter().filter(|e| e.told.is_none()) {
        let revision = run.revision(expected.group);
        if covered > run.base && revision <= covered {
            let detail = format!("a bookmark says that {} was told", expected.change.key);
            found.add(Property::Bookmarkable, revision, detail);
        }
    }
}

/// A watch after a revision repeats nothing and begins with what follows; to resume from where it says repeats nothing
/// and loses nothing; and it is refused for a reason.
fn resumable(run: &Run<'_>, found: &mut Found) {
    if let Start::After(base) = run.session.start {
        for told in &run.told {
            if told.group.is_some_and(|group| run.revision(group) <= base) {
                let detail = format!("{} although it began after {base}", show(told));
                found.add(Property::Resumable, told.revision, detail);
            }
        }
        let told_anything = !run.session.seen.is_empty() || run.session.end == End::Open;
        if told_anything && run.timeline.bridges.iter().any(|b| b.contains(base)) {
            let detail = "began inside the difference of a relist";
            found.add(Property::Resumable, base, detail);
        }
        let first = run.told.iter().filter_map(|told| told.group).min();
        let skipped = run.expected.iter().take_while(|expected| {
            expected.told.is_none() && first.is_some_and(|first| expected.group < first)
        });
        for expected in skipped {
            let detail = format!("{} is missing after {base}", expected.change.key);
            found.add(Property::Resumable, run.revision(expected.group), detail);
        }
    }
    let last = run.told.iter().rev().find_map(|told| told.group);
    match run.session.end {
        End::Open | End::Left { resume: None } => {}
        End::Left {
            resume: Some(resume),
        } => {
            // Where the group has changes that are not selected, they may be what comes next.
            let passed = last.map_or(run.base, |group| {
                let expected = run.expected_of(group);
                let whole = &run.timeline.groups[group];
                let all_told = expected.iter().all(|expected| expected.told.is_some());
                if all_told && expected.len() == whole.changes.len() {
                    whole.revision
                } else {
                    whole.after
                }
            });
            if resume < passed {
                let detail = "would repeat what was told";
                found.add(Property::Resumable, resume, detail);
            }
        }
        End::Expired { floor, newest } => {
            let position = last.map_or(run.base, |group| run.timeline.groups[group].after);
            let refused = run.session.seen.is_empty();
            let bridged = |bridge: &super::Bridge| run.base < bridge.until;
            let reason = run.timeline.can_have_lost(position, newest)
                || run.timeline.bridges.iter().any(bridged);
            if !reason || (refused && floor <= run.base) {
                let detail = format!("expired (floor {floor}) although nothing was lost");
                found.add(Property::Resumable, position, detail);
            }
        }
    }
}

/// Added means that it was not there before, modified that it was.
fn is_create(run: &Run<'_>, found: &mut Found) {
    for told in &run.told {
        let Some(change) = run.change_of(told) else {
            continue;
        };
        match super::run::transition(&run.session.selection, change) {
            Some(kind) if kind != told.kind && ![kind, told.kind].contains(&EventKind::Deleted) => {
                let detail = format!("{} should be {}", show(told), kind.as_str());
                found.add(Property::IsCreate, told.revision, detail);
            }
            _ => {}
        }
    }
}

/// What was selected and happened is told, what did not happen is not, and objects are as they were written.
fn reliable(run: &Run<'_>, horizon: Revision, contents: &mut Contents, found: &mut Found) {
    let furthest = run.told.iter().filter_map(|told| told.group).max();
    for expected in run.expected.iter().filter(|e| e.told.is_none()) {
        let revision = run.revision(expected.group);
        if revision <= horizon || furthest.is_some_and(|furthest| expected.group < furthest) {
            let kind = expected.kind.as_str();
            let detail = format!("{kind} {} was never told", expected.change.key);
            found.add(Property::Reliable, revision, detail);
        }
    }
    for told in &run.told {
        let Some(change) = run.change_of(told) else {
            let detail = format!("{}: nothing of the kind happened", show(told));
            found.add(Property::Reliable, told.revision, detail);
            continue;
        };
        if told.kind != EventKind::Deleted
            && let Some(after) = &change.after
            && (after.revision != told.object
                || after.revision != told.revision
                || !contents.are(told.content, after))
        {
            let detail = format!("{} shows another content or revision", show(told));
            found.add(Property::Reliable, told.revision, detail);
        }
    }
}

/// A deletion is told where one happened, with the last content that matched and the revision of the change.
fn prev_kv(run: &Run<'_>, contents: &mut Contents, found: &mut Found) {
    for told in &run.told {
        let Some((group, change)) = told.group.zip(run.change_of(told)) else {
            continue;
        };
        let kind = super::run::transition(&run.session.selection, change);
        let [is, should_be] = [Some(told.kind), kind].map(|k| k == Some(EventKind::Deleted));
        let problem = match (&change.before, is, should_be) {
            (_, true, false) => "it did not leave the selection then",
            (_, false, true) => "it left the selection then",
            (_, true, true) if told.revision != run.timeline.shown_at(group, change) => {
                "not the revision of the change"
            }
            (Some(before), true, true)
                if before.revision != told.object || !contents.are(told.content, before) =>
            {
                "not what was there before"
            }
            _ => continue,
        };
        let detail = format!("{}: {problem}", show(told));
        found.add(Property::PrevKv, told.revision, detail);
    }
}

/// A watcher that applies all it is told, over all its sessions, ends with what storage has.
pub(super) fn final_state(timeline: &Timeline, sessions: &[&Session]) -> Vec<Violation> {
    let Some(last) = sessions.last().filter(|last| last.end == End::Open) else {
        return Vec::new();
    };
    let mut view: BTreeMap<&str, Revision> = BTreeMap::new();
    let first = sessions.first().map(|first| first.start);
    let known = match first {
        Some(Start::After(revision)) => timeline.state_at(revision),
        _ => Default::default(),
    };
    let wanted = known
        .values()
        .filter(|version| last.selection.wants(version));
    view.extend(wanted.map(|version| (&*version.key, version.revision)));
    for session in sessions {
        // A refused watch tells nothing, so the watcher keeps what it has.
        let refused = session.seen.is_empty() && matches!(session.end, End::Expired { .. });
        if matches!(session.start, Start::State { .. }) && !refused {
            view.clear();
        }
        for seen in &session.seen {
            if let Seen::Event {
                kind, key, object, ..
            } = seen
            {
                match kind {
                    EventKind::Deleted => view.remove(&**key),
                    EventKind::Added | EventKind::Modified => view.insert(key, *object),
                };
            }
        }
    }
    let stored = timeline.state_at(Revision::new(u64::MAX));
    let stored = stored
        .values()
        .filter(|version| last.selection.wants(version));
    let stored: BTreeMap<_, _> = stored
        .map(|version| (&*version.key, version.revision))
        .collect();
    let keys = view.keys().chain(stored.keys()).copied();
    let wrong: HashSet<_> = keys
        .filter(|key| view.get(key) != stored.get(key))
        .collect();
    let wrong = wrong.into_iter().map(|key| Violation {
        property: Property::FinalState,
        watcher: last.watcher,
        revision: stored.get(key).copied().unwrap_or_default(),
        detail: format!(
            "{key}: has {:?}, storage {:?}",
            view.get(key),
            stored.get(key)
        ),
    });
    wrong.collect()
}
