//! How an op treats the axis along which its input was concatenated.
//!
//! Let `x` be the pieces `x_1, …, x_k` end to end along an axis. Three kinds of ops can work on the pieces instead:
//!
//! - *apart*: what becomes of a position along the axis depends on nothing at other positions, so `f(x)` is `f_1(x_1),
//!   …, f_k(x_k)` end to end, where `f_i` has that part of the constants which belongs to the piece. The arithmetic of
//!   every element is the same: exact.
//! - *sums*: `f` multiplies with weights and adds up over the axis, so `f(x) = f_1(x_1) + … + f_k(x_k)`, where `f_i`
//!   has the weights of the piece, and one of them the bias. The terms are added in another order: floats agree up to
//!   rounding, and quantised numbers would be rounded after every term.
//! - *joins*: a concatenation along the same axis has the pieces among its own.

mod onnx;
mod tflite;

use serenity_ir::{
    ElementType, Given, Graph, Op, OpId, Operator, Role, Stored, Tensor, TensorId, from_front,
};
use std::ops::Deref;

/// What becomes of an op whose input comes in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    Apart(Apart),
    Sums(Sums),
    Joins,
}

/// Every position along the axis by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Apart {
    /// The axis of the output that belongs to the input's.
    pub(crate) axis: usize,
    /// Positions of the output for each of the input.
    pub(crate) multiplier: u64,
    /// Operands of which each piece needs its part.
    pub(crate) slices: Vec<Slice>,
    /// Must the attribute `group` be the number of positions?
    pub(crate) is_grouped: bool,
}

/// An operand that goes to the pieces in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// The operand.
    pub(crate) position: usize,
    /// Its axis that belongs to the joined one.
    pub(crate) axis: usize,
    /// Its positions for each of the input.
    pub(crate) multiplier: u64,
}

/// Weights times elements, added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    /// The weights; none for a graph that says nothing of them.
    pub(crate) weights: Option<Slice>,
    /// The operand that is added once.
    pub(crate) bias: Option<usize>,
}

/// The first input that `op` can take in pieces, and how it treats them; `None` if it must have all inputs whole.
/// `joined` says along which axis an input comes in pieces, if it does.
pub(crate) fn treatment(
    graph: &Graph,
    op: OpId,
    joined: impl Fn(TensorId) -> Option<usize>,
) -> Option<(Treatment, TensorId)> {
    let mut inputs = graph.op(op).inputs.iter().copied();
    if graph.op(op).kind.role() == Role::Concat {
        let axis = concat_axis(graph, op)?;
        let input = inputs.find(|&input| joined(input) == Some(axis))?;
        return Some((Treatment::Joins, input));
    }
    inputs.find_map(|input| Some((treatment_of(graph, op, input, joined(input)?)?, input)))
}

/// How `op`, which is no concatenation, treats `axis` of `tensor`.
fn treatment_of(graph: &Graph, op: OpId, tensor: TensorId, axis: usize) -> Option<Treatment> {
    let call = Call::new(graph, op, tensor, axis)?;
    let treatment = tflite::treatment(&call).or_else(|| onnx::treatment(&call))?;
    let reads = call.op.inputs.iter().filter(|&&input| input == tensor).count();
    (reads == 1).then_some(treatment)
}

/// The axis of a concatenation that does nothing else, and that joins two pieces or more of its own type and quantisation.
pub(crate) fn concat_axis(graph: &Graph, id: OpId) -> Option<usize> {
    let op = graph.op(id);
    let &[output] = op.outputs.as_slice() else { return None };
    if op.kind.role() != Role::Concat || op.inputs.len() < 2 || op.has_activation() || op.has_constants() {
        return None;
    }
    let whole = graph.tensor(output);
    let shape = whole.shape.as_ref()?;
    let axis = from_front(op.number("axis")?, shape.len())?;
    let joined = op.inputs.iter().try_fold(0_u64, |joined, &piece| {
        joined.checked_add(size_of_piece(graph.tensor(piece), whole, axis)?)
    });
    (joined == Some(shape[axis])).then_some(axis)
}

/// How much of `whole` a piece is along `axis`; `None` if it is none, or empty: ops on nothing are more than runtimes
/// are made for.
fn size_of_piece(piece: &Tensor, whole: &Tensor, axis: usize) -> Option<u64> {
    let (part, shape) = (piece.shape.as_ref()?, whole.shape.as_ref()?);
    let is_alike = piece.dtype == whole.dtype && piece.quantization == whole.quantization;
    let fits = part.len() == shape.len()
        && part.iter().zip(shape).enumerate().all(|(at, (size, of))| at == axis || size == of);
    part.get(axis).copied().filter(|&size| is_alike && fits && size > 0)
}

/// Is the op one of ONNX, by its name? Those of `TFLite` have others, and what is in neither list is never rewritten.
pub(crate) fn is_onnx(op: &Op) -> bool {
    onnx::is_known(op.kind.operator())
}

/// An op, seen from one of its inputs.
pub(crate) struct Call<'a> {
    whole: serenity_ir::Call<'a>,
    graph: &'a Graph,
    pub(crate) tensor: TensorId,
    pub(crate) axis: usize,
    pub(crate) input: &'a [u64],
    pub(crate) output: &'a [u64],
}

impl<'a> Deref for Call<'a> {
    type Target = serenity_ir::Call<'a>;

    fn deref(&self) -> &Self::Target {
        &self.whole
    }
}

