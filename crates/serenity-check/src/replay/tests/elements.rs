//! Element-wise operators, dense layers, transposed convolutions, and what overlaps nothing.

use super::graphs::OneOp;
use super::naive::Naive;
use super::{Chance, Verdict, asked, assert_tight, replayed};
use serenity_ir::ElementType::{Bool, Float32, Int4, Int8, Int16};
use serenity_ir::OpId;
use serenity_runtimes::Kernels::{Any, CmsisNn, EspNn, EspNnS3, Reference};
use serenity_runtimes::overlaps;

#[test]
fn elements_of_all_widths() {
    let mut chance = Chance(21);
    let types = [(Int8, 1), (Int16, 2), (Float32, 4)];
    for _ in 0..100 {
        let count = chance.from(1, 40);
        let [read, write] = chance.pair(0, 2).map(|kind| &types[kind as usize]);
        let mut trace = Naive::of(read.1);
        for element in 0..count {
            trace.read(element * read.1);
            trace.write((element + 1) * write.1);
        }
        let op = OneOp::new("QUANTIZE").reads(&[count], &read.0).gives(&[count], &write.0);
        assert_tight(op, Reference, count * write.1, &trace);
    }
}

/// `[distance, is it exact]` of all overlaps.
fn found(op: &OneOp, kernels: serenity_runtimes::Kernels) -> Vec<(u64, bool)> {
    let graph = op.clone().graph();
    overlaps(&graph, OpId(0), kernels).iter().map(|overlap| (overlap.distance, overlap.exact)).collect()
}

#[test]
fn any_kernels_run_in_place_or_not_at_all() {
    let relu = OneOp::new("RELU").reads(&[9], &Int8).gives(&[9], &Int8);
    assert_eq!((found(&relu, Any), found(&relu, Reference)), (vec![(0, true)], vec![(0, false)]));
    let sum = OneOp::new("ADD").reads(&[9], &Int8).reads(&[9], &Int8).gives(&[9], &Int8);
    assert_eq!((found(&sum, Any), found(&sum, CmsisNn)), (vec![(0, true); 2], vec![(0, false); 2]));
    let wider = OneOp::new("QUANTIZE").reads(&[9], &Int8).gives(&[9], &Int16);
    assert_eq!((found(&wider, Any), found(&wider, Reference)), (vec![], vec![(8, false)]));
    let softmax = OneOp::new("SOFTMAX").reads(&[9], &Int8).gives(&[9], &Int8);
    assert_eq!((found(&softmax, Any), found(&softmax, CmsisNn)), (vec![], vec![(0, true)]));
}

#[test]
fn vector_libraries_compute_some_functions_in_several_passes() {
    for kind in ["LOGISTIC", "TANH"] {
        let op = |dtype| OneOp::new(kind).reads(&[9], dtype).gives(&[9], dtype);
        assert_eq!((found(&op(&Float32), Any), found(&op(&Int8), Any)), (vec![], vec![(0, true)]));
        assert_eq!(found(&op(&Float32), Reference), [(0, false)]);
        let (graph, pair) = op(&Float32).with_ends();
        assert!(matches!(replayed(&graph, Any, pair, 0), Verdict::Unknown { .. }));
    }
}

#[test]
fn esp_nn_in_assembly_is_trusted_with_what_any_kernels_are() {
    let sum = |dtype| OneOp::new("ADD").reads(&[9], dtype).reads(&[9], dtype).gives(&[9], dtype);
    assert_eq!(
        (found(&sum(&Int8), EspNnS3), found(&sum(&Int8), EspNn)),
        (vec![(0, true); 2], vec![(0, false); 2])
    );
    assert_eq!(found(&sum(&Float32), EspNnS3), [(0, false); 2]);
    let (graph, pair) = sum(&Int8).with_ends();
    assert_eq!(replayed(&graph, EspNnS3, pair, 0), Verdict::Safe);
    assert_ne!(replayed(&graph, EspNnS3, pair, 1), Verdict::Safe);
    assert_eq!(replayed(&graph, EspNn, pair, 1), Verdict::Safe);
}

