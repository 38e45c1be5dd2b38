//! What ONNX Runtime finds out about shapes when it loads a file.
//!
//! It plans its memory before the first run, from what the file declares and what it infers from that; sizes that
//! whoever runs the model gives come too late. It infers by the rules of the standard, which see constants, and what a
//! few operators make of a shape that is known; not what nodes compute of constants.
//!
//! So the rules are those for real shapes, and a size that it does not know is a number that no model has ([`Open`]):
//! what a rule copies stays that number, and what it computes with becomes one that stands for nothing. Where the
//! standard's rule says less of such sizes, or more, it is followed here. Judged by what version 1.31.1 writes down as
//! inferred.

use super::Call;
use super::elementwise::broadcast_shapes;
use super::{layout, table};
use crate::fact::{Fact, Values};
use crate::proto::{Dim, Graph, ValueInfo};
use serenity_ir::KnownDim;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// From here on numbers stand for sizes that are not known.
pub(super) const FIRST_OPEN: u64 = 1 << 30;
/// Far enough apart that arithmetic does not lead from one name to another.
const APART: u64 = 1_000_003;
/// A size of which nothing is known. Products of it with a few others are still numbers.
pub(super) const NOTHING: u64 = FIRST_OPEN;

/// The names of sizes, and the place of each.
#[derive(Default)]
struct Names<'a> {
    all: Vec<&'a str>,
    places: HashMap<&'a str, usize>,
}

/// The sizes that the file leaves open, and what counts as constant.
#[derive(Default)]
pub(crate) struct Open<'a> {
    names: RefCell<Names<'a>>,
    constants: HashSet<&'a str>,
}

impl<'a> Open<'a> {
    /// Those of a graph, in which callers may give other values to the initializers named.
    pub(crate) fn of(graph: &Graph<'a>, overridable: &HashSet<String>) -> Self {
        let initializers = graph.initializers.iter().map(|tensor| tensor.name);
        let nodes = graph.nodes.iter().filter(|node| node.op_type == "Constant");
        let made = nodes.flat_map(|node| node.outputs.iter().copied());
        let fixed = initializers.filter(|name| !overridable.contains(*name));
        Self { names: RefCell::default(), constants: fixed.chain(made).collect() }
    }

    /// Is it a constant that nobody can change?
    pub(super) fn is_constant(&self, name: &str) -> bool {
        self.constants.contains(name)
    }

    fn number(&self, dim: Dim<'a>) -> u64 {
        match dim {
            Dim::Known(size) => size.min(NOTHING),
            Dim::Named("") => NOTHING,
            Dim::Named(name) => {
                let Names { all, places } = &mut *self.names.borrow_mut();
                let place = *places.entry(name).or_insert_with(|| {
                    all.push(name);
                    all.len() - 1
                });
                FIRST_OPEN + APART * (place as u64 + 1)
            }
        }
    }

    /// What a number stands for.
    fn dim(&self, number: u64) -> KnownDim {
        if number < FIRST_OPEN {
            return KnownDim::Size(number);
        }
        let (place, rest) = ((number - FIRST_OPEN) / APART, (number - FIRST_OPEN) % APART);
        let name =
            place.checked_sub(1).and_then(|place| self.names.borrow().all.get(place as usize).copied());
        match name {
            Some(name) if rest == 0 => KnownDim::Named(name.to_owned()),
            _ => KnownDim::Open,
        }
    }

    /// What numbers stand for.
    pub(crate) fn dims(&self, shape: &[u64]) -> Vec<KnownDim> {
        shape.iter().map(|&number| self.dim(number)).collect()
    }

    /// What a declaration says.
    pub(super) fn declared(&self, info: &ValueInfo<'a>) -> Fact {
        let number = |&dim: &Dim<'a>| self.number(dim);
        Fact::of(info.data_type, info.dims.as_ref().map(|dims| dims.iter().map(number).collect()))
    }

    /// What is known of a tensor of which a rule says one thing and the file another: a size before a name, the name of
    /// the file before another, and nothing where sizes differ.
    pub(super) fn merged(&self, inferred: Fact, declared: Fact) -> Fact {
        let (Some(rule), Some(file)) = (&inferred.shape, &declared.shape) else {
            return inferred.or(declared);
        };
        if rule.len() != file.len() {
            return Fact::of(inferred.data_type, None);
        }
        let is_size = |number: u64| number < FIRST_OPEN;
        let merge = |(&rule, &file): (&u64, &u64)| match (is_size(rule), is_size(file)) {
            (true, true) if rule != file => NOTHING,
            (true, _) => rule,
            (false, false) if self.dim(file) == KnownDim::Open => rule,
            (false, _) => file,
        };
        let shape = rule.iter().zip(file).map(merge).collect();
        Fact::of(inferred.data_type, Some(shape)).with_values(inferred.values)
    }

