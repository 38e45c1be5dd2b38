//! Constants with fewer channels.

use super::steps::Operand;
use crate::channels::part;
use crate::tflite::operators::MAIN;
use serenity_ir::{ElementType, Quantization};
use serenity_rewrite::constant_channels::{Narrowing, Network};
use serenity_tflite::{Edit, Error, FileTensor, Model, NewTensor, OperatorSource, SubGraph};
use std::collections::BTreeMap;

/// What decides which parts of constants stay.
pub(super) struct Cuts<'a> {
    pub(super) model: &'a Model,
    pub(super) main: &'a SubGraph,
    pub(super) network: &'a Network,
    pub(super) narrowing: &'a Narrowing,
}

/// A constant with fewer elements.
#[derive(Clone, Debug, PartialEq)]
struct Smaller {
    shape: Vec<u64>,
    quantization: Option<Quantization>,
    data: Vec<u8>,
}

impl Cuts<'_> {
    /// Puts smaller constants in the place of the old ones; the operators that read them. A constant that others read
    /// as well stays, and gets a smaller one beside it.
    pub(super) fn make(
        &self,
        operands: &[Vec<Operand>],
        edit: &mut Edit,
    ) -> Result<Vec<OperatorSource>, Error> {
        let mut smaller: BTreeMap<(usize, usize), Smaller> = BTreeMap::new();
        for (operator, parts) in operands.iter().enumerate() {
            for part in parts {
                let position = match part {
                    Operand::Parts { position, .. } | Operand::Shape { position, .. } => *position,
                };
                if let Some(made) = self.smaller(operator, part)? {
                    smaller.insert((operator, position), made);
                }
            }
        }
        let alone = self.read_alike(&smaller);
        let mut operators = Vec::new();
        let mut added: Vec<(usize, Smaller, usize)> = Vec::new();
        for (number, old) in self.main.operators().iter().enumerate() {
            let mut inputs = old.inputs.clone();
            for (position, input) in inputs.iter_mut().enumerate() {
                let (Some(made), Some(tensor)) = (smaller.get(&(number, position)), *input) else { continue };
                if alone.contains_key(&tensor) {
                    continue;
                }
                let known = added.iter().find(|(of, known, _)| (*of, known) == (tensor, made));
                *input = Some(if let Some((.., number)) = known {
                    *number
                } else {
                    let new = self.tensor(tensor, made, edit);
                    let number = edit.add_tensor(MAIN, new)?;
                    added.push((tensor, made.clone(), number));
                    number
                });
            }
            operators.push(if inputs == old.inputs {
                OperatorSource::Kept(number)
            } else {
                OperatorSource::Rewired { operator: number, inputs, outputs: old.outputs.clone() }
            });
        }
        for (tensor, made) in alone {
            let new = self.tensor(tensor, made, edit);
            edit.replace_tensor(MAIN, tensor, new)?;
        }
        Ok(operators)
    }

    fn tensor(&self, number: usize, made: &Smaller, edit: &mut Edit) -> NewTensor {
        let old = &self.main.tensors()[number];
        NewTensor {
            name: old.name.clone(),
            shape: made.shape.clone(),
            shape_signature: None,
            dtype: old.dtype.clone(),
            buffer: edit.add_buffer(made.data.clone()),
            quantization: made.quantization.clone(),
        }
    }

    /// Constants that become the same wherever they are read.
    fn read_alike<'s>(&self, smaller: &'s BTreeMap<(usize, usize), Smaller>) -> BTreeMap<usize, &'s Smaller> {
        let mut uses: BTreeMap<usize, Vec<Option<&Smaller>>> = BTreeMap::new();
        for (number, operator) in self.main.operators().iter().enumerate() {
            for (position, tensor) in operator.inputs.iter().enumerate() {
                if let Some(tensor) = tensor {
                    uses.entry(*tensor).or_default().push(smaller.get(&(number, position)));
                }
            }
        }
        for &port in self.main.inputs().iter().chain(self.main.outputs()) {
            uses.entry(port).or_default().push(None);
        }
        let alike = |(tensor, uses): (usize, Vec<Option<&'s Smaller>>)| {
            let first = uses.first().copied().flatten()?;
            uses.iter().all(|one| *one == Some(first)).then_some((tensor, first))
        };
        uses.into_iter().filter_map(alike).collect()
    }

    /// What becomes of an operand; `None` if it stays.
    fn smaller(&self, operator: usize, part: &Operand) -> Result<Option<Smaller>, Error> {
        let position = match part {
            Operand::Parts { position, .. } | Operand::Shape { position, .. } => *position,
        };
        let number = self.main.operators()[operator].inputs.get(position).copied().flatten();
        let Some(number) = number else { return Ok(None) };
        let old = &self.main.tensors()[number];
        let refused = || Error::Edit(format!("constant `{}` cannot be made smaller", old.name));
        let data = self.model.constant(MAIN, number).ok_or_else(refused)?;
        match part {
            Operand::Shape { of, .. } => {
                let Some(kept) = &self.narrowing.kept[*of] else { return Ok(None) };
                Ok(Some(new_shape(old, data, kept.len()).ok_or_else(refused)?))
            }
            Operand::Parts { axes, is_bias, .. } => {
                let folded = self.narrowing.folded.get(&operator).filter(|_| *is_bias);
                let is_cut = axes.iter().any(|(_, tensor)| self.narrowing.kept[*tensor].is_some());
                if !is_cut && folded.is_none() {
                    return Ok(None);
                }
                let mut made = Smaller {
                    shape: old.shape.clone(),
                    quantization: old.quantization.clone(),
                    data: data.to_vec(),
                };
                if let Some(folded) = folded {
                    made.data = part::with_added(&made.data, &old.dtype, folded).ok_or_else(refused)?;
                }
                for (axis, tensor) in axes {
                    let count = self.network.tensors[*tensor].count;
                    if let Some(kept) = &self.narrowing.kept[*tensor] {
                        made = made.along(*axis, count, kept, &old.dtype).ok_or_else(refused)?;
                    }
                }
                Ok(Some(made))
            }
        }
    }
}

