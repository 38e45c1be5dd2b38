//! Shapes that operators make of what they are given: a file that declares others is refused.
//!
//! A runtime either works them out itself, and needs other memory than the file says, or believes the file and writes
//! past the end of a tensor. Either way a plan would be wrong. Nothing is said of extents that are open before the run
//! (-1 in the signature, 1 where a runtime looks), of tensors without dimensions, nor of operators that are not listed
//! here. Most models leave their batch open; at the one that they declare, the rest must fit all the same.

use serde_json::Value;
use serenity_ir::{Call, Graph, OpId, Operator, Padding, TensorId, Window, counted_product, from_front};

/// An output that is not declared as its operator makes it.
pub(crate) struct Contradiction {
    pub(crate) op: OpId,
    pub(crate) tensor: TensorId,
    /// In words.
    pub(crate) made: String,
    pub(crate) declared: String,
}

/// The first, if there is one.
pub(crate) fn contradiction(graph: &Graph) -> Option<Contradiction> {
    graph.op_ids().find_map(|op| {
        let call = Call::new(graph, op);
        let tensor = call.output(0)?;
        let open = open_extents(graph, tensor)?;
        // Only the batch may be open in what it is given: whatever else depends on one that is not known would be guessed.
        let may_be_counted =
            |operand| open_extents(graph, operand).is_some_and(|open| matches!(open[..], [] | [0]));
        if !call.activations().all(may_be_counted) {
            return None;
        }
        let declared = graph.tensor(tensor).shape.as_deref()?;
        let (made, is_declared) = match made(&call)? {
            Made::Shape(shape) => {
                let fits = |axis: usize| open.contains(&axis) || shape[axis] == declared[axis];
                let is_declared = shape.len() == declared.len() && (0..shape.len()).all(fits);
                (dimensions(&shape), is_declared)
            }
            Made::Elements(count) => {
                let is_declared = !open.is_empty() || counted_product(declared) == Some(count);
                (format!("{count} elements"), is_declared)
            }
        };
        (!is_declared).then(|| Contradiction { op, tensor, made, declared: dimensions(declared) })
    })
}

/// What is known of a result.
enum Made {
    Shape(Vec<u64>),
    /// Only how many, where the dimensions are for the file to say.
    Elements(u64),
}

