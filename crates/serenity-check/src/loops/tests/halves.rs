//! Ops of other kinds, each on an upper and a lower stripe of its operands, without a loop.

use super::net::{Made, NONE, Net, filled, ints};
use serde_json::{Value, json};
use serenity_ir::TensorId;

/// An op on pictures of these shapes.
#[derive(Clone)]
struct Kind {
    name: &'static str,
    inputs: &'static [[u64; 4]],
    output: [u64; 4],
    constants: Vec<(usize, Value)>,
    attributes: Value,
    /// The dimension that is halved.
    axis: usize,
}

/// Rows `begin..end`.
type Rows = [u64; 2];

/// A half: which rows of the operands are read, which shape the result has, and which rows of that are kept.
struct Half {
    reads: Rows,
    makes: u64,
    keeps: Rows,
}

impl Kind {
    fn window(name: &'static str, padding: &str, stride: u64, output: [u64; 4]) -> Self {
        let weights = json!({"shape": [1, 3, 3, 2], "dtype": "int8"});
        let is_pool = name.ends_with("POOL_2D");
        Self {
            name,
            inputs: &[[1, 8, 4, 2]],
            output,
            constants: if is_pool { vec![] } else { vec![(1, weights)] },
            attributes: json!({"kernel": [3, 3], "stride": [stride, stride], "padding": padding}),
            axis: 1,
        }
    }

    fn rows(name: &'static str, inputs: &'static [[u64; 4]], output: [u64; 4]) -> Self {
        Self { name, inputs, output, constants: vec![], attributes: json!({}), axis: 1 }
    }

    fn original(&self) -> Made {
        let mut net = Net::default();
        let inputs: Vec<_> = self.inputs.iter().map(|shape| net.tensor("x", shape, 0)).collect();
        net.inputs(&inputs);
        let y = net.tensor("y", &self.output, 0);
        net.op_with(self.name, &inputs, &[y], &self.constants, self.attributes.clone(), None);
        net.outputs(&[y]);
        Made::of(vec![net])
    }

    fn halved(&self, halves: [Half; 2]) -> Made {
        let mut net = Net::default();
        let inputs: Vec<_> = self.inputs.iter().map(|shape| net.tensor("x", shape, 0)).collect();
        net.inputs(&inputs);
        let kept = halves.map(|half| {
            let [begin, end] = half.reads;
            let mut stripes = Vec::new();
            for (&input, shape) in inputs.iter().zip(self.inputs) {
                // What has one row is wanted with all of the others.
                let (begin, rows) = if shape[self.axis] == 1 { (0, 1) } else { (begin, end - begin) };
                stripes.push(self.cut(&mut net, input, begin, self.stripe(*shape, rows)));
            }
            let shape = self.stripe(self.output, half.makes);
            let made = net.tensor("made", &shape, 0);
            let mut constants = self.constants.clone();
            if self.name == "RESIZE_NEAREST_NEIGHBOR" {
                constants = vec![(1, ints(&[shape[1] as i64, shape[2] as i64]))];
            }
            net.op_with(self.name, &stripes, &[made], &constants, self.attributes.clone(), Some(0));
            self.cut(&mut net, made, half.keeps[0], self.stripe(self.output, half.keeps[1] - half.keeps[0]))
        });
        let y = net.tensor("y", &self.output, 0);
        net.op_with("CONCATENATION", &kept, &[y], &[], json!({"axis": self.axis}), None);
        net.outputs(&[y]);
        Made::of(vec![net])
    }

    /// A picture of so many rows.
    fn stripe(&self, mut shape: [u64; 4], rows: u64) -> [u64; 4] {
        shape[self.axis] = rows;
        shape
    }

    fn cut(&self, net: &mut Net, input: TensorId, begin: u64, size: [u64; 4]) -> TensorId {
        let output = net.tensor("rows", &size, 0);
        let begin = self.stripe([0; 4], begin);
        let [begin, size] = [begin, size].map(|sides| ints(&sides.map(|side| side as i64)));
        net.op("SLICE", &[input], &[output], &[(1, begin), (2, size)]);
        output
    }

    fn faults(&self, upper: Half, lower: Half) -> Vec<String> {
        self.halved([upper, lower]).equivalence(&self.original())
    }
}

