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
}

/// A library of kernels that the user has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Library {
    /// None: all kernels come with the code.
    #[default]
    None,
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
    /// In the model.
    Constant(Vec<u8>),
    /// Kept from one run to the next.
    Variable,
    /// Nowhere: nothing needs it, or it is a handle.
    Nowhere,
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
