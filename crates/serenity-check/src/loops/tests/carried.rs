//! Two depthwise convolutions, one row per iteration: the rows between them are carried from one iteration to the next.

use super::net::{Made, NONE, Net, ZERO, assert_right, condition, filled, ints};
use serde_json::json;

const ROW: u64 = 8;
/// Iterations: one for each row, and one to warm up.
const COUNT: i64 = 7;

/// What may be got wrong.
pub(super) struct Carried {
    /// What the carried rows begin as.
    pub(super) first: i64,
    /// Where a row outside of the middle picture is written as zeros.
    pub(super) zeros: [i64; 7],
}

pub(super) const RIGHT: Carried = Carried { first: ZERO, zeros: [1, 0, 3, 3, 3, 3, 2] };

pub(super) fn original() -> Made {
    let mut net = Net::default();
    let [x, t, y] =
        [("x", 0), ("t", 64), ("y", 128)].map(|(name, place)| net.tensor(name, &[1, 6, 4, 2], place));
    net.inputs(&[x]);
    net.depthwise(x, t, "same", None);
    net.depthwise(t, y, "same", None);
    net.outputs(&[y]);
    Made::of(vec![net])
}

pub(super) fn looped(carried: &Carried) -> Made {
    let mut main = Net::default();
    let (x, y) = (main.tensor("x", &[1, 6, 4, 2], 16), main.tensor("y", &[1, 6, 4, 2], 0));
    main.inputs(&[x]);
    main.outputs(&[y]);
    let xf = main.tensor("xf", &[48], 16);
    main.reshape(x, xf);
    let [above, below] = [("above", 0), ("below", 64)].map(|(name, place)| {
        let fill = main.tensor(name, &[16], place);
        main.op("FILL", &[], &[fill], &[(0, ints(&[16])), (1, filled(&[], ZERO))]);
        fill
    });
    let z0 = main.tensor("z0", &[80], 0);
    main.op_with("CONCATENATION", &[above, xf, below], &[z0], &[], json!({"axis": 0}), None);
    let (i1, z1) = (main.numbers("i1", 1, 400), main.tensor("z1", &[80], 0));
    let c1 = main.tensor("c1", &[1, 2, 4, 2], 80);
    let constants = [(0, ints(&[0])), (2, filled(&[1, 2, 4, 2], carried.first))];
    main.op_with("WHILE", &[z0], &[i1, z1, c1], &constants, json!({"bodies": [1, 2]}), None);
    let yf = main.tensor("yf", &[48], 0);
    main.op("SLICE", &[z1], &[yf], &[(1, ints(&[0])), (2, ints(&[48]))]);
    main.reshape(yf, y);
    let cond = condition(&[(&[80], 0), (&[1, 2, 4, 2], 80)], COUNT, 448);
    Made::of(vec![main, cond, body(carried)])
}

