//! Frames of the node link from any bytes.

use ringwatch_core::link::frame::Frame;

/// What decodes is encoded again in at most as many bytes and decodes to the same; a packet of frames ends.
pub fn run(data: &[u8]) {
    let mut rest = data;
    while let Ok((frame, after)) = Frame::decode(rest) {
        let used = rest.len() - after.len();
        assert!(used > 0, "a frame of no bytes");
        let mut buffer = vec![0; used];
        let len = frame.encode(&mut buffer).expect("not longer than before");
        assert_eq!(Frame::decode(&buffer[..len]), Ok((frame, &[][..])));
        for short in 0..len {
            assert!(
                Frame::decode(&buffer[..short]).is_err(),
                "a frame cut off at {short}"
            );
            assert!(frame.encode(&mut vec![0; short]).is_err());
        }
        rest = after;
    }
}
