//! The last restart of each node, of as many nodes as there are places: for whoever looks after them, and to be passed on.

use core::fmt::Write;

use heapless::String;

use crate::link::frame::{Cause, MAX_DETAIL, MAX_WHOSE, Restart};
use crate::slots::{Place, Slots};

/// A restart that was reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    node: String<MAX_WHOSE, u8>,
    detail: String<MAX_DETAIL, u8>,
    boot: u32,
    cause: Cause,
    /// Counts what was reported to this table.
    number: u32,
    /// Whether nobody need be told any more.
    told: bool,
}

impl Reported {
    /// What was reported. The node is named as it is reached from here; a relay's own restart has no name.
    pub fn restart(&self) -> Restart<'_> {
        Restart {
            node: &self.node,
            boot: self.boot,
            cause: self.cause,
            detail: &self.detail,
        }
    }

    /// Whether it has been passed on, or need not be.
    pub const fn is_told(&self) -> bool {
        self.told
    }
}

/// A bounded table of restarts, the last one of each node.
///
/// If it is full, the oldest one that need not be passed on any more gives way. If there is none, another node's restart is not noted: the node keeps it, and tells it again.
#[derive(Debug, Clone)]
pub struct Restarts<T> {
    places: T,
    count: u32,
    /// By cause, in their order.
    by_cause: [u32; Cause::ALL.len()],
    passes_on: bool,
}

impl<T: Slots<Place<Reported>>> Restarts<T> {
    /// A table in these places, which are free. What is noted stays here.
    pub const fn new(places: T) -> Self {
        Self {
            places,
            count: 0,
            by_cause: [0; Cause::ALL.len()],
            passes_on: false,
        }
    }

    /// From now on what is noted is to be [passed on](Self::next) too.
    pub const fn pass_on(&mut self) {
        self.passes_on = true;
    }

    /// Takes note of a restart that was told by `from`; nobody if it is one's own. `false` if there is no place. What is known already changes nothing.
    pub fn note(&mut self, from: &str, restart: &Restart<'_>) -> bool {
        let node = path(from, restart.node);
        if let Some(known) = self.get(&node)
            && known.boot == restart.boot
        {
            return true;
        }
        let number = self.count.wrapping_add(1);
        let told = !self.passes_on;
        let noted = self.enter(node, restart, number, told);
        if noted {
            self.count = number;
            let mut counts = Cause::ALL.iter().zip(&mut self.by_cause);
            if let Some((_, count)) = counts.find(|(cause, _)| **cause == restart.cause) {
                *count = count.wrapping_add(1);
            }
        }
        noted
    }

    /// Takes back what was saved, as it was [`get`](Self::get) before. It is no news, and is passed on unless that was done.
    pub fn restore(&mut self, restart: &Restart<'_>, told: bool) {
        let number = self.count.wrapping_add(1);
        if self.enter(path("", restart.node), restart, number, told) {
            self.count = number;
        }
    }

    fn enter(
        &mut self,
        node: String<MAX_WHOSE, u8>,
        restart: &Restart<'_>,
        number: u32,
        told: bool,
    ) -> bool {
        let rank = |place: &Place<Reported>| match place.as_ref() {
            Some(known) if known.node == node => Some((0, 0)),
            None => Some((1, 0)),
            // The oldest has the greatest distance, also when the count has begun anew.
            Some(known) if known.told => Some((2, u32::MAX - number.wrapping_sub(known.number))),
            Some(_) => None,
        };
        let places = self.places.as_mut().iter_mut();
        let place = places.filter_map(|place| Some((rank(place)?, place)));
        let Some((_, place)) = place.min_by_key(|(rank, _)| *rank) else {
            return false;
        };
        let mut detail = String::new();
        // A frame's is not longer than there is room.
        let _ = detail.push_str(restart.within(usize::MAX).detail);
        *place = Place::Taken(Reported {
            node,
            detail,
            boot: restart.boot,
            cause: restart.cause,
            number,
            told,
        });
        true
    }

    /// The last restart of a node, by the name that it has from here.
    pub fn get(&self, node: &str) -> Option<&Reported> {
        self.iter().find(|known| known.node == node)
    }

    /// All that are known, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Reported> {
        self.places.as_ref().iter().filter_map(Place::as_ref)
    }

    /// How many were noted, or restored: the number of the last one.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// How many were noted, by cause; what was restored is not counted again.
    pub fn by_cause(&self) -> impl Iterator<Item = (Cause, u32)> {
        Cause::ALL.into_iter().zip(self.by_cause)
    }

    /// Those that came after there were `count`.
    pub fn since(&self, count: u32) -> impl Iterator<Item = &Reported> {
        let new = self.count.wrapping_sub(count);
        let end = self.count;
        self.iter()
            .filter(move |known| end.wrapping_sub(known.number) < new)
    }

    /// The oldest one that is to be passed on, with its number.
    pub fn next(&self) -> Option<(u32, Restart<'_>)> {
        let untold = self.iter().filter(|known| !known.told);
        let oldest = untold.max_by_key(|known| self.count.wrapping_sub(known.number));
        oldest.map(|known| (known.number, known.restart()))
    }

    /// The one with this number has been passed on. One that has come meanwhile in its place has not.
    pub fn told(&mut self, number: u32) {
        let places = self.places.as_mut().iter_mut();
        let mut all = places.filter_map(Place::as_mut);
        if let Some(known) = all.find(|known| known.number == number) {
            known.told = true;
        }
    }
}

