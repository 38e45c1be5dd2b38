//! A new file from a [`Model`].
//!
//! The builder writes from the end of the file to its beginning, so whatever is made first comes last: operator tables lie
//! behind the vector that lists them, and the data of the constants comes at the end. Data begins at multiples of 16
//! bytes, as kernels expect.

mod builtin;
mod error;
mod options;
mod size;

pub use error::CreateError;

use crate::schema;
use builtin::{BUILTINS, Builtin};
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, TableFinishedWIPOffset, Vector, WIPOffset};
use serenity_ir::{ElementType, Model, Op, Operand, Quantization, TensorId};

type Table = WIPOffset<TableFinishedWIPOffset>;
type Tables<'a> = WIPOffset<Vector<'a, ForwardsUOffset<TableFinishedWIPOffset>>>;

const SCHEMA_VERSION: u32 = 3;
const IDENTIFIER: &str = "TFL3";

/// Kernels may load data with vector instructions.
const ALIGNMENT: usize = 16;

/// What the file's header takes: the offset of the root and the identifier.
const HEADER: usize = 8;

/// What offsets can reach.
const MOST_BYTES: u64 = (1 << 31) - 1;

/// Writes `model` as a `.tflite` file. Tensors of the graph keep their ids, constants follow.
///
/// # Errors
/// If the model has an op, an attribute or a tensor that such a file cannot hold, or is too large for one.
pub fn create(model: &Model) -> Result<Vec<u8>, CreateError> {
    let bytes = size::most_bytes(model);
    if bytes > MOST_BYTES {
        return Err(CreateError::TooLarge { bytes });
    }
    let mut file = FlatBufferBuilder::new();
    let buffers = write_buffers(&mut file, model);
    let codes = OperatorCodes::of(model)?;
    let operators = write_operators(&mut file, model, &codes)?;
    let subgraph = write_subgraph(&mut file, model, operators)?;
    let subgraphs = file.create_vector(&[subgraph]);
    let codes = codes.write(&mut file);
    let description = file.create_string("serenity");

    let start = file.start_table();
    file.push_slot_always(field(schema::model::VERSION), SCHEMA_VERSION);
    file.push_slot_always(field(schema::model::OPERATOR_CODES), codes);
    file.push_slot_always(field(schema::model::SUB_GRAPHS), subgraphs);
    file.push_slot_always(field(schema::model::DESCRIPTION), description);
    file.push_slot_always(field(schema::model::BUFFERS), buffers);
    let root = file.end_table(start);
    // Positions count from the end, so the data is aligned only if the whole is.
    align(&mut file, HEADER);
    file.finish(root, Some(IDENTIFIER));
    Ok(file.finished_data().to_vec())
}

/// The place of a field in the virtual table of its table, as the builder counts: two entries come before the first field.
const fn field(number: usize) -> u16 {
    4 + 2 * number as u16
}

/// Adds zeros so that the end of the next `length` bytes is aligned.
fn align(file: &mut FlatBufferBuilder, length: usize) {
    while !(file.unfinished_data().len() + length).is_multiple_of(ALIGNMENT) {
        file.push(0_u8);
    }
}

/// Buffer 0 is empty, for all activations; then one for each constant.
fn write_buffers<'a>(file: &mut FlatBufferBuilder<'a>, model: &Model) -> Tables<'a> {
    let mut buffers: Vec<Table> = Vec::with_capacity(model.constants().len() + 1);
    // From the last to the first, so that they stand in the file from the first to the last.
    for constant in model.constants().iter().rev() {
        align(file, constant.data.len());
        let data = file.create_vector(&constant.data);
        let start = file.start_table();
        file.push_slot_always(field(schema::buffer::DATA), data);
        buffers.push(file.end_table(start));
    }
    let start = file.start_table();
    buffers.push(file.end_table(start));
    buffers.reverse();
    file.create_vector(&buffers)
}

