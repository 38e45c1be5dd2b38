//! Ops that move bytes and do not change them: which bytes go where.

use super::acts::Move;
use super::operands::{Packed, element};
use super::windows::zero_point;
use serenity_ir::{ElementType, Quantization};

/// What is in more pieces than this is not followed piece by piece. A part of the channels of each pixel is as many
/// pieces as there are pixels.
const MOST_PIECES: u64 = 1 << 16;

/// Bytes that go to the result.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) from: From,
    /// Where to, in the result.
    pub(super) to: u64,
    pub(super) bytes: u64,
}

#[derive(Clone, Debug)]
pub(super) enum From {
    Operand {
        position: usize,
        offset: u64,
    },
    /// These bytes, repeated.
    Pattern(Vec<u8>),
}

/// What is known of an op that moves, while it runs.
pub(super) struct View<'a> {
    pub(super) operands: Vec<Option<Packed>>,
    pub(super) output: Packed,
    pub(super) quantization: Option<&'a Quantization>,
    /// The numbers at a position, if they can be told.
    pub(super) numbers: Vec<Option<Vec<i64>>>,
    /// The bytes of the one element at a position.
    pub(super) scalars: Vec<Option<Vec<u8>>>,
    /// `begin_mask` and `end_mask`.
    pub(super) masks: [i64; 2],
    pub(super) is_padded_with_given: bool,
}

impl View<'_> {
    fn operand(&self, position: usize) -> Option<&Packed> {
        self.operands.get(position)?.as_ref()
    }

    fn numbers(&self, position: usize) -> Option<&[i64]> {
        self.numbers.get(position)?.as_deref()
    }

    /// All copies, in an order in which later ones may write over earlier ones; `None` if they cannot be told.
    pub(super) fn copies(&self, kind: Move) -> Option<Vec<Copy>> {
        let output = &self.output;
        let all_of =
            |position| Copy { from: From::Operand { position, offset: 0 }, to: 0, bytes: output.bytes };
        let fill = |pattern| Copy { from: From::Pattern(pattern), to: 0, bytes: output.bytes };
        let origin = vec![0; output.shape.len()];
        match kind {
            Move::Reshape => Some(vec![all_of(0)]),
            Move::Fill => Some(vec![fill(self.scalars.get(1)?.clone()?)]),
            Move::Slice => {
                let (input, begin, sizes) = (self.operand(0)?, self.numbers(1)?, self.numbers(2)?);
                let begin = begin.iter().map(|&b| u64::try_from(b).ok()).collect::<Option<Vec<u64>>>()?;
                let is_size = |(side, &size): (usize, &i64)| match size {
                    // All from there on.
                    -1 => begin
                        .get(side)
                        .is_some_and(|b| input.shape[side].checked_sub(*b) == Some(output.shape[side])),
                    size => u64::try_from(size) == Ok(output.shape[side]),
                };
                let fits = sizes.len() == output.shape.len() && sizes.iter().enumerate().all(is_size);
                fits.then(|| boxes(0, input, &begin, &output.shape, output, &origin))?
            }
            Move::Crop => {
                let begin = self.crop()?;
                boxes(0, self.operand(0)?, &begin, &output.shape, output, &origin)
            }
            Move::Concatenation { axis } => {
                let mut copies = Vec::new();
                let mut at = origin.clone();
                for position in 0..self.operands.len() {
                    let input = self.operand(position)?;
                    copies.extend(boxes(position, input, &origin, &input.shape, output, &at)?);
                    at[axis] += input.shape[axis];
                }
                Some(copies)
            }
            Move::Pad => {
                let input = self.operand(0)?;
                let before = self.padding(input)?;
                let mut copies = vec![fill(self.padding_value()?)];
                copies.extend(boxes(0, input, &origin, &input.shape, output, &before)?);
                Some(copies)
            }
            Move::Update => {
                let update = self.operand(1)?;
                let room = |side: usize| (output.shape[side] - update.shape[side]) as i64;
                let begin = self.numbers(2).filter(|begin| begin.len() == output.shape.len())?;
                // The kernel moves what would reach beyond the end back inside.
                let begin: Vec<u64> =
                    begin.iter().enumerate().map(|(side, &b)| b.clamp(0, room(side)) as u64).collect();
                let mut copies = if update.bytes == output.bytes { vec![] } else { vec![all_of(0)] };
                copies.extend(boxes(1, update, &origin, &update.shape, output, &begin)?);
                Some(copies)
            }
        }
    }

    /// Where a `STRIDED_SLICE` in steps of 1 begins, if its end fits the result.
    fn crop(&self) -> Option<Vec<u64>> {
        let (input, output) = (self.operand(0)?, &self.output);
        let [begin, end, strides] = [1, 2, 3].map(|position| self.numbers(position));
        let (begin, end, strides) = (begin?, end?, strides?);
        let rank = input.shape.len();
        if [begin, end, strides].iter().any(|list| list.len() != rank) || strides.iter().any(|&s| s != 1) {
            return None;
        }
        let place = |given: i64, side: usize| {
            let size = input.shape[side] as i64;
            let from_front = if given < 0 { given.saturating_add(size) } else { given };
            from_front.clamp(0, size) as u64
        };
        let mut begins = Vec::new();
        for side in 0..rank {
            let is_masked = |mask: i64| side < 63 && mask >> side & 1 == 1;
            let first = if is_masked(self.masks[0]) { 0 } else { place(begin[side], side) };
            let last = if is_masked(self.masks[1]) { input.shape[side] } else { place(end[side], side) };
            begins.push((last.checked_sub(first) == Some(output.shape[side])).then_some(first)?);
        }
        Some(begins)
    }

    /// What a `PAD` puts in front of each side.
    fn padding(&self, input: &Packed) -> Option<Vec<u64>> {
        let amounts = self.numbers(1).filter(|amounts| amounts.len() == 2 * input.shape.len())?;
        let mut before = Vec::new();
        for (side, pair) in amounts.chunks(2).enumerate() {
            let (front, back) = (u64::try_from(pair[0]).ok()?, u64::try_from(pair[1]).ok()?);
            let whole = front.checked_add(back)?.checked_add(input.shape[side]);
            before.push((whole == Some(self.output.shape[side])).then_some(front)?);
        }
        Some(before)
    }

    /// What a `PAD` puts there: the value that it is given, or the zero point. The kernel for 16 bits takes 0 whatever
    /// the zero point is.
    fn padding_value(&self) -> Option<Vec<u8>> {
        let dtype = &self.output.dtype;
        if self.is_padded_with_given {
            return self.scalars.get(2)?.clone();
        }
        match dtype {
            ElementType::Float32 | ElementType::Int32 => element(&0.into(), dtype),
            ElementType::Int8 => zero_point(dtype, self.quantization),
            ElementType::Int16 => {
                let zero = element(&0.into(), dtype)?;
                (zero_point(dtype, self.quantization)? == zero).then_some(zero)
            }
            _ => None,
        }
    }
}

