//! An operator as its kernel is called: operands by position, options by name, and how tensors lie in memory.
//!
//! A graph holds activations only; a reader of files describes the rest in attributes. This is the one place that knows how.

use crate::{ElementType, Graph, Op, OpId, Operator, Tensor, TensorId};
use serde_json::Value;
use std::collections::BTreeSet;

/// Kernels count in `int`. Sizes and steps beyond that are no kernel's, and sums of their products fit in 63 bits.
const MOST: u64 = i32::MAX as u64;

/// An operator with its operands in the order of its signature.
///
/// ```
/// use serenity_ir::{Call, OpId, json};
/// let graph = json::parse(r#"{"tensors": [{"bytes": 8}, {"bytes": 8}], "ops": [{"type": "ADD", "inputs": [0], "outputs": [1],
///     "attributes": {"constants": {"0": {"shape": [2], "dtype": "int32", "values": [3, 4]}}}}], "inputs": [0], "outputs": [1]}"#).unwrap();
/// let call = Call::new(&graph, OpId(0));
/// assert_eq!((call.activation(0), call.activation(1)), (None, Some(graph.inputs()[0])));
/// assert_eq!((call.shape(0), call.values(0)), (Some(vec![2]), Some(vec![3, 4])));
/// ```
#[derive(Clone, Debug)]
pub struct Call<'g> {
    /// The op itself.
    pub op: &'g Op,
    graph: &'g Graph,
    operands: Vec<Given<'g>>,
}

/// The operand at one position of an operator's signature.
#[derive(Clone, Copy, Debug)]
pub enum Given<'g> {
    /// A tensor of the graph.
    Activation(TensorId),
    /// A constant of the model.
    Constant(Stored<'g>),
    /// State that outlives a run.
    Variable(Stored<'g>),
    /// The operand is left out.
    Absent,
}

/// An operand that is no activation, as a reader of files describes it.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'g>(pub(crate) &'g Value);

/// Shape and type of an operand or result, wherever it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The size of each dimension.
    pub shape: Vec<u64>,
    /// The type of its elements, if it is known.
    pub dtype: Option<ElementType>,
}

/// A tensor in memory: packed, in row-major order, in whole bytes, with at least one element.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'g> {
    /// The size of each dimension.
    pub shape: &'g [u64],
    /// The type of its elements.
    pub dtype: &'g ElementType,
    /// Bytes per element.
    pub item: i64,
    /// The number of elements.
    pub count: i64,
}

impl<'g> Call<'g> {
    /// An op of a graph.
    pub fn new(graph: &'g Graph, op: OpId) -> Self {
        let op = graph.op(op);
        let [constants, variables] =
            ["constants", "variables"].map(|name| op.attributes.get(name).and_then(Value::as_object));
        let absent = op.attributes.get("absent").and_then(Value::as_array);
        let absent: BTreeSet<u64> = absent.into_iter().flatten().filter_map(Value::as_u64).collect();
        let stored: usize = [constants, variables].iter().flatten().map(|map| map.len()).sum();
        let mut activations = op.inputs.iter();
        let at = |position: usize| {
            if let Some(constant) = constants.and_then(|map| map.get(&position.to_string())) {
                Given::Constant(Stored(constant))
            } else if let Some(variable) = variables.and_then(|map| map.get(&position.to_string())) {
                Given::Variable(Stored(variable))
            } else if absent.contains(&(position as u64)) {
                Given::Absent
            } else {
                // Activations fill the positions that the others leave, in order.
                activations.next().map_or(Given::Absent, |&tensor| Given::Activation(tensor))
            }
        };
        let operands = (0..op.inputs.len() + absent.len() + stored).map(at).collect();
        Self { op, graph, operands }
    }

    /// What operator it is.
    pub fn operator(&self) -> Operator {
        self.op.kind.operator()
    }

    /// How many operands there are, absent ones between others included.
    pub fn operand_count(&self) -> usize {
        self.operands.len()
    }