/// The operators of a model in the order of their first use, each with the version it needs.
struct OperatorCodes {
    /// Operator and version.
    used: Vec<(&'static Builtin, i32)>,
    /// By op: its place in `used`.
    of: Vec<usize>,
}

impl OperatorCodes {
    fn of(model: &Model) -> Result<Self, CreateError> {
        let mut used: Vec<(&'static Builtin, i32)> = Vec::new();
        let mut of = Vec::with_capacity(model.graph().ops().len());
        for op in model.graph().ops() {
            let builtin = BUILTINS.iter().find(|builtin| builtin.name == op.kind.as_str());
            let builtin = builtin
                .ok_or_else(|| CreateError::Operator { op: op.name.clone(), kind: op.kind.to_string() })?;
            let version = version(model, op, builtin);
            let known = used.iter().position(|u| u.0.name == builtin.name && u.1 == version);
            of.push(known.unwrap_or(used.len()));
            if known.is_none() {
                used.push((builtin, version));
            }
        }
        Ok(Self { used, of })
    }

    fn write<'a>(&self, file: &mut FlatBufferBuilder<'a>) -> Tables<'a> {
        let mut codes: Vec<Table> = Vec::with_capacity(self.used.len());
        for (builtin, version) in self.used.iter().rev() {
            let start = file.start_table();
            // Old readers know only the first of the two fields; all operators here fit into it.
            file.push_slot_always(field(schema::operator_code::BUILTIN), i32::from(builtin.code));
            file.push_slot_always(field(schema::operator_code::VERSION), *version);
            file.push_slot_always(field(schema::operator_code::DEPRECATED_BUILTIN), builtin.code);
            codes.push(file.end_table(start));
        }
        codes.reverse();
        file.create_vector(&codes)
    }
}

fn version(model: &Model, op: &Op, builtin: &Builtin) -> i32 {
    let is_int8 =
        op.outputs.iter().any(|&t| model.graph().tensor(t).dtype.as_ref() == Some(&ElementType::Int8));
    // Some ways of laying a resized image over the old one came with the third version.
    let is_set = |name: &str| op.attributes.get(name) == Some(&serde_json::Value::Bool(true));
    let is_remapped = match builtin.name {
        "RESIZE_BILINEAR" => is_set("half_pixel_centers"),
        "RESIZE_NEAREST_NEIGHBOR" => is_set("half_pixel_centers") || is_set("align_corners"),
        _ => false,
    };
    if is_remapped {
        return 3;
    }
    if is_int8 {
        return builtin.int8_version;
    }
    // Dilation came to depthwise convolutions with their second version.
    let is_dilated = op.attributes.get("dilation").is_some_and(|d| *d != serde_json::json!([1, 1]));
    if builtin.name == "DEPTHWISE_CONV_2D" && is_dilated { 2 } else { builtin.float_version }
}

fn write_operators<'a>(
    file: &mut FlatBufferBuilder<'a>,
    model: &Model,
    codes: &OperatorCodes,
) -> Result<Tables<'a>, CreateError> {
    let first_constant = model.graph().tensors().len();
    let index = |operand: &Operand| match *operand {
        Operand::Activation(tensor) => tensor.0 as i32,
        Operand::Constant(constant) => (first_constant + constant) as i32,
    };
    let mut operators: Vec<Table> = Vec::with_capacity(codes.of.len());
    for ((op, operands), &code) in model.graph().ops().iter().zip(model.operands()).zip(&codes.of).rev() {
        let builtin = codes.used[code].0;
        let options = options::write(file, op, builtin)?;
        let outputs = write_ids(file, &op.outputs);
        let inputs = file.create_vector(&operands.iter().map(index).collect::<Vec<i32>>());
        let start = file.start_table();
        file.push_slot_always(field(schema::operator::INPUTS), inputs);
        file.push_slot_always(field(schema::operator::OUTPUTS), outputs);
        file.push_slot_always(field(schema::operator::OPCODE_INDEX), code as u32);
        if let Some(options) = options {
            file.push_slot_always(field(schema::operator::OPTIONS), options);
            file.push_slot_always(field(schema::operator::OPTIONS_TYPE), builtin.options);
        }
        operators.push(file.end_table(start));
    }
    operators.reverse();
    Ok(file.create_vector(&operators))
}

