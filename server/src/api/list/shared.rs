//! Compressed lists that several clients ask for: compressed once, and shared while they stay the same.
//!
//! Whether a list is the same is not a matter of keys and revisions, which would have to name everything that it depends
//! on: it is the same if it begins with the same bytes and holds the very same objects. Of a list that has changed, the sections
//! are taken over that have not.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::OnceCell;

use crate::cache::Object;
use crate::compress::Section;
use crate::shape::Shape;
use crate::status::Failure;

/// Bytes of lists that are kept while nobody waits for them: the compressed ones, and the objects that they hold, of which most
/// are in the cache anyway. Enough for the few lists that are asked for by many.
const BYTES: usize = 32 * 1024 * 1024;

/// Lists that were compressed lately, the last one used at the end.
#[derive(Default)]
pub(in crate::api) struct Compressed {
    /// A lock, since it is held to compare pointers and never while compressing.
    lists: Mutex<VecDeque<Arc<List>>>,
}

struct List {
    content: Content,
    /// What the content keeps in memory.
    size: usize,
    /// Filled by whoever comes first; the others wait for it.
    packed: OnceCell<Packed>,
}

/// What a list consists of.
pub(super) struct Content {
    pub(super) head: Vec<u8>,
    pub(super) items: Vec<Object>,
    /// How the objects look as items.
    pub(super) shape: Shape,
    pub(super) tail: Vec<u8>,
}

/// A list, compressed.
struct Packed {
    bytes: Bytes,
    /// Which items are in which section.
    sections: Vec<(Range<usize>, Section)>,
}

/// Gives some items as they stand in a list, which may begin with them.
pub(super) type Join = fn(&[Object], bool, &Shape) -> Vec<u8>;

impl Content {
    /// Whether the bytes are the same.
    fn is(&self, other: &Self) -> bool {
        self.head == other.head
            && self.tail == other.tail
            && self.shape == other.shape
            && same(&self.items, &other.items)
    }

    /// Where its sections begin and end. They begin at certain objects and not at certain places, so that an object which comes
    /// or goes changes one section and not all that follow.
    fn sections(&self) -> impl Iterator<Item = Range<usize>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let rest = self.items.get(from + 1..)?;
            let len = rest.iter().position(begins_section);
            let until = len.map_or(self.items.len(), |len| from + 1 + len);
            Some(std::mem::replace(&mut from, until)..until)
        })
    }

    fn part(&self, section: &Range<usize>) -> &[Object] {
        self.items.get(section.clone()).unwrap_or_default()
    }

    fn size(&self) -> usize {
        let items = self.items.iter();
        self.head.len() + self.tail.len() + items.map(|item| item.bytes().len()).sum::<usize>()
    }
}

/// Whether they are the very same objects: alive in both, so that one address is one object.
fn same(one: &[Object], other: &[Object]) -> bool {
    let mut pairs = one.iter().zip(other);
    one.len() == other.len() && pairs.all(|(one, other)| address(one) == address(other))
}

fn address(object: &Object) -> *const u8 {
    object.bytes().as_ptr()
}

/// One object in 64.
fn begins_section(object: &Object) -> bool {
    let hash = object.key().bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    // Names that differ in their last digits have to differ in the highest bits.
    (hash ^ hash >> 15).wrapping_mul(0x9e37_79b1) >> 26 == 0
}

impl List {
    fn size(&self) -> usize {
        self.size + self.packed.get().map_or(0, |packed| packed.bytes.len())
    }

