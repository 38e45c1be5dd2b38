//! Tests which operators and windows are taken and which are refused: none may be wrong.

use crate::rows::{RowLocal, Rows, Sliding};
use crate::{Loop, Looped};
use serde_json::{Value, json};
use serenity_ir::{Graph, OpId, TensorId};

/// A tensor of whole bytes, as the JSON format has it.
fn image(shape: &[u64], dtype: &str) -> Value {
    let item = match dtype {
        "float32" | "int32" => 4,
        "int16" => 2,
        _ => 1,
    };
    json!({"bytes": item * shape.iter().product::<u64>(), "shape": shape, "dtype": dtype})
}

/// One op of some images; the last of them is its result.
fn graph(kind: &str, images: &[Value], attributes: &Value) -> Graph {
    let result = images.len() - 1;
    let inputs: Vec<usize> = (0..result).collect();
    let op = json!({"type": kind, "inputs": inputs, "outputs": [result], "attributes": attributes});
    let text = json!({"tensors": images, "ops": [op], "inputs": inputs, "outputs": [result]});
    serenity_ir::json::parse(&text.to_string()).unwrap()
}

fn rows(kind: &str, images: &[Value], attributes: &Value) -> Option<Rows> {
    RowLocal::of(&graph(kind, images, attributes), OpId(0)).map(|local| local.rows)
}

/// A convolution of 3x3 with a stride of 1 and padding `SAME`, of images of a type, with a filter of a type.
fn convolution(dtype: &str, filter: &str) -> Value {
    json!({"kernel": [3, 3], "stride": [1, 1], "dilation": [1, 1], "padding": "same",
           "constants": {"1": {"shape": [4, 3, 3, 4], "dtype": filter}, "2": {"shape": [4], "dtype": dtype}}})
}

fn with(attributes: &Value, name: &str, value: Value) -> Value {
    let mut changed = attributes.clone();
    changed[name] = value;
    changed
}

const SHAPE: [u64; 4] = [1, 8, 6, 4];

fn two(dtype: &str) -> [Value; 2] {
    [image(&SHAPE, dtype), image(&SHAPE, dtype)]
}

#[test]
fn convolutions_of_one_type_are_row_local() {
    for dtype in ["float32", "int8", "int16"] {
        let filter = if dtype == "int16" { "int8" } else { dtype };
        let found = rows("CONV_2D", &two(dtype), &convolution(dtype, filter));
        assert!(
            matches!(found, Some(Rows::Sliding(Sliding { top: 1, bottom: 1, sides: [1, 1], .. }))),
            "{dtype}"
        );
    }
    // Unsigned bytes may be scaled where others are only copied.
    assert_eq!(rows("CONV_2D", &two("uint8"), &convolution("uint8", "uint8")), None);
    // Four bits a weight are unpacked before anything is computed.
    assert!(rows("CONV_2D", &two("int8"), &convolution("int8", "int4")).is_some());
}

/// A hybrid kernel takes its scale from the whole image.
#[test]
fn hybrid_convolutions_are_refused() {
    assert_eq!(rows("CONV_2D", &two("float32"), &convolution("float32", "int8")), None);
    assert_eq!(rows("CONV_2D", &two("float32"), &convolution("float32", "int4")), None);
    let mut depthwise = convolution("float32", "int8");
    depthwise["constants"]["1"]["shape"] = json!([1, 3, 3, 4]);
    assert_eq!(rows("DEPTHWISE_CONV_2D", &two("float32"), &depthwise), None);
    depthwise["constants"]["1"]["dtype"] = json!("float32");
    assert!(rows("DEPTHWISE_CONV_2D", &two("float32"), &depthwise).is_some());
}