fn made(call: &Call) -> Option<Made> {
    use Operator::*;
    let input = call.shape(0)?;
    let shape = match call.operator() {
        ABS | CAST | CEIL | COS | CUMSUM | DEQUANTIZE | ELU | EXP | FLOOR | GELU | HARD_SWISH
        | L2_NORMALIZATION | LEAKY_RELU | LOG | LOGICAL_NOT | LOGISTIC | LOG_SOFTMAX | NEG | QUANTIZE
        | RELU | RELU6 | RELU_0_TO_1 | RELU_N1_TO_1 | REVERSE_V2 | ROUND | RSQRT | SIGN | SIN | SOFTMAX
        | SQRT | SQUARE | TANH | ZEROS_LIKE => input,
        ADD | DIV | EQUAL | FLOOR_DIV | FLOOR_MOD | GREATER | GREATER_EQUAL | LESS | LESS_EQUAL
        | LOGICAL_AND | LOGICAL_OR | MAXIMUM | MINIMUM | MUL | NOT_EQUAL | POW | PRELU
        | SQUARED_DIFFERENCE | SUB => broadcast(&input, &call.shape(1)?)?,
        CONV_2D => {
            let [filters, height, width, _] = call.shape(1)?.try_into().ok()?;
            slid(call, input, [height, width], filters)?
        }
        DEPTHWISE_CONV_2D => {
            let [_, height, width, channels] = call.shape(1)?.try_into().ok()?;
            slid(call, input, [height, width], channels)?
        }
        AVERAGE_POOL_2D | L2_POOL_2D | MAX_POOL_2D => {
            let window = call.sides("kernel")?.map(i64::unsigned_abs);
            let channels = *input.last()?;
            slid(call, input, window, channels)?
        }
        CONCATENATION => {
            let axis = call.axis(input.len())?;
            let extent = |position| call.shape(position)?.get(axis).copied();
            let extents: Option<Vec<u64>> = (0..call.operand_count()).map(extent).collect();
            replaced(input, axis, extents?.iter().sum())
        }
        PACK => {
            let axis = call.axis(input.len() + 1)?;
            inserted(input, axis, call.operand_count() as u64)
        }
        RESIZE_BILINEAR | RESIZE_NEAREST_NEIGHBOR => {
            let [batch, _, _, channels] = input.try_into().ok()?;
            let [height, width] = call.values(1)?.try_into().ok()?;
            vec![batch, u64::try_from(height).ok()?, u64::try_from(width).ok()?, channels]
        }
        TRANSPOSE_CONV => {
            let extent = |extent: i64| u64::try_from(extent).ok();
            call.values(0)?.into_iter().map(extent).collect::<Option<_>>()?
        }
        MEAN | SUM | REDUCE_ALL | REDUCE_ANY | REDUCE_MAX | REDUCE_MIN | REDUCE_PROD => {
            let axis = |axis: i64| from_front(axis, input.len());
            let axes: Vec<usize> = call.values(1)?.into_iter().map(axis).collect::<Option<_>>()?;
            let kept = (0..input.len()).filter(|axis| !axes.contains(axis)).map(|axis| input[axis]);
            return counted_product(&kept.collect::<Vec<_>>()).map(Made::Elements);
        }
        PAD | PADV2 => {
            let added = call.values(1).filter(|values| values.len() == 2 * input.len())?;
            let padded = |(&extent, added): (&u64, &[i64])| {
                added.iter().try_fold(extent, |extent, &more| extent.checked_add_signed(more))
            };
            input.iter().zip(added.chunks_exact(2)).map(padded).collect::<Option<_>>()?
        }
        TRANSPOSE => {
            let order = call.values(1).filter(|values| values.len() == input.len())?;
            let at = |&axis: &i64| input.get(usize::try_from(axis).ok()?).copied();
            order.iter().map(at).collect::<Option<_>>()?
        }
        DEPTH_TO_SPACE | EXPAND_DIMS | RESHAPE | SPACE_TO_DEPTH | SQUEEZE => {
            return counted_product(&input).map(Made::Elements);
        }
        FULLY_CONNECTED => {
            let [rows, columns] = call.shape(1)?.try_into().ok()?;
            let products = counted_product(&input)?.checked_mul(rows)?;
            let is_divided = columns > 0 && products.is_multiple_of(columns);
            return is_divided.then(|| Made::Elements(products / columns));
        }
        _ => return None,
    };
    Some(Made::Shape(shape))
}

/// A window that slides over height and width, as the runtimes count its places.
fn slid(call: &Call, input: Vec<u64>, window: [u64; 2], channels: u64) -> Option<Vec<u64>> {
    let [batch, height, width, _] = input.try_into().ok()?;
    let stride = call.sides("stride")?.map(i64::unsigned_abs);
    let dilation = call.sides("dilation").unwrap_or([1, 1]).map(i64::unsigned_abs);
    let padding = Padding::named(call.op.word("padding")?)?;
    let places = |extent: u64, side: usize| {
        let window = Window::new(window[side], stride[side], dilation[side])?;
        u64::try_from(window.results(i64::try_from(extent).ok()?, padding)?).ok()
    };
    Some(vec![batch, places(height, 0)?, places(width, 1)?, channels])
}

/// The shape of what is made of two element by element; `None` if they do not go together.
fn broadcast(a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    let rank = a.len().max(b.len());
    let at =
        |shape: &[u64], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    let both = |axis| match (at(a, axis), at(b, axis)) {
        (a, b) if a == b || b == 1 => Some(a),
        (1, b) => Some(b),
        _ => None,
    };
    (0..rank).map(both).collect()
}

fn inserted(mut shape: Vec<u64>, axis: usize, extent: u64) -> Vec<u64> {
    shape.insert(axis, extent);
    shape
}