/// What a node is called here. If the names are too long together, the outer ones are cut off.
fn path(from: &str, node: &str) -> String<MAX_WHOSE, u8> {
    let separator = if from.is_empty() || node.is_empty() {
        ""
    } else {
        "/"
    };
    let mut path = String::new();
    let room = MAX_WHOSE.saturating_sub(separator.len() + node.len());
    let begin = from.ceil_char_boundary(from.len().saturating_sub(room));
    let from = from.get(begin..).unwrap_or_default();
    // There is room: a frame's names are no longer, and what else there is was cut.
    let _ = write!(path, "{from}{separator}{node}");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restart(node: &'static str, boot: u32) -> Restart<'static> {
        Restart {
            node,
            boot,
            cause: Cause::Panic,
            detail: "panicked at main.rs:1:2",
        }
    }

    fn table<const N: usize>() -> Restarts<[Place<Reported>; N]> {
        Restarts::new([const { Place::Free }; N])
    }

    #[test]
    fn the_last_one_of_each_node_is_kept_and_the_same_is_no_news() {
        let mut table = table::<2>();
        assert!(table.note("a", &restart("", 3)));
        assert!(table.note("a", &restart("", 3)));
        assert_eq!(table.count(), 1);
        assert!(table.note("a", &restart("", 4)));
        assert!(table.note("gateway", &restart("a", 4)));
        assert_eq!(table.since(1).count(), 2);
        assert_eq!(table.since(3).count(), 0);
        assert_eq!(table.get("a").map(Reported::restart), Some(restart("a", 4)));
        // It is full: the oldest gives way.
        assert!(table.note("b", &restart("", 1)));
        assert!(table.get("a").is_none());
        assert!(table.get("gateway/a").is_some());
        assert_eq!(table.next(), None, "nothing is passed on here");
        let mut counted = table.by_cause().filter(|(_, count)| *count > 0);
        assert_eq!(counted.next(), Some((Cause::Panic, 4)));
        assert_eq!(counted.next(), None);
    }

    #[test]
    fn nothing_gives_way_that_is_still_to_be_passed_on() {
        let mut table = table::<2>();
        table.pass_on();
        assert!(table.note("", &restart("", 7)));
        assert!(table.note("a", &restart("", 1)));
        assert!(!table.note("b", &restart("", 1)), "no place");
        let (own, next) = table.next().unwrap();
        assert_eq!(next, restart("", 7), "the oldest first");
        table.told(own);
        assert!(table.note("b", &restart("", 1)));
        assert!(table.get("").is_none());
        let (number, next) = table.next().unwrap();
        assert_eq!(next, restart("a", 1));
        // While it was told there was another one.
        assert!(table.note("a", &restart("", 2)));
        table.told(number);
        let left: std::vec::Vec<_> = core::iter::from_fn(|| {
            let (number, next) = table.next()?;
            let seen = (std::string::String::from(next.node), next.boot);
            table.told(number);
            Some(seen)
        })
        .collect();
        assert_eq!(left, [("b".into(), 1), ("a".into(), 2)]);
    }

    #[test]
    fn what_was_saved_is_passed_on_once() {
        let mut table = table::<2>();
        table.pass_on();
        table.restore(&restart("a", 1), true);
        table.restore(&restart("b", 1), false);
        assert_eq!(table.next().map(|(_, next)| next), Some(restart("b", 1)));
        assert!(table.note("a", &restart("", 1)), "it is known");
        assert_eq!(table.count(), 2);
    }

    #[test]
    fn the_count_may_begin_anew() {
        let mut table = table::<2>();
        table.count = u32::MAX - 1;
        table.pass_on();
        assert!(table.note("a", &restart("", 1)));
        assert!(table.note("b", &restart("", 1)));
        assert_eq!(table.since(u32::MAX - 1).count(), 2);
        let (number, next) = table.next().unwrap();
        assert_eq!((number, next), (u32::MAX, restart("a", 1)));
    }

    #[test]
    fn names_that_are_too_long_together_are_cut_at_the_front() {
        let long = "ü".repeat(63);
        assert_eq!(path("gateway", &long).len(), MAX_WHOSE);
        let path = path(&long, "heater");
        assert!(path.ends_with("ü/heater") && path.len() <= MAX_WHOSE);
    }
}