#[test]
fn only_images_of_known_shape_and_a_batch_of_one_have_rows() {
    let attributes = convolution("int8", "int8");
    let batch = image(&[2, 8, 6, 4], "int8");
    assert_eq!(rows("CONV_2D", &[batch.clone(), batch.clone()], &attributes), None);
    assert_eq!(rows("ADD", &[batch.clone(), batch.clone(), batch], &json!({})), None);
    let unknown = json!({"bytes": 192});
    assert_eq!(rows("CONV_2D", &[unknown.clone(), image(&SHAPE, "int8")], &attributes), None);
    assert_eq!(rows("CONV_2D", &[image(&SHAPE, "int8"), unknown.clone()], &attributes), None);
    assert_eq!(rows("RELU", &[unknown.clone(), unknown], &json!({})), None);
    // A size that is not that of the shape: something is dynamic.
    let mut dynamic = image(&SHAPE, "int8");
    dynamic["bytes"] = json!(0);
    assert_eq!(rows("RELU", &[dynamic.clone(), image(&SHAPE, "int8")], &json!({})), None);
    assert_eq!(rows("RELU", &[image(&SHAPE, "int8"), dynamic], &json!({})), None);
    for shape in [&[8, 6, 4][..], &[1, 1, 8, 6, 4], &[192], &[48, 4], &[1, 1, 1, 192]] {
        assert_eq!(
            rows("RELU", &[image(shape, "int8"), image(shape, "int8")], &json!({})),
            None,
            "{shape:?}"
        );
    }
    let typeless = json!({"bytes": 192, "shape": SHAPE});
    assert_eq!(rows("RELU", &[typeless.clone(), typeless], &json!({})), None);
    // Elements that share bytes.
    let packed = json!({"bytes": 96, "shape": SHAPE, "dtype": "int4"});
    assert_eq!(rows("RELU", &[packed.clone(), packed], &json!({})), None);
}

#[test]
fn images_without_a_zero_have_nothing_to_stand_for_rows_outside() {
    let is_taken = |dtype: &str, zero_points: Value| {
        let mut given = image(&SHAPE, dtype);
        given["quantization"] = json!({"scales": [0.5], "zero_points": zero_points});
        rows("RELU", &[given, image(&SHAPE, dtype)], &json!({})).is_some()
    };
    for (dtype, zero_points) in [("int8", json!([-128])), ("int16", json!([0])), ("float32", json!([1, 2]))] {
        assert!(is_taken(dtype, zero_points), "{dtype}");
    }
    for (dtype, zero_points) in
        [("int8", json!([128])), ("int16", json!([-32769])), ("int8", json!([1, 2])), ("bool", json!([0]))]
    {
        assert!(!is_taken(dtype, zero_points), "{dtype}");
    }
}

#[test]
fn filters_are_constants() {
    let attributes = convolution("int8", "int8");
    let filter = image(&[4, 3, 3, 4], "int8");
    let given = with(&attributes, "constants", json!({"2": {"shape": [4], "dtype": "int32"}}));
    assert_eq!(rows("CONV_2D", &[image(&SHAPE, "int8"), filter, image(&SHAPE, "int8")], &given), None);
    // A filter with the shape of an image of one, and the image as its own filter.
    let one = image(&[1, 3, 3, 4], "int8");
    assert_eq!(rows("DEPTHWISE_CONV_2D", &[image(&SHAPE, "int8"), one, image(&SHAPE, "int8")], &given), None);
    let text = json!({"tensors": two("int8"), "inputs": [0], "outputs": [1],
        "ops": [{"type": "CONV_2D", "inputs": [0, 0], "outputs": [1], "attributes": given}]});
    assert!(RowLocal::of(&serenity_ir::json::parse(&text.to_string()).unwrap(), OpId(0)).is_none());
    // A computed bias.
    let computed = with(&attributes, "constants", json!({"1": attributes["constants"]["1"]}));
    let bias = image(&[1, 2, 1, 2], "int32");
    assert_eq!(rows("CONV_2D", &[image(&SHAPE, "int8"), bias, image(&SHAPE, "int8")], &computed), None);
    // An image that is a constant has no rows to cut.
    let swapped = with(&attributes, "constants", json!({"0": {"shape": SHAPE, "dtype": "int8"}}));
    assert_eq!(rows("CONV_2D", &two("int8"), &swapped), None);
}

#[test]
fn state_that_outlives_a_run_is_refused_wherever_it_is_given() {
    let stored = json!({"shape": SHAPE, "dtype": "int8"});
    for kind in ["ADD", "MUL", "MAXIMUM"] {
        assert_eq!(rows(kind, &two("int8"), &json!({"variables": {"1": stored}})), None, "{kind}");
    }
    let wide = [image(&SHAPE, "int8"), image(&[1, 8, 6, 8], "int8")];
    assert_eq!(rows("CONCATENATION", &wide, &json!({"axis": 3, "variables": {"1": stored}})), None);
    let bias = json!({"2": {"shape": [4], "dtype": "int32"}});
    let mut attributes = convolution("int8", "int8");
    attributes["constants"].as_object_mut().unwrap().remove("2");
    assert!(rows("CONV_2D", &two("int8"), &attributes).is_some(), "a bias may be left out");
    assert_eq!(rows("CONV_2D", &two("int8"), &with(&attributes, "variables", bias)), None);
}