fn body(carried: &Carried) -> Net {
    let mut net = Net::default();
    let (i, z, c) = (net.numbers("i", 1, 400), net.tensor("z", &[80], 0), net.tensor("c", &[1, 2, 4, 2], 80));
    net.inputs(&[i, z, c]);
    // Three rows of the picture, the first of which is the one above it.
    let begin = net.numbers("begin", 1, 416);
    net.look_up(&[8, 16, 24, 32, 40, 48, 56], i, begin, 1);
    let (flat, stripe) = (net.tensor("flat", &[3 * ROW], 96), net.tensor("stripe", &[1, 3, 4, 2], 96));
    net.op("SLICE", &[z, begin], &[flat], &[(2, ints(&[24]))]);
    net.reshape(flat, stripe);
    let wide = net.tensor("wide", &[1, 3, 6, 2], 128);
    let sides = json!({"shape": [4, 2], "dtype": "int32", "values": [0, 0, 0, 0, 1, 1, 0, 0]});
    net.op("PAD", &[stripe], &[wide], &[(1, sides.clone())]);
    let new = net.tensor("new", &[1, 1, 4, 2], 176);
    net.depthwise(wide, new, "valid", Some(0));
    // Two rows from before, the new one, and one to write zeros to that nobody wants.
    let buffer = net.tensor("buffer", &[1, 4, 4, 2], 192);
    let spare = filled(&[1, 1, 4, 2], ZERO);
    net.op_with("CONCATENATION", &[c, new], &[buffer], &[(2, spare.clone())], json!({"axis": 1}), None);
    let (i4, at) = (net.numbers("i4", 1, 416), net.numbers("at", 4, 432));
    net.look_up(&[0, 4, 8, 12, 16, 20, 24], i, i4, 1);
    net.look_up(&carried.zeros.map(|row| [0, row, 0, 0]).concat(), i4, at, 4);
    let masked = net.tensor("masked", &[1, 4, 4, 2], 192);
    net.op("DYNAMIC_UPDATE_SLICE", &[buffer, at], &[masked], &[(1, spare)]);
    // A view of the first three rows.
    let three = net.tensor("three", &[1, 3, 4, 2], 192);
    net.op("SLICE", &[masked], &[three], &[(1, ints(&[0, 0, 0, 0])), (2, ints(&[1, 3, 4, 2]))]);
    let (padded, row) = (net.tensor("padded", &[1, 3, 6, 2], 128), net.tensor("row", &[1, 1, 4, 2], 176));
    net.op("PAD", &[three], &[padded], &[(1, sides)]);
    net.depthwise(padded, row, "valid", Some(1));
    let kept = net.tensor("kept", &[1, 2, 4, 2], 80);
    net.op("SLICE", &[masked], &[kept], &[(1, ints(&[0, 1, 0, 0])), (2, ints(&[1, 2, 4, 2]))]);
    let (row_flat, to) = (net.tensor("row flat", &[ROW], 176), net.numbers("to", 1, 416));
    net.reshape(row, row_flat);
    net.look_up(&[0, 0, 8, 16, 24, 32, 40], i, to, 1);
    let written = net.tensor("z'", &[80], 0);
    net.op("DYNAMIC_UPDATE_SLICE", &[z, row_flat, to], &[written], &[]);
    let next = net.numbers("i'", 1, 400);
    net.look_up(&[1, 2, 3, 4, 5, 6, 7], i, next, 1);
    net.outputs(&[next, written, kept]);
    net
}

#[test]
fn carried_rows_are_the_rows_that_were() {
    assert_right(&original(), &looped(&RIGHT));
}

#[test]
fn rows_outside_must_hold_the_zero_point() {
    let zeros = looped(&Carried { first: 0, ..RIGHT });
    // The first carry is written over where it is above the picture; what is left of it is read where no zeros are written.
    assert_eq!(zeros.equivalence(&original()), NONE);
    let nowhere = looped(&Carried { first: 0, zeros: [3, 3, 3, 3, 3, 3, 2] });
    assert_eq!(nowhere.equivalence(&original()).len(), 1);
    let late = looped(&Carried { zeros: [1, 0, 3, 3, 3, 3, 3], ..RIGHT });
    let faults = late.equivalence(&original());
    assert!(faults[0].starts_with("row 5 of output `y` is wrong: op 11 "), "{faults:?}");
}

#[test]
fn a_carry_that_is_written_over_is_lost() {
    let original = original();
    let faults =
        |graph: usize, name: &str, place: u64| looped(&RIGHT).replay_with(&original, graph, name, place);
    // Elsewhere in the body, the carry is copied back and forth, which is right as long as the output holds it meanwhile.
    assert_eq!(faults(2, "kept", 512), NONE);
    assert_eq!(faults(2, "c", 512), NONE);
    assert_eq!(faults(0, "c1", 512), NONE);
    // Where the stripes of the picture lie, it is gone before it is read; the output may lie there, since it is not
    // read meanwhile.
    assert_eq!(faults(2, "c", 128).len(), 1);
    assert_eq!(faults(0, "c1", 128), NONE);
    // Two rows of a buffer may stay where they are or be copied one row down, since the one kernel that there is reads
    // and writes upwards; not one row up.
    assert_eq!(faults(2, "kept", 192), NONE);
    assert_eq!(faults(2, "kept", 200), NONE);
    assert_eq!(faults(2, "kept", 208).len(), 1);
}

#[test]
fn values_that_change_places_are_seen() {
    let mut swapped = looped(&RIGHT);
    let text = serenity_ir::json::write(&swapped.graphs[2]);
    let graph = serenity_ir::json::parse(&text).unwrap();
    // The carry and its successor: the body gives back what it was given.
    let outputs: Vec<String> = graph.outputs().iter().map(ToString::to_string).collect();
    let carry = graph.inputs()[2].to_string();
    let old = format!("\"outputs\": [{}]}}", outputs.join(","));
    let new = format!("\"outputs\": [{},{},{carry}]}}", outputs[0], outputs[1]);
    assert!(text.contains(&old), "{text}");
    swapped.graphs[2] = serenity_ir::json::parse(&text.replace(&old, &new)).unwrap();
    assert_eq!(swapped.equivalence(&original()).len(), 1);
}
