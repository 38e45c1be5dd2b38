//! What the operands themselves say: the size of a filter, and numbers that the format hands over as constant tensors.

use crate::Model;
use crate::attributes::constants::{operand_real, operand_values};
use crate::operator::FileOperator;
use crate::sub_graph::SubGraph;
use crate::tensor::Storage;
use serde_json::{Value, json};
use serenity_ir::Attributes;

/// How the numbers of a constant operand become an attribute.
#[derive(Clone, Copy)]
enum Form {
    /// A list as it is.
    List,
    /// The first number.
    One,
    /// A dimension of the output, which has one more than the first operand.
    NewAxis,
    /// Dimensions of the first operand, counted from the front.
    Axes,
    /// One dimension of an operand, counted from the front.
    Axis {
        /// The operand whose dimensions are meant.
        of: usize,
    },
    /// Pairs, one for each dimension.
    Pairs,
}
use Form::{Axes, Axis, List, NewAxis, One, Pairs};

/// An operand by position, the attribute it becomes, and how.
type Named = (usize, &'static str, Form);

/// By operator: which operands become attributes.
#[rustfmt::skip]
const NUMBERS: &[(&[&str], &[Named])] = &[
    (&["MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL"], &[(1, "axes", Axes)]),
    (&["REVERSE_V2"], &[(1, "axes", Axes)]),
    (&["ARG_MAX", "ARG_MIN", "CUMSUM"], &[(1, "axis", Axis { of: 0 })]),
    (&["EXPAND_DIMS"], &[(1, "axis", NewAxis)]),
    (&["SPLIT"], &[(0, "axis", Axis { of: 1 })]),
    (&["SPLIT_V"], &[(1, "size_splits", List), (2, "axis", Axis { of: 0 })]),
    (&["PAD", "PADV2", "MIRROR_PAD"], &[(1, "paddings", Pairs)]),
    (&["PADV2"], &[(2, "pad_value", One)]),
    (&["SPACE_TO_BATCH_ND"], &[(1, "block_shape", List), (2, "paddings", Pairs)]),
    (&["BATCH_TO_SPACE_ND"], &[(1, "block_shape", List), (2, "crops", Pairs)]),
    (&["STRIDED_SLICE"], &[(1, "begin", List), (2, "end", List), (3, "strides", List)]),
    (&["SLICE"], &[(1, "begin", List), (2, "size", List)]),
    (&["TRANSPOSE"], &[(1, "permutation", List)]),
    (&["RESHAPE"], &[(1, "new_shape", List)]),
    (&["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"], &[(1, "size", List)]),
    (&["TILE"], &[(1, "multiples", List)]),
    (&["BROADCAST_TO"], &[(1, "new_shape", List)]),
    (&["TRANSPOSE_CONV"], &[(0, "output_shape", List)]),
    (&["TOPK_V2"], &[(1, "k", One)]),
];

/// By operator: the operand that is the filter, the dimensions that the window has, and the operand that is the bias.
#[rustfmt::skip]
const FILTERS: &[(&str, usize, std::ops::Range<usize>, usize)] = &[
    ("CONV_2D", 1, 1..3, 2),
    ("DEPTHWISE_CONV_2D", 1, 1..3, 2),
    ("TRANSPOSE_CONV", 1, 1..3, 3),
    ("CONV_3D", 1, 0..3, 2),
    ("CONV_3D_TRANSPOSE", 1, 0..3, 3),
    ("FULLY_CONNECTED", 1, 0..0, 2),
];

/// Does an attribute of an operator of this kind say what its constant operands hold, or what shape they have? The rest
/// are options.
pub fn is_said_by_operands(kind: &str, attribute: &str) -> bool {
    let is_number = |&(kinds, operands): &(&[&str], &[Named])| {
        kinds.contains(&kind) && operands.iter().any(|(_, name, _)| *name == attribute)
    };
    let is_filter = |known: &(&str, usize, std::ops::Range<usize>, usize)| known.0 == kind;
    NUMBERS.iter().any(is_number)
        || ["kernel", "bias"].contains(&attribute) && FILTERS.iter().any(is_filter)
        || ["constants", "variables", "absent"].contains(&attribute)
}

/// Adds what the operands of one operator say.
pub(crate) fn describe(
    model: &Model,
    sub_graph: usize,
    operator: &FileOperator,
    storage: &[Storage],
    attributes: &mut Attributes,
) {
    let tables = &model.sub_graphs[sub_graph];
    if let Some((kind, filter, window, bias)) = FILTERS.iter().find(|known| known.0 == operator.kind) {
        if let Some(kernel) = shape(tables, operator, *filter).and_then(|shape| shape.get(window.clone()))
            && !kernel.is_empty()
        {
            attributes.insert("kernel".to_owned(), json!(kernel));
        }
        let has_bias = operator.inputs.get(*bias).is_some_and(Option::is_some);
        attributes.insert("bias".to_owned(), json!(has_bias));
        if *kind == "DEPTHWISE_CONV_2D" {
            derive_multiplier(tables, operator, attributes);
        }
    }
    let numbers = NUMBERS.iter().filter(|(kinds, _)| kinds.contains(&operator.kind.as_str()));
    for &(position, name, form) in numbers.flat_map(|(_, operands)| *operands) {
        if let Some(values) = operand_values(model, sub_graph, operator, position, storage)
            && let Some(value) = form.of(&values, tables, operator)
        {
            attributes.insert(name.to_owned(), value);
        }
    }
    if operator.kind == "PADV2"
        && let Some(value) = operand_real(model, sub_graph, operator, 2, storage)
    {
        attributes.insert("pad_value".to_owned(), json!(value));
    }
    count_axis_from_the_front(tables, operator, attributes);
}

fn shape<'a>(tables: &'a SubGraph, operator: &FileOperator, operand: usize) -> Option<&'a [u64]> {
    let tensor = operator.inputs.get(operand).copied().flatten()?;
    Some(&tables.tensors[tensor].shape)
}