#[test]
fn broadcast_operands_stay_apart() {
    let scaled = OneOp::new("MUL").reads(&[4, 9], &Int8).constant(&[9], &Int8).gives(&[4, 9], &Int8);
    assert_eq!(found(&scaled, Reference), [(0, false)]);
    assert_eq!((found(&scaled, Any), found(&scaled, CmsisNn)), (vec![], vec![]));
    let gated = OneOp::new("MUL").reads(&[9], &Int8).reads(&[4, 9], &Int8).gives(&[4, 9], &Int8);
    assert_eq!((asked(gated.clone(), Reference, 0, 0), asked(gated, Reference, 1, 0)), (None, Some(0)));
}

#[test]
fn dense_layers() {
    let mut chance = Chance(22);
    for _ in 0..200 {
        let (rows, [depth, outputs]) = (chance.from(1, 5), chance.pair(1, 9));
        let mut trace = Naive::of(1);
        for row in 0..rows {
            for output in 0..outputs {
                (0..depth).for_each(|element| trace.read(row * depth + element));
                trace.write(row * outputs + output + 1);
            }
        }
        let op =
            OneOp::new("FULLY_CONNECTED").reads(&[rows, depth], &Int8).constant(&[outputs, depth], &Int8);
        let op = op.gives(&[rows, outputs], &Int8);
        assert_tight(op.clone(), Reference, rows * outputs, &trace);
        assert_eq!(asked(op, CmsisNn, 0, 0), None);
    }
}

#[test]
fn transposed_convolutions_write_last_if_quantised() {
    let op = |dtype| {
        let op = OneOp::new("TRANSPOSE_CONV").values(&[1, 4, 4, 1]).constant(&[1, 2, 2, 1], dtype);
        op.reads(&[1, 2, 2, 1], dtype).gives(&[1, 4, 4, 1], dtype)
    };
    assert_eq!(asked(op(&Int8), Reference, 0, 0), Some(0));
    assert_eq!(asked(op(&Float32), Reference, 0, 0), None);
    assert_eq!(asked(op(&Int8), CmsisNn, 0, 0), None);
}

#[test]
fn other_kinds_and_types_overlap_nothing() {
    for kind in ["MEAN", "SUM", "TRANSPOSE", "PACK", "UNPACK", "GATHER", "CUSTOM:RELU", "Relu"] {
        assert_eq!(found(&OneOp::new(kind).reads(&[9], &Int8).gives(&[9], &Int8), Reference), []);
    }
    assert_eq!(found(&OneOp::new("RELU").reads(&[9], &Int4).gives(&[9], &Int4), Reference), []);
    assert_eq!(found(&OneOp::new("RELU").reads(&[0], &Bool).gives(&[0], &Bool), Reference), []);
    let unpacked = OneOp::new("RELU").reads_unpacked(&[9], &Int8, 10).gives(&[9], &Int8);
    assert_eq!(found(&unpacked, Reference), []);
    for op in [unpacked, OneOp::new("RELU").reads(&[9], &Int4).gives(&[9], &Int4)] {
        let (graph, pair) = op.with_ends();
        assert!(matches!(replayed(&graph, Reference, pair, 0), Verdict::Unknown { .. }));
    }
    for kind in ["MEAN", "SUM", "TRANSPOSE", "PACK", "UNPACK", "GATHER", "CUSTOM:RELU", "Relu"] {
        let (graph, pair) = OneOp::new(kind).reads(&[9], &Int8).gives(&[9], &Int8).with_ends();
        for kernels in [Any, Reference, CmsisNn] {
            assert_eq!(replayed(&graph, kernels, pair, 0), Verdict::Unknown { kind: kind.to_owned() });
        }
    }
}

/// Each row is read as a whole before the first of its elements is written, and element by element after that.
#[test]
fn rows_that_are_passed_over_several_times() {
    let mut chance = Chance(23);
    for _ in 0..400 {
        let (rows, depth) = (chance.from(1, 5), chance.from(1, 7));
        let (dtype, item) = if chance.coin() { (Int8, 1) } else { (Int16, 2) };
        let mut trace = Naive::of(1);
        for row in 0..rows {
            (0..depth).for_each(|element| trace.read(row * depth + element));
            for element in row * depth..(row + 1) * depth {
                trace.read(element);
                trace.write((element + 1) * item);
            }
        }
        let op = OneOp::new("SOFTMAX").reads(&[rows, depth], &Int8).gives(&[rows, depth], &dtype);
        assert_tight(op, Reference, rows * depth * item, &trace);
    }
}
