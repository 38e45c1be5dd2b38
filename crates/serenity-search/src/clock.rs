//! The clock of the project: every crate measures time by this one.
//!
//! In a browser the clock of the standard library panics, and `web-time` asks the browser instead.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use web_time::Instant;