fn write_subgraph(
    file: &mut FlatBufferBuilder,
    model: &Model,
    operators: Tables,
) -> Result<Table, CreateError> {
    let graph = model.graph();
    let mut tensors: Vec<Table> = Vec::new();
    for (index, constant) in model.constants().iter().enumerate().rev() {
        let tensor = NewTensor {
            name: &constant.name,
            shape: Some(&constant.shape),
            dtype: Some(&constant.dtype),
            buffer: index as u32 + 1,
            quantization: constant.quantization.as_ref(),
        };
        tensors.push(tensor.write(file)?);
    }
    for tensor in graph.tensors().iter().rev() {
        let tensor = NewTensor {
            name: &tensor.name,
            shape: tensor.shape.as_deref(),
            dtype: tensor.dtype.as_ref(),
            buffer: 0,
            quantization: tensor.quantization.as_ref(),
        };
        tensors.push(tensor.write(file)?);
    }
    tensors.reverse();
    let tensors = file.create_vector(&tensors);
    let inputs = write_ids(file, graph.inputs());
    let outputs = write_ids(file, graph.outputs());
    let name = file.create_string(graph.name());
    let start = file.start_table();
    file.push_slot_always(field(schema::sub_graph::TENSORS), tensors);
    file.push_slot_always(field(schema::sub_graph::INPUTS), inputs);
    file.push_slot_always(field(schema::sub_graph::OUTPUTS), outputs);
    file.push_slot_always(field(schema::sub_graph::OPERATORS), operators);
    file.push_slot_always(field(schema::sub_graph::NAME), name);
    Ok(file.end_table(start))
}

fn write_ids<'a>(file: &mut FlatBufferBuilder<'a>, ids: &[TensorId]) -> WIPOffset<Vector<'a, i32>> {
    file.create_vector(&ids.iter().map(|id| id.0 as i32).collect::<Vec<i32>>())
}

/// A tensor as the file has it, activation or constant.
struct NewTensor<'a> {
    name: &'a str,
    shape: Option<&'a [u64]>,
    dtype: Option<&'a ElementType>,
    buffer: u32,
    quantization: Option<&'a Quantization>,
}

impl NewTensor<'_> {
    fn write(&self, file: &mut FlatBufferBuilder) -> Result<Table, CreateError> {
        let missing = || CreateError::Tensor { tensor: self.name.to_owned() };
        let dtype = self.dtype.and_then(schema::element::code).ok_or_else(missing)?;
        let shape: Option<Vec<i32>> =
            self.shape.and_then(|shape| shape.iter().map(|&size| i32::try_from(size).ok()).collect());
        let shape = file.create_vector(&shape.ok_or_else(missing)?);
        let quantization = self.quantization.map(|quantization| write_quantization(file, quantization));
        let name = file.create_string(self.name);
        let start = file.start_table();
        file.push_slot_always(field(schema::tensor::SHAPE), shape);
        file.push_slot_always(field(schema::tensor::BUFFER), self.buffer);
        file.push_slot_always(field(schema::tensor::NAME), name);
        if let Some(quantization) = quantization {
            file.push_slot_always(field(schema::tensor::QUANTIZATION), quantization);
        }
        file.push_slot_always(field(schema::tensor::TYPE), dtype);
        Ok(file.end_table(start))
    }
}

