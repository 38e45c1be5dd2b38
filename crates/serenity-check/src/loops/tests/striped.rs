//! A depthwise convolution in stripes of two rows, with a halo; rows of the result are written over rows of the picture.

use super::net::{Made, NONE, Net, ZERO, assert_right, condition, filled, ints};
use serde_json::json;
use serenity_facts::Kernels;

/// Rows of 4 pixels, 2 channels.
const ROW: u64 = 8;

/// Which stripes an iteration reads, and where they lie.
#[derive(Clone)]
pub(super) struct Stripes {
    /// Rows of a stripe.
    pub(super) rows: u64,
    /// The first row of each.
    pub(super) begins: [u64; 4],
    /// The first row of the result in each.
    pub(super) trims: [u64; 4],
    /// Bytes from the result to the picture.
    pub(super) distance: u64,
}

/// As it should be.
pub(super) const RIGHT: Stripes =
    Stripes { rows: 4, begins: [0, 1, 3, 4], trims: [0, 1, 1, 2], distance: 16 };

pub(super) fn original() -> Made {
    let mut net = Net::default();
    let (x, y) = (net.tensor("x", &[1, 8, 4, 2], 0), net.tensor("y", &[1, 8, 4, 2], 64));
    net.inputs(&[x]);
    net.depthwise(x, y, "same", None);
    net.outputs(&[y]);
    Made::of(vec![net])
}

pub(super) fn looped(stripes: &Stripes) -> Made {
    let size = (stripes.distance + 64).max(64);
    let mut main = Net::default();
    let x = main.tensor("x", &[1, 8, 4, 2], stripes.distance);
    let y = main.tensor("y", &[1, 8, 4, 2], 0);
    main.inputs(&[x]);
    main.outputs(&[y]);
    let xf = main.tensor("xf", &[64], stripes.distance);
    main.reshape(x, xf);
    let z0 = if stripes.distance > 0 {
        let fill = main.tensor("fill", &[stripes.distance], 0);
        main.op("FILL", &[], &[fill], &[(0, ints(&[stripes.distance as i64])), (1, filled(&[], ZERO))]);
        let z0 = main.tensor("z0", &[size], 0);
        main.op_with("CONCATENATION", &[fill, xf], &[z0], &[], json!({"axis": 0}), None);
        z0
    } else {
        xf
    };
    let (i1, z1) = (main.numbers("i1", 1, 400), main.tensor("z1", &[size], 0));
    let zero = json!({"shape": [1], "dtype": "int32", "values": [0]});
    main.op_with("WHILE", &[z0], &[i1, z1], &[(0, zero)], json!({"bodies": [1, 2]}), None);
    let yf = main.tensor("yf", &[64], 0);
    main.op("SLICE", &[z1], &[yf], &[(1, ints(&[0])), (2, ints(&[64]))]);
    main.reshape(yf, y);
    Made::of(vec![main, condition(&[(&[size], 0)], 4, 448), body(stripes, size)])
}

fn body(stripes: &Stripes, size: u64) -> Net {
    let mut net = Net::default();
    let (i, z) = (net.numbers("i", 1, 400), net.tensor("z", &[size], 0));
    net.inputs(&[i, z]);
    let rows = stripes.rows;
    let begin = net.numbers("begin", 1, 416);
    net.look_up(&stripes.begins.map(|b| (stripes.distance + b * ROW) as i64), i, begin, 1);
    let flat = net.tensor("flat", &[rows * ROW], 96);
    net.op("SLICE", &[z, begin], &[flat], &[(2, ints(&[(rows * ROW) as i64]))]);
    let (stripe, made) =
        (net.tensor("stripe", &[1, rows, 4, 2], 96), net.tensor("made", &[1, rows, 4, 2], 160));
    net.reshape(flat, stripe);
    net.depthwise(stripe, made, "same", Some(0));
    let (i4, from) = (net.numbers("i4", 1, 416), net.numbers("from", 4, 432));
    net.look_up(&[0, 4, 8, 12], i, i4, 1);
    net.look_up(&stripes.trims.map(|trim| [0, trim as i64, 0, 0]).concat(), i4, from, 4);
    let (two, two_flat) = (net.tensor("two", &[1, 2, 4, 2], 224), net.tensor("two flat", &[16], 224));
    net.op("SLICE", &[made, from], &[two], &[(2, ints(&[1, 2, 4, 2]))]);
    net.reshape(two, two_flat);
    let to = net.numbers("to", 1, 416);
    net.look_up(&[0, 16, 32, 48], i, to, 1);
    let written = net.tensor("z'", &[size], 0);
    net.op("DYNAMIC_UPDATE_SLICE", &[z, two_flat, to], &[written], &[]);
    let next = net.numbers("i'", 1, 400);
    net.look_up(&[1, 2, 3, 4], i, next, 1);
    net.outputs(&[next, written]);
    net
}

