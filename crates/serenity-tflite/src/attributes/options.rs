//! The options of built-in operators, type by type.

use crate::Error;
use crate::budget::Budget;
use crate::error::At;
use crate::flat::{Fault, Table};
use crate::operator::Options;
use crate::schema::element;
use serde_json::{Value, json};
use serenity_ir::Attributes;

/// How one field, or a pair of fields, becomes an attribute.
pub(crate) enum Read {
    /// `SAME` or `VALID`.
    Padding(usize),
    /// A fused activation.
    Activation(usize),
    /// Two whole numbers, height first, from the fields that hold height and width, with their default.
    Pair([usize; 2], i32),
    /// Three whole numbers, depth first.
    Triple([usize; 3], i32),
    Int(usize),
    Long(usize),
    Bool(usize),
    /// A yes-or-no that means yes if it is absent.
    BoolOrTrue(usize),
    Float(usize),
    Text(usize),
    /// An element type.
    Type(usize),
    /// An element type, if there is one.
    TypeIfGiven(usize),
    /// One of several words.
    Word(usize, &'static [&'static str]),
    Ints(usize),
    Longs(usize),
}
use Read::{
    Activation, Bool, BoolOrTrue, Float, Int, Ints, Long, Longs, Padding, Pair, Text, Triple, Type,
    TypeIfGiven, Word,
};

impl Read {
    /// The fields that it reads.
    pub(crate) fn slots(&self) -> &[usize] {
        match self {
            Pair(slots, _) => slots,
            Triple(slots, _) => slots,
            Padding(slot)
            | Activation(slot)
            | Word(slot, _)
            | Type(slot)
            | TypeIfGiven(slot)
            | Bool(slot)
            | BoolOrTrue(slot)
            | Int(slot)
            | Long(slot)
            | Float(slot)
            | Text(slot)
            | Ints(slot)
            | Longs(slot) => std::slice::from_ref(slot),
        }
    }
}

/// A type of options: its number in its union, and its fields by the names of the attributes they become.
type Known = (u8, &'static [(&'static str, Read)]);

