//! Padding, concatenation, slices, splits, reshaping.

use super::graphs::OneOp;
use super::naive::Naive;
use super::{Chance, Verdict, asked, assert_enough, assert_tight, assert_tight_between, nearest, replayed};
use serde_json::json;
use serenity_ir::ElementType::{Float32, Int8, Int16};
use serenity_ir::OpId;
use serenity_runtimes::Kernels::{Any, CmsisNn, Reference};
use serenity_runtimes::overlaps;

/// All indices of a shape, in order.
fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    shape.iter().fold(vec![vec![]], |outer, &size| {
        let extend = |index: Vec<i64>| (0..size).map(move |place| [&index[..], &[place]].concat());
        outer.into_iter().flat_map(extend).collect()
    })
}

fn place(shape: &[i64], index: &[i64]) -> i64 {
    shape.iter().zip(index).fold(0, |place, (size, at)| place * size + at)
}

fn shape_by_chance(chance: &mut Chance) -> Vec<i64> {
    (0..chance.from(1, 4)).map(|_| chance.from(1, 5)).collect()
}

#[test]
fn padding() {
    let mut chance = Chance(11);
    for _ in 0..300 {
        let input = shape_by_chance(&mut chance);
        let paddings: Vec<[i64; 2]> = input.iter().map(|_| chance.pair(0, 2)).collect();
        let output: Vec<i64> =
            input.iter().zip(&paddings).map(|(size, [before, after])| before + size + after).collect();
        let mut trace = Naive::of(2);
        let mut next = 0;
        for (to, index) in (0..).zip(indices(&output)) {
            let is_inside = (0..input.len()).all(|d| (0..input[d]).contains(&(index[d] - paddings[d][0])));
            if is_inside {
                trace.read(next * 2);
                next += 1;
            }
            trace.write((to + 1) * 2);
        }
        let op = OneOp::new("PAD").reads(&input, &Int16).values(&paddings.concat()).gives(&output, &Int16);
        assert_tight(op.clone(), Reference, output.iter().product::<i64>() * 2, &trace);
        assert_eq!(asked(op, CmsisNn, 0, 0), None);

        // CMSIS-NN copies rows of bytes, or pixels if there is padding between them.
        let rank = input.len();
        let inner = if input[rank - 1] == output[rank - 1] { 2 } else { 1 };
        let block: i64 = input.iter().rev().take(inner).product();
        let mut trace = Naive::of(1);
        let mut next = 0;
        for (to, index) in (0..).zip(indices(&output)) {
            let is_inside = |d: usize| (0..input[d]).contains(&(index[d] - paddings[d][0]));
            let begins = (rank.saturating_sub(inner)..rank).all(|d| index[d] == paddings[d][0]);
            if !(0..rank).all(is_inside) {
                trace.write(to + 1);
            } else if begins {
                trace.copy(next * block, to, block);
                next += 1;
            }
        }
        let op = OneOp::new("PAD").reads(&input, &Int8).values(&paddings.concat()).gives(&output, &Int8);
        assert_tight(op, CmsisNn, output.iter().product(), &trace);
    }
}

#[test]
fn concatenation() {
    let mut chance = Chance(12);
    for _ in 0..300 {
        let mut shape = shape_by_chance(&mut chance);
        let axis = chance.from(0, shape.len() as i64 - 1) as usize;
        let sizes = [chance.from(1, 4), chance.from(1, 4), chance.from(1, 4)];
        let outer: i64 = shape[..axis].iter().product();
        let inner: i64 = shape[axis + 1..].iter().product();
        let mut op = OneOp::new("CONCATENATION").with("axis", axis as i64 - shape.len() as i64);
        for size in sizes {
            shape[axis] = size;
            op = op.reads(&shape, &Int8);
        }
        shape[axis] = sizes.iter().sum();
        let op = op.gives(&shape, &Int8);
        let all: i64 = shape.iter().product();
        for operand in 0..3 {
            let mut trace = Naive::of(1);
            let mut to = 0;
            for copy in 0..outer {
                for (from, size) in sizes.iter().enumerate() {
                    let block = size * inner;
                    if from == operand {
                        trace.copy(copy * block, to, block);
                    } else {
                        trace.write(to + block);
                    }
                    to += block;
                }
            }
            assert_tight_between(op.clone(), Reference, [operand, 0], all, &trace);
            // Blocks that are copied onto themselves: each operand has one, and lies where it belongs.
            let graph = op.clone().graph();
            let found = overlaps(&graph, OpId(0), Reference);
            let input = graph.op(OpId(0)).inputs[operand];
            let exact = found.iter().find(|overlap| overlap.exact && overlap.input == input);
            let own_place = sizes[..operand].iter().sum::<i64>() * inner;
            assert_eq!(exact.map(|overlap| overlap.distance as i64), (outer == 1).then_some(own_place));
            let output = graph.op(OpId(0)).outputs[0];
            let found = nearest(&graph, OpId(0), Reference, input, output).exactly;
            assert_eq!(found.map(|distance| distance as i64), (outer == 1).then_some(own_place));
            if outer == 1 {
                let pair = [input, output];
                assert_eq!(replayed(&graph, Reference, pair, own_place), Verdict::Safe);
                let verdict = replayed(&graph, Reference, pair, own_place - 1);
                assert!(trace.lost_bytes(own_place - 1).is_empty() == (verdict == Verdict::Safe));
            }
        }
    }
}

