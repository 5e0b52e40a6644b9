#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ringwatch_tests::harness::link_sessions::run(data));