#[test]
fn windows_need_their_halo_and_keep_their_step() {
    for name in ["DEPTHWISE_CONV_2D", "CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D"] {
        let same = Kind::window(name, "same", 1, [1, 8, 4, 2]);
        let half = |reads, makes, keeps| Half { reads, makes, keeps };
        assert_eq!(same.faults(half([0, 5], 5, [0, 4]), half([3, 8], 5, [1, 5])), NONE, "{name}");
        assert_eq!(same.faults(half([0, 4], 4, [0, 4]), half([3, 8], 5, [1, 5])).len(), 1, "{name}");
        let valid = Kind::window(name, "valid", 1, [1, 6, 2, 2]);
        assert_eq!(valid.faults(half([0, 5], 3, [0, 3]), half([3, 8], 3, [0, 3])), NONE, "{name}");
        assert_eq!(valid.faults(half([0, 5], 3, [0, 3]), half([2, 7], 3, [0, 3])).len(), 1, "{name}");
        // In steps of two, the padding of eight rows is below: a stripe of an odd height has it above as well.
        let double = Kind::window(name, "same", 2, [1, 4, 2, 2]);
        assert_eq!(double.faults(half([0, 6], 3, [0, 2]), half([4, 8], 2, [0, 2])), NONE, "{name}");
        assert_eq!(double.faults(half([0, 5], 3, [0, 2]), half([4, 8], 2, [0, 2])).len(), 1, "{name}");
    }
}

#[test]
fn rows_are_made_from_rows() {
    let pair: &[[u64; 4]] = &[[1, 8, 4, 2], [1, 8, 4, 2]];
    let mut concatenation = Kind::rows("CONCATENATION", pair, [1, 8, 4, 4]);
    concatenation.attributes = json!({"axis": 3});
    let mut by_constant = Kind::rows("MUL", &[[1, 8, 4, 2]], [1, 8, 4, 2]);
    by_constant.constants = vec![(0, json!({"shape": [2], "dtype": "int8"}))];
    let kinds = [
        Kind::rows("ADD", pair, [1, 8, 4, 2]),
        Kind::rows("ADD", &[[1, 8, 4, 2], [1, 1, 1, 2]], [1, 8, 4, 2]),
        Kind::rows("LOGISTIC", &[[1, 8, 4, 2]], [1, 8, 4, 2]),
        concatenation,
        by_constant,
    ];
    for kind in kinds {
        let half =
            |begin: u64, end: u64| Half { reads: [begin, end], makes: end - begin, keeps: [0, end - begin] };
        assert_eq!(kind.faults(half(0, 3), half(3, 8)), NONE, "{}", kind.name);
        assert_eq!(kind.faults(half(0, 3), half(2, 7)).len(), 1, "{}", kind.name);
    }
    // A constant that differs from row to row does not fit a stripe, and one of its own is another op.
    let mut varying = Kind::rows("MUL", &[[1, 8, 4, 2]], [1, 8, 4, 2]);
    varying.constants = vec![(1, json!({"shape": [1, 8, 1, 2], "dtype": "int8"}))];
    let half = |begin: u64| Half { reads: [begin, begin + 4], makes: 4, keeps: [0, 4] };
    assert_eq!(varying.faults(half(0), half(4)).len(), 1);
    let kind =
        Kind { constants: vec![(1, filled(&[2], 3))], ..Kind::rows("MUL", &[[1, 8, 4, 2]], [1, 8, 4, 2]) };
    let mut own = kind.halved([half(0), half(4)]);
    own.edit(0, "\"fill\":3", "\"fill\":4");
    assert!(own.equivalence(&kind.original())[0].contains("operand 1 is another one"));
}

