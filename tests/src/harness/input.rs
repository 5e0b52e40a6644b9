//! The reader that the model-based harnesses are built on, checked like any other decoder.

use crate::input::Input;

/// Reads with every method in an order that the bytes choose. Each value is within its bounds, no byte is
/// read twice, and the reader ends.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut left = data.len();
    while let Some(choice) = input.byte() {
        left -= 1;
        match choice % 3 {
            0 => {
                let value = input.below(choice);
                assert!(value < choice.max(1));
            }
            1 => {
                let bytes = input.bytes(choice.into());
                assert!(bytes.len() <= usize::from(choice));
            }
            _ => {
                let items = [1, 2, 3];
                assert!(items.contains(input.one_of(&items)));
            }
        }
        assert!(input.left() <= left, "the reader went back");
        left = input.left();
    }
    assert_eq!(left, 0);
}
