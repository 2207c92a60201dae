#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sendtrail_fuzz::event(data));