#[test]
fn what_runs_other_graphs_or_looks_at_more_than_rows_is_refused() {
    for kind in ["WHILE", "IF", "CALL_ONCE", "STABLEHLO_WHILE"] {
        assert_eq!(rows(kind, &two("int8"), &json!({"bodies": [1, 2]})), None, "{kind}");
    }
    let attributes = json!({"axis": 1, "axes": [1], "stride": [1, 1], "kernel": [1, 1], "padding": "same"});
    for kind in
        ["SOFTMAX", "L2_NORMALIZATION", "CUMSUM", "REVERSE_V2", "BATCH_MATMUL", "SVDF", "CUSTOM", "MEAN"]
    {
        assert_eq!(rows(kind, &two("int8"), &attributes), None, "{kind}");
    }
    for kind in ["ASSIGN_VARIABLE", "READ_VARIABLE", "VAR_HANDLE", "RANDOM_UNIFORM", "TRANSPOSE"] {
        assert_eq!(rows(kind, &two("int8"), &json!({})), None, "{kind}");
    }
}

#[test]
fn constants_that_vary_by_row_are_refused() {
    let with_constant = |kind: &str, shape: &[u64]| {
        rows(kind, &two("int8"), &json!({"constants": {"1": {"shape": shape, "dtype": "int8"}}}))
    };
    for kind in ["ADD", "SUB", "MUL", "DIV", "MAXIMUM", "PRELU"] {
        for alike in [&[][..], &[1], &[4], &[6, 4], &[6, 1], &[1, 6, 4], &[1, 1, 4], &[1, 1, 6, 4]] {
            assert_eq!(with_constant(kind, alike), Some(Rows::Alike), "{kind} {alike:?}");
        }
        for other in [&[8, 6, 4][..], &[8, 1, 1], &[1, 8, 6, 4], &[1, 8, 1, 1], &[1, 1, 1, 6, 4]] {
            assert_eq!(with_constant(kind, other), None, "{kind} {other:?}");
        }
    }
    // Nor is anything known of one without a shape.
    assert_eq!(rows("ADD", &two("int8"), &json!({"constants": {"1": {"dtype": "int8"}}})), None);
    // An activation that is the same for all rows has none of them.
    let flat = image(&[1, 1, 6, 4], "int8");
    assert_eq!(rows("ADD", &[image(&SHAPE, "int8"), flat, image(&SHAPE, "int8")], &json!({})), None);
    // One that is the same for all columns has.
    let column = image(&[1, 8, 1, 4], "int8");
    assert_eq!(
        rows("ADD", &[image(&SHAPE, "int8"), column, image(&SHAPE, "int8")], &json!({})),
        Some(Rows::Alike)
    );
}

#[test]
fn pieces_are_put_side_by_side_along_channels_only() {
    let wide = [image(&SHAPE, "int8"), image(&SHAPE, "int8"), image(&[1, 8, 6, 8], "int8")];
    for axis in [3, -1] {
        assert_eq!(rows("CONCATENATION", &wide, &json!({"axis": axis})), Some(Rows::Alike));
    }
    for (axis, shape) in [(1, [1, 16, 6, 4]), (2, [1, 8, 12, 4]), (0, [2, 8, 6, 4])] {
        let images = [image(&SHAPE, "int8"), image(&SHAPE, "int8"), image(&shape, "int8")];
        assert_eq!(rows("CONCATENATION", &images, &json!({"axis": axis})), None, "axis {axis}");
    }
    let piece = json!({"axis": 3, "constants": {"1": {"shape": SHAPE, "dtype": "int8"}}});
    assert_eq!(rows("CONCATENATION", &[wide[0].clone(), wide[2].clone()], &piece), None);
}