fn replaced(mut shape: Vec<u64>, axis: usize, extent: u64) -> Vec<u64> {
    shape[axis] = extent;
    shape
}

/// The axes whose extent is only known when the model runs; `None` if not even their number is known.
///
/// Runtimes believe the shape and not the signature, so a signature that contradicts the shape is none.
fn open_extents(graph: &Graph, tensor: TensorId) -> Option<Vec<usize>> {
    let tensor = graph.tensor(tensor);
    let shape = tensor.shape.as_deref().filter(|shape| !shape.is_empty())?;
    let signature: Option<Vec<i64>> = tensor
        .extra
        .get("shape_signature")
        .and_then(Value::as_array)
        .and_then(|extents| extents.iter().map(Value::as_i64).collect());
    let Some(signature) = signature.filter(|signature| signature.len() == shape.len()) else {
        return Some(Vec::new());
    };
    let agrees = |(&signed, &extent): (&i64, &u64)| signed < 0 || u64::try_from(signed) == Ok(extent);
    if !signature.iter().zip(shape).all(agrees) {
        return Some(Vec::new());
    }
    Some((0..shape.len()).filter(|&axis| signature[axis] < 0 && shape[axis] == 1).collect())
}

fn dimensions(shape: &[u64]) -> String {
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("[{}]", dims.join("x"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::{json, sketch};

    /// The shape that the one op of a graph makes, if it contradicts what is declared.
    fn made(graph: &str) -> Option<String> {
        contradiction(&sketch(graph)).map(|found| found.made)
    }

    /// What is said of one op on these tensors, each with a signature; it writes the last one.
    fn said_of_signed(kind: &str, shapes: &[(&[u64], &[i64])], attributes: &str) -> Option<(String, String)> {
        let tensor = |(shape, signature): &(&[u64], &[i64])| {
            format!(r#"{{"shape": {shape:?}, "dtype": "int8", "shape_signature": {signature:?}}}"#)
        };
        let tensors: Vec<String> = shapes.iter().map(tensor).collect();
        let inputs: Vec<usize> = (0..shapes.len() - 1).collect();
        let output = inputs.len();
        let graph = json::parse(&format!(
            r#"{{"tensors": [{}], "inputs": {inputs:?}, "outputs": [{output}],
                "ops": [{{"type": "{kind}", "inputs": {inputs:?}, "outputs": [{output}], "attributes": {{{attributes}}}}}]}}"#,
            tensors.join(", ")
        ));
        contradiction(&graph.unwrap()).map(|found| (found.made, found.declared))
    }

    const CONV: &str = "CONV_2D int8[1,9,9,4] int8#[8,3,3,4] stride=[2,1] dilation=[1,2]";

    #[test]
    fn what_is_declared_as_it_is_made_is_fine() {
        assert_eq!(made(&format!(r#"int8[1,4,5,8] = {CONV} padding="valid""#)), None);
        assert_eq!(made(&format!(r#"int8[1,5,9,8] = {CONV} padding="same""#)), None);
        for op in [
            "int8[2,3] = RELU int8[2,3]",
            "int8[2,3] = ADD int8[2,1] int8[3]",
            "int8[2,5] = CONCATENATION int8[2,1] int8[2,4] axis=-1",
            "int8[3,3] = PAD int8[2,1] [0,1,2,0]",
            "int8[4,2,3] = TRANSPOSE int8[2,3,4] [2,0,1]",
            "int8[3,4] = RESHAPE int8[2,6]",
            "int8[2,6,3] = PACK int8[2,6] int8[2,6] int8[2,6] axis=-1",
            "int8[1,7,9,3] = RESIZE_BILINEAR int8[1,4,5,3] [7,9]",
            "int8[1,3] = MEAN int8[1,4,5,3] [1,-2]",
            "int8[2,5] = FULLY_CONNECTED int8[2,2,3] int8#[5,6]",
        ] {
            assert_eq!(made(op), None, "{op}");
        }
    }

    #[test]
    fn what_is_not_is_said_with_both_shapes() {
        let conv = format!(r#"int8[1,4,4,8] = {CONV} padding="valid""#);
        let pool = r#"int8[1,2,2,3] = MAX_POOL_2D int8[1,5,4,3] kernel=[2,2] stride=[2,2] padding="same""#;
        for (op, expected, declared) in [
            (conv.as_str(), "[1x4x5x8]", "[1x4x4x8]"),
            ("int8[3,2] = RELU int8[2,3]", "[2x3]", "[3x2]"),
            ("int8[2,2] = ADD int8[2,1] int8[3]", "[2x3]", "[2x2]"),
            ("int8[3,5] = RESHAPE int8[2,6]", "12 elements", "[3x5]"),
            ("int8[2,3] = PACK int8[2] int8[2] axis=1", "[2x2]", "[2x3]"),
            ("int8[6] = SUM int8[2,6] [1]", "2 elements", "[6]"),
            (pool, "[1x3x2x3]", "[1x2x2x3]"),
        ] {
            let found = contradiction(&sketch(op)).unwrap();
            assert_eq!((found.made.as_str(), found.declared.as_str()), (expected, declared), "{op}");
        }
    }

    #[test]
    fn an_open_batch_hides_nothing_else() {
        let order = r#""constants": {"1": {"shape": [3], "dtype": "int32", "values": [0, 2, 1]}}"#;
        let given: (&[u64], &[i64]) = (&[1, 172, 36], &[-1, 172, 36]);
        let transposed = |shape: &[u64], signature: &[i64]| {
            said_of_signed("TRANSPOSE", &[given, (shape, signature)], order)
        };
        assert_eq!(transposed(&[1, 36, 172], &[-1, 36, 172]), None);
        let both = |declared: &str| Some(("[1x36x172]".to_owned(), declared.to_owned()));
        assert_eq!(transposed(&[1, 36, 1], &[-1, 36, 172]), both("[1x36x1]"));
        assert_eq!(transposed(&[1, 36, 1], &[-1, 36, 1]), both("[1x36x1]"));
        assert_eq!(transposed(&[2, 36, 172], &[-1, 36, 172]), both("[2x36x172]"));
        // How many rows there are is open; that they have 12 columns is not.
        let rows: (&[u64], &[i64]) = (&[1, 4, 5], &[-1, 4, 5]);
        assert_eq!(said_of_signed("RESHAPE", &[rows, (&[1, 4], &[-1, 4])], ""), None);
        let weights = r#""constants": {"1": {"shape": [12, 20], "dtype": "int8"}}"#;
        let connected =
            |shape: &[u64]| said_of_signed("FULLY_CONNECTED", &[rows, (shape, &[-1, 12])], weights);
        assert_eq!(connected(&[1, 12]), None);
        assert_eq!(connected(&[1, 1]), Some(("12 elements".to_owned(), "[1x1]".to_owned())));
    }

    #[test]
    fn nothing_is_said_of_what_is_not_known() {
        let open: (&[u64], &[i64]) = (&[1, 1, 3], &[1, -1, 3]);
        assert_eq!(said_of_signed("RELU", &[open, (&[1, 5, 3], &[1, 5, 3])], ""), None);
        let both: (&[u64], &[i64]) = (&[1, 3], &[-1, 3]);
        assert_eq!(said_of_signed("CONCATENATION", &[both, both, both], r#""axis": 0"#), None);
        let no_kernel = CONV.replace("[2,1]", "[0,1]");
        for op in [
            // No dimensions: open before the run.
            "int8[] = RELU int8[2,3]",
            "int8[2,2] = ADD int8[] int8[3]",
            // Shapes that do not go together, and options of no kernel.
            "int8[4] = ADD int8[2] int8[3]",
            &format!(r#"int8[1,4,4,8] = {no_kernel} padding="valid""#),
            "int8[7] = CUSTOM:own int8[2,3]",
        ] {
            assert_eq!(made(op), None, "{op}");
        }
    }
}