    /// Compresses what no other list has compressed.
    fn pack(&self, others: &[Arc<Self>], join: Join) -> Packed {
        let mut known = HashMap::new();
        for other in others
            .iter()
            .filter(|other| other.content.shape == self.content.shape)
        {
            let sections = other
                .packed
                .get()
                .map_or(&[][..], |packed| &packed.sections);
            for (range, section) in sections {
                let items = other.content.part(range);
                if let Some(first) = items.first() {
                    known.insert((address(first), range.start == 0), (items, section));
                }
            }
        }
        let mut ranges = Vec::new();
        let mut sections = vec![Section::new(&self.content.head)];
        for range in self.content.sections() {
            let items = self.content.part(&range);
            let first = range.start == 0;
            let found = items
                .first()
                .and_then(|item| known.get(&(address(item), first)));
            let section = match found {
                Some((others, section)) if same(items, others) => Section::clone(section),
                _ => Section::new(&join(items, first, &self.content.shape)),
            };
            ranges.push(range);
            sections.push(section);
        }
        sections.push(Section::new(&self.content.tail));
        let (bytes, placed) = Section::join(&sections);
        // The first is the head's.
        let sections = ranges.into_iter().zip(placed.into_iter().skip(1)).collect();
        Packed { bytes, sections }
    }
}

impl Compressed {
    /// The list, compressed: now, if it has not been yet.
    pub(super) async fn list(&self, content: Content, join: Join) -> Result<Bytes, Failure> {
        let (list, others) = self.place(content);
        // Away from the threads that serve everybody: it may take tens of milliseconds.
        let packed = list.packed.get_or_try_init(|| async {
            let list = list.clone();
            tokio::task::spawn_blocking(move || list.pack(&others, join)).await
        });
        let bytes = packed.await.map(|packed| packed.bytes.clone());
        self.forget_the_oldest(&list);
        bytes.map_err(Failure::internal)
    }