/// The union `BuiltinOptions`. Sub-graph numbers are not here: they are the attribute `bodies`.
#[rustfmt::skip]
const FIRST: &[Known] = &[
    // Conv2DOptions
    (1, &[
        ("stride", Pair([2, 1], 0)), ("padding", Padding(0)), ("dilation", Pair([5, 4], 1)), ("activation", Activation(3)),
        ("quantized_bias_type", TypeIfGiven(6)),
    ]),
    // DepthwiseConv2DOptions
    (2, &[
        ("stride", Pair([2, 1], 0)), ("padding", Padding(0)), ("dilation", Pair([6, 5], 1)),
        ("activation", Activation(4)), ("multiplier", Int(3)),
    ]),
    // Pool2DOptions
    (5, &[("activation", Activation(5)), ("kernel", Pair([4, 3], 0)), ("stride", Pair([2, 1], 0)), ("padding", Padding(0))]),
    // SVDFOptions
    (6, &[("rank", Int(0)), ("activation", Activation(1)), ("asymmetric_quantize_inputs", Bool(2))]),
    // RNNOptions
    (7, &[("activation", Activation(0)), ("asymmetric_quantize_inputs", Bool(1))]),
    // FullyConnectedOptions
    (8, &[
        ("activation", Activation(0)), ("weights_format", Word(1, &["default", "shuffled4x16int8"])),
        ("keep_num_dims", Bool(2)), ("asymmetric_quantize_inputs", Bool(3)),
    ]),
    // SoftmaxOptions
    (9, &[("beta", Float(0))]),
    // ConcatenationOptions
    (10, &[("axis", Int(0)), ("activation", Activation(1))]),
    // AddOptions
    (11, &[("activation", Activation(0)), ("pot_scale_int16", BoolOrTrue(1))]),
    // L2NormOptions
    (12, &[("activation", Activation(0))]),
    // LocalResponseNormalizationOptions
    (13, &[("radius", Int(0)), ("bias", Float(1)), ("alpha", Float(2)), ("beta", Float(3))]),
    // LSTMOptions
    (14, &[
        ("activation", Activation(0)), ("cell_clip", Float(1)), ("proj_clip", Float(2)),
        ("kernel_type", Word(3, &["full", "basic"])), ("asymmetric_quantize_inputs", Bool(4)),
    ]),
    // ResizeBilinearOptions
    (15, &[("align_corners", Bool(2)), ("half_pixel_centers", Bool(3))]),
    // ReshapeOptions
    (17, &[("new_shape", Ints(0))]),
    // SpaceToDepthOptions
    (19, &[("block_size", Int(0))]),
    // EmbeddingLookupSparseOptions
    (20, &[("combiner", Word(0, &["sum", "mean", "sqrtn"]))]),
    // MulOptions
    (21, &[("activation", Activation(0))]),
    // GatherOptions
    (23, &[("axis", Int(0)), ("batch_dims", Int(1))]),
    // ReducerOptions
    (27, &[("keep_dims", Bool(0))]),
    // SubOptions
    (28, &[("activation", Activation(0)), ("pot_scale_int16", BoolOrTrue(1))]),
    // DivOptions
    (29, &[("activation", Activation(0))]),
    // SqueezeOptions
    (30, &[("axes", Ints(0))]),
    // SequenceRNNOptions
    (31, &[("time_major", Bool(0)), ("activation", Activation(1)), ("asymmetric_quantize_inputs", Bool(2))]),
    // StridedSliceOptions
    (32, &[
        ("begin_mask", Int(0)), ("end_mask", Int(1)), ("ellipsis_mask", Int(2)), ("new_axis_mask", Int(3)),
        ("shrink_axis_mask", Int(4)), ("offset", Bool(5)),
    ]),
    // SplitOptions
    (35, &[("num_splits", Int(0))]),
    // CastOptions
    (37, &[("in_dtype", Type(0)), ("out_dtype", Type(1))]),
    // ArgMaxOptions
    (40, &[("output_dtype", Type(0))]),
    // TransposeConvOptions
    (49, &[("stride", Pair([2, 1], 0)), ("padding", Padding(0)), ("activation", Activation(3))]),
    // SparseToDenseOptions
    (50, &[("validate_indices", Bool(0))]),
    // ShapeOptions
    (55, &[("output_dtype", Type(0))]),
    // ArgMinOptions
    (57, &[("output_dtype", Type(0))]),
    // FakeQuantOptions
    (58, &[("min", Float(0)), ("max", Float(1)), ("num_bits", Int(2)), ("narrow_range", Bool(3))]),
    // PackOptions
    (59, &[("values_count", Int(0)), ("axis", Int(1))]),
    // OneHotOptions
    (61, &[("axis", Int(0))]),
    // UnpackOptions
    (64, &[("num", Int(0)), ("axis", Int(1))]),
    // BidirectionalSequenceLSTMOptions
    (69, &[
        ("activation", Activation(0)), ("cell_clip", Float(1)), ("proj_clip", Float(2)), ("merge_outputs", Bool(3)),
        ("time_major", BoolOrTrue(4)), ("asymmetric_quantize_inputs", Bool(5)),
    ]),
    // BidirectionalSequenceRNNOptions
    (70, &[
        ("time_major", Bool(0)), ("activation", Activation(1)), ("merge_outputs", Bool(2)),
        ("asymmetric_quantize_inputs", Bool(3)),
    ]),
    // UnidirectionalSequenceLSTMOptions
    (71, &[
        ("activation", Activation(0)), ("cell_clip", Float(1)), ("proj_clip", Float(2)), ("time_major", Bool(3)),
        ("asymmetric_quantize_inputs", Bool(4)), ("diagonal_recurrent_tensors", Bool(5)),
    ]),
    // ResizeNearestNeighborOptions
    (74, &[("align_corners", Bool(0)), ("half_pixel_centers", Bool(1))]),
    // LeakyReluOptions
    (75, &[("alpha", Float(0))]),
    // MirrorPadOptions
    (77, &[("mode", Word(0, &["reflect", "symmetric"]))]),
    // SplitVOptions
    (79, &[("num_splits", Int(0))]),
    // ReverseSequenceOptions
    (87, &[("seq_dim", Int(0)), ("batch_dim", Int(1))]),
    // DepthToSpaceOptions
    (94, &[("block_size", Int(0))]),
    // BatchMatMulOptions
    (101, &[("adj_x", Bool(0)), ("adj_y", Bool(1)), ("asymmetric_quantize_inputs", Bool(2))]),
    // CumsumOptions
    (102, &[("exclusive", Bool(0)), ("reverse", Bool(1))]),
    // Conv3DOptions
    (106, &[
        ("stride", Triple([1, 3, 2], 0)), ("padding", Padding(0)), ("dilation", Triple([5, 7, 6], 1)),
        ("activation", Activation(4)),
    ]),
    // HashtableOptions
    (107, &[("table_id", Int(0)), ("key_dtype", Type(1)), ("value_dtype", Type(2))]),
    // VarHandleOptions
    (111, &[("container", Text(0)), ("shared_name", Text(1))]),
    // RandomOptions
    (114, &[("seed", Long(0)), ("seed2", Long(1))]),
    // GeluOptions
    (116, &[("approximate", Bool(0))]),
];