    /// The facts of a node's outputs.
    pub(super) fn infer(&self, call: &Call<'_, 'a>) -> Vec<Fact> {
        let mut facts = shapes(call).unwrap_or_default();
        if call.node.op_type != "Constant" {
            for fact in &mut facts {
                fact.values = None;
            }
            if let Some(first) = facts.first_mut() {
                let values = self.values(call);
                *first = std::mem::take(first).with_values(values);
            }
        }
        facts
    }

    /// The numbers that it carries along: those of shapes, through a few operators, alone or as a list. A constant is
    /// none of them, so what is computed with one is lost.
    fn values(&self, call: &Call<'_, 'a>) -> Option<Values> {
        let is_constant = |position: usize| self.is_constant(call.node.inputs[position]);
        let carried = |position: usize| {
            let fact = call.input(position).filter(|_| !is_constant(position))?;
            Some((fact.ints()?, fact.shape.as_ref()?.len()))
        };
        let values: Vec<i64> = match call.node.op_type {
            "Shape" => {
                let known = table::infer(call)?.pop()?;
                let sizes = known.ints()?.to_vec();
                sizes.iter().all(|&size| size < FIRST_OPEN as i64).then_some(sizes)?
            }
            "Cast" if call.opset >= 13 => carried(0)?.0.to_vec(),
            "Gather" => {
                let ((sizes, 1), [index]) = (carried(0)?, call.ints(1)?) else { return None };
                let is_known = is_constant(1) && call.shape(1)?.len() <= 1;
                vec![*sizes.get(super::call::axis_index(*index, sizes.len())?).filter(|_| is_known)?]
            }
            "Squeeze" => {
                let (&[value], _) = carried(0)? else { return None };
                vec![value]
            }
            "Unsqueeze" => {
                let (&[value], 0) = carried(0)? else { return None };
                vec![value]
            }
            "Add" | "Sub" | "Mul" | "Div" => {
                let (&[a], &[b]) = (carried(0)?.0, carried(1)?.0) else { return None };
                vec![match call.node.op_type {
                    "Add" => a.checked_add(b)?,
                    "Sub" => a.checked_sub(b)?,
                    "Mul" => a.checked_mul(b)?,
                    _ => a.checked_div(b)?,
                }]
            }
            "Concat" if call.opset >= 13 => {
                let list = |position| carried(position).filter(|&(_, rank)| rank == 1).map(|(list, _)| list);
                (0..call.input_count()).map(list).collect::<Option<Vec<_>>>()?.concat()
            }
            _ => return None,
        };
        Some(Values::Ints(values))
    }
}

/// The shapes of a node's outputs.
fn shapes(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let unknown = || Some(vec![Fact::default(); call.output_count()]);
    match call.node.op_type {
        "Crop" => unknown(),
        "Dropout" if call.opset < 10 => Some(table::infer(call)?.into_iter().take(1).collect()),
        "Reshape" => reshape(call),
        "Flatten" => {
            let shape = call.shape(0)?;
            let axis = call.int_or("axis", 1);
            let axis = usize::try_from(if axis < 0 { axis + shape.len() as i64 } else { axis }).ok()?;
            let (rows, columns) = shape.split_at_checked(axis)?;
            one(call, vec![product(rows), product(columns)])
        }
        "Squeeze" => {
            let is_open = call.shape(0)?.iter().any(|&size| size >= FIRST_OPEN);
            let has_axes = call.ints_from("axes", 1).ok()?.is_some();
            if is_open && !has_axes { unknown() } else { table::infer(call) }
        }
        "Expand" => match call.ints(1) {
            Some(_) => table::infer(call),
            None if call.opset >= 13 => one(call, broadcast_shapes(call.shape(0)?, &rank_of(call, 1)?)?),
            None => unknown(),
        },
        "ConstantOfShape" => table::infer(call).or_else(|| one(call, rank_of(call, 0)?)),
        // A list of numbers, whatever its length; and one number.
        "Shape" => table::infer(call).or_else(|| one(call, vec![NOTHING])),
        "Size" => one(call, Vec::new()),
        "Range" => table::infer(call).or_else(|| one(call, vec![NOTHING])),
        "NonZero" => one(call, vec![call.shape(0)?.len() as u64, NOTHING]),
        "Concat" => concat(call),
        "Slice" => {
            let sliced = table::infer(call).or_else(|| one(call, vec![NOTHING; call.shape(0)?.len()]))?;
            let mut shape = sliced.into_iter().next()?.shape?;
            for (axis, _) in layout::cuts(call, call.shape(0)?).unwrap_or_default() {
                if call.shape(0)?[axis] >= FIRST_OPEN {
                    shape[axis] = NOTHING;
                }
            }
            one(call, shape)
        }
        "Split" => table::infer(call).or_else(|| {
            let mut shape = call.shape(0)?.to_vec();
            let axis = call.axis(0, shape.len())?;
            shape[axis] = NOTHING;
            Some(vec![Fact::of(call.data_type(0), Some(shape)); call.output_count()])
        }),
        // What they add or multiply with is not known: at least the number of dimensions is.
        "Pad" | "Tile" | "TopK" => table::infer(call).or_else(|| all_open(call)),
        "Resize" | "Upsample" => {
            let mut facts = table::infer(call).or_else(|| all_open(call))?;
            sealed(facts.first_mut()?.shape.as_mut()?, call.shape(0)?, 0);
            Some(facts)
        }
        "Conv" | "ConvInteger" | "ConvTranspose" | "DeformConv" | "QLinearConv" | "AveragePool"
        | "LpPool" | "MaxPool" | "MaxUnpool" => {
            let mut facts = table::infer(call)?;
            for fact in &mut facts {
                sealed(fact.shape.as_mut()?, call.shape(0)?, 2);
            }
            Some(facts)
        }
        name if name.starts_with("Reduce") => {
            let keeps = call.int_or("keepdims", 1) != 0;
            table::infer(call).or_else(|| all_open(call).filter(|_| keeps))
        }
        _ => table::infer(call),
    }
}

