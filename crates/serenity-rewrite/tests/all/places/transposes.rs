//! Transpositions that undo each other. Elements are symbols: what an op makes of an element is a number mixed from the
//! op and the elements it reads, so two graphs that compute the same have the same numbers in the same places.

use crate::identities::random_models::Rng;
use crate::places::drawing::{Drawing, constant, kinds};
use serde_json::{Value, json};
use serenity_ir::{Constant, ElementType, Graph, Op, OpId, Quantization, TensorId};
use serenity_rewrite::{NewConstant, Settings, apply, cancelled_transposes};
use serenity_search::mix;
use std::collections::BTreeMap;

const TO_LAST: [usize; 4] = [0, 2, 3, 1];
const TO_FIRST: [usize; 4] = [0, 3, 1, 2];

/// An array of symbols, by their places.
#[derive(Clone, Debug, PartialEq)]
struct Symbols {
    shape: Vec<u64>,
    at: BTreeMap<Vec<u64>, u64>,
}

fn places(shape: &[u64]) -> Vec<Vec<u64>> {
    let extend = |places: Vec<Vec<u64>>, &size: &u64| {
        places.iter().flat_map(|place| (0..size).map(|at| [place.as_slice(), &[at]].concat())).collect()
    };
    shape.iter().fold(vec![Vec::new()], extend)
}

impl Symbols {
    fn new(shape: &[u64], symbol: impl Fn(&[u64]) -> u64) -> Self {
        let at = places(shape).into_iter().map(|place| (place.clone(), symbol(&place))).collect();
        Self { shape: shape.to_vec(), at }
    }

    /// The symbol that an op reads for a place of its result: always the same one along axes of one position, and along
    /// those that are missing in front.
    fn spread_at(&self, place: &[u64]) -> u64 {
        let own = &place[place.len() - self.shape.len()..];
        let at: Vec<u64> =
            own.iter().zip(&self.shape).map(|(&at, &size)| if size == 1 { 0 } else { at }).collect();
        self.at[&at]
    }
}

fn mixed(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(17, |so_far, value| mix(so_far ^ mix(value)))
}

fn run_op(op: &Op, inputs: &[&Symbols], shape: &[u64]) -> Symbols {
    let kind = mixed(op.kind.as_str().bytes().map(u64::from));
    let first = inputs[0];
    match op.kind.as_str() {
        "TRANSPOSE" => {
            let permutation: Vec<usize> =
                op.numbers("permutation").unwrap().iter().map(|&axis| axis as usize).collect();
            let source = |place: &[u64]| {
                let mut from = vec![0; place.len()];
                permutation.iter().zip(place).for_each(|(&axis, &at)| from[axis] = at);
                first.at[&from]
            };
            Symbols::new(shape, source)
        }
        "CONCATENATION" => {
            let axis = op.number("axis").unwrap();
            let axis = if axis < 0 { shape.len() - axis.unsigned_abs() as usize } else { axis as usize };
            let source = |place: &[u64]| {
                let mut from = place.to_vec();
                for piece in inputs {
                    if from[axis] < piece.shape[axis] {
                        return piece.at[&from];
                    }
                    from[axis] -= piece.shape[axis];
                }
                unreachable!("pieces add up")
            };
            Symbols::new(shape, source)
        }
        "PAD" => {
            let paddings = op.paddings().unwrap();
            let source = |place: &[u64]| {
                let from: Option<Vec<u64>> =
                    place.iter().zip(&paddings).map(|(&at, [before, _])| at.checked_sub(*before)).collect();
                from.and_then(|from| first.at.get(&from).copied()).unwrap_or(kind)
            };
            Symbols::new(shape, source)
        }
        // Whatever knows its layout: every element depends on all elements and their places.
        "CONV_2D" | "RESHAPE" => {
            let all =
                mixed(first.at.iter().flat_map(|(place, &symbol)| [mixed(place.iter().copied()), symbol]));
            Symbols::new(shape, |place| mixed([kind, all].into_iter().chain(place.iter().copied())))
        }
        _ => Symbols::new(shape, |place| {
            mixed([kind].into_iter().chain(inputs.iter().map(|input| input.spread_at(place))))
        }),
    }
}

/// The constant of an op, with a symbol of four bytes per element.
fn made(op: &Op) -> Option<Constant> {
    let shape = op.constant(1)?.shape()?;
    let data = (0..shape.iter().product()).flat_map(|at| (mix(at) as u32).to_le_bytes()).collect();
    Some(Constant { name: String::new(), shape, dtype: ElementType::Int32, quantization: None, data })
}

/// The constant of each op that reads one element by element.
fn constants(graph: &Graph) -> BTreeMap<OpId, Constant> {
    let is_by_element = |id: &OpId| matches!(graph.op(*id).kind.as_str(), "ADD" | "MUL" | "PRELU");
    graph.op_ids().filter(is_by_element).filter_map(|id| Some((id, made(graph.op(id))?))).collect()
}

