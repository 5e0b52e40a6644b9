//! Reads values out of fuzz bytes, so that a harness can turn them into operations.

/// A reader that never fails: past the end, every value is its smallest.
///
/// [`byte`](Self::byte) tells the end, hence it is what a loop over operations asks.
///
/// ```
/// use ringwatch_tests::input::Input;
///
/// let mut input = Input::new(&[7, 12, b'a', b'b', b'c']);
/// assert_eq!(input.byte(), Some(7));
/// assert_eq!(input.below(10), 2);
/// assert_eq!(input.bytes(2), b"ab");
/// assert_eq!(input.bytes(9), b"c");
/// assert_eq!(input.byte(), None);
/// assert_eq!(input.below(10), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    /// A reader at the start of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next byte, or `None` at the end.
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u8) -> u8 {
        self.byte()
            .and_then(|byte| byte.checked_rem(bound))
            .unwrap_or(0)
    }

    /// The next `length` bytes, or as many as are left.
    pub fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// One of at most 255 `items`.
    ///
    /// # Panics
    ///
    /// If `items` is empty, or longer than a byte can choose from.
    pub fn one_of<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        let bound = u8::try_from(items.len()).expect("at most 255 items to choose from");
        &items[usize::from(self.below(bound))]
    }
}