#[test]
fn stripes_with_their_halo_are_the_whole() {
    assert_right(&original(), &looped(&RIGHT));
}

#[test]
fn a_halo_that_is_one_row_too_small_is_seen_as_padding_in_the_middle() {
    let short = Stripes { rows: 3, begins: [0, 1, 3, 5], trims: [0, 1, 1, 1], ..RIGHT };
    assert_eq!(
        looped(&short).equivalence(&original()),
        [
            "row 3 of output `y` is wrong: op 3 (`DEPTHWISE_CONV_2D#3`) of graph 2 in iteration 1 reads bytes that repeat [253], \
             where it should be bytes 32 to 40 of input `x`"
        ]
    );
}

#[test]
fn a_stripe_that_begins_elsewhere_is_another_stripe() {
    let moved = Stripes { begins: [0, 1, 2, 4], trims: [0, 1, 1, 2], ..RIGHT };
    assert_eq!(looped(&moved).equivalence(&original()).len(), 1);
}

#[test]
fn a_result_too_close_to_the_picture_writes_over_rows_that_are_still_wanted() {
    // All is in one state, which the loop itself is made for: so the loop is wrong, whatever the plan.
    let close = looped(&Stripes { distance: 0, ..RIGHT });
    assert_eq!(
        close.equivalence(&original()),
        ["row 2 of output `y` is wrong: op 3 (`DEPTHWISE_CONV_2D#3`) of graph 2 in iteration 1 reads \
             row 1 of `DEPTHWISE_CONV_2D#0`, made by op 0 (`DEPTHWISE_CONV_2D#0`), where it should be bytes 8 to 16 of input `x`"]
    );
    assert_eq!(close.replay_plan(Kernels::Any), NONE);
    // With one row in between, only a row is lost that the last stripe reads and does not need.
    for distance in [8, 24] {
        assert_eq!(looped(&Stripes { distance, ..RIGHT }).equivalence(&original()), NONE);
    }
}

#[test]
fn copies_that_are_none_must_be_in_place_or_apart() {
    let original = original();
    let faults =
        |graph: usize, name: &str, place: u64| looped(&RIGHT).replay_with(&original, graph, name, place);
    // The state moves along with the loop: apart is right, half apart is not.
    assert_eq!(faults(2, "z'", 512), NONE);
    assert!(
        faults(2, "z'", 16)[0].contains("writes its output over its operand 0"),
        "{:?}",
        faults(2, "z'", 16)
    );
    assert_eq!(faults(2, "z", 512), NONE);
    assert_eq!(faults(0, "xf", 512), NONE);
    assert_eq!(
        faults(0, "xf", 24),
        [
            "op 0 (`RESHAPE#0`) writes its output over its operand 0, element 0 over byte 8 before it has read it"
        ]
    );
    assert_eq!(faults(0, "z1", 512), NONE);
    assert_eq!(
        faults(0, "z1", 32),
        ["op 3 (`WHILE#3`) in iteration 0 copies its value 1 to bytes that overlap those it comes from"]
    );
    // A stripe inside the state, where no stripe should be.
    assert_eq!(faults(2, "made", 8).len(), 1);
    // Two rows that are wanted later.
    assert_eq!(faults(2, "to", 224).len(), 1);
    // What nobody holds, scratch may take: the counter is one that only the body has.
    assert_eq!(faults(2, "i'", 460), NONE);
}

#[test]
fn an_op_that_is_no_copy_is_named() {
    let original = original();
    let mut other = looped(&RIGHT);
    other.edit(2, "\"relu\"", "\"relu6\"");
    assert_eq!(
        other.equivalence(&original),
        [
            "op 3 (`DEPTHWISE_CONV_2D#3`) of graph 2 is no copy of op 0 of the original: it differs in `activation`"
        ]
    );
    let mut rescaled = looped(&RIGHT);
    rescaled.edit(2, "[0.5]", "[0.25]");
    assert!(rescaled.equivalence(&original)[0].contains("operand 0 is another one, or of another type"));
    let mut unknown = looped(&RIGHT);
    unknown.origins[2].fill(None);
    assert!(unknown.equivalence(&original)[0].contains("should be row 0 of `DEPTHWISE_CONV_2D#0`"));
}