#[test]
fn padding_need_not_be_the_same_on_both_sides() {
    // 3 rows, 2 at a time, over 8: one more below, none above.
    let attributes = with(&convolution("int8", "int8"), "stride", json!([2, 2]));
    let found = rows("CONV_2D", &[image(&SHAPE, "int8"), image(&[1, 4, 3, 4], "int8")], &attributes);
    assert!(
        matches!(found, Some(Rows::Sliding(Sliding { top: 0, bottom: 1, sides: [0, 1], .. }))),
        "{found:?}"
    );
    // Over 9 rows, one on either side.
    let found = rows("CONV_2D", &[image(&[1, 9, 7, 4], "int8"), image(&[1, 5, 4, 4], "int8")], &attributes);
    assert!(matches!(found, Some(Rows::Sliding(Sliding { top: 1, bottom: 1, .. }))), "{found:?}");
    // A result of another size is not what the kernel makes.
    for (height, padding) in [(8, "valid"), (7, "same"), (5, "valid"), (8, "explicit")] {
        let images = [image(&SHAPE, "int8"), image(&[1, height, 6, 4], "int8")];
        let attributes = with(&convolution("int8", "int8"), "padding", json!(padding));
        assert_eq!(rows("CONV_2D", &images, &attributes), None, "{height} rows, {padding}");
    }
    let pad = |amounts: [i64; 8], shape: [u64; 4]| {
        let paddings = json!({"1": {"shape": [4, 2], "dtype": "int32", "values": amounts}});
        rows("PAD", &[image(&SHAPE, "int8"), image(&shape, "int8")], &json!({"constants": paddings}))
    };
    assert_eq!(pad([0, 0, 1, 2, 3, 0, 0, 4], [1, 11, 9, 8]), Some(Rows::Padded { top: 1, bottom: 2 }));
    assert_eq!(pad([0, 0, 1, 2, 0, 0, 0, 0], [1, 10, 6, 4]), None);
    assert_eq!(pad([0, 0, -1, 2, 0, 0, 0, 0], [1, 9, 6, 4]), None);
    assert_eq!(pad([0, 1, 0, 0, 0, 0, 0, 0], [2, 8, 6, 4]), None);
    // Amounts that are computed when the model runs.
    let amounts = image(&[4, 2], "int32");
    assert_eq!(rows("PAD", &[image(&SHAPE, "int8"), amounts, image(&SHAPE, "int8")], &json!({})), None);
}

/// The checker counts so far, and no further.
#[test]
fn windows_too_long_to_follow_are_refused() {
    let images = [image(&[1, 8, 6, 1], "int8"), image(&[1, 8, 6, 1], "int8")];
    let filter = |height: u64, width: u64| {
        let weights = json!({"1": {"shape": [1, height, width, 1], "dtype": "int8"}});
        json!({"stride": [1, 1], "dilation": [1, 1], "padding": "same", "constants": weights})
    };
    let is_taken = |attributes: &Value| rows("CONV_2D", &images, attributes).is_some();
    assert!(is_taken(&filter(1 << 20, 3)) && is_taken(&filter(3, 1 << 20)));
    for [height, width] in [[(1 << 20) + 1, 3], [3, (1 << 20) + 1], [u64::MAX, 3]] {
        assert!(!is_taken(&filter(height, width)), "{height}x{width}");
    }
    for name in ["stride", "dilation"] {
        assert!(!is_taken(&with(&filter(3, 3), name, json!([1, (1 << 20) + 1]))), "{name}");
    }
    let deep = image(&[1, 8, 6, (1 << 20) + 1], "int8");
    let pool = json!({"kernel": [3, 3], "stride": [1, 1], "padding": "same"});
    assert_eq!(rows("MAX_POOL_2D", &[deep.clone(), deep], &pool), None);
}

