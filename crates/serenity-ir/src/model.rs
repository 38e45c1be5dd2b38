//! A graph with its constants: all that a model file needs.
//!
//! A [`Graph`] holds activations only, because constants cost no working memory. A [`Model`] adds what was left out, in a
//! neutral form from which the writer of each format makes a file:
//!
//! - Feature maps are NHWC. Ops and attributes are spelt as [`Graph`]s of `TFLite` models spell them (`CONV_2D` with
//!   `kernel`, `stride`, `dilation`, `padding` and `activation`), and operands stand where `TFLite` has them: data,
//!   kernel, bias.
//! - Kernels are `[filters, height, width, channels]` for `CONV_2D`, `[1, height, width, channels]` for
//!   `DEPTHWISE_CONV_2D` and `[outputs, inputs]` for `FULLY_CONNECTED`.
//! - Data is packed and little-endian.

use crate::{ElementType, Graph, Quantization, TensorId};

/// A graph with its constants. Made by [`Model::new`], which checks that they fit together.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    graph: Graph,
    operands: Vec<Vec<Operand>>,
    constants: Vec<Constant>,
}

/// What an op reads at one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A tensor of the graph.
    Activation(TensorId),
    /// A constant of the model, by its place in [`Model::constants`].
    Constant(usize),
}

/// A tensor whose values the model carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// A name for people.
    pub name: String,
    /// The dimensions.
    pub shape: Vec<u64>,
    /// The element type.
    pub dtype: ElementType,
    /// What the integers stand for, if they stand for real numbers.
    pub quantization: Option<Quantization>,
    /// The elements, packed, little-endian.
    pub data: Vec<u8>,
}

/// Why a graph and constants make no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum ModelError {
    /// The graph has another number of ops than there are lists of operands.
    #[error("a graph of {ops} ops came with {found} lists of operands; give one an op")]
    Length { ops: usize, found: usize },
    /// The activations among the operands are not the op's inputs.
    #[error(
        "the operands of op `{op}` name other activations than its inputs; list the same, in the same order"
    )]
    Inputs { op: String },
    /// An operand does not exist.
    #[error("op `{op}` reads constant {index}, but there are {constants}")]
    UnknownConstant { op: String, index: usize, constants: usize },
    /// The size of the data does not match shape and type.
    #[error("constant `{name}` has {found} bytes of data, but its shape and type make {}", bytes_or_nothing(*.expected))]
    Data { name: String, expected: Option<u64>, found: usize },
}

fn bytes_or_nothing(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "no known size".to_owned(), |bytes| format!("{bytes} bytes"))
}

impl Model {
    /// A graph with its constants and, for each op, what it reads.
    ///
    /// # Errors
    /// If they do not fit together; see [`ModelError`].
    pub fn new(
        graph: Graph,
        operands: Vec<Vec<Operand>>,
        constants: Vec<Constant>,
    ) -> Result<Self, ModelError> {
        if graph.ops().len() != operands.len() {
            return Err(ModelError::Length { ops: graph.ops().len(), found: operands.len() });
        }
        for (op, operands) in graph.ops().iter().zip(&operands) {
            let activations = operands.iter().filter_map(|operand| match operand {
                Operand::Activation(tensor) => Some(*tensor),
                Operand::Constant(_) => None,
            });
            if !activations.eq(op.inputs.iter().copied()) {
                return Err(ModelError::Inputs { op: op.name.clone() });
            }
            for operand in operands {
                if let Operand::Constant(index) = *operand
                    && index >= constants.len()
                {
                    let (op, constants) = (op.name.clone(), constants.len());
                    return Err(ModelError::UnknownConstant { op, index, constants });
                }
            }
        }
        for constant in &constants {
            let expected = constant.dtype.bytes_of(&constant.shape);
            if expected != Some(constant.data.len() as u64) {
                let (name, found) = (constant.name.clone(), constant.data.len());
                return Err(ModelError::Data { name, expected, found });
            }
        }
        Ok(Self { graph, operands, constants })
    }

    /// The activations and the ops.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What each op reads, by op.
    pub fn operands(&self) -> &[Vec<Operand>] {
        &self.operands
    }

    /// The constants of the model.
    pub fn constants(&self) -> &[Constant] {
        &self.constants
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GraphBuilder, Tensor};

    fn one_op() -> Graph {
        let mut builder = GraphBuilder::new("one");
        let x = builder.input(Tensor::sized("x", 4));
        let y = builder.op("f", "MUL", &[x], Tensor::sized("y", 4));
        builder.output(y);
        builder.build().unwrap()
    }

    fn constant(bytes: usize) -> Constant {
        Constant {
            name: "c".into(),
            shape: vec![1],
            dtype: ElementType::Float32,
            quantization: None,
            data: vec![0; bytes],
        }
    }

    #[test]
    fn parts_that_fit_make_a_model() {
        let operands = vec![vec![Operand::Activation(TensorId(0)), Operand::Constant(0)]];
        let model = Model::new(one_op(), operands, vec![constant(4)]).unwrap();
        assert_eq!(model.constants().len(), 1);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let x = Operand::Activation(TensorId(0));
        let make = |operands: Vec<Vec<Operand>>, constant: Constant| {
            Model::new(one_op(), operands, vec![constant]).unwrap_err()
        };
        assert!(matches!(make(vec![], constant(4)), ModelError::Length { .. }));
        assert!(matches!(make(vec![vec![Operand::Constant(0)]], constant(4)), ModelError::Inputs { .. }));
        let missing = make(vec![vec![x, Operand::Constant(1)]], constant(4));
        assert_eq!(missing.to_string(), "op `f` reads constant 1, but there are 1");
        let short = make(vec![vec![x]], constant(3));
        assert_eq!(
            short.to_string(),
            "constant `c` has 3 bytes of data, but its shape and type make 4 bytes"
        );
    }
}
