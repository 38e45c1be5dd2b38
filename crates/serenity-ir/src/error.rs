//! Why a description is not a graph.

/// A description that is not a graph, with the place and, where there is one, the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// No operators at all.
    #[error("the graph has no operators: there is nothing to schedule")]
    Empty,
    /// More tensors or ops than are planned in the memory of an ordinary machine.
    #[error("the graph has {count} {what}; at most {max} are supported", max = crate::builder::MOST)]
    TooLarge {
        /// `tensors` or `operators`.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
    /// An id that names no tensor.
    #[error("{place} names tensor {id}, but the graph has {}", ids_of(*.tensors))]
    UnknownTensor {
        /// Who names it.
        place: String,
        /// The id.
        id: u64,
        /// How many tensors there are.
        tensors: usize,
    },
    /// A tensor with two producers.
    #[error("tensor `{tensor}` is written by both {first} and {second}; a tensor has exactly one producer")]
    TwoProducers {
        /// The tensor.
        tensor: String,
        /// One writer.
        first: String,
        /// The other.
        second: String,
    },
    /// A tensor that one op writes twice.
    #[error("{op} lists tensor `{tensor}` twice among its outputs; list it once")]
    RepeatedOutput {
        /// The tensor.
        tensor: String,
        /// The op.
        op: String,
    },
    /// A tensor that is read, or given as a result, but comes from nowhere.
    #[error(
        "tensor `{tensor}` is {used} but no operator writes it; list it under the graph's inputs if the caller provides it"
    )]
    NoProducer {
        /// The tensor.
        tensor: String,
        /// How it is used.
        used: String,
    },
    /// Operators that wait for each other.
    #[error("the operators form a cycle: {}", shortened(.path))]
    Cycle {
        /// The ops on the cycle, the first repeated at the end.
        path: Vec<String>,
    },
    /// Sizes whose sum does not fit in 63 bits.
    #[error(
        "the tensor sizes, each rounded up to 32 bytes, add up to more than 2^61 bytes at tensor `{tensor}` ({bytes} bytes); correct its size"
    )]
    SizeOverflow {
        /// Where the sum overflows.
        tensor: String,
        /// Its size.
        bytes: u64,
    },
}

/// Which tensor ids there are.
fn ids_of(tensors: usize) -> String {
    match tensors {
        0 => "no tensors".to_owned(),
        1 => "only one tensor (id 0)".to_owned(),
        _ => format!("only {tensors} tensors (ids 0 to {})", tensors - 1),
    }
}

/// A cycle, without its middle if it is long.
fn shortened(path: &[String]) -> String {
    const MOST: usize = 8;
    let ops = path.len().saturating_sub(1);
    if ops <= MOST {
        return path.join(" -> ");
    }
    format!("{} -> … ({ops} ops) -> {}", path[..MOST].join(" -> "), path[ops])
}