#[test]
fn slices_may_take_off_rows_above_and_no_others() {
    let crop = |begin: [i64; 4], strides: [i64; 4], shape: [u64; 4], mask: i64| {
        let vector = |values: [i64; 4]| json!({"shape": [4], "dtype": "int32", "values": values});
        let constants = json!({"1": vector(begin), "2": vector([1, 8, 6, 4]), "3": vector(strides)});
        let attributes = json!({"constants": constants, "begin_mask": mask});
        rows("STRIDED_SLICE", &[image(&SHAPE, "int8"), image(&shape, "int8")], &attributes)
    };
    assert_eq!(crop([0, 2, 1, 0], [1; 4], [1, 6, 5, 4], 0), Some(Rows::Cropped { top: 2, left: 1 }));
    // What the mask names begins at the beginning, whatever is said.
    assert_eq!(crop([0, 5, 1, 0], [1; 4], [1, 8, 5, 4], 2), Some(Rows::Cropped { top: 0, left: 1 }));
    assert_eq!(crop([0, 0, 0, 0], [1; 4], [1, 6, 6, 4], 0), None, "rows taken off below");
    assert_eq!(crop([0, 2, 0, 1], [1; 4], [1, 6, 6, 3], 0), None, "channels taken off");
    assert_eq!(crop([0, 0, 0, 0], [1, 2, 1, 1], [1, 4, 6, 4], 0), None, "every other row");
    assert_eq!(crop([0, 2, 0, 0], [1; 4], [1, 6, 6, 4], 2), None, "a mask, and rows taken off below");
    assert_eq!(crop([0, -6, 0, 0], [1; 4], [1, 6, 6, 4], 0), None, "counted from below");
}

#[test]
fn rows_are_repeated_a_whole_number_of_times() {
    let resized = |kind: &str, [height, width]: [u64; 2], flags: [bool; 2], from: u64| {
        let size = json!({"1": {"shape": [2], "dtype": "int32", "values": [height, width]}});
        let attributes =
            json!({"constants": size, "align_corners": flags[0], "half_pixel_centers": flags[1]});
        rows(kind, &[image(&[1, from, 6, 4], "int8"), image(&[1, height, width, 4], "int8")], &attributes)
    };
    let nearest = |size: [u64; 2], flags: [bool; 2]| resized("RESIZE_NEAREST_NEIGHBOR", size, flags, 8);
    for is_centered in [false, true] {
        for times in [1, 2, 3, 4, 5, 7] {
            for width in [6, 12, 9, 5] {
                let found = nearest([8 * times, width], [false, is_centered]);
                assert_eq!(found, Some(Rows::Repeated { times: times as i64 }), "{times} {width}");
            }
        }
        for height in [4, 7, 9, 12, 20] {
            assert_eq!(nearest([height, 12], [false, is_centered]), None, "{height} rows of 8");
        }
        assert_eq!(nearest([16, 12], [true, is_centered]), None, "aligned corners depend on the height");
        assert_eq!(resized("RESIZE_BILINEAR", [16, 12], [false, is_centered], 8), None);
    }
    // 41 times the float next to 1/41 is less than 1.
    assert_eq!(nearest([8 * 41, 6], [false, false]), None);
    assert!(nearest([8 * 41, 6], [false, true]).is_some());
    assert_eq!(resized("RESIZE_NEAREST_NEIGHBOR", [40_000, 6], [false, true], 20_000), None, "steps of 2⁻¹⁶");
    // A size that is computed, or another than that of the result, and options that are not known.
    let options = json!({"align_corners": false, "half_pixel_centers": false});
    let images = [image(&SHAPE, "int8"), image(&[1, 16, 6, 4], "int8")];
    let given = [images[0].clone(), image(&[2], "int32"), images[1].clone()];
    assert_eq!(rows("RESIZE_NEAREST_NEIGHBOR", &given, &options), None);
    let other = json!({"1": {"shape": [2], "dtype": "int32", "values": [16, 12]}});
    assert_eq!(rows("RESIZE_NEAREST_NEIGHBOR", &images, &with(&options, "constants", other)), None);
    let size = json!({"1": {"shape": [2], "dtype": "int32", "values": [16, 6]}});
    assert_eq!(rows("RESIZE_NEAREST_NEIGHBOR", &images, &json!({"constants": size})), None);
    assert!(rows("RESIZE_NEAREST_NEIGHBOR", &images, &with(&options, "constants", size)).is_some());
}