impl Smaller {
    /// The positions `kept` along a dimension of `count`.
    fn along(self, axis: usize, count: usize, kept: &[usize], dtype: &ElementType) -> Option<Self> {
        let Self { mut shape, quantization, data } = self;
        let part = part::along(&data, &shape, dtype, axis, count, kept)?;
        shape[axis] = kept.len() as u64;
        let quantization = match quantization {
            // Some converters name an axis that a bias does not have.
            Some(given)
                if (given.axis as usize == axis || shape.len() == 1)
                    && (given.scales.len() > 1 || given.zero_points.len() > 1) =>
            {
                Some(quantization_of(&given, kept)?)
            }
            other => other,
        };
        Some(Self { shape, quantization, data: part })
    }
}

fn quantization_of(given: &Quantization, kept: &[usize]) -> Option<Quantization> {
    fn part<T: Copy>(list: &[T], kept: &[usize]) -> Option<Vec<T>> {
        if list.len() < 2 {
            return Some(list.to_vec());
        }
        kept.iter().map(|&channel| list.get(channel).copied()).collect()
    }
    Some(Quantization {
        scales: part(&given.scales, kept)?,
        zero_points: part(&given.zero_points, kept)?,
        axis: given.axis,
    })
}

/// The shape of a result with so many channels. One that is to be found out stays so.
fn new_shape(old: &FileTensor, data: &[u8], channels: usize) -> Option<Smaller> {
    let (numbers, rest) = data.as_chunks::<4>();
    let mut numbers: Vec<i32> = numbers.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect();
    let last = numbers.last_mut().filter(|_| rest.is_empty())?;
    *last = if *last < 0 { *last } else { i32::try_from(channels).ok()? };
    let data = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Some(Smaller { shape: old.shape.clone(), quantization: old.quantization.clone(), data })
}
