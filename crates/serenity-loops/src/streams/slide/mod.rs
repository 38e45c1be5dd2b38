//! Windows that slide over time: what one window has in common with the next is computed once.
//!
//! The input is a sequence of frames without an end. A window is as many of them as the network has rows of input; the
//! next window begins `hop` frames later. A row of a tensor is *interior* if it depends on no border of the window: it is
//! then the same in every window that holds its frames, so it is computed when its frames are there and kept in a ring as
//! long as a window needs it. Other rows, which see the padding of `SAME`, are computed anew for each window when its
//! last frame is in. Where strides do not divide the hop, only every second or third window has rows in common: each of
//! these *phases* has rings of its own.
//!
//! | file | holds |
//! |---|---|
//! | `shape` | which rows are interior, and how far a window moves in each tensor |
//! | `follow` | the steps of a hop, followed over many windows |
//! | `rings` | where rings lie |
//! | `hops` | a model of standard operators that takes the new frames, for TFLM |

mod follow;
mod hops;
mod rings;
mod shape;

pub use hops::{Hops, NoHops};

use super::{Form, StreamOp};
use serenity_ir::TensorId;

/// Which rows at the beginning of a window are computed anew, besides those that see its border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Above {
    /// None: rings hold the rows that the border needs until the window is full.
    Kept,
    /// All that the border needs, from the frames on: rings hold few rows.
    Anew,
}

/// Some rows in the arena: row `r` lies at `r` modulo `held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// Rows that it has room for.
    pub held: u64,
    /// Where it begins.
    pub place: u64,
}

/// The rows of one tensor: line 0 is the input, line `k + 1` what operator `k` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlideLine {
    /// The tensor.
    pub tensor: TensorId,
    /// Rows of the tensor in a window.
    pub rows: i64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// The first interior row of a window.
    pub first: i64,
    /// The last interior row of a window.
    pub last: i64,
    /// For rows of the upper border, rows above this one are computed anew.
    pub again: i64,
    /// Windows that have no interior rows in common, until one has with the first of them.
    pub phases: i64,
    /// Rows by which the window moves in so many hops.
    pub shift: i64,
    /// The interior rows: a ring for each phase, one behind the other.
    pub kept: Ring,
    /// Rows that are computed anew. Of sums, the sums.
    pub border: Ring,
    /// Where a new row lies first, if not in a ring.
    pub newest: Option<u64>,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A frame comes.
    Push,
    /// An operator makes a row.
    Run(usize),
    /// A row of a line is copied to the tensor that leaves.
    Gather(usize),
    /// The newest row of a line moves from the shared buffer to its ring.
    Keep(usize),
    /// The window is full, and all that leaves is there: the rest of the network runs.
    Full,
}

/// One step, with numbers that are the same in each round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlideStep {
    /// What it does.
    pub act: Act,
    /// The window, from the first of the round on.
    pub window: i64,
    /// The row in this window.
    pub row: i64,
    /// Is it part of the upper border, for which rows are computed anew?
    pub is_top: bool,
    /// The lines of which it reads the newest row, the last of those that it reads, in the shared buffer.
    pub fresh: Vec<usize>,
}

/// The beginning of a network in windows that slide, with places for all rows.
#[derive(Clone, Debug)]
pub struct Slide {
    /// The operators.
    pub ops: Vec<StreamOp>,
    /// Their tensors.
    pub lines: Vec<SlideLine>,
    /// Frames from one window to the next.
    pub hop: i64,
    /// Windows of a round.
    pub phases: i64,
    /// What happens in a round, again and again.
    pub steps: Vec<SlideStep>,
    /// Rounds after which all rings begin where they did.
    pub rounds: u64,
    /// Where the first frame enters the round.
    pub start: usize,
    /// Windows that end before there are enough frames for one.
    pub early: u64,
    /// How rings hold rows.
    pub form: Form,
    /// The lines whose tensors leave, and where these lie when a window is full.
    pub leaves: Vec<(usize, u64)>,
    /// Multiplications after each frame of a round.
    pub macs: Vec<u64>,
    /// Bytes of the arena: what leaves, the rest of the network, and rings beside it.
    pub bytes: u64,
}

impl SlideLine {
    /// Rows by which a round moves the window.
    pub fn advance(&self, phases: i64) -> i64 {
        self.shift * (phases / self.phases)
    }
}
