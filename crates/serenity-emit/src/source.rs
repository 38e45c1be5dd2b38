//! A planned network with its constants, in no file format.

use serenity_ir::{Attributes, ElementType, Quantization};

/// The main graph, and those that its operators run.
#[derive(Clone, Debug)]
pub struct Source {
    /// The graphs; the first is the network.
    pub graphs: Vec<SourceGraph>,
    /// What it is, for a comment.
    pub about: String,
    /// Whose functions may be called besides our own.
    pub library: Library,
    /// What runs row by row ahead of the graphs, whose inputs it makes.
    pub stream: Option<SourceStream>,
}

/// The beginning of a network, row by row.
#[derive(Clone, Debug)]
pub struct SourceStream {
    /// Its operators, with tensors as a whole: their places are those of the lines.
    pub graph: SourceGraph,
    /// How each operator reads rows.
    pub rules: Vec<StreamRule>,
    /// The rows of its tensors: of the input, then of what each operator makes.
    pub lines: Vec<StreamLine>,
    /// What happens, one after the other.
    pub steps: Vec<StreamStep>,
    /// Does the caller push rows? If not, the input lies in the arena as a whole.
    pub is_pushed: bool,
    /// Where the last operator's result lies, which the rest reads.
    pub leaves: u64,
    /// Multiplications after each push.
    pub macs: Vec<u64>,
    /// Multiplications of the rest of the network.
    pub rest_macs: u64,
    /// Bytes of the arena that it takes.
    pub bytes: u64,
    /// If rows come without an end, in windows that slide over them: then instead of `steps`.
    pub slide: Option<SourceSlide>,
}

/// Windows that slide over rows without an end.
#[derive(Clone, Debug)]
pub struct SourceSlide {
    /// Rows of the input from one window to the next.
    pub hop: u64,
    /// Windows of a round.
    pub phases: u64,
    /// What happens in a round, again and again.
    pub steps: Vec<SlideStep>,
    /// Rounds after which all rings begin where they did.
    pub rounds: u64,
    /// The step that takes the first row.
    pub start: usize,
    /// Windows that end before there are enough rows for one.
    pub early: u64,
    /// By line: what it has besides the ring of interior rows.
    pub lines: Vec<SlideLine>,
    /// The lines whose tensors leave, and where these lie when a window is full.
    pub leaves: Vec<(usize, u64)>,
    /// Multiplications of a whole window that has nothing in common with another.
    pub window_macs: u64,
}

/// The rows of a line in windows that slide. Its ring holds those from `first` to `last`, for each phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlideLine {
    /// The first interior row.
    pub first: i64,
    /// The last interior row.
    pub last: i64,
    /// For rows of the upper border, the first row that is not computed anew.
    pub again: i64,
    /// Rings for interior rows.
    pub phases: u64,
    /// Rows by which the window moves in so many hops.
    pub shift: u64,
    /// Where the ring of other rows begins.
    pub border: u64,
    /// Rows that it has room for.
    pub border_held: u64,
}

/// What a step of windows that slide does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlideAct {
    /// The caller pushes a row.
    Push,
    /// An operator makes a row.
    Run(usize),
    /// A row of a line is copied to the tensor that leaves.
    Gather(usize),
    /// The newest row of a line is copied to its ring.
    Keep(usize),
    /// The window is full.
    Full,
}

/// A step of windows that slide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlideStep {
    /// What it does.
    pub act: SlideAct,
    /// The window, from the first of the round on.
    pub window: u64,
    /// The row in this window.
    pub row: u64,
    /// Is it part of the upper border?
    pub is_top: bool,
    /// The lines of which it reads the newest row, the last of those that it reads, where that lies first.
    pub fresh: Vec<usize>,
}

/// How an operator reads rows for its row `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamRule {
    /// One row of each input: `(i * stride + offset) / times`.
    Row {
        /// Rows of the input for one of the result.
        stride: u64,
        /// Rows left out above.
        offset: u64,
        /// How often a row is read.
        times: u64,
    },
    /// The rows of a window.
    Window,
    /// Row `i - top`, with columns around it, or a row of padding.
    Padded {
        /// Rows of padding above.
        top: u64,
    },
    /// Each row is added to sums, from which the result is made at the end.
    Sum,
}