fn write_quantization(file: &mut FlatBufferBuilder, quantization: &Quantization) -> Table {
    let zero_points = file.create_vector(&quantization.zero_points);
    let scales = file.create_vector(&quantization.scales);
    let start = file.start_table();
    file.push_slot_always(field(schema::quantization::SCALE), scales);
    file.push_slot_always(field(schema::quantization::ZERO_POINT), zero_points);
    file.push_slot_always(field(schema::quantization::QUANTIZED_DIMENSION), quantization.axis as i32);
    file.end_table(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};
    use serenity_ir::{Constant, GraphBuilder, OpKind, Tensor};

    /// y = x * 7 with three constants of awkward lengths, the last two unused.
    fn model(kind: &str, attributes: &[(&str, serde_json::Value)], dtype: &ElementType) -> Model {
        let mut graph = GraphBuilder::new("net");
        let shaped = |name: &str| Tensor {
            shape: Some(vec![1, 3]),
            dtype: Some(dtype.clone()),
            ..Tensor::sized(name, 3)
        };
        let x = graph.input(shaped("x"));
        let y = graph.tensor(shaped("y"));
        graph.output(y);
        graph.push_op(Op {
            name: "op".into(),
            kind: OpKind::new(kind),
            inputs: vec![x],
            outputs: vec![y],
            attributes: attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            extra: Map::new(),
        });
        let constant = |fill: u8, length: usize| Constant {
            name: format!("c{fill}"),
            shape: vec![length as u64],
            dtype: ElementType::Int8,
            quantization: Some(Quantization { scales: vec![0.5], zero_points: vec![0], axis: 0 }),
            data: vec![fill; length],
        };
        let operands = vec![vec![Operand::Activation(x), Operand::Constant(0)]];
        let constants = vec![constant(0x71, 33), constant(0x72, 7), constant(0x73, 100)];
        Model::new(graph.build().unwrap(), operands, constants).unwrap()
    }

    fn mul() -> Vec<(&'static str, serde_json::Value)> {
        vec![("activation", json!("relu"))]
    }

    #[test]
    fn data_is_aligned_and_marked_as_tflite() {
        let file = create(&model("MUL", &mul(), &ElementType::Float32)).unwrap();
        assert_eq!(&file[4..8], b"TFL3");
        for (fill, length) in [(0x71, 33), (0x72, 7), (0x73, 100)] {
            let data = vec![fill; length];
            let at = file.windows(length).position(|window| window == data).unwrap();
            assert_eq!(at % ALIGNMENT, 0, "data of {length} bytes at {at}");
            assert_eq!(u32::from_le_bytes(file[at - 4..at].try_into().unwrap()) as usize, length);
        }
    }

    #[test]
    fn the_size_is_never_underestimated() {
        let model = model("MUL", &mul(), &ElementType::Int8);
        assert!((create(&model).unwrap().len() as u64) < size::most_bytes(&model));
    }

    #[test]
    fn the_same_model_gives_the_same_file() {
        let make = || create(&model("MUL", &mul(), &ElementType::Int8)).unwrap();
        assert_eq!(make(), make());
    }

    #[test]
    fn versions_follow_the_types() {
        let version = |kind: &str, attributes: &[(&str, serde_json::Value)], dtype: ElementType| {
            OperatorCodes::of(&model(kind, attributes, &dtype)).unwrap().used[0].1
        };
        assert_eq!(version("MUL", &[], ElementType::Float32), 1);
        assert_eq!(version("MUL", &[], ElementType::Int8), 2);
        assert_eq!(version("DEPTHWISE_CONV_2D", &[("dilation", json!([2, 2]))], ElementType::Float32), 2);
        assert_eq!(version("DEPTHWISE_CONV_2D", &[("dilation", json!([1, 1]))], ElementType::Float32), 1);
        assert_eq!(version("DEPTHWISE_CONV_2D", &[("dilation", json!([2, 2]))], ElementType::Int8), 3);
        let aligned = [("align_corners", json!(true)), ("half_pixel_centers", json!(false))];
        assert_eq!(version("RESIZE_BILINEAR", &aligned, ElementType::Float32), 1);
        assert_eq!(version("RESIZE_BILINEAR", &aligned, ElementType::Int8), 2);
        assert_eq!(version("RESIZE_NEAREST_NEIGHBOR", &aligned, ElementType::Int8), 3);
    }

    #[test]
    fn what_the_format_cannot_hold_is_named() {
        let error = |kind: &str, attributes: &[(&str, serde_json::Value)], dtype: ElementType| {
            create(&model(kind, attributes, &dtype)).unwrap_err().to_string()
        };
        let float = ElementType::Float32;
        assert!(
            error("SEPARABLE_CONV_2D", &[], float.clone()).starts_with("op `op` is a `SEPARABLE_CONV_2D`")
        );
        assert!(error("MUL", &[], float.clone()).contains("needs an attribute `activation`"));
        assert!(error("MUL", &[("activation", json!("swish"))], float).contains("`activation`"));
        assert!(error("MUL", &mul(), ElementType::Other("x".into())).starts_with("tensor `y` needs a shape"));
    }
}