#[test]
fn a_tensor_given_twice_must_be_safe_both_times() {
    let shape = [4, 2];
    let op = OneOp::new("CONCATENATION").with("axis", 1).reads(&shape, &Int8).gives(&[4, 4], &Int8);
    let (graph, pair) = op.first_again().with_ends();
    // The second block of the last row ends at 16, and lies at 6 in the operand.
    let found = overlaps(&graph, OpId(0), Reference);
    assert_eq!(found.iter().map(|overlap| overlap.distance).collect::<Vec<_>>(), [10]);
    assert_eq!(nearest(&graph, OpId(0), Reference, pair[0], pair[1]).at_least, Some(10));
    assert_eq!(replayed(&graph, Reference, pair, 10), Verdict::Safe);
    assert_eq!(replayed(&graph, Reference, pair, 9), Verdict::Overwrites { byte: 6, element: 15 });
    // Once as the picture, once as the filter: the latter was not looked at.
    let op = OneOp::new("FULLY_CONNECTED").reads(&[2, 4], &Int8).gives(&[2, 2], &Int8);
    assert_eq!(asked(op.clone(), Reference, 0, 0), Some(1));
    let (graph, pair) = op.first_again().with_ends();
    assert_eq!(overlaps(&graph, OpId(0), Reference), []);
    assert_eq!(replayed(&graph, Reference, pair, 3), Verdict::Unknown { kind: "FULLY_CONNECTED".to_owned() });
    // Both operands of a sum.
    let op = OneOp::new("ADD").reads(&[9], &Int8).gives(&[9], &Int8).first_again();
    let (graph, pair) = op.with_ends();
    for kernels in [Any, Reference, CmsisNn] {
        assert_eq!(overlaps(&graph, OpId(0), kernels).len(), 1);
        assert_eq!(replayed(&graph, kernels, pair, 0), Verdict::Safe);
        assert_eq!(replayed(&graph, kernels, pair, -2), Verdict::Overwrites { byte: 2, element: 0 });
    }
}

#[test]
fn slices() {
    let mut chance = Chance(13);
    for _ in 0..300 {
        let input = shape_by_chance(&mut chance);
        let begin: Vec<i64> = input.iter().map(|&size| chance.from(0, size - 1)).collect();
        let end: Vec<i64> =
            input.iter().zip(&begin).map(|(&size, &from)| chance.from(from + 1, size)).collect();
        let strides: Vec<i64> = input.iter().map(|_| chance.from(1, 2)).collect();
        let output: Vec<i64> = (0..input.len()).map(|d| (end[d] - begin[d] - 1) / strides[d] + 1).collect();
        let mut trace = Naive::of(1);
        let mut blocks = Naive::of(1);
        for (to, index) in (0..).zip(indices(&output)) {
            let from: Vec<i64> = (0..input.len()).map(|d| begin[d] + index[d] * strides[d]).collect();
            trace.read(place(&input, &from));
            trace.write(to + 1);
            let is_in_one_piece = strides.last() == Some(&1);
            match (is_in_one_piece, index.last()) {
                (true, Some(0)) => blocks.copy(place(&input, &from), to, output[output.len() - 1]),
                (true, _) => {}
                (false, _) => {
                    blocks.read(place(&input, &from));
                    blocks.write(to + 1);
                }
            }
        }
        let bytes = output.iter().product();
        let op =
            OneOp::new("STRIDED_SLICE").reads(&input, &Int8).values(&begin).values(&end).values(&strides);
        assert_enough(op.gives(&output, &Int8), Reference, &blocks);
        if strides.iter().all(|&stride| stride == 1) {
            let op = OneOp::new("SLICE").reads(&input, &Int8).values(&begin).values(&output);
            let op = op.gives(&output, &Int8);
            assert_enough(op.clone(), Reference, &trace);
            assert_eq!(asked(op, Reference, 0, 0), Some(trace.least_distance).filter(|&least| least < bytes));
        }
    }
    let backward = OneOp::new("STRIDED_SLICE").reads(&[9], &Int8).values(&[8]).values(&[0]).values(&[-1]);
    assert_eq!(asked(backward.gives(&[8], &Int8), Reference, 0, 0), None);
}

