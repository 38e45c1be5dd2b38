//! An op as its kernel is called, with the one operand and the one result that are looked at.

use serenity_ir::{Layout, TensorId};
use std::ops::Deref;
use std::rc::Rc;

/// More reads than this are not replayed: no arena of a microcontroller holds what takes so many.
const MOST_READS: i64 = 1 << 28;

pub(super) struct Call<'g> {
    whole: Rc<serenity_ir::Call<'g>>,
    /// Which operand, by position in the operator's signature.
    pub(super) operand: usize,
    /// Which result.
    pub(super) result: usize,
}

impl<'g> Deref for Call<'g> {
    type Target = serenity_ir::Call<'g>;

    fn deref(&self) -> &Self::Target {
        &self.whole
    }
}

impl<'g> Call<'g> {
    /// One for each time that the op is given `input`; `None` if it is not, or does not write `output`. The call as a whole is shared: an op may have thousands of operands.
    pub(super) fn all(
        whole: &Rc<serenity_ir::Call<'g>>,
        input: TensorId,
        output: TensorId,
    ) -> Option<Vec<Self>> {
        let op = whole.op;
        let uses = op.inputs.iter().filter(|&&tensor| tensor == input).count();
        let result = op.outputs.iter().position(|&tensor| tensor == output)?;
        let calls: Vec<Self> = (0..whole.operand_count())
            .filter(|&position| whole.activation(position) == Some(input))
            .map(|operand| Self { whole: whole.clone(), operand, result })
            .collect();
        // An operand that was not found in the signature would be read unseen.
        (uses > 0 && calls.len() == uses).then_some(calls)
    }

    /// How the operand that is looked at lies in memory.
    pub(super) fn input(&self) -> Option<Layout<'g>> {
        self.whole.operand(self.operand)
    }

    /// How the result that is looked at lies in memory.
    pub(super) fn output(&self) -> Option<Layout<'g>> {
        self.whole.result(self.result)
    }

    /// Both, if the operand is the one at `position` and there is but one result. Those without bytes do not count.
    pub(super) fn only(&self, position: usize) -> Option<(Layout<'g>, Layout<'g>)> {
        let is_it = self.operand == position && self.result == 0;
        is_it.then(|| self.input_and_output(position))?
    }

    /// The same, for kernels that move elements and do not change them.
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