    /// Where the list is, or is to be; and the others.
    fn place(&self, content: Content) -> (Arc<List>, Vec<Arc<List>>) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lists.iter().position(|list| list.content.is(&content));
        let list = known.and_then(|place| lists.remove(place));
        let list = list.unwrap_or_else(|| {
            Arc::new(List {
                size: content.size(),
                content,
                packed: OnceCell::new(),
            })
        });
        let others = lists.iter().cloned().collect();
        lists.push_back(list.clone());
        (list, others)
    }

    /// Keeps no more than is to be kept. A list that is too large by itself does not push out the others.
    fn forget_the_oldest(&self, last: &Arc<List>) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if last.size() > BYTES {
            lists.retain(|list| !Arc::ptr_eq(list, last));
        }
        let mut size: usize = lists.iter().map(|list| list.size()).sum();
        while size > BYTES
            && let Some(oldest) = lists.pop_front()
        {
            size -= oldest.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use ringwatch_core::revision::Revision;

    use super::*;
    use crate::cache::{Decoder, Format};
    use crate::storage::{Condition, KeyValue};

    fn named(name: usize, value: impl Into<Bytes>) -> Object {
        let decoder = Decoder::new("/registry/things/", &Format::Opaque).unwrap();
        let stored = KeyValue {
            key: format!("/registry/things/{name}").into(),
            value: value.into(),
            mod_revision: Revision::ZERO,
            create_revision: Revision::ZERO,
            condition: Condition::Sound,
        };
        decoder.session().decode(stored).unwrap()
    }

    fn shape() -> Shape {
        let catalog = crate::resources::Catalog::builtin();
        Shape::new(catalog.find("", "v1", "configmaps").unwrap())
    }

    fn object(size: usize) -> Object {
        named(1, vec![b'x'; size])
    }

    thread_local! {
        /// How many items were joined to be compressed.
        static JOINED: Cell<usize> = const { Cell::new(0) };
    }

    fn join(items: &[Object], first: bool, _: &Shape) -> Vec<u8> {
        JOINED.set(JOINED.get() + items.len());
        let mut bytes = Vec::new();
        for (number, item) in items.iter().enumerate() {
            bytes.extend_from_slice(if first && number == 0 { b"" } else { b"," });
            bytes.extend_from_slice(item.bytes());
        }
        bytes
    }

    fn content(head: &str, items: &[Object]) -> Content {
        Content {
            head: head.into(),
            items: items.to_vec(),
            shape: shape(),
            tail: b"]".to_vec(),
        }
    }

    async fn ask(lists: &Compressed, head: &str, items: &[Object]) -> Bytes {
        lists.list(content(head, items), join).await.unwrap()
    }

    fn unpacked(bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
        plain
    }

    fn kept(lists: &Compressed) -> usize {
        let lists = lists.lists.lock().unwrap();
        lists.iter().map(|list| list.size()).sum()
    }

    #[tokio::test]
    async fn what_is_the_same_is_compressed_once() {
        let lists = Compressed::default();
        let (a, b) = (named(1, "a"), named(2, "b"));
        let items = [a.clone(), b.clone()];
        let (one, other) = tokio::join!(ask(&lists, "[", &items), ask(&lists, "[", &items));
        assert_eq!(unpacked(&one), b"[a,b]");
        assert_eq!(one.as_ptr(), other.as_ptr());
        // An object with the same bytes is another one: it may be so by chance, and nobody looks.
        for (head, items, plain) in [
            ("other [", &items[..], "other [a,b]"),
            ("[", &[b.clone(), a.clone()], "[b,a]"),
            ("[", &items[..1], "[a]"),
            ("[", &[a, named(2, "b")], "[a,b]"),
            ("[", &[], "[]"),
        ] {
            let answer = ask(&lists, head, items).await;
            assert_eq!(unpacked(&answer), plain.as_bytes());
            assert_ne!(answer.as_ptr(), one.as_ptr());
        }
        let again = ask(&lists, "[", &items).await;
        assert_eq!(again.as_ptr(), one.as_ptr());
    }

    type Change = fn(&mut Vec<Object>);

    #[test]
    fn of_a_list_that_has_changed_only_what_has_changed_is_compressed() {
        let mut items: Vec<_> = (0..5_000)
            .map(|number| named(number, format!("{{{number}}}")))
            .collect();
        let list = |head: &str, items: &[Object], others: &[Arc<List>]| {
            let list = List {
                size: 0,
                content: content(head, items),
                packed: OnceCell::new(),
            };
            JOINED.set(0);
            let packed = list.pack(others, join);
            let mut plain = head.as_bytes().to_vec();
            plain.extend(join(items, true, &list.content.shape));
            plain.push(b']');
            assert_eq!(unpacked(&packed.bytes), plain, "{head}");
            assert!(list.packed.set(packed).is_ok());
            (Arc::new(list), JOINED.get() - items.len())
        };
        let (mut last, joined) = list("1 [", &items, &[]);
        assert_eq!(joined, items.len());
        let changes: [(&str, Change); 6] = [
            ("one changed [", |items| items[2_000] = named(2_000, "new")),
            ("one gone [", |items| drop(items.remove(1_000))),
            ("one more [", |items| items.insert(3_000, named(77, "more"))),
            ("the first gone [", |items| drop(items.remove(0))),
            ("the last gone [", |items| drop(items.pop())),
            ("the same [", |_| {}),
        ];
        for (head, change) in changes {
            change(&mut items);
            let (next, joined) = list(head, &items, &[last]);
            assert!(joined < items.len() / 4, "{head}: {joined}");
            last = next;
        }
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded_by_its_bytes() {
        let lists = Compressed::default();
        let third = [object(BYTES / 3)];
        for head in ["a", "b"] {
            ask(&lists, head, &third).await;
        }
        // Used again, so that the other one is the oldest.
        let a = ask(&lists, "a", &third).await;
        let b = ask(&lists, "b", &third).await;
        ask(&lists, "a", &third).await;
        ask(&lists, "c", &third).await;
        assert_eq!(ask(&lists, "a", &third).await.as_ptr(), a.as_ptr());
        assert_ne!(ask(&lists, "b", &third).await.as_ptr(), b.as_ptr());
        assert!(kept(&lists) <= BYTES);
        // One that is too large is compressed for who waits for it, and not kept.
        let before = kept(&lists);
        let large = [object(BYTES + 1)];
        let (one, other) = tokio::join!(ask(&lists, "l", &large), ask(&lists, "l", &large));
        assert_eq!(one.as_ptr(), other.as_ptr());
        assert_eq!(kept(&lists), before);
        let again = ask(&lists, "l", &large).await;
        assert_ne!(again.as_ptr(), one.as_ptr());
        assert_eq!(
            ask(&lists, "a", &third).await.as_ptr(),
            a.as_ptr(),
            "still there"
        );
    }
}
