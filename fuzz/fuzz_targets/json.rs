#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serenity_fuzz::json_graph(data));
