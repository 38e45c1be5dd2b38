//! Why a file cannot be read or written.

use serenity_ir::{GraphError, OrderError};

/// Why a model cannot be read or written, with the place and, where there is one, the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum Error {
    /// Bytes that are no valid protocol buffer.
    #[error("byte {offset} of the file: {what}; the file is damaged or no ONNX model")]
    Malformed { offset: usize, what: &'static str },
    /// A message that other tools would merge from several pieces.
    #[error(
        "byte {offset} of the file: a second `{field}` in one message; save the model again with the onnx package, which merges them"
    )]
    Split { offset: usize, field: &'static str },
    /// Sub-graphs are nested too deep.
    #[error("byte {offset} of the file: sub-graphs are nested more than {most} deep")]
    TooDeep { offset: usize, most: usize },
    /// The model has no graph.
    #[error("the model has no graph; is this an ONNX file?")]
    NoGraph,
    /// A node has no operator type.
    #[error("node {node} has no operator type; the file is damaged or no ONNX model")]
    NoOperator { node: usize },
    /// A tensor is read before anything writes it.
    #[error(
        "{reader} reads `{tensor}`, which nothing before it writes; ONNX wants nodes in an order that can run, and every name defined"
    )]
    Undefined { reader: String, tensor: String },
    /// A tensor has two sources.
    #[error("{place} defines `{tensor}`, which exists already; every tensor has exactly one source")]
    TwoSources { place: String, tensor: String },
    /// The model leaves sizes of its inputs open.
    #[error("the sizes of inputs are left open: {}", listed(.inputs))]
    OpenInputs { inputs: Vec<OpenInput> },
    /// A shape was given for a tensor that does not exist.
    #[error(
        "a shape was given for `{tensor}`, but the model computes no such tensor; its inputs are: {inputs}"
    )]
    UnknownName { tensor: String, inputs: String },
    /// A given shape contradicts the model.
    #[error("the shape [{given}] was given for `{tensor}`, but the model says [{declared}]")]
    ShapeConflict { tensor: String, given: String, declared: String },
    /// A given element type does not exist in the format, or has no fixed size.
    #[error("the type `{name}` was given for `{tensor}`, but ONNX has no such type of a fixed size")]
    UnknownType { tensor: String, name: String },
    /// A given element type contradicts the model.
    #[error("the type `{given}` was given for `{tensor}`, but the model says `{declared}`")]
    TypeConflict { tensor: String, given: String, declared: String },
    /// A change that cannot be made.
    #[error("the model cannot be rewritten: {0}")]
    Edit(String),
    /// A change did more, or less, than was asked for: a bug of ours, caught before the file is returned.
    #[error("the rewritten model differs from the original in {0}; please report this")]
    Unfaithful(String),
    /// The nodes form no valid graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The order to write cannot run.
    #[error(transparent)]
    Order(#[from] OrderError),
}

impl Error {
    /// The place in the file or the model, if known.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Malformed { offset, .. } | Self::Split { offset, .. } | Self::TooDeep { offset, .. } => {
                Some(format!("byte {offset}"))
            }
            Self::NoOperator { node } => Some(format!("node {node}")),
            Self::Undefined { reader, .. } => Some(reader.clone()),
            Self::TwoSources { place, .. } => Some(place.clone()),
            Self::OpenInputs { inputs } => inputs.first().map(|input| input.name.clone()),
            Self::ShapeConflict { tensor, .. }
            | Self::UnknownType { tensor, .. }
            | Self::TypeConflict { tensor, .. } => Some(tensor.clone()),
            Self::NoGraph
            | Self::UnknownName { .. }
            | Self::Edit(_)
            | Self::Unfaithful(_)
            | Self::Graph(_)
            | Self::Order(_) => None,
        }
    }

    /// What the user can do about it, unless the message makes that plain.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::OpenInputs { inputs } => {
                let shapes = inputs.iter().map(|input| format!("--shape {}={}", input.name, input.example));
                Some(format!("say how large they are, as in\n  {}", shapes.collect::<Vec<_>>().join(" ")))
            }
            _ => None,
        }
    }
}

/// An input whose size the model leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenInput {
    /// The name of the input.
    pub name: String,
    /// Its dimensions as the file gives them.
    pub shape: String,
    /// A shape that could be given.
    pub example: String,
}

/// So many are named; the remedy names all.
const MOST_NAMED: usize = 8;

fn listed(inputs: &[OpenInput]) -> String {
    let named = inputs.iter().take(MOST_NAMED).map(|input| format!("`{}` [{}]", input.name, input.shape));
    let rest = inputs.len().saturating_sub(MOST_NAMED);
    let rest = (rest > 0).then(|| format!("and {rest} more"));
    named.chain(rest).collect::<Vec<_>>().join(", ")
}
