//! Counts the bytes moved between on-chip and off-chip memory.
//!
//! Takes an order of a network's ops, a [`MemoryModel`](serenity_runtimes::MemoryModel) (which tensors share a buffer,
//! which ops are mere views) and the size of the on-chip memory. Returns the [`Traffic`]: what Belady's rule moves, as
//! in the SERENITY paper; what the best plan moves that we found; and a lower bound for all plans of this order.
//!
//! # What is counted
//! Activations only. Everything is off-chip that is not on chip; off-chip memory is large enough.
//! - *Compulsory* traffic is told apart and part of no other figure: the first load of every graph input that something
//!   reads, and one store of every graph output. No order and no on-chip size avoids it.
//! - What nobody will read again is dropped free.
//! - Dropping what will be read again costs a read when it is; and, if its bytes are not off-chip already, one write.
//!   Bytes are written off-chip at most once as long as they do not change.
//! - A result that is dropped in its final form is stored only once: that is its compulsory store. A graph input is
//!   never written.
//! - Bytes that an op creates need no fetch. Bytes that it changes (an accumulator, an op in place) must be there, and
//!   are new afterwards.
//! - An op that only gives bytes another name (a concatenation under the paper's model, a view) moves nothing. An op
//!   that copies reads and writes.
//! - Scratch takes room while its op runs, and is never moved.
//!
//! # What an op needs
//! At [`Grain::Tensor`] whole buffers move. What stays on chip after an op, or was there before it, takes room during
//! the op. An operand that is neither needs none: it *streams* through. Belady's rule streams only the operands of ops
//! that exceed the memory by themselves; those are named in [`Traffic::oversize_ops`].
//!
//! At [`Grain::Page`] every buffer is cut into pages of [`PAGE`] bytes, every op streams page by page, and a page that
//! was used for the last time gives way to the next at once. Sizes are rounded up to whole pages, the on-chip memory is
//! rounded down.
//!
//! # What is promised
//! `bound <= ` any plan's traffic, and `best <= belady`. `best` never rises with the on-chip size among the sizes of
//! one [`sweep`](Demand::sweep_within), nor from a power of two (of bytes or of thousands of bytes) to anything larger
//! in separate calls. Where everything alive fits, nothing is moved. `belady` promises nothing of that sort: Belady's
//! rule is optimal for objects of one size that are only read. See the `DESIGN.md` of this crate for proofs.
//!
//! ```
//! use serenity_ir::{GraphBuilder, Tensor};
//! use serenity_runtimes::MemoryModel;
//! use serenity_traffic::{Grain, traffic};
//! let mut builder = GraphBuilder::new("skip");
//! let x = builder.input(Tensor::sized("x", 10));
//! let a = builder.op("a", "CONV_2D", &[x], Tensor::sized("a", 60));
//! let b = builder.op("b", "CONV_2D", &[a], Tensor::sized("b", 60));
//! let y = builder.op("y", "ADD", &[x, b], Tensor::sized("y", 10));
//! builder.output(y);
//! let graph = builder.build().unwrap();
//! let order = graph.file_order();
//! let at = |on_chip| traffic(&graph, MemoryModel::Plain, &order, on_chip, Grain::Tensor).unwrap();
//! // 120 bytes hold a and b, but not x besides: it is dropped, and read again. An input needs no write.
//! assert_eq!((at(120).best.reads, at(120).best.writes, at(120).bound), (10, 0, 10));
//! assert_eq!((at(130).best.bytes(), at(130).compulsory.bytes()), (0, 20));
//! ```

mod belady;
mod bound;
mod demand;
mod error;
mod exact;
mod flow;
mod grain;
mod greedy;
mod occupancy;
mod plan;
mod sweep;
mod touches;

pub use demand::Demand;
pub use error::TrafficError;
pub use grain::{Grain, PAGE};
pub use sweep::{Bytes, Traffic, traffic};
pub use touches::{TouchedBuffer, Touches};
