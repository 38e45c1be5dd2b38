//! Operators of every kind that may overlap its input, with shapes by chance.

use super::Chance;
use super::graphs::OneOp;
use super::sliding::Window;
use serde_json::json;
use serenity_ir::ElementType::{self, Float32, Int8, Int16, Int32, UInt8};
use serenity_ir::Operator;

/// Every kind that the table knows.
const KINDS: &str = "\
    CONV_2D DEPTHWISE_CONV_2D AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D TRANSPOSE_CONV FULLY_CONNECTED PAD \
    PADV2 CONCATENATION SLICE STRIDED_SLICE SPLIT SPLIT_V RESHAPE SQUEEZE EXPAND_DIMS RESIZE_BILINEAR \
    RESIZE_NEAREST_NEIGHBOR SOFTMAX RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 LEAKY_RELU ELU HARD_SWISH \
    LOGISTIC TANH ABS NEG SQUARE FLOOR CEIL ROUND QUANTIZE DEQUANTIZE CAST EXP LOG SQRT RSQRT SIN COS \
    LOGICAL_NOT ADD SUB MUL DIV MAXIMUM MINIMUM SQUARED_DIFFERENCE FLOOR_DIV FLOOR_MOD PRELU LOGICAL_AND \
    LOGICAL_OR EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL";

pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.split(' ')
}

pub(super) fn sample(kind: &'static str, chance: &mut Chance) -> OneOp {
    let op = OneOp::new(kind);
    let dtype =
        [Int8, Int8, Int8, Float32, Float32, Int16, Int16, UInt8, Int32][chance.from(0, 8) as usize].clone();
    match kind {
        "CONV_2D" | "DEPTHWISE_CONV_2D" => convolution(op, kind, &dtype, chance),
        "AVERAGE_POOL_2D" | "MAX_POOL_2D" | "L2_POOL_2D" => {
            let window = Window::by_chance(chance, false);
            let channels = chance.from(1, 40);
            let [input, output] = window.shapes(channels, channels);
            window.describe(op.reads(&input, &dtype)).gives(&output, &dtype)
        }
        "TRANSPOSE_CONV" => {
            let ([height, width], [depth, channels]) = (chance.pair(1, 6), chance.pair(1, 20));
            let output = [1, 2 * height, 2 * width, channels];
            let op = op.values(&output).constant(&[channels, 2, 2, depth], &dtype);
            op.reads(&[1, height, width, depth], &dtype).gives(&output, &dtype)
        }
        "FULLY_CONNECTED" => {
            let (rows, [depth, outputs]) = (chance.from(1, 8), chance.pair(1, 60));
            let op = op.reads(&[rows, depth], &dtype).constant(&[outputs, depth], &dtype);
            op.gives(&[rows, outputs], &dtype)
        }
        "PAD" | "PADV2" => {
            let input = map(chance);
            let amounts: Vec<[i64; 2]> = input.iter().map(|_| chance.pair(0, 2)).collect();
            let sizes = input.iter().zip(&amounts);
            let output: Vec<i64> = sizes.map(|(size, [before, after])| before + size + after).collect();
            op.reads(&input, &dtype).values(&amounts.concat()).gives(&output, &dtype)
        }
        "CONCATENATION" => {
            let mut shape = map(chance);
            let axis = chance.from(0, 3) as usize;
            let sizes: Vec<i64> = (0..chance.from(1, 4)).map(|_| chance.from(1, 9)).collect();
            let op = sizes.iter().fold(op.with("axis", axis), |op, &size| {
                shape[axis] = size;
                op.reads(&shape, &dtype)
            });
            shape[axis] = sizes.iter().sum();
            op.gives(&shape, &dtype)
        }
        "SLICE" | "STRIDED_SLICE" => {
            let input = map(chance);
            let begin: Vec<i64> = input.iter().map(|&size| chance.from(0, size - 1)).collect();
            let sizes = input.iter().zip(&begin);
            let output: Vec<i64> = sizes.map(|(&size, &from)| chance.from(1, size - from)).collect();
            let end: Vec<i64> = begin.iter().zip(&output).map(|(from, size)| from + size).collect();
            let op = op.reads(&input, &dtype).values(&begin);
            let is_slice = kind == "SLICE";
            let op = if is_slice { op.values(&output) } else { op.values(&end).values(&[1, 1, 1, 1]) };
            op.gives(&output, &dtype)
        }
        "SPLIT" | "SPLIT_V" => {
            let mut shape = map(chance);
            let axis = chance.from(0, 3) as usize;
            let (pieces, size) = (chance.from(1, 4), chance.from(1, 9));
            shape[axis] = pieces * size;
            let op = if kind == "SPLIT" { op.values(&[axis as i64]) } else { op };
            let op = op.reads(&shape, &dtype);
            shape[axis] = size;
            (0..pieces).fold(op, |op, _| op.gives(&shape, &dtype))
        }
        "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS" => {
            let shape = map(chance);
            op.reads(&shape, &dtype).gives(&[shape.iter().product()], &dtype)
        }
        "RESIZE_BILINEAR" | "RESIZE_NEAREST_NEIGHBOR" => {
            let ([input, output], channels) = ([chance.pair(1, 9), chance.pair(1, 17)], chance.from(1, 20));
            let [shape, scaled] = [input, output].map(|[height, width]| [1, height, width, channels]);
            let [corners, half] = [[false, false], [true, false], [false, true]][chance.from(0, 2) as usize];
            let op = op.reads(&shape, &dtype).values(&output).gives(&scaled, &dtype);
            op.with("align_corners", json!(corners)).with("half_pixel_centers", json!(half))
        }
        _ => elements(op, kind, &dtype, chance),
    }
}

fn convolution(op: OneOp, kind: &str, dtype: &ElementType, chance: &mut Chance) -> OneOp {
    let window = Window::by_chance(chance, true);
    let (groups, [reads, writes]) = (chance.from(1, 3), chance.pair(1, 20));
    let is_depthwise = kind == "DEPTHWISE_CONV_2D";
    let multiplier = if is_depthwise && chance.coin() { 1 } else { chance.from(1, 3) };
    let [input, output] = if is_depthwise {
        window.shapes(reads, reads * multiplier)
    } else {
        window.shapes(groups * reads, groups * writes)
    };
    let [rows, columns] = window.kernel;
    let filter = if is_depthwise { [1, rows, columns, output[3]] } else { [output[3], rows, columns, reads] };
    window.describe(op.reads(&input, dtype).constant(&filter, dtype)).gives(&output, dtype)
}

/// Of one operand or of two, some of them broadcast, some with results of another width.
fn elements(op: OneOp, kind: &str, dtype: &ElementType, chance: &mut Chance) -> OneOp {
    let shape = map(chance);
    let full = op.reads(&shape, dtype);
    let result = match (kind, chance.from(0, 2)) {
        ("QUANTIZE" | "DEQUANTIZE" | "CAST" | "SOFTMAX", 0) => Int16,
        ("QUANTIZE" | "DEQUANTIZE" | "CAST", 1) => Float32,
        _ => dtype.clone(),
    };
    let op = match (super::super::elementwise::operands(Operator::named(kind)), chance.from(0, 5)) {
        (Some(2), 0) => full.constant(&[shape[3]], dtype),
        (Some(2), 1) => full.first_again(),
        (Some(2), _) => full.reads(&shape, dtype),
        _ => full,
    };
    op.gives(&shape, &result)
}

fn map(chance: &mut Chance) -> Vec<i64> {
    vec![chance.from(1, 2), chance.from(1, 6), chance.from(1, 6), chance.from(1, 20)]
}