/// What is one row high is cut into columns.
#[test]
fn columns_of_a_single_row_are_rows() {
    let lines = |shape: &[u64]| [image(shape, "int8"), image(shape, "int8")];
    let alike = |kind: &str, images: &[Value], attributes: &Value| {
        assert_eq!(rows(kind, images, attributes), Some(Rows::Alike), "{kind}");
    };
    for shape in [&[1, 1, 48, 4][..], &[1, 48, 4], &[1, 48, 1, 4]] {
        alike("RELU", &lines(shape), &json!({}));
        let constant = |shape: &[u64]| json!({"constants": {"1": {"shape": shape, "dtype": "int8"}}});
        alike("MUL", &lines(shape), &constant(&[4]));
        alike("MUL", &lines(shape), &constant(&[1, 4]));
        assert_eq!(rows("MUL", &lines(shape), &constant(&[48, 4])).is_some(), shape == [1, 48, 1, 4]);
    }
    let mut attributes = convolution("int8", "int8");
    attributes["kernel"] = json!([1, 5]);
    attributes["stride"] = json!([1, 2]);
    let found = rows("CONV_2D", &[image(&[1, 1, 48, 4], "int8"), image(&[1, 1, 24, 4], "int8")], &attributes);
    let expected = Sliding {
        extent: 5,
        stride: 2,
        top: 1,
        bottom: 2,
        sides: [0, 0],
        is_same: true,
        takes_zero_points: true,
    };
    assert_eq!(found, Some(Rows::Sliding(expected)));
    // Rows above or below, and it is no longer one row.
    attributes["kernel"] = json!([3, 5]);
    let lines = [image(&[1, 1, 48, 4], "int8"), image(&[1, 1, 24, 4], "int8")];
    assert_eq!(rows("CONV_2D", &lines, &attributes), None);
    let pad =
        json!({"constants": {"1": {"shape": [4, 2], "dtype": "int32", "values": [0, 0, 1, 0, 0, 0, 0, 0]}}});
    assert_eq!(rows("PAD", &[image(&[1, 1, 48, 4], "int8"), image(&[1, 2, 48, 4], "int8")], &pad), None);
}

#[test]
fn shapes_may_change_around_rows() {
    let reshaped = |kind: &str, from: &[u64], to: &[u64]| {
        rows(kind, &[image(from, "int8"), image(to, "int8")], &json!({}))
    };
    let shapes = [&[1, 1, 48, 4][..], &[1, 48, 4], &[1, 48, 1, 4], &[1, 48, 2, 2]];
    for kind in ["RESHAPE", "SQUEEZE", "EXPAND_DIMS"] {
        for from in shapes {
            for to in shapes {
                assert_eq!(reshaped(kind, from, to), Some(Rows::Alike), "{from:?} {to:?}");
            }
            for other in [&[1, 24, 8][..], &[1, 96, 2], &[1, 4, 48], &[1, 2, 24, 4], &[192], &[48, 4]] {
                assert_eq!(reshaped(kind, from, other), None, "{from:?} {other:?}");
            }
        }
    }
    assert_eq!(rows("RESHAPE", &[image(&SHAPE, "int8"), image(&SHAPE, "float32")], &json!({})), None);
    // Others want what they read and what they make in one shape.
    for kind in ["RELU", "LOGISTIC"] {
        assert_eq!(reshaped(kind, shapes[0], shapes[1]), None);
    }
}

/// Three convolutions of 3x3, one after the other, over `height` rows.
fn chain(height: u64) -> Graph {
    let images = vec![image(&[1, height, 6, 4], "int8"); 4];
    let ops: Vec<Value> = (0..3)
        .map(|op| {
            json!({"type": "CONV_2D", "inputs": [op], "outputs": [op + 1],
                   "attributes": convolution("int8", "int8")})
        })
        .collect();
    let text = json!({"tensors": images, "ops": ops, "inputs": [0], "outputs": [3]});
    serenity_ir::json::parse(&text.to_string()).unwrap()
}

fn over(ops: &[u32], carries: bool, step: u64) -> Loop {
    Loop {
        ops: ops.iter().map(|&op| OpId(op)).collect(),
        enters: TensorId(ops[0]),
        carries,
        peeled: false,
        step,
    }
}