fn symbols(constant: &Constant) -> Symbols {
    let mut elements =
        constant.data.chunks_exact(4).map(|bytes| u64::from(u32::from_le_bytes(bytes.try_into().unwrap())));
    let at = places(&constant.shape).into_iter().map(|place| (place, elements.next().unwrap())).collect();
    Symbols { shape: constant.shape.clone(), at }
}

fn run(graph: &Graph, constants: &BTreeMap<OpId, Constant>) -> Vec<Symbols> {
    let mut known: BTreeMap<TensorId, Symbols> = BTreeMap::new();
    let shape = |tensor: TensorId| graph.tensor(tensor).shape.clone().unwrap();
    for &input in graph.inputs() {
        let symbol = |place: &[u64]| mixed([u64::from(input.0)].into_iter().chain(place.iter().copied()));
        known.insert(input, Symbols::new(&shape(input), symbol));
    }
    for id in graph.file_order() {
        let op = graph.op(id);
        let constant = constants.get(&id).map(symbols);
        let inputs: Vec<&Symbols> = op.inputs.iter().map(|input| &known[input]).chain(&constant).collect();
        let made = run_op(op, &inputs, &shape(op.outputs[0]));
        known.insert(op.outputs[0], made);
    }
    graph.outputs().iter().map(|output| known[output].clone()).collect()
}

fn transposed(
    drawing: &mut Drawing,
    tensor: TensorId,
    shape: [u64; 4],
    by: [usize; 4],
) -> (TensorId, [u64; 4]) {
    let new = by.map(|axis| shape[axis]);
    (drawing.op("TRANSPOSE", &[tensor], json!({"permutation": by}), &new), new)
}

/// Convolutions with channels last between functions with channels first, as exporters write them, and now and then
/// something that keeps a layout in its place.
fn draw(rng: &mut Rng) -> Graph {
    let mut drawing = Drawing::int8();
    let shape = [1, rng.size(1, 3), rng.size(2, 3), rng.size(2, 3)];
    let input = drawing.input(&shape);
    let mut known = vec![(input, shape)];
    let mut outputs = Vec::new();
    for _ in 0..rng.size(4, 14) {
        let (tensor, shape) =
            known[known.len() - 1 - rng.size(0, known.len() as u64 - 1).min(rng.size(0, 4)) as usize];
        let alike: Vec<TensorId> =
            known.iter().filter(|(_, other)| *other == shape).map(|(tensor, _)| *tensor).collect();
        let none = json!({"activation": "none"});
        let made = match rng.size(0, 10) {
            0..=2 => {
                // A convolution with channels last.
                let (last, wide) = transposed(&mut drawing, tensor, shape, TO_LAST);
                let result = drawing.op("CONV_2D", &[last], none, &wide);
                transposed(&mut drawing, result, wide, TO_FIRST)
            }
            3 => (drawing.op("LOGISTIC", &[tensor], json!({}), &shape), shape),
            4 | 5 => (drawing.op("MUL", &[tensor, rng.choose(&alike)], none, &shape), shape),
            6 => {
                let axis = rng.size(1, 3) as usize;
                let other = rng.choose(&alike);
                let mut wide = shape;
                wide[axis] *= 2;
                let written = if rng.one_in(2) { axis as i64 } else { axis as i64 - 4 };
                let attributes = json!({"axis": written, "activation": "none"});
                (drawing.op("CONCATENATION", &[tensor, other], attributes, &wide), wide)
            }
            7 => {
                let amounts: [[u64; 2]; 4] = [[0, 0], [0, rng.size(0, 1)], [1, rng.size(0, 1)], [0, 1]];
                let mut wide = shape;
                wide.iter_mut().zip(amounts).for_each(|(size, [before, after])| *size += before + after);
                let rows = json!({"name": "p", "shape": [4, 2], "dtype": "int32"});
                let attributes = json!({"paddings": amounts, "constants": {"1": rows}});
                (drawing.op("PAD", &[tensor], attributes, &wide), wide)
            }
            8 => {
                let mut spread = shape.map(|size| if rng.one_in(2) { size } else { 1 }).to_vec();
                spread.drain(..rng.size(0, 3) as usize);
                let kind = rng.choose(&["ADD", "MUL", "PRELU"]);
                (drawing.op(kind, &[tensor], json!({"constants": {"1": constant(&spread)}}), &shape), shape)
            }
            9 => {
                // A number per channel, as from a convolution with one row and column of channels last.
                let small = [1, 1, 1, shape[1]];
                let result = drawing.op("CONV_2D", &[input], json!({}), &small);
                let (scales, _) = transposed(&mut drawing, result, small, TO_FIRST);
                (drawing.op("MUL", &[tensor, scales], json!({"activation": "none"}), &shape), shape)
            }
            _ if rng.one_in(3) => {
                outputs.push(tensor);
                continue;
            }
            _ => continue,
        };
        if made.1.iter().product::<u64>() <= 200 {
            known.push(made);
        }
    }
    // All ends are read with channels last.
    let (tensor, shape) = known[known.len() - 1];
    let (last, wide) = transposed(&mut drawing, tensor, shape, TO_LAST);
    outputs.push(drawing.op("CONV_2D", &[last], json!({"activation": "none"}), &wide));
    outputs.retain(|output| *output != input);
    outputs.sort_unstable();
    outputs.dedup();
    drawing.finish(&outputs)
}