/// Elements that share a byte cannot be taken apart.
fn has_whole_bytes(constant: Stored<'_>) -> bool {
    constant.dtype().is_none_or(|dtype| dtype.bits().is_some_and(|bits| bits % 8 == 0))
}

impl<'a> Call<'a> {
    fn new(graph: &'a Graph, op: OpId, tensor: TensorId, axis: usize) -> Option<Self> {
        let whole = serenity_ir::Call::new(graph, op);
        let &[output] = whole.op.outputs.as_slice() else { return None };
        let input = graph.tensor(tensor).shape.as_deref()?;
        let output = graph.tensor(output).shape.as_deref()?;
        (axis < input.len()).then_some(Self { whole, graph, tensor, axis, input, output })
    }

    /// Positions along the axis.
    pub(crate) fn positions(&self) -> u64 {
        self.input[self.axis]
    }

    /// The shape of a constant, or of one that is computed from constants alone in a way that can be done for a part.
    pub(crate) fn fixed(&self, position: usize) -> Option<Vec<u64>> {
        match self.given(position) {
            Given::Constant(constant) => constant.shape().filter(|_| has_whole_bytes(constant)),
            Given::Activation(tensor) => {
                computed_from_constants(self.graph, tensor)?;
                self.graph.tensor(tensor).shape.clone()
            }
            Given::Variable(_) | Given::Absent => None,
        }
    }

    pub(crate) fn is_absent(&self, position: usize) -> bool {
        matches!(self.given(position), Given::Absent)
    }

    /// The operand that is added at last, if there is one.
    pub(crate) fn bias(&self) -> Option<usize> {
        (!self.is_absent(2)).then_some(2)
    }

    /// Is the tensor the first operand, and all else that the op reads fixed?
    pub(crate) fn is_first_of_fixed(&self) -> bool {
        let others = self.op.inputs.iter().filter(|&&input| input != self.tensor);
        self.activation(0) == Some(self.tensor)
            && others.copied().all(|input| computed_from_constants(self.graph, input).is_some())
    }

    /// Are the constant weights floats just where the elements are? Where they are not, a runtime turns the elements
    /// into integers while it runs, by a scale that depends on all of them, so pieces would be rounded otherwise than
    /// the whole.
    pub(crate) fn has_weights_of_its_kind(&self, position: usize) -> bool {
        use ElementType::{BFloat16, Float16, Float32, Float64};
        let is_float = |dtype: &ElementType| matches!(dtype, Float16 | BFloat16 | Float32 | Float64);
        let weights = self.op.constant(position).and_then(Stored::dtype);
        let elements = self.graph.tensor(self.tensor).dtype.as_ref();
        weights.zip(elements).is_none_or(|(weights, elements)| is_float(&weights) == is_float(elements))
    }

    /// Is it the only tensor that the op reads?
    pub(crate) fn is_alone(&self) -> bool {
        self.op.inputs == [self.tensor]
    }

    /// What an elementwise op needs of an operand that is spread over the input.
    pub(crate) fn spread(&self, position: usize) -> Option<Vec<Slice>> {
        let shape = self.fixed(position)?;
        let missing = self.input.len().checked_sub(shape.len())?;
        let Some(axis) = self.axis.checked_sub(missing) else { return Some(Vec::new()) };
        match shape[axis] {
            1 if self.positions() != 1 => Some(Vec::new()),
            size if size == self.positions() => Some(vec![Slice { position, axis, multiplier: 1 }]),
            _ => None,
        }
    }

    /// The op keeps the axis as it is, with these parts of its operands.
    pub(crate) fn apart(&self, slices: Vec<Slice>) -> Option<Treatment> {
        self.apart_along(self.axis, slices)
    }

    pub(crate) fn apart_along(&self, axis: usize, slices: Vec<Slice>) -> Option<Treatment> {
        let apart = Apart { axis, multiplier: 1, slices, is_grouped: false };
        (self.output.get(axis) == Some(&self.positions())).then_some(Treatment::Apart(apart))
    }

    /// An op of one operand, element by element, whatever the element's place.
    pub(crate) fn elementwise(&self) -> Option<Treatment> {
        (self.is_alone() && self.output == self.input).then(|| self.apart(Vec::new()))?
    }

    /// An op of two operands, elementwise, one of them fixed.
    pub(crate) fn elementwise_with_fixed(&self) -> Option<Treatment> {
        let fixed = usize::from(self.activation(0) == Some(self.tensor));
        let has_its_shape = self.output == self.input;
        // Before its version 7, ONNX aligned operands in a way of its own, and said so.
        let is_aligned_otherwise = self.op.has("broadcast");
        if !has_its_shape || !self.is_alone() || is_aligned_otherwise {
            return None;
        }
        self.apart(self.spread(fixed)?)
    }
}

/// The op that computes `tensor` from constants alone, element by element: then it can compute a part of it from a part of them.
pub(crate) fn computed_from_constants(graph: &Graph, tensor: TensorId) -> Option<OpId> {
    let producer = graph.producer(tensor)?;
    let op = graph.op(producer);
    let is_sliceable = match op.kind.operator() {
        Operator::ConstantOfShape => op.constant(0).is_some_and(|shape| shape.values().is_some()),
        operator => onnx::is_unary(operator) && op.constant(0).is_some(),
    };
    (is_sliceable && op.inputs.is_empty() && op.outputs.len() == 1).then_some(producer)
}
