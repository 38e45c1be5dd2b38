//! Streams: the beginning of a network, row by row, always the deepest operator that can run.
//!
//! Loops run a window in lock-step. Code without an interpreter is free to do better: each tensor is a *ring* of the
//! few rows that its readers still need, and each row is computed once, so nothing is multiplied twice and nothing lies
//! outside the image. If the application pushes the rows of the input as they come, the input never exists as a whole.
//!
//! | file | holds |
//! |---|---|
//! | `prefix` | which operators, between which rings |
//! | `follow` | the sequence of steps, and how many rows each ring holds |
//! | `places` | where rings lie |
//! | `slide` | windows that slide over time |

mod follow;
mod places;
mod prefix;
pub mod slide;

pub use prefix::{Prefix, Rule, StreamOp};

use serenity_ir::TensorId;

/// How rings hold rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A row is written where it stays.
    Ring,
    /// A new row lies in a buffer, which tensors share, while its readers run. It is copied to its ring if later steps
    /// need it too, so rings hold carried rows only.
    Tight,
}

/// Where the rows of the input come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The application pushes one after the other.
    Pushed,
    /// The whole input lies in the arena.
    Resident,
}

/// One step of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next row of the input comes.
    Push,
    /// An operator makes its next row.
    Run(usize),
    /// The newest row of a line moves from the shared buffer to its ring.
    Keep(usize),
}

/// The rows of one tensor: line 0 is the input, line `k + 1` what operator `k` makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The tensor.
    pub tensor: TensorId,
    /// Rows of the whole tensor. Of a sum, the rows that are added up.
    pub rows: u64,
    /// Bytes of a row. Of a sum, bytes of the accumulators.
    pub row_bytes: u64,
    /// Rows that the ring has room for: row `r` lies at `r` modulo this. All rows if the tensor exists as a whole.
    pub held: u64,
    /// The offset of the ring; 0 if it holds nothing.
    pub place: u64,
    /// The offset of the buffer where a new row lies first, if it does.
    pub newest: Option<u64>,
}

/// The beginning of a network as a stream, with places for all rows.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The operators.
    pub ops: Vec<StreamOp>,
    /// Their tensors.
    pub lines: Vec<Line>,
    /// What happens, one after the other.
    pub steps: Vec<Step>,
    /// Multiplications after each push, until the next; all of them if nothing is pushed.
    pub macs: Vec<u64>,
    /// How rings hold rows.
    pub form: Form,
    /// Where the rows of the input come from.
    pub rows: Rows,
    /// The lines whose tensors leave, and where these lie in the end: the last is that of the last operator.
    pub leaves: Vec<(usize, u64)>,
    /// Bytes of the arena that it takes, the tensors that leave included.
    pub bytes: u64,
}
