//! An op as its kernel is called, with the one operand and the one result that are looked at.

use serde_json::Value;
use serenity_ir::{ElementType, Graph, Op, OpId, TensorId};
use std::rc::Rc;

/// Kernels count in `int`. With sizes up to this, sums of products of two fit in 63 bits.
const MOST: u64 = i32::MAX as u64;

/// More reads than this are not replayed: no arena of a microcontroller holds what takes so many.
const MOST_READS: i64 = 1 << 28;

pub(super) struct Call<'g> {
    graph: &'g Graph,
    op: &'g Op,
    /// The activations among the operands, by position in the operator's signature.
    activations: Rc<[Option<TensorId>]>,
    /// Which operand, by position in the operator's signature.
    pub(super) operand: usize,
    /// Which result.
    pub(super) result: usize,
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
    /// Its dimensions as batches, height, width and depth.
    pub(super) fn picture(&self) -> Option<[i64; 4]> {
        let shape: [u64; 4] = self.shape.try_into().ok()?;
        Some(shape.map(|dimension| dimension as i64))
    }

    /// The last dimension; a scalar is one element deep.
    pub(super) fn depth(&self) -> i64 {
        self.shape.last().map_or(1, |&depth| depth as i64)
    }
}

impl<'g> Call<'g> {
    /// One for each time that the op is given `input`; `None` if it is not, or does not write `output`.
    pub(super) fn all(graph: &'g Graph, id: OpId, input: TensorId, output: TensorId) -> Option<Vec<Self>> {
        let op = graph.op(id);
        let uses = op.inputs.iter().filter(|&&tensor| tensor == input).count();
        let result = op.outputs.iter().position(|&tensor| tensor == output)?;
        let activations = activations(op);
        let calls: Vec<Self> = (0..activations.len())
            .filter(|&position| activations[position] == Some(input))
            .map(|operand| Self { graph, op, activations: activations.clone(), operand, result })
            .collect();
        // An operand that was not found in the signature would be read unseen.
        (uses > 0 && calls.len() == uses).then_some(calls)
    }

    pub(super) fn kind(&self) -> &'g str {
        self.op.kind.as_str()
    }

    pub(super) fn operand_count(&self) -> usize {
        self.activations.len()
    }

    fn activation(&self, position: usize) -> Option<TensorId> {
        self.activations.get(position).copied().flatten()
    }

    /// How the operand that is looked at lies in memory.
    pub(super) fn input(&self) -> Option<Layout<'g>> {
        self.layout(self.activation(self.operand)?)
    }

    /// How the result that is looked at lies in memory.
    pub(super) fn output(&self) -> Option<Layout<'g>> {
        self.layout(*self.op.outputs.get(self.result)?)
    }

    /// Both, if the operand is the one at `position` and there is but one result. Those without bytes do not count.
    pub(super) fn only(&self, position: usize) -> Option<(Layout<'g>, Layout<'g>)> {
        let has_bytes = |&tensor: &TensorId| self.graph.tensor(tensor).bytes > 0;
        let is_alone = self.op.outputs.iter().skip(1).all(|tensor| !has_bytes(tensor));
        let is_it = self.operand == position && self.result == 0 && is_alone;
        is_it.then(|| self.input().zip(self.output()))?
    }

    /// The same, for kernels that move elements and do not change them.
    pub(super) fn only_moved(&self, position: usize) -> Option<(Layout<'g>, Layout<'g>)> {
        self.only(position).filter(|(input, output)| input.dtype == output.dtype)
    }

    /// The first operand that is an activation.
    pub(super) fn first_activation(&self) -> Option<usize> {
        (0..self.operand_count()).find(|&position| self.activation(position).is_some())
    }

    fn layout(&self, tensor: TensorId) -> Option<Layout<'g>> {
        let tensor = self.graph.tensor(tensor);
        let (shape, dtype) = (tensor.shape.as_deref()?, tensor.dtype.as_ref()?);
        let item = dtype.bits().filter(|bits| bits.is_multiple_of(8))? / 8;
        let elements = shape.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))?;
        let is_packed = elements.checked_mul(item) == Some(tensor.bytes) && (1..=MOST).contains(&elements);
        is_packed.then_some(Layout { shape, dtype, item: item as i64, count: elements as i64 })
    }

    /// The shape of any operand, be it an activation or not.
    pub(super) fn shape_of(&self, position: usize) -> Option<Vec<i64>> {
        let size = |size: u64| (size <= MOST).then_some(size as i64);
        if let Some(tensor) = self.activation(position) {
            return self.graph.tensor(tensor).shape.as_ref()?.iter().map(|&given| size(given)).collect();
        }
        let stored = self.op.constant(position).or_else(|| self.op.variable(position))?;
        stored.get("shape")?.as_array()?.iter().map(|given| size(given.as_u64()?)).collect()
    }

    /// The element type of any operand.
    pub(super) fn dtype_of(&self, position: usize) -> Option<ElementType> {
        if let Some(tensor) = self.activation(position) {
            return self.graph.tensor(tensor).dtype.clone();
        }
        let stored = self.op.constant(position).or_else(|| self.op.variable(position))?;
        Some(ElementType::parse(stored.get("dtype")?.as_str()?))
    }

    /// The values of a small constant.
    pub(super) fn values_of(&self, position: usize) -> Option<Vec<i64>> {
        self.op.constant(position)?.get("values")?.as_array()?.iter().map(Value::as_i64).collect()
    }

    /// An attribute of two sizes, of rows and of columns.
    pub(super) fn sides(&self, name: &str) -> Option<[i64; 2]> {
        let [rows, columns] = self.op.attributes.get(name)?.as_array()?.as_slice() else { return None };
        let [rows, columns] = [rows.as_u64()?, columns.as_u64()?];
        [rows, columns].iter().all(|size| (1..=MOST).contains(size)).then_some([rows as i64, columns as i64])
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
        let from_front = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
        usize::try_from(from_front).ok().filter(|&axis| axis < rank)
    }
}

/// Activations fill the positions that constants, variables and absent operands leave, in order.
fn activations(op: &Op) -> Rc<[Option<TensorId>]> {
    let stored = ["constants", "variables"].map(|name| op.attributes.get(name).and_then(Value::as_object));
    let stored: usize = stored.iter().flatten().map(|map| map.len()).sum();
    let absent = op.attributes.get("absent").and_then(Value::as_array).map_or(0, Vec::len);
    if stored + absent == 0 {
        return op.inputs.iter().copied().map(Some).collect();
    }
    let is_other = |position| {
        op.constant(position).is_some() || op.variable(position).is_some() || op.is_absent(position)
    };
    let mut inputs = op.inputs.iter().copied();
    let positions = 0..op.inputs.len() + stored + absent;
    positions.map(|position| if is_other(position) { None } else { inputs.next() }).collect()
}

/// Are these so few reads, multiplied, that they can be replayed?
pub(super) fn is_feasible(counts: &[i64]) -> bool {
    let product = counts.iter().try_fold(1_i64, |product, &count| product.checked_mul(count));
    product.is_some_and(|product| product <= MOST_READS)
}
