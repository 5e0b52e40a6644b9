//! What an object has, as 64 bits: enough to pass by most of those that a selector does not want.
//!
//! A list by label looks at every object of its scope, and what that costs is memory: the object, its labels, their
//! text are each somewhere else. So a sketch of every object lies beside the pointers to them, all in a row. Each
//! label and each selectable field sets two bits; an object that lacks a bit which the selector's demands set does not
//! match. One that has them all may match, and is looked at.

use super::decode::Decoder;
use super::request::Predicate;
use super::term::TermHash;

/// Bits for what an object has, or what a predicate demands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sketch(u64);

impl Sketch {
    /// With a label or a field.
    pub(super) fn with(self, term: TermHash) -> Self {
        Self(self.0 | term.bits())
    }

    /// What every object has that a predicate wants.
    pub(super) fn demanded(predicate: &Predicate, decoder: &Decoder) -> Self {
        let hasher = decoder.term_hasher();
        let labels = predicate.labels.terms();
        let labels = labels.map(|(label, value)| hasher.label(label.as_bytes(), value.as_bytes()));
        let place = |name: &str| decoder.fields().iter().position(|field| **field == *name);
        let fields = predicate.fields.terms();
        let fields = fields.filter_map(|(name, value)| {
            Some(hasher.field(place(name)?, value.to_string().as_bytes()))
        });
        labels.chain(fields).fold(Self::default(), Self::with)
    }

    /// Whether an object with this sketch may have all of that.
    pub(super) fn may_have(self, demanded: Self) -> bool {
        self.0 & demanded.0 == demanded.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::term::TermHasher;
    use super::*;

    fn labelled(labels: &[(&str, &str)]) -> Sketch {
        let hasher = TermHasher::new();
        let terms = labels
            .iter()
            .map(|(key, value)| hasher.label(key.as_bytes(), value.as_bytes()));
        terms.fold(Sketch::default(), Sketch::with)
    }

    fn field(place: usize, value: &[u8]) -> TermHash {
        TermHasher::new().field(place, value)
    }

    #[test]
    fn what_an_object_has_it_may_have() {
        let object = labelled(&[
            ("app", "web"),
            ("tier", "front"),
            ("a-long-label-name", "v"),
        ])
        .with(field(0, b"node-1"))
        .with(field(1, b""));
        for demanded in [
            Sketch::default(),
            labelled(&[("app", "web")]),
            labelled(&[("tier", "front"), ("a-long-label-name", "v")]),
            labelled(&[("app", "web")])
                .with(field(0, b"node-1"))
                .with(field(1, b"")),
        ] {
            assert!(object.may_have(demanded), "{demanded:?}");
        }
    }

    #[test]
    fn most_that_differ_are_told_apart() {
        let demanded = labelled(&[("node", "n7")]);
        let others = (0..10_000).map(|number| {
            let node = format!("n{}", number + 8);
            let hash = format!("{number:08x}");
            labelled(&[("node", &node), ("app", "web"), ("hash", &hash)])
        });
        let passed = others.filter(|other| other.may_have(demanded)).count();
        assert!(passed < 500, "{passed} of 10 000 look alike");
    }
}