fn one(call: &Call<'_, '_>, shape: Vec<u64>) -> Option<Vec<Fact>> {
    super::call::one(call.data_type(0), shape)
}

/// As many dimensions as the input has.
fn all_open(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let fact = Fact::of(call.data_type(0), Some(vec![NOTHING; call.shape(0)?.len()]));
    Some(vec![fact; call.output_count()])
}

/// As many dimensions as there are numbers in an input.
fn rank_of(call: &Call<'_, '_>, position: usize) -> Option<Vec<u64>> {
    let &[rank] = call.shape(position)? else { return None };
    (rank <= 32).then(|| vec![NOTHING; rank as usize])
}

/// Takes out what would have been computed from sizes that are not known, from one axis on.
fn sealed(shape: &mut [u64], input: &[u64], first: usize) {
    for (size, &from) in shape.iter_mut().zip(input).skip(first) {
        if from >= FIRST_OPEN {
            *size = NOTHING;
        }
    }
}

/// A name survives beside ones.
fn product(sizes: &[u64]) -> u64 {
    let mut open = sizes.iter().filter(|&&size| size >= FIRST_OPEN);
    let known =
        sizes.iter().filter(|&&size| size < FIRST_OPEN).fold(1, |n: u64, &size| n.saturating_mul(size));
    match (open.next(), open.next(), known) {
        (None, _, known) => known.min(NOTHING),
        (Some(&name), None, 1) => name,
        _ => NOTHING,
    }
}

/// 0 copies a size, also one that is not known; what is left over for -1 is known if all else is.
fn reshape(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let Some(target) = call.ints_from("shape", 1).ok().flatten() else {
        return one(call, rank_of(call, 1).filter(|_| call.opset >= 14)?);
    };
    let input = call.shape(0);
    let copies_zeros = !call.is_set("allowzero");
    let mut shape = Vec::with_capacity(target.len());
    let mut copied = HashSet::new();
    for (axis, &size) in target.iter().enumerate() {
        shape.push(match size {
            -1 => NOTHING,
            0 if copies_zeros => {
                copied.insert(axis);
                input.map_or(Some(NOTHING), |input| input.get(axis).copied())?
            }
            size => u64::try_from(size).ok()?,
        });
    }
    if let (Some(rest), Some(input)) = (target.iter().position(|&size| size == -1), input) {
        let is_lost = |axis: usize| copied.contains(&axis) && input[axis] >= FIRST_OPEN;
        let of = |sizes: &[u64]| -> u64 {
            let kept = sizes.iter().enumerate().filter(|&(axis, _)| axis >= input.len() || !is_lost(axis));
            product(&kept.map(|(_, &size)| size).collect::<Vec<_>>())
        };
        let all = of(input);
        shape[rest] = 1;
        let others = of(&shape);
        let is_known = all < FIRST_OPEN && others < FIRST_OPEN && others > 0 && all % others == 0;
        shape[rest] = if is_known { all / others } else { NOTHING };
    }
    one(call, shape)
}

/// Other axes than the one they are joined along are the same in all pieces: one piece that tells is enough.
fn concat(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(0)?.to_vec();
    let along = call.axis(1, shape.len())?;
    for position in 1..call.input_count() {
        let piece = call.shape(position)?;
        if piece.len() != shape.len() {
            return None;
        }
        for (axis, (size, &other)) in shape.iter_mut().zip(piece).enumerate() {
            let is_open = *size >= FIRST_OPEN || other >= FIRST_OPEN;
            *size = match axis == along {
                true if is_open => NOTHING,
                true => size.checked_add(other)?,
                false if *size >= FIRST_OPEN && other < FIRST_OPEN => other,
                false => *size,
            };
        }
    }
    if shape[along] >= FIRST_OPEN {
        shape[along] = NOTHING;
    }
    one(call, shape)
}