/// A box of `size`, from `begin` of the operand at `position` to `to` of the result. `None` if it lies outside of one of them.
fn boxes(
    position: usize,
    source: &Packed,
    begin: &[u64],
    size: &[u64],
    target: &Packed,
    to: &[u64],
) -> Option<Vec<Copy>> {
    let rank = size.len();
    if [source.shape.len(), target.shape.len(), begin.len(), to.len()] != [rank; 4]
        || source.item != target.item
    {
        return None;
    }
    for side in 0..rank {
        let is_inside =
            |begin: u64, whole: u64| begin.checked_add(size[side]).is_some_and(|end| end <= whole);
        let fits = is_inside(begin[side], source.shape[side]) && is_inside(to[side], target.shape[side]);
        fits.then_some(())?;
    }
    // From the last side on which it does not fill both, all is in one piece.
    let is_cut = |side: &usize| size[*side] != source.shape[*side] || size[*side] != target.shape[*side];
    let outer = (0..rank).rev().find(is_cut).unwrap_or(0);
    let pieces = size[..outer].iter().try_fold(1_u64, |product, &side| product.checked_mul(side));
    pieces.filter(|&pieces| pieces <= MOST_PIECES)?;
    let bytes = size[outer..].iter().product::<u64>() * source.item;
    let place = |shape: &[u64], begin: &[u64], index: &[u64]| {
        let index = |side: usize| begin[side] + index.get(side).copied().unwrap_or(0);
        (0..rank).fold(0, |place, side| place * shape[side] + index(side)) * source.item
    };
    let mut copies = Vec::new();
    let mut index = vec![0; outer];
    loop {
        let offset = place(&source.shape, begin, &index);
        copies.push(Copy {
            from: From::Operand { position, offset },
            to: place(&target.shape, to, &index),
            bytes,
        });
        let Some(side) = (0..outer).rev().find(|&side| index[side] + 1 < size[side]) else {
            return Some(copies);
        };
        index[side] += 1;
        index[side + 1..].fill(0);
    }
}