#[test]
fn a_loop_takes_at_least_two_turns() {
    for height in 2..14 {
        let graph = chain(height);
        for carries in [false, true] {
            for step in (0..height + 3).chain([u64::MAX, i64::MAX as u64, 1 << 40]) {
                for ops in [&[0][..], &[0, 1], &[1, 2], &[0, 1, 2]] {
                    let Some(cost) = over(ops, carries, step).cost(&graph) else { continue };
                    assert!(step >= 1 && step < height, "{step} of {height} rows");
                    let turns = height.div_ceil(step);
                    assert_eq!(cost.leaves, TensorId(ops[ops.len() - 1] + 1));
                    if carries {
                        assert!(height.is_multiple_of(step), "{step} of {height} rows");
                        assert!(cost.iterations > turns && cost.iterations <= turns + 3, "{cost:?}");
                    } else {
                        assert_eq!(cost.iterations, turns, "{step} of {height} rows");
                    }
                    assert!(
                        Looped::new(
                            std::slice::from_ref(&graph),
                            &graph.file_order(),
                            &[over(ops, carries, step)]
                        )
                        .is_some()
                    );
                }
            }
        }
    }
}

/// Three convolutions reach three rows to either side.
#[test]
fn a_stripe_that_would_be_the_whole_is_refused() {
    assert!(over(&[0, 1, 2], false, 1).cost(&chain(7)).is_none());
    assert!(over(&[0, 1, 2], false, 1).cost(&chain(8)).is_some());
    assert!(over(&[0, 1, 2], false, 2).cost(&chain(8)).is_some());
    assert!(over(&[0, 1, 2], false, 3).cost(&chain(8)).is_none());
}

#[test]
fn loops_that_make_no_sense_are_refused() {
    let graph = chain(16);
    let graphs = std::slice::from_ref(&graph);
    let order = graph.file_order();
    let is_taken = |loops: &[Loop]| Looped::new(graphs, &order, loops).is_some();
    assert!(is_taken(&[]) && is_taken(&[over(&[0], false, 4), over(&[1, 2], true, 4)]));
    // Not one after the other; backwards; twice; not there; none at all.
    for ops in [&[0, 2][..], &[1, 0], &[0, 0], &[3], &[2, 3]] {
        assert!(!is_taken(&[over(ops, false, 4)]), "{ops:?}");
    }
    assert!(!is_taken(&[Loop { ops: Vec::new(), ..over(&[0], false, 4) }]));
    // Of which a plan may still ask what they take.
    for ops in [&[1, 0][..], &[2, 1, 0], &[0, 2, 1]] {
        assert!([false, true].iter().all(|&carries| over(ops, carries, 4).cost(&graph).is_none()), "{ops:?}");
    }
    // What enters is not what the first op reads.
    for enters in [1, 3, 99] {
        assert!(!is_taken(&[Loop { enters: TensorId(enters), ..over(&[0, 1], false, 4) }]), "{enters}");
    }
    // Two loops over one op.
    assert!(!is_taken(&[over(&[0, 1], false, 4), over(&[1, 2], false, 4)]));
    assert!(!is_taken(&[over(&[1, 2], false, 4), over(&[0, 1], false, 4)]));
    assert!(!is_taken(&[over(&[0, 1], false, 4), over(&[0, 1], false, 4)]));
    // One good loop does not make up for a bad one.
    assert!(!is_taken(&[over(&[0], false, 4), over(&[1, 2], false, 16)]));
    assert!(Looped::new(&[], &[], &[]).is_none());
}

/// What the caller wants, or somebody else reads, must be there as a whole.
#[test]
fn windows_with_too_many_leaving_tensors_are_refused() {
    let mut text: Value = serde_json::from_str(&serenity_ir::json::write(&chain(16))).unwrap();
    text["outputs"] = json!([1, 3]);
    let graph = serenity_ir::json::parse(&text.to_string()).unwrap();
    for carries in [false, true] {
        assert!(over(&[0, 1], carries, 4).cost(&graph).is_some());
        // The first of its inputs stays: with lines it would have to die.
        assert_eq!(over(&[1, 2], carries, 4).cost(&graph).is_some(), !carries);
    }
    // With one op more, four at once.
    let mut more = |list: &str, one: Value| text[list].as_array_mut().unwrap().push(one);
    more("tensors", image(&[1, 16, 6, 4], "int8"));
    more("ops", json!({"type": "RELU", "inputs": [3], "outputs": [4]}));
    text["outputs"] = json!([1, 2, 3, 4]);
    let graph = serenity_ir::json::parse(&text.to_string()).unwrap();
    for carries in [false, true] {
        assert!(over(&[0, 1, 2], carries, 4).cost(&graph).is_some());
        assert!(over(&[0, 1, 2, 3], carries, 4).cost(&graph).is_none());
    }
}
