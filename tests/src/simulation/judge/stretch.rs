//! What a live watch is told between two points at which it has everything.

use ringwatch_core::link::frame::Mode;
use ringwatch_core::revision::Revision;

use crate::simulation::findings::Property;
use crate::simulation::hop::is_bridged;
use crate::simulation::wish::Selection;
use crate::simulation::world::{Told, World};

/// Begins at a point up to which everything was told.
#[derive(Debug)]
pub(super) struct Stretch {
    after: Revision,
    told: Vec<Told>,
    /// States that were left out since the last bookmark.
    left_out: u32,
    /// Whether nobody can tell how many these are.
    uncounted: bool,
    /// Whether it is the first after a resume, and whether that was at another hop.
    resumed: Option<bool>,
}

impl Stretch {
    pub(super) fn after(revision: Revision) -> Self {
        Self {
            after: revision,
            told: Vec::new(),
            left_out: 0,
            uncounted: false,
            resumed: None,
        }
    }

    pub(super) fn resumed(after: Revision, elsewhere: bool) -> Self {
        Self {
            resumed: Some(elsewhere),
            ..Self::after(after)
        }
    }

    pub(super) fn tell(&mut self, told: Told) {
        self.told.push(told);
    }

    /// Everything up to a revision has been told. What was left out is declared by bookmarks.
    pub(super) fn close(
        &mut self,
        world: &World,
        selection: &Selection,
        mode: Mode,
        bridges: &[(Revision, Revision)],
        until: Revision,
        declared: Option<u32>,
    ) -> Result<(), (Property, String)> {
        let mut told = std::mem::take(&mut self.told);
        let after = std::mem::replace(&mut self.after, until);
        let resumed = self.resumed.take();
        if until < after {
            let what = format!("is at {after}, and gets a bookmark of {until}");
            return Err((Property::Bookmarkable, what));
        }
        let expected = world.events(after, until, selection.wants);
        // Where the hop knows a difference only, nobody can be told everything.
        if is_bridged(bridges, after, until) {
            self.uncounted = declared.is_none();
            self.left_out = 0;
            return Ok(());
        }
        if let Some(pair) = told
            .windows(2)
            .find(|pair| pair[1].revision < pair[0].revision)
        {
            return Err((
                Property::Ordered,
                format!("{:?} after {:?}", pair[1], pair[0]),
            ));
        }
        told.sort_unstable();
        if let Some(pair) = told.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err((Property::Unique, format!("{:?} comes twice", pair[0])));
        }
        if let Some(extra) = told.iter().find(|it| expected.binary_search(it).is_err()) {
            let property = match (extra.revision <= after, resumed) {
                (true, Some(true)) => Property::ResumeElsewhere,
                (true, Some(false)) => Property::Resumable,
                (true, None) => Property::Bookmarkable,
                (false, _) if extra.revision > until => Property::Atomic,
                (false, _) => Property::Reliable,
            };
            return Err((property, format!("{extra:?}, between {after} and {until}")));
        }
        let missing: Vec<_> = expected
            .iter()
            .filter(|it| told.binary_search(it).is_err())
            .collect();
        for lost in &missing {
            let same = |it: &&Told| it.key == lost.key && it.revision > lost.revision;
            let replaced = !lost.deleted && expected.iter().any(|it| same(&it));
            if mode == Mode::Latest && replaced {
                continue;
            }
            let left = world.at(lost.revision).contains_key(lost.key) && lost.deleted;
            let partly = told.iter().any(|it| it.revision == lost.revision);
            let first = told.first().is_none_or(|it| it.revision > lost.revision);
            let property = match resumed {
                _ if left => Property::FilterTransition,
                _ if partly => Property::Atomic,
                Some(true) if first => Property::ResumeElsewhere,
                Some(false) if first => Property::Resumable,
                _ if declared.is_some() => Property::Bookmarkable,
                _ => Property::NoSilentGap,
            };
            return Err((property, format!("{lost:?} is not told by {until}")));
        }
        self.left_out += missing.len() as u32;
        if let Some(declared) = declared {
            let left_out = std::mem::take(&mut self.left_out);
            let uncounted = std::mem::take(&mut self.uncounted);
            if left_out != declared && !uncounted {
                let what = format!("{left_out} states were left out, {declared} are declared");
                return Err((Property::DeclaredCoalescing, what));
            }
        }
        Ok(())
    }
}