#[test]
fn splits() {
    let mut chance = Chance(14);
    for _ in 0..200 {
        let (outer, sizes) = (chance.from(1, 4), [chance.from(1, 4), chance.from(1, 4), chance.from(1, 4)]);
        let op = OneOp::new("SPLIT_V").with("axis", 1).reads(&[outer, sizes.iter().sum()], &Int8);
        let op = sizes.iter().fold(op, |op, &size| op.gives(&[outer, size], &Int8));
        for result in 0..3 {
            let mut trace = Naive::of(1);
            let mut from = 0;
            for copy in 0..outer {
                for (to, size) in sizes.iter().enumerate() {
                    for element in 0..*size {
                        trace.read(from);
                        from += 1;
                        if to == result {
                            trace.write(copy * size + element + 1);
                        }
                    }
                }
            }
            assert_eq!(asked(op.clone(), Reference, 0, result), Some(trace.least_distance));
            let graph = op.clone().graph();
            let pair = [graph.op(OpId(0)).inputs[0], graph.op(OpId(0)).outputs[result]];
            assert_eq!(nearest(&graph, OpId(0), Reference, pair[0], pair[1]).at_least, Some(0));
            for distance in [0, 1, 7] {
                assert_eq!(replayed(&graph, Reference, pair, distance), Verdict::Safe);
                assert!(trace.lost_bytes(distance).is_empty());
            }
            assert_ne!(replayed(&graph, Reference, pair, -1), Verdict::Safe);
        }
    }
}

#[test]
fn reshaping_copies_everything_onto_itself_or_elsewhere() {
    for kernels in [Any, Reference, CmsisNn] {
        let op = OneOp::new("RESHAPE").reads(&[2, 6], &Float32).gives(&[3, 4], &Float32);
        let [overlap] = overlaps(&op.clone().graph(), OpId(0), kernels)[..] else { panic!() };
        assert!(overlap.allows(16, 16) && !overlap.allows(20, 16) && !overlap.allows(12, 16));
        let (graph, pair) = op.with_ends();
        let safe = [-48, 0, 48].map(|distance| replayed(&graph, kernels, pair, distance));
        assert_eq!(safe, [Verdict::Safe, Verdict::Safe, Verdict::Safe]);
        assert_eq!(replayed(&graph, kernels, pair, 4), Verdict::Overwrites { byte: 0, element: 1 });
        assert_eq!(replayed(&graph, kernels, pair, -4), Verdict::Overwrites { byte: 4, element: 0 });
    }
    let other_type = OneOp::new("RESHAPE").reads(&[2, 6], &Float32).gives(&[12], &Int8);
    assert_eq!(overlaps(&other_type.graph(), OpId(0), Reference), []);
}

#[test]
fn what_is_not_known_is_not_guessed() {
    let pad = OneOp::new("PAD").reads(&[2], &Int8);
    let unknown_amounts = pad.clone().constant(&[1, 2], &Float32).gives(&[4], &Int8);
    let negative = pad.clone().values(&[-1, 3]).gives(&[4], &Int8);
    let other_amounts = pad.values(&[1, 3]).gives(&[4], &Int8);
    let no_axis = OneOp::new("CONCATENATION").reads(&[2], &Int8).gives(&[2], &Int8);
    let too_long = no_axis.clone().reads(&[3], &Int8).with("axis", 0);
    let huge = OneOp::new("CONCATENATION").with("axis", 0).reads(&[2, 2], &Int8);
    let huge = huge.constant(&[i64::MAX, 2], &Int8).gives(&[4, 2], &Int8);
    let odd = OneOp::new("RELU").reads(&[2], &Int8).with("constants", json!({"0": {}})).gives(&[2], &Int8);
    let outside = OneOp::new("SLICE").reads(&[4, 2], &Int8).values(&[0, 0]).values(&[2, 3]);
    let outside = outside.gives(&[2, 3], &Int8);
    for op in [unknown_amounts, negative, other_amounts, no_axis, too_long, huge, odd, outside] {
        let told = op.to_string();
        let graph = op.graph();
        assert_eq!(overlaps(&graph, OpId(0), Reference), [], "{told}");
        let pair = [graph.op(OpId(0)).inputs[0], graph.op(OpId(0)).outputs[0]];
        assert!(matches!(replayed(&graph, Reference, pair, 16), Verdict::Unknown { .. }), "{told}");
    }
}