fn transposes(graph: &Graph) -> usize {
    kinds(graph).into_iter().filter(|kind| *kind == "TRANSPOSE").count()
}

#[test]
fn what_is_left_computes_the_same() {
    let (mut changed, mut removed, mut permuted) = (0, 0, 0);
    for seed in 0..serenity_judges::draws(20_000) {
        let graph = draw(&mut Rng::new(seed));
        let patches = cancelled_transposes(&graph);
        if patches.is_empty() {
            continue;
        }
        let rewriting = apply(&graph, &patches, &Settings::default()).unwrap();
        let (old_constants, mut new_constants) = (constants(&graph), BTreeMap::new());
        for (id, origin) in rewriting.graph.op_ids().zip(&rewriting.origins) {
            let Some(old) = origin.op.and_then(|old| old_constants.get(&old)) else { continue };
            let new = origin
                .constants
                .get(&1)
                .map_or_else(|| Ok(Some(old.clone())), |new| new.make(old, String::new()));
            let new = new.unwrap().unwrap();
            assert_eq!(
                Some(&new.shape),
                made(rewriting.graph.op(id)).map(|made| made.shape).as_ref(),
                "seed {seed}"
            );
            permuted += usize::from(new != *old);
            new_constants.insert(id, new);
        }
        let new = rewriting.graph;
        assert_eq!(run(&graph, &old_constants), run(&new, &new_constants), "seed {seed}");
        let gone = transposes(&graph) - transposes(&new);
        assert!(gone > 0 && graph.ops().len() - new.ops().len() == gone, "seed {seed}");
        let bytes = |graph: &Graph| graph.tensors().iter().map(|tensor| tensor.bytes).sum::<u64>();
        assert!(bytes(&new) < bytes(&graph), "seed {seed}");
        changed += 1;
        removed += gone;
    }
    println!("{changed} graphs lost {removed} transpositions; {permuted} constants were permuted");
    assert!(changed > 100 && removed > 2 * changed && permuted > 20, "{changed} {removed} {permuted}");
}

/// `x` with channels last, first, and last again, with an op between.
fn around(kind: &str, attributes: Value, is_output: bool) -> Graph {
    let mut drawing = Drawing::int8();
    let shape = [1, 2, 3, 4];
    let x = drawing.input(&shape);
    let (first, other) = transposed(&mut drawing, x, shape, TO_FIRST);
    let made = drawing.op(kind, &[first], attributes, &other);
    let (last, _) = transposed(&mut drawing, made, other, TO_LAST);
    let y = drawing.op("CONV_2D", &[last], json!({"activation": "none"}), &shape);
    drawing.finish(&if is_output { vec![y, made] } else { vec![y] })
}

#[test]
fn regions_that_something_else_reads_or_writes_stay() {
    let count = |graph: &Graph| cancelled_transposes(graph).len();
    assert_eq!(count(&around("LOGISTIC", json!({}), false)), 1);
    assert_eq!(count(&around("LOGISTIC", json!({}), true)), 0);
    assert_eq!(count(&around("SOFTMAX", json!({}), false)), 0);
    assert_eq!(count(&around("ADD", json!({"constants": {"1": constant(&[1])}}), false)), 1);
    // A number per channel, and several, which are permuted with the layout.
    assert_eq!(count(&around("PRELU", json!({"constants": {"1": constant(&[4, 1, 1])}}), false)), 1);
    assert_eq!(count(&around("ADD", json!({"constants": {"1": constant(&[2, 3])}}), false)), 1);
    // What does not fit the shape.
    assert_eq!(count(&around("ADD", json!({"constants": {"1": constant(&[2])}}), false)), 0);
    assert_eq!(count(&around("MUL", json!({"constants": {"1": constant(&[1, 1, 1, 1, 1])}}), false)), 0);
}

#[test]
fn a_constant_in_another_layout() {
    let data = vec![1, 2, 3, 4, 5, 6];
    let scales = Quantization { scales: vec![0.5, 0.25], zero_points: vec![0], axis: 0 };
    let old = Constant {
        name: String::new(),
        shape: vec![2, 3, 1],
        dtype: ElementType::Int8,
        quantization: Some(scales),
        data,
    };
    let new = NewConstant::Permuted(TO_LAST.to_vec()).make(&old, "new".to_owned()).unwrap().unwrap();
    assert_eq!((new.shape, new.data), (vec![1, 3, 1, 2], vec![1, 4, 2, 5, 3, 6]));
    assert_eq!(new.quantization.unwrap().axis, 3);
    let short = Constant { data: vec![1; 5], ..old.clone() };
    assert!(NewConstant::Permuted(TO_LAST.to_vec()).make(&short, String::new()).is_err());
    let empty = Constant { shape: vec![0, u64::MAX, 1], data: Vec::new(), quantization: None, ..old };
    let empty = NewConstant::Permuted(TO_LAST.to_vec()).make(&empty, String::new());
    assert!(empty.is_ok_and(|made| made.unwrap().data.is_empty()));
}
