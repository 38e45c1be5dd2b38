//! The whole tool in a browser.
//!
//! Takes the name and the bytes of a model, and what the form of the page says ([`Wishes`]). A [`Desk`] holds one model
//! and what was made of it: the report, the table of `fit`, and all files that can be downloaded. `bridge.rs` hands
//! this to the worker of the page, `page/worker.js`.
//!
//! Guarantees: each file is, byte for byte, what the command that stands beside it writes (a plan, but for the seconds
//! that it took), unless a search reaches the limits of a page. Nothing is read or written but memory.

#[cfg(target_family = "wasm")]
mod bridge;
mod choices;
mod complaint;
mod desk;
mod news;
mod wishes;
mod zip;

pub use choices::{Choices, network};
pub use complaint::Complaint;
pub use desk::{Desk, Sheet};
pub use news::in_words;
pub use wishes::Wishes;
pub use zip::zip;