    /// What it is given at `position`.
    pub fn given(&self, position: usize) -> Given<'g> {
        self.operands.get(position).copied().unwrap_or(Given::Absent)
    }

    /// The activation at `position`, if it is one.
    pub fn activation(&self, position: usize) -> Option<TensorId> {
        match self.given(position) {
            Given::Activation(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// All activations among the operands; one may occur twice.
    pub fn activations(&self) -> impl Iterator<Item = TensorId> + '_ {
        (0..self.operands.len()).filter_map(|position| self.activation(position))
    }

    /// The position of the first activation.
    pub fn first_activation(&self) -> Option<usize> {
        (0..self.operands.len()).find(|&position| self.activation(position).is_some())
    }

    /// What it writes at `position`.
    pub fn output(&self, position: usize) -> Option<TensorId> {
        self.op.outputs.get(position).copied()
    }

    /// How an operand that is an activation lies in memory.
    pub fn operand(&self, position: usize) -> Option<Layout<'g>> {
        self.graph.tensor(self.activation(position)?).layout()
    }

    /// How a result lies in memory.
    pub fn result(&self, position: usize) -> Option<Layout<'g>> {
        self.graph.tensor(self.output(position)?).layout()
    }

    /// How the result lies in memory, if there is just one: kernels with several know other rules. Results without
    /// bytes do not count.
    pub fn only_result(&self) -> Option<Layout<'g>> {
        let mut others = self.op.outputs.iter().skip(1);
        let is_alone = others.all(|&other| self.graph.tensor(other).bytes == 0);
        is_alone.then(|| self.result(0))?
    }

    /// The operand at `position`, and the only result.
    pub fn input_and_output(&self, position: usize) -> Option<(Layout<'g>, Layout<'g>)> {
        self.operand(position).zip(self.only_result())
    }

    /// As [`input_and_output`](Self::input_and_output), for operators that move elements and do not change them.
    pub fn moved(&self, position: usize) -> Option<(Layout<'g>, Layout<'g>)> {
        self.input_and_output(position).filter(|(input, output)| input.dtype == output.dtype)
    }

    /// Shape and type of an operand, wherever it comes from; `None` if it has no known shape.
    pub fn described(&self, position: usize) -> Option<Described> {
        match self.given(position) {
            Given::Activation(tensor) => self.graph.tensor(tensor).described(),
            Given::Constant(stored) | Given::Variable(stored) => {
                Some(Described { shape: stored.shape()?, dtype: stored.dtype() })
            }
            Given::Absent => None,
        }
    }

    /// Shape and type of a result; `None` if it has no known shape.
    pub fn described_result(&self, position: usize) -> Option<Described> {
        self.graph.tensor(self.output(position)?).described()
    }

    /// The shape of an operand, wherever it comes from, if a kernel can count so far.
    pub fn shape(&self, position: usize) -> Option<Vec<u64>> {
        let Described { shape, .. } = self.described(position)?;
        shape.iter().all(|&dimension| dimension <= MOST).then_some(shape)
    }

    /// The element type of an operand, wherever it comes from.
    pub fn dtype(&self, position: usize) -> Option<ElementType> {
        match self.given(position) {
            Given::Activation(tensor) => self.graph.tensor(tensor).dtype.clone(),
            Given::Constant(stored) | Given::Variable(stored) => stored.dtype(),
            Given::Absent => None,
        }
    }

    /// The values of a small constant.
    pub fn values(&self, position: usize) -> Option<Vec<i64>> {
        match self.given(position) {
            Given::Constant(stored) => stored.values(),
            _ => None,
        }
    }

    /// Height and width of its window: the option, or what the filter (operand 1) has as its middle dimensions.
    pub fn kernel(&self) -> Option<[u64; 2]> {
        self.op.pair("kernel").or_else(|| {
            let [_, height, width, _] = self.described(1)?.dims()?;
            Some([height, width])
        })
    }

    /// An option of two sizes, height first, both at least 1 and such that a kernel can count so far.
    pub fn sides(&self, name: &str) -> Option<[i64; 2]> {
        let sides = self.op.pair(name)?;
        sides.iter().all(|side| (1..=MOST).contains(side)).then(|| sides.map(|side| side as i64))
    }

    /// The option `axis`, counted from the front of so many dimensions.
    pub fn axis(&self, rank: usize) -> Option<usize> {
        from_front(self.op.number("axis")?, rank)
    }
}

/// An axis, which may be counted from the end, counted from the front.
pub fn from_front(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

impl<'g> Stored<'g> {
    /// What the file calls it.
    pub fn name(self) -> Option<&'g str> {
        self.0.get("name")?.as_str()
    }

    /// Its shape.
    pub fn shape(self) -> Option<Vec<u64>> {
        self.0.get("shape")?.as_array()?.iter().map(Value::as_u64).collect()
    }

    /// The type of its elements.
    pub fn dtype(self) -> Option<ElementType> {
        self.0.get("dtype").and_then(Value::as_str).map(ElementType::parse)
    }

    /// The one value that all its elements have, if it is described so.
    pub fn fill(self) -> Option<i64> {
        self.0.get("fill")?.as_i64()
    }

    /// Its values, if they are few.
    pub fn values(self) -> Option<Vec<i64>> {
        self.0.get("values")?.as_array()?.iter().map(Value::as_i64).collect()
    }
}

impl Tensor {
    /// How it lies in memory; `None` if that is not known, or elements share bytes, or a kernel cannot count so far.
    pub fn layout(&self) -> Option<Layout<'_>> {
        let (shape, dtype) = (self.shape.as_deref()?, self.dtype.as_ref()?);
        let item = dtype.bits().filter(|bits| bits.is_multiple_of(8))? / 8;
        let count = self.bytes / item;
        let is_packed = dtype.bytes_of(shape) == Some(self.bytes) && (1..=MOST).contains(&count);
        is_packed.then_some(Layout { shape, dtype, item: item as i64, count: count as i64 })
    }

    fn described(&self) -> Option<Described> {
        Some(Described { shape: self.shape.clone()?, dtype: self.dtype.clone() })
    }
}

impl Layout<'_> {
    /// Its dimensions, if there are just as many.
    pub fn dims<const RANK: usize>(&self) -> Option<[i64; RANK]> {
        let shape: [u64; RANK] = self.shape.try_into().ok()?;
        Some(shape.map(|dimension| dimension as i64))
    }

    /// The last dimension; a scalar is one element deep.
    pub fn depth(&self) -> i64 {
        self.shape.last().map_or(1, |&depth| depth as i64)
    }
}

impl Described {
    /// Its dimensions, if there are just as many.
    pub fn dims<const RANK: usize>(&self) -> Option<[u64; RANK]> {
        self.shape.as_slice().try_into().ok()
    }

    /// The last dimension.
    pub fn depth(&self) -> Option<u64> {
        self.shape.last().copied()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> u64 {
        self.shape.len() as u64
    }

    /// The number of elements.
    pub fn elements(&self) -> Option<u64> {
        counted_product(&self.shape)
    }

    /// Are its elements known to be of this type?
    pub fn is(&self, dtype: &ElementType) -> bool {
        self.dtype.as_ref() == Some(dtype)
    }
}

/// The product, if it is one that kernels can reckon with: they count in `int`.
pub fn counted_product(factors: &[u64]) -> Option<u64> {
    let product = factors.iter().try_fold(1_u64, |product, &factor| product.checked_mul(factor))?;
    i32::try_from(product).is_ok().then_some(product)
}
