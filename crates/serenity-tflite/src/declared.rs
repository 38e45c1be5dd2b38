//! Shapes that operators make of what they are given: a file that declares others is refused.
//!
//! A runtime either works them out itself, and needs other memory than the file says, or believes the file and writes past the end of a tensor. Either way a plan would be wrong.
//! Nothing is said of shapes that are open before the run (a signature with -1, or no dimensions), nor of operators that are not listed here.

use serde_json::Value;
use serenity_ir::{Call, Graph, OpId, Operator, TensorId, counted_product};

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
        if is_open(graph, tensor) || call.activations().any(|operand| is_open(graph, operand)) {
            return None;
        }
        let declared = graph.tensor(tensor).shape.as_deref()?;
        let (made, is_declared) = match made(&call)? {
            Made::Shape(shape) => (dimensions(&shape), shape == declared),
            Made::Elements(count) => (format!("{count} elements"), counted_product(declared) == Some(count)),
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
        EXPAND_DIMS | RESHAPE | SQUEEZE => return counted_product(&input).map(Made::Elements),
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
    let places = |extent: u64, side: usize| {
        let covered = window[side].checked_sub(1)? * dilation[side] + 1;
        match call.op.attributes.get("padding")?.as_str()? {
            "same" => Some(extent.div_ceil(stride[side])),
            "valid" => Some((extent + stride[side]).checked_sub(covered)? / stride[side]),
            _ => None,
        }
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

fn replaced(mut shape: Vec<u64>, axis: usize, extent: u64) -> Vec<u64> {
    shape[axis] = extent;
    shape
}

/// Is its shape only known when the model runs?
fn is_open(graph: &Graph, tensor: TensorId) -> bool {
    let tensor = graph.tensor(tensor);
    let signature = tensor.extra.get("shape_signature").and_then(Value::as_array);
    let has_open_extent =
        signature.is_some_and(|dims| dims.iter().any(|dim| dim.as_i64().is_none_or(|dim| dim < 0)));
    has_open_extent || tensor.shape.as_ref().is_none_or(Vec::is_empty)
}

fn dimensions(shape: &[u64]) -> String {
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("[{}]", dims.join("x"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::json;

    /// What is said of one op on these tensors, the last of which it writes.
    fn said(kind: &str, shapes: &[&[u64]], attributes: &str) -> Option<(String, String)> {
        let tensor = |shape: &&[u64]| format!(r#"{{"shape": {shape:?}, "dtype": "int8"}}"#);
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

    const CONV: &str = r#""stride": [2, 1], "dilation": [1, 2], "padding": "valid", "constants": {"1": {"shape": [8, 3, 3, 4], "dtype": "int8"}}"#;

    #[test]
    fn what_is_declared_as_it_is_made_is_fine() {
        assert_eq!(said("CONV_2D", &[&[1, 9, 9, 4], &[1, 4, 5, 8]], CONV), None);
        let same = CONV.replace("valid", "same");
        assert_eq!(said("CONV_2D", &[&[1, 9, 9, 4], &[1, 5, 9, 8]], &same), None);
        assert_eq!(said("RELU", &[&[2, 3], &[2, 3]], ""), None);
        assert_eq!(said("ADD", &[&[2, 1], &[3], &[2, 3]], ""), None);
        assert_eq!(said("CONCATENATION", &[&[2, 1], &[2, 4], &[2, 5]], r#""axis": -1"#), None);
        let pad = r#""constants": {"1": {"shape": [2, 2], "dtype": "int32", "values": [0, 1, 2, 0]}}"#;
        assert_eq!(said("PAD", &[&[2, 1], &[3, 3]], pad), None);
        let order = r#""constants": {"1": {"shape": [3], "dtype": "int32", "values": [2, 0, 1]}}"#;
        assert_eq!(said("TRANSPOSE", &[&[2, 3, 4], &[4, 2, 3]], order), None);
        assert_eq!(said("RESHAPE", &[&[2, 6], &[3, 4]], ""), None);
        let weights = r#""constants": {"1": {"shape": [5, 6], "dtype": "int8"}}"#;
        assert_eq!(said("FULLY_CONNECTED", &[&[2, 2, 3], &[2, 5]], weights), None);
    }

    #[test]
    fn what_is_not_is_said_with_both_shapes() {
        let both = |made: &str, declared: &str| Some((made.to_owned(), declared.to_owned()));
        let conv = said("CONV_2D", &[&[1, 9, 9, 4], &[1, 4, 4, 8]], CONV);
        assert_eq!(conv, both("[1x4x5x8]", "[1x4x4x8]"));
        assert_eq!(said("RELU", &[&[2, 3], &[3, 2]], ""), both("[2x3]", "[3x2]"));
        assert_eq!(said("ADD", &[&[2, 1], &[3], &[2, 2]], ""), both("[2x3]", "[2x2]"));
        assert_eq!(said("RESHAPE", &[&[2, 6], &[3, 5]], ""), both("12 elements", "[3x5]"));
        let pool = r#""kernel": [2, 2], "stride": [2, 2], "padding": "same""#;
        assert_eq!(
            said("MAX_POOL_2D", &[&[1, 5, 4, 3], &[1, 2, 2, 3]], pool),
            both("[1x3x2x3]", "[1x2x2x3]")
        );
    }

    #[test]
    fn nothing_is_said_of_what_is_not_known() {
        // No dimensions: open before the run.
        assert_eq!(said("RELU", &[&[2, 3], &[]], ""), None);
        assert_eq!(said("ADD", &[&[], &[3], &[2, 2]], ""), None);
        // Shapes that do not go together, and options of no kernel.
        assert_eq!(said("ADD", &[&[2], &[3], &[4]], ""), None);
        assert_eq!(said("CONV_2D", &[&[1, 9, 9, 4], &[1, 4, 4, 8]], &CONV.replace("[2, 1]", "[0, 1]")), None);
        assert_eq!(said("CUSTOM:own", &[&[2, 3], &[7]], ""), None);
    }
}