/// The rows of one tensor of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLine {
    /// The tensor of the graph.
    pub tensor: usize,
    /// All its rows.
    pub rows: u64,
    /// Bytes of a row, or of sums.
    pub row_bytes: u64,
    /// Rows that the ring has room for.
    pub held: u64,
    /// Where the ring begins.
    pub place: u64,
    /// Where a new row lies until it is kept, if not in the ring.
    pub newest: Option<u64>,
}

/// One step of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStep {
    /// The caller pushes a row.
    Push,
    /// An operator makes its next row.
    Run(usize),
    /// The newest row of a line is copied to its ring.
    Keep(usize),
}

/// A library of kernels that the user has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Library {
    /// None: all kernels come with the code.
    #[default]
    None,
    /// None, and weights lie as cores with vectors multiply them.
    Helium,
    /// Arm's CMSIS-NN, on cores without vectors.
    CmsisNn,
    /// Arm's CMSIS-NN, on cores with vectors.
    CmsisNnMve,
}

/// Working memory of an operator in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// The offset in the arena.
    pub offset: u64,
    /// The size in bytes.
    pub bytes: u64,
}

/// One graph: operators in the order in which they run.
#[derive(Clone, Debug)]
pub struct SourceGraph {
    /// The tensors, to which operators refer by index.
    pub tensors: Vec<SourceTensor>,
    /// The operators, in the order in which they run.
    pub ops: Vec<SourceOp>,
    /// The tensors that the caller fills.
    pub inputs: Vec<usize>,
    /// The tensors that the caller reads.
    pub outputs: Vec<usize>,
}

/// A tensor of a graph.
#[derive(Clone, Debug)]
pub struct SourceTensor {
    /// Its name, for people.
    pub name: String,
    /// The size of each dimension.
    pub shape: Vec<u64>,
    /// The type of its elements.
    pub dtype: ElementType,
    /// The quantization of its integers.
    pub quantization: Option<Quantization>,
    /// The size in bytes.
    pub bytes: u64,
    /// Where its data lies.
    pub place: DataPlace,
}

/// Where the data of a tensor lies.
#[derive(Clone, Debug)]
pub enum DataPlace {
    /// In the arena, at this offset.
    Arena(u64),
    /// The row of a stream's line that its operator reads or makes.
    Row(usize),
    /// The rows of a stream's line under a window.
    Rows(usize),
    /// In the model.
    Constant(Vec<u8>),
    /// Kept from one run to the next.
    Variable,
    /// Nowhere: nothing needs it, or it is a handle.
    Nowhere,
}

impl DataPlace {
    /// The offset in the arena.
    pub fn offset(&self) -> Option<u64> {
        match *self {
            Self::Arena(offset) => Some(offset),
            _ => None,
        }
    }
}

/// One operator, its operands by position.
#[derive(Clone, Debug)]
pub struct SourceOp {
    /// What it is, as in `CONV_2D`.
    pub kind: String,
    /// What it reads; `None` if an operand is left out.
    pub inputs: Vec<Option<usize>>,
    /// What it writes.
    pub outputs: Vec<Option<usize>>,
    /// Its options, by the names that graphs use.
    pub attributes: Attributes,
    /// The graphs that it runs.
    pub bodies: Vec<usize>,
    /// Where it may work besides its tensors, while it runs.
    pub scratch: Option<Scratch>,
}

impl SourceTensor {
    /// How many elements it has.
    pub(crate) fn count(&self) -> u64 {
        if self.shape.contains(&0) {
            return 0;
        }
        self.shape.iter().fold(1, |count, &side| count.saturating_mul(side))
    }

    /// Bytes of one element; 1 if that is not known.
    pub(crate) fn item(&self) -> u64 {
        self.dtype.bits().map_or(1, |bits| (bits / 8).max(1))
    }
}
