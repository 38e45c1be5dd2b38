//! Why a description is not a graph.

/// A description that is not a graph, with the place and, where there is one, the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum GraphError {
    /// No operators at all.
    #[error("the graph has no operators: there is nothing to schedule")]
    Empty,
    /// The graph has more tensors or ops than can be planned in the memory of an ordinary machine.
    #[error("the graph has {count} {what}; at most {max} are supported", max = crate::builder::MOST)]
    TooLarge { what: &'static str, count: usize },
    /// An id names no tensor.
    #[error("{place} names tensor {id}, but the graph has {}", ids_of(*.tensors))]
    UnknownTensor { place: String, id: u64, tensors: usize },
    /// A tensor has two producers.
    #[error("tensor `{tensor}` is written by both {first} and {second}; a tensor has exactly one producer")]
    TwoProducers { tensor: String, first: String, second: String },
    /// An op lists a tensor twice among its outputs.
    #[error("{op} lists tensor `{tensor}` twice among its outputs; list it once")]
    RepeatedOutput { tensor: String, op: String },
    /// A tensor is read, or is an output of the graph, but has no producer.
    #[error(
        "tensor `{tensor}` is {used} but no operator writes it; list it under the graph's inputs if the caller provides it"
    )]
    NoProducer { tensor: String, used: String },
    /// Operators wait for each other.
    #[error("the operators form a cycle: {}", shortened(.path))]
    Cycle { path: Vec<String> },
    /// The sizes add up to more than 2^61 bytes.
    #[error(
        "the tensor sizes, each rounded up to 32 bytes, add up to more than 2^61 bytes at tensor `{tensor}` ({bytes} bytes); correct its size"
    )]
    SizeOverflow { tensor: String, bytes: u64 },
}

/// The valid tensor ids, in words.
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