/// Some writers leave the multiplier out; the runtimes then derive it from the channels.
fn derive_multiplier(tables: &SubGraph, operator: &FileOperator, attributes: &mut Attributes) {
    let channels = |operand| shape(tables, operator, operand).and_then(|shape| shape.last().copied());
    if attributes.get("multiplier").and_then(Value::as_i64).is_none_or(|given| given < 1)
        && let (Some(read @ 1..), Some(written)) = (channels(0), channels(1))
    {
        attributes.insert("multiplier".to_owned(), json!(written / read));
    }
}

/// Options may count the axis from the back. `PACK` counts along its output, which has one dimension more than its inputs.
fn count_axis_from_the_front(tables: &SubGraph, operator: &FileOperator, attributes: &mut Attributes) {
    let more = match operator.kind.as_str() {
        "CONCATENATION" | "GATHER" | "UNPACK" => 0,
        "PACK" => 1,
        _ => return,
    };
    let rank = shape(tables, operator, 0).map(|shape| shape.len() + more);
    let axis = attributes.get("axis").and_then(Value::as_i64);
    if let (Some(rank), Some(axis)) = (rank, axis) {
        attributes.insert("axis".to_owned(), json!(from_the_front(axis, rank)));
    }
}

fn from_the_front(axis: i64, rank: usize) -> i64 {
    if axis < 0 { axis.saturating_add(rank as i64) } else { axis }
}

impl Form {
    fn of(self, values: &[i64], tables: &SubGraph, operator: &FileOperator) -> Option<Value> {
        let rank = |operand| shape(tables, operator, operand).map_or(0, <[u64]>::len);
        Some(match self {
            List => json!(values),
            One => json!(values.first()?),
            Axes => {
                let axes: Vec<i64> = values.iter().map(|&axis| from_the_front(axis, rank(0))).collect();
                json!(axes)
            }
            NewAxis => json!(from_the_front(*values.first()?, rank(0) + 1)),
            Axis { of } => json!(from_the_front(*values.first()?, rank(of))),
            Pairs => json!(values.as_chunks::<2>().0),
        })
    }
}
