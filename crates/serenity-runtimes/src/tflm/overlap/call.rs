//! An operator as its kernel is called: operands by position, and how tensors lie in memory.

use serde_json::Value;
use serenity_ir::{ElementType, Graph, Op, OpId, TensorId};
use std::collections::BTreeSet;

/// Kernels count elements in `int`. Sizes and steps beyond that are no kernel's, and sums of their products fit in 63 bits.
const MOST: u64 = i32::MAX as u64;

/// An operator with its operands in the order of its signature.
pub(super) struct Call<'g> {
    graph: &'g Graph,
    op: &'g Op,
    operands: Vec<Operand<'g>>,
}

enum Operand<'g> {
    Activation(TensorId),
    /// A constant or a variable, by its description.
    Stored(&'g Value),
    Absent,
}

/// A tensor in memory: packed, in row-major order, in whole bytes, with at least one element.
pub(super) struct Layout<'g> {
    pub(super) shape: &'g [u64],
    pub(super) dtype: &'g ElementType,
    /// Bytes an element.
    pub(super) item: i64,
    /// Elements.
    pub(super) count: i64,
}

impl Layout<'_> {
    /// Its dimensions, if there are just as many.
    pub(super) fn dims<const RANK: usize>(&self) -> Option<[i64; RANK]> {
        let shape: [u64; RANK] = self.shape.try_into().ok()?;
        Some(shape.map(|dimension| dimension as i64))
    }

    /// The last dimension; a scalar is one element deep.
    pub(super) fn depth(&self) -> i64 {
        self.shape.last().map_or(1, |&depth| depth as i64)
    }
}

impl<'g> Call<'g> {
    pub(super) fn new(graph: &'g Graph, op: OpId) -> Self {
        let op = graph.op(op);
        let stored =
            ["constants", "variables"].map(|name| op.attributes.get(name).and_then(Value::as_object));
        let absent = op.attributes.get("absent").and_then(Value::as_array);
        let absent: BTreeSet<u64> = absent.into_iter().flatten().filter_map(Value::as_u64).collect();

        let left_out = absent.len() + stored.iter().flatten().map(|map| map.len()).sum::<usize>();
        let mut activations = op.inputs.iter();
        let at = |position: usize| {
            let key = position.to_string();
            if let Some(description) = stored.iter().flatten().find_map(|map| map.get(&key)) {
                Operand::Stored(description)
            } else if absent.contains(&(position as u64)) {
                Operand::Absent
            } else {
                activations.next().map_or(Operand::Absent, |&tensor| Operand::Activation(tensor))
            }
        };
        let operands = (0..op.inputs.len() + left_out).map(at).collect();
        Self { graph, op, operands }
    }

    pub(super) fn kind(&self) -> &'g str {
        self.op.kind.as_str()
    }

    /// How many operands there are.
    pub(super) fn operand_count(&self) -> usize {
        self.operands.len()
    }

    /// All activations among the operands; one may occur twice.
    pub(super) fn activations(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.operands.iter().filter_map(|operand| match operand {
            Operand::Activation(tensor) => Some(*tensor),
            _ => None,
        })
    }

    pub(super) fn activation(&self, position: usize) -> Option<TensorId> {
        match self.operands.get(position)? {
            Operand::Activation(tensor) => Some(*tensor),
            _ => None,
        }
    }

    pub(super) fn output(&self, position: usize) -> Option<TensorId> {
        self.op.outputs.get(position).copied()
    }

    /// How an operand that is an activation lies in memory.
    pub(super) fn operand(&self, position: usize) -> Option<Layout<'g>> {
        self.layout(self.activation(position)?)
    }

    /// How a result lies in memory.
    pub(super) fn result(&self, position: usize) -> Option<Layout<'g>> {
        self.layout(self.output(position)?)
    }

    /// How the result lies in memory, if there is just one: kernels with several know other rules. Results without bytes do not count.
    pub(super) fn only_result(&self) -> Option<Layout<'g>> {
        let mut others = self.op.outputs.iter().skip(1);
        let is_alone = others.all(|&other| self.graph.tensor(other).bytes == 0);
        is_alone.then(|| self.result(0))?
    }

    /// The operand at `position`, and the only result.
    pub(super) fn input_and_output(&self, position: usize) -> Option<(Layout<'g>, Layout<'g>)> {
        self.operand(position).zip(self.only_result())
    }

    /// As [`input_and_output`](Self::input_and_output), for operators that move elements and do not change them.
    pub(super) fn moved(&self, position: usize) -> Option<(Layout<'g>, Layout<'g>)> {
        self.input_and_output(position).filter(|(input, output)| input.dtype == output.dtype)
    }

    fn layout(&self, tensor: TensorId) -> Option<Layout<'g>> {
        let tensor = self.graph.tensor(tensor);
        let (shape, dtype) = (tensor.shape.as_deref()?, tensor.dtype.as_ref()?);
        let item = dtype.bits().filter(|bits| bits.is_multiple_of(8))? / 8;
        let count = tensor.bytes / item;
        let is_packed = dtype.bytes_of(shape) == Some(tensor.bytes) && (1..=MOST).contains(&count);
        is_packed.then_some(Layout { shape, dtype, item: item as i64, count: count as i64 })
    }

    /// The shape of an operand, wherever it comes from, if a kernel can count so far.
    pub(super) fn shape(&self, position: usize) -> Option<Vec<u64>> {
        let shape: Vec<u64> = match self.operands.get(position)? {
            Operand::Activation(tensor) => self.graph.tensor(*tensor).shape.clone()?,
            Operand::Stored(description) => {
                description.get("shape")?.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?
            }
            Operand::Absent => return None,
        };
        shape.iter().all(|&dimension| dimension <= MOST).then_some(shape)
    }

    /// The element type of an operand, wherever it comes from.
    pub(super) fn dtype(&self, position: usize) -> Option<ElementType> {
        match self.operands.get(position)? {
            Operand::Activation(tensor) => self.graph.tensor(*tensor).dtype.clone(),
            Operand::Stored(description) => Some(ElementType::parse(description.get("dtype")?.as_str()?)),
            Operand::Absent => None,
        }
    }

    /// The values of a small constant operand.
    pub(super) fn values(&self, position: usize) -> Option<Vec<i64>> {
        let Operand::Stored(description) = self.operands.get(position)? else { return None };
        description.get("values")?.as_array()?.iter().map(Value::as_i64).collect()
    }

    /// An attribute of two sizes, height first.
    pub(super) fn pair(&self, name: &str) -> Option<[i64; 2]> {
        let size =
            |value: &Value| value.as_u64().filter(|size| (1..=MOST).contains(size)).map(|size| size as i64);
        match self.op.attributes.get(name)?.as_array()?.as_slice() {
            [height, width] => Some([size(height)?, size(width)?]),
            _ => None,
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.op.attributes.contains_key(name)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.op.attributes.get(name)?.as_bool()
    }

    pub(super) fn word(&self, name: &str) -> Option<&'g str> {
        self.op.attributes.get(name)?.as_str()
    }

    /// The attribute `axis`, counted from the front of so many dimensions.
    pub(super) fn axis(&self, rank: usize) -> Option<usize> {
        let axis = self.op.attributes.get("axis")?.as_i64()?;
        let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
        usize::try_from(axis).ok().filter(|&axis| axis < rank)
    }
}