#[test]
fn rows_are_repeated_as_the_kernel_does() {
    let half = |reads, makes, keeps| Half { reads, makes, keeps };
    let resized = |height: u64, align_corners: bool, half_pixel_centers: bool| Kind {
        constants: vec![(1, ints(&[height as i64, 5]))],
        attributes: json!({"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}),
        ..Kind::rows("RESIZE_NEAREST_NEIGHBOR", &[[1, 4, 3, 2]], [1, height, 5, 2])
    };
    for is_centered in [false, true] {
        let kind = resized(8, false, is_centered);
        assert_eq!(kind.faults(half([0, 2], 4, [0, 4]), half([2, 4], 4, [0, 4])), NONE);
        assert_eq!(kind.faults(half([0, 3], 6, [0, 4]), half([1, 4], 6, [2, 6])), NONE);
        // Other rows, cut elsewhere, as often as they are, or not equally often.
        for lower in [
            half([1, 3], 4, [0, 4]),
            half([1, 4], 6, [1, 5]),
            half([0, 4], 4, [0, 4]),
            half([2, 4], 5, [0, 4]),
        ] {
            assert_eq!(kind.faults(half([0, 2], 4, [0, 4]), lower).len(), 1);
        }
    }
    // Three times with aligned corners, outer rows are there less often.
    let aligned = resized(12, true, false);
    assert_eq!(aligned.faults(half([0, 2], 6, [0, 6]), half([2, 4], 6, [0, 6])).len(), 1);
    // A size that is not that of the result.
    let kind = resized(8, false, false);
    let mut other = kind.halved([half([0, 2], 4, [0, 4]), half([2, 4], 4, [0, 4])]);
    other.edit(0, "[4,5]", "[4,6]");
    assert_eq!(other.equivalence(&kind.original()).len(), 1);
}

/// Of what is one row high, columns are followed.
#[test]
fn lines_are_followed_by_columns() {
    let half = |reads, makes, keeps| Half { reads, makes, keeps };
    let line: &[[u64; 4]] = &[[1, 1, 8, 2]];
    let weights = json!({"shape": [1, 1, 3, 2], "dtype": "int8"});
    for (name, kernel) in [("DEPTHWISE_CONV_2D", [1, 3]), ("MAX_POOL_2D", [1, 3]), ("MAX_POOL_2D", [3, 3])] {
        let kind = Kind {
            constants: if name == "MAX_POOL_2D" { vec![] } else { vec![(1, weights.clone())] },
            attributes: json!({"kernel": kernel, "stride": [1, 1], "padding": "same"}),
            axis: 2,
            ..Kind::rows(name, line, [1, 1, 8, 2])
        };
        assert_eq!(kind.faults(half([0, 5], 5, [0, 4]), half([3, 8], 5, [1, 5])), NONE, "{name}");
        assert_eq!(kind.faults(half([0, 4], 4, [0, 4]), half([3, 8], 5, [1, 5])).len(), 1, "{name}");
        assert_eq!(kind.faults(half([0, 5], 5, [0, 4]), half([3, 8], 5, [0, 4])).len(), 1, "{name}");
    }
    let kind = Kind { axis: 2, ..Kind::rows("LOGISTIC", line, [1, 1, 8, 2]) };
    assert_eq!(kind.faults(half([0, 3], 3, [0, 3]), half([3, 8], 5, [0, 5])), NONE);
    assert_eq!(kind.faults(half([0, 3], 3, [0, 3]), half([2, 7], 5, [0, 5])).len(), 1);
}

/// What a convolution takes for padding is something else to a pool.
#[test]
fn rows_of_zeros_are_padding_for_convolutions_only() {
    for (name, is_same) in [("DEPTHWISE_CONV_2D", true), ("MAX_POOL_2D", false), ("AVERAGE_POOL_2D", false)] {
        let original = Kind::window(name, "same", 1, [1, 8, 4, 2]);
        let padded = |value: i64| {
            let mut net = Net::default();
            let (x, wide, y) = (
                net.tensor("x", &[1, 8, 4, 2], 0),
                net.tensor("wide", &[1, 10, 6, 2], 0),
                net.tensor("y", &[1, 8, 4, 2], 0),
            );
            net.inputs(&[x]);
            let sides = json!({"shape": [4, 2], "dtype": "int32", "values": [0, 0, 1, 1, 1, 1, 0, 0]});
            let given = json!({"shape": [], "dtype": "int8", "values": [value]});
            net.op("PADV2", &[x], &[wide], &[(1, sides), (2, given)]);
            let Kind { constants, mut attributes, .. } = original.clone();
            attributes["padding"] = json!("valid");
            net.op_with(name, &[wide], &[y], &constants, attributes, Some(0));
            net.outputs(&[y]);
            Made::of(vec![net]).equivalence(&original.original()).is_empty()
        };
        assert_eq!(padded(super::net::ZERO), is_same, "{name}");
        assert!(!padded(0), "{name}");
    }
}

/// What is not made row by row is made from all.
#[test]
fn other_ops_are_the_same_on_the_same() {
    let kind = Kind::rows("SOME_OP", &[[1, 8, 4, 2]], [1, 8, 4, 2]);
    let half = |begin: u64| Half { reads: [begin, begin + 4], makes: 4, keeps: [0, 4] };
    assert!(kind.faults(half(0), half(4))[0].contains("its tensors have other shapes"));
    let mut copy = kind.original();
    copy.origins[0][0] = Some(serenity_ir::OpId(0));
    assert_eq!(copy.equivalence(&kind.original()), NONE);
    copy.origins[0][0] = Some(serenity_ir::OpId(7));
    assert!(copy.equivalence(&kind.original())[0].contains("there is no such op"));
}
