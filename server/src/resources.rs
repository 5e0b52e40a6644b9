//! The kinds that the server knows: what each is called, where it is stored, what may be done with it.

pub mod merge_keys;
