//! Why a file cannot be read or written.

use serenity_ir::{GraphError, OrderError};

/// Why a model cannot be read or written, with the place and, where there is one, the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes that are no protocol buffer.
    #[error("byte {offset} of the file: {what}; the file is damaged or no ONNX model")]
    Malformed {
        /// Where the record begins.
        offset: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A message that other tools would merge from several pieces.
    #[error(
        "byte {offset} of the file: a second `{field}` in one message; save the model again with the onnx package, which merges them"
    )]
    Split {
        /// Where the second one begins.
        offset: usize,
        /// Which field.
        field: &'static str,
    },
    /// Graphs in graphs in graphs …
    #[error("byte {offset} of the file: sub-graphs are nested more than {most} deep")]
    TooDeep {
        /// Where the innermost graph begins.
        offset: usize,
        /// How deep they may be.
        most: usize,
    },
    /// No graph at all.
    #[error("the model has no graph; is this an ONNX file?")]
    NoGraph,
    /// A node that does not say what it computes.
    #[error("node {node} has no operator type; the file is damaged or no ONNX model")]
    NoOperator {
        /// The node, counted from 0.
        node: usize,
    },
    /// A tensor that is read before anything writes it.
    #[error(
        "{reader} reads `{tensor}`, which nothing before it writes; ONNX wants nodes in an order that can run, and every name defined"
    )]
    Undefined {
        /// Who reads it.
        reader: String,
        /// The tensor.
        tensor: String,
    },
    /// A tensor with two sources.
    #[error("{place} defines `{tensor}`, which exists already; every tensor has exactly one source")]
    TwoSources {
        /// The second source.
        place: String,
        /// The tensor.
        tensor: String,
    },
    /// Graph inputs whose sizes depend on the caller.
    #[error("the sizes of inputs are left open: {}", listed(.inputs))]
    OpenInputs {
        /// All of them.
        inputs: Vec<OpenInput>,
    },
    /// A shape for a tensor that is not there.
    #[error(
        "a shape was given for `{tensor}`, but the model computes no such tensor; its inputs are: {inputs}"
    )]
    UnknownName {
        /// The name.
        tensor: String,
        /// What it could have been.
        inputs: String,
    },
    /// A shape that the model rules out.
    #[error("the shape [{given}] was given for `{tensor}`, but the model says [{declared}]")]
    ShapeConflict {
        /// The tensor.
        tensor: String,
        /// The shape given.
        given: String,
        /// The shape in the file.
        declared: String,
    },
    /// An element type that the format does not have, or that has no size.
    #[error("the type `{name}` was given for `{tensor}`, but ONNX has no such type of a fixed size")]
    UnknownType {
        /// The tensor.
        tensor: String,
        /// What was given.
        name: String,
    },
    /// An element type that the model rules out.
    #[error("the type `{given}` was given for `{tensor}`, but the model says `{declared}`")]
    TypeConflict {
        /// The tensor.
        tensor: String,
        /// The type given.
        given: String,
        /// The type in the file.
        declared: String,
    },
    /// A change that cannot be made.
    #[error("the model cannot be rewritten: {0}")]
    Edit(String),
    /// A change that did more, or less, than was asked for: a mistake of ours, caught before the file is given away.
    #[error("the rewritten model differs from the original in {0}; please report this")]
    Unfaithful(String),
    /// What the nodes describe is no graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The order to write cannot run.
    #[error(transparent)]
    Order(#[from] OrderError),
}

impl Error {
    /// Where in the file or the model, if that is known.
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

    /// What the user can do about it, where that is not plain from the message.
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

/// An input whose size depends on the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenInput {
    /// Its name.
    pub name: String,
    /// Its dimensions as the file gives them.
    pub shape: String,
    /// A shape that one could pass.
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
