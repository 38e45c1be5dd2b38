//! An op as its kernel is called, with the one operand and the one result that are looked at.

use serenity_ir::{Graph, Layout, OpId, TensorId};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

/// More reads than this are not replayed: no arena of a microcontroller holds what takes so many.
const MOST_READS: i64 = 1 << 28;

/// A call as its op states it, and where each tensor is among its operands: an op may have thousands of them, and be
/// asked about each.
pub(crate) struct Whole<'g> {
    call: serenity_ir::Call<'g>,
    positions: BTreeMap<TensorId, Vec<usize>>,
    /// How often the op names each as an input.
    uses: BTreeMap<TensorId, usize>,
}

impl<'g> Whole<'g> {
    pub(crate) fn new(graph: &'g Graph, op: OpId) -> Rc<Self> {
        let call = serenity_ir::Call::new(graph, op);
        let mut positions: BTreeMap<TensorId, Vec<usize>> = BTreeMap::new();
        for position in 0..call.operand_count() {
            if let Some(tensor) = call.activation(position) {
                positions.entry(tensor).or_default().push(position);
            }
        }
        let mut uses = BTreeMap::new();
        for &input in &call.op.inputs {
            *uses.entry(input).or_insert(0) += 1;
        }
        Rc::new(Self { call, positions, uses })
    }

    /// What kind of op it is.
    pub(super) fn kind(&self) -> &'g str {
        self.call.op.kind.as_str()
    }
}

pub(super) struct Call<'g> {
    whole: Rc<Whole<'g>>,
    /// Which operand, by position in the operator's signature.
    pub(super) operand: usize,
    /// The position of the result.
    pub(super) result: usize,
}

impl<'g> Deref for Call<'g> {
    type Target = serenity_ir::Call<'g>;

    fn deref(&self) -> &Self::Target {
        &self.whole.call
    }
}

impl<'g> Call<'g> {
    /// One for each time that the op is given `input`; `None` if it is not, or does not write `output`.
    pub(super) fn all(whole: &Rc<Whole<'g>>, input: TensorId, output: TensorId) -> Option<Vec<Self>> {
        let result = whole.call.op.outputs.iter().position(|&tensor| tensor == output)?;
        let positions = whole.positions.get(&input)?;
        let calls = positions.iter().map(|&operand| Self { whole: whole.clone(), operand, result });
        // An operand that was not found in the signature would be read unseen.
        (whole.uses.get(&input) == Some(&positions.len())).then(|| calls.collect())
    }

    /// How the operand that is looked at lies in memory.
    pub(super) fn input(&self) -> Option<Layout<'g>> {
        self.whole.call.operand(self.operand)
    }

    /// How the result that is looked at lies in memory.
    pub(super) fn output(&self) -> Option<Layout<'g>> {
        self.whole.call.result(self.result)
    }

    /// Both, if the operand is the one at `position` and there is but one result. Those without bytes do not count.
    pub(super) fn only(&self, position: usize) -> Option<(Layout<'g>, Layout<'g>)> {
        let is_it = self.operand == position && self.result == 0;
        is_it.then(|| self.input_and_output(position))?
    }

    /// The operand at `position` and the only result, for kernels that move elements and do not change them.
    pub(super) fn only_moved(&self, position: usize) -> Option<(Layout<'g>, Layout<'g>)> {
        self.only(position).filter(|(input, output)| input.dtype == output.dtype)
    }

    /// The shape of any operand, be it an activation or not.
    pub(super) fn shape_of(&self, position: usize) -> Option<Vec<i64>> {
        Some(self.shape(position)?.into_iter().map(|size| size as i64).collect())
    }
}

/// Are these so few reads, multiplied, that they can be replayed?
pub(super) fn is_feasible(counts: &[i64]) -> bool {
    let product = counts.iter().try_fold(1_i64, |product, &count| product.checked_mul(count));
    product.is_some_and(|product| product <= MOST_READS)
}
