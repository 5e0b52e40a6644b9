//! Compact events from any bytes.

use ringwatch_core::compact::{CompactEvent, DecodeError};

/// What decodes is encoded again in at most as many bytes and decodes to the same. Bytes that arrive in
/// pieces are incomplete until the last one, and what is invalid stays so whatever follows.
pub fn run(data: &[u8]) {
    match CompactEvent::decode(data) {
        Ok((event, rest)) => {
            let used = &data[..data.len() - rest.len()];
            let mut buffer = vec![0; used.len()];
            let encoded = event.encode(&mut buffer).expect("not longer than before");
            assert_eq!(encoded.len(), event.len());
            assert_eq!(CompactEvent::decode(encoded), Ok((event, &[][..])));
            all_incomplete(used);
            all_incomplete(encoded);
        }
        Err(DecodeError::Incomplete { len }) => {
            assert_eq!(len, data.len());
            all_incomplete(data);
        }
        Err(error) => {
            let longer = [data, &[0; 16]].concat();
            assert_eq!(CompactEvent::decode(&longer), Err(error));
        }
    }
}

/// No strict prefix of `bytes` is an event, and none is hopeless.
fn all_incomplete(bytes: &[u8]) {
    for len in 0..bytes.len() {
        let decoded = CompactEvent::decode(&bytes[..len]);
        assert_eq!(decoded, Err(DecodeError::Incomplete { len }));
    }
}