/// The union `BuiltinOptions2`.
#[rustfmt::skip]
const SECOND: &[Known] = &[
    // StablehloConcatenateOptions
    (1, &[("axis", Long(0))]),
    // StablehloBroadcastInDimOptions
    (2, &[("broadcast_dimensions", Longs(0))]),
    // StablehloSliceOptions
    (3, &[("begin", Longs(0)), ("end", Longs(1)), ("strides", Longs(2))]),
    // StablehloReduceOptions
    (6, &[("axes", Longs(0))]),
    // StablehloDynamicSliceOptions
    (9, &[("size", Longs(0))]),
    // StablehloIotaOptions
    (11, &[("axis", Long(0))]),
    // StablehloReduceWindowOptions
    (13, &[
        ("window", Longs(0)), ("strides", Longs(1)), ("base_dilations", Longs(2)), ("window_dilations", Longs(3)),
        ("paddings", Longs(4)),
    ]),
    // StablehloSortOptions
    (14, &[("axis", Long(0)), ("stable", Bool(1))]),
    // StablehloTransposeOptions
    (17, &[("permutation", Longs(0))]),
    // ReduceWindowOptions
    (20, &[("function", Int(0))]),
    // StableHLOCompositeOptions
    (21, &[("composite", Text(0)), ("version", Int(4))]),
];

pub(crate) const ACTIVATIONS: &[&str] = &["none", "relu", "relu_n1_to_1", "relu6", "tanh", "sign_bit"];
pub(crate) const PADDINGS: &[&str] = &["same", "valid"];

/// Adds what the options say; types that we do not know say nothing.
pub(crate) fn describe(
    options: Options,
    attributes: &mut Attributes,
    budget: &mut Budget,
    place: &dyn Fn() -> String,
) -> Result<(), Error> {
    let Some((table, fields)) = known(options) else { return Ok(()) };
    for (name, read) in fields {
        // A number takes about as much as a word; what has a length of its own is looked at first.
        let length = match read {
            Text(slot) => table.text(*slot).at(place)?.len(),
            Ints(slot) => 64 * table.numbers::<i32>(*slot).at(place)?.len(),
            Longs(slot) => 64 * table.numbers::<i64>(*slot).at(place)?.len(),
            _ => 64,
        };
        budget.take(64 + length, place)?;
        let value = value(read, &table).at(place)?;
        if !value.is_null() {
            attributes.insert((*name).to_owned(), value);
        }
    }
    Ok(())
}

/// The table of options and what its fields mean; `None` if there are none, or their type is newer than this program.
pub(crate) fn known(options: Options) -> Option<(Table, &'static [(&'static str, Read)])> {
    let (kind, table, types) = match options {
        Options::None => return None,
        Options::First(kind, table) => (kind, table, FIRST),
        Options::Second(kind, table) => (kind, table, SECOND),
    };
    types.iter().find(|(number, _)| *number == kind).map(|(_, fields)| (table, *fields))
}

fn value(read: &Read, table: &Table) -> Result<Value, Fault> {
    Ok(match read {
        Padding(slot) => word(PADDINGS, table.number(*slot, 0)?),
        Activation(slot) => word(ACTIVATIONS, table.number(*slot, 0)?),
        Word(slot, words) => word(words, table.number(*slot, 0)?),
        Pair([height, width], default) => {
            json!([table.number(*height, *default)?, table.number(*width, *default)?])
        }
        Triple(slots, default) => {
            let [depth, height, width] = slots.map(|slot| table.number(slot, *default));
            json!([depth?, height?, width?])
        }
        Int(slot) => json!(table.number::<i32>(*slot, 0)?),
        Long(slot) => json!(table.number::<i64>(*slot, 0)?),
        Bool(slot) => json!(table.number(*slot, false)?),
        BoolOrTrue(slot) => json!(table.number(*slot, true)?),
        Float(slot) => json!(table.number::<f32>(*slot, 0.0)?),
        Text(slot) => json!(String::from_utf8_lossy(table.text(*slot)?)),
        TypeIfGiven(slot) if table.field(*slot, 1)?.is_none() => Value::Null,
        Type(slot) | TypeIfGiven(slot) => json!(element::element_type(table.number(*slot, 0)?).name()),
        Ints(slot) => table.numbers::<i32>(*slot)?.map(Value::from).collect(),
        Longs(slot) => table.numbers::<i64>(*slot)?.map(Value::from).collect(),
    })
}

/// The word for a number, or the number itself if it is newer than our list.
fn word(words: &[&str], number: i8) -> Value {
    let word = usize::try_from(number).ok().and_then(|number| words.get(number));
    word.map_or_else(|| json!(number), |word| json!(word))
}
