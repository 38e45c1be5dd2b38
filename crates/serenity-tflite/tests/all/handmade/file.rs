//! A description of a model file, and its bytes.

use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, TableFinishedWIPOffset, VOffsetT, Vector, WIPOffset};
use serenity_tflite::Signature;

pub(crate) const INT32: i8 = 2;
pub(crate) const STRING: i8 = 5;
pub(crate) const INT8: i8 = 9;
pub(crate) const RESOURCE: i8 = 13;

/// Built-in operators by name: as many as the tests need.
const NUMBERS: &[(&str, i32)] = &[
    ("ADD", 0),
    ("CONCATENATION", 2),
    ("CONV_2D", 3),
    ("DEPTHWISE_CONV_2D", 4),
    ("DEQUANTIZE", 6),
    ("RELU", 19),
    ("CUSTOM", 32),
    ("MEAN", 40),
    ("QUANTIZE", 114),
    ("IF", 118),
    ("CALL_ONCE", 129),
    ("VAR_HANDLE", 142),
    ("READ_VARIABLE", 143),
    ("ASSIGN_VARIABLE", 144),
    ("RANDOM_STANDARD_NORMAL", 146),
    ("STABLEHLO_CASE", 209),
    ("newer", 1000),
];

#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) sub_graphs: Vec<Sub>,
    /// Beside the empty one.
    pub(crate) buffers: Vec<Vec<u8>>,
    /// Buffers behind these, whose bytes lie behind the flatbuffer: start and size.
    pub(crate) outside: Vec<(u64, u64)>,
    /// Name and buffer.
    pub(crate) metadata: Vec<(&'static str, u32)>,
    pub(crate) signatures: Vec<Signature>,
    /// A field of the model that nobody knows.
    pub(crate) newer_field: bool,
    pub(crate) description: Option<&'static str>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Sub {
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) operators: Vec<Operator>,
    pub(crate) inputs: Vec<i32>,
    pub(crate) outputs: Vec<i32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tensor {
    pub(crate) name: &'static str,
    pub(crate) shape: Vec<i32>,
    pub(crate) signature: Vec<i32>,
    pub(crate) dtype: i8,
    pub(crate) buffer: u32,
    pub(crate) variable: bool,
    pub(crate) scales: Vec<f32>,
    pub(crate) zero_points: Vec<i64>,
    /// Is it stored sparsely, in a way that is not said?
    pub(crate) sparse: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Operator {
    /// As in the list above, or `CUSTOM:` and a name.
    pub(crate) kind: &'static str,
    pub(crate) inputs: Vec<i32>,
    pub(crate) outputs: Vec<i32>,
    /// Start and size of custom options that lie behind the flatbuffer.
    pub(crate) large_options: Option<(u64, u64)>,
    /// The number of the options' type, and fields. Types beyond 200 are of the second union.
    pub(crate) options: Option<(u8, Vec<(VOffsetT, Value)>)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Byte(i8),
    Int(i32),
    Ints(Vec<i32>),
    Text(&'static str),
}

/// An activation of `bytes` bytes.
pub(crate) fn activation(name: &'static str, bytes: i32) -> Tensor {
    Tensor { name, shape: vec![bytes], dtype: INT8, ..Tensor::default() }
}

/// A constant in a buffer.
pub(crate) fn constant(name: &'static str, shape: &[i32], dtype: i8, buffer: u32) -> Tensor {
    Tensor { name, shape: shape.to_vec(), dtype, buffer, ..Tensor::default() }
}

/// An operator without options.
pub(crate) fn operator(kind: &'static str, inputs: &[i32], outputs: &[i32]) -> Operator {
    Operator { kind, inputs: inputs.to_vec(), outputs: outputs.to_vec(), ..Operator::default() }
}

impl Operator {
    pub(crate) fn with(self, kind: u8, fields: &[(VOffsetT, Value)]) -> Self {
        Self { options: Some((kind, fields.to_vec())), ..self }
    }
}

/// The file of one sub-graph.
pub(crate) fn single(sub_graph: Sub) -> File {
    File { sub_graphs: vec![sub_graph], ..File::default() }
}

type Builder = FlatBufferBuilder<'static>;
type Built = WIPOffset<TableFinishedWIPOffset>;
type BuiltVector = WIPOffset<Vector<'static, ForwardsUOffset<TableFinishedWIPOffset>>>;

/// The place of a field in a vtable.
fn slot(field: VOffsetT) -> VOffsetT {
    4 + 2 * field
}

fn tables(b: &mut Builder, items: &[Built]) -> BuiltVector {
    // The builder's lifetime is only a marker here.
    let vector = b.create_vector(items);
    WIPOffset::new(vector.value())
}

impl File {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut b = Builder::new();
        let mut kinds: Vec<&'static str> = Vec::new();
        for operator in self.sub_graphs.iter().flat_map(|sub_graph| &sub_graph.operators) {
            if !kinds.contains(&operator.kind) {
                kinds.push(operator.kind);
            }
        }
        let sub_graphs: Vec<Built> =
            self.sub_graphs.iter().map(|sub_graph| sub_graph.build(&mut b, &kinds)).collect();
        let sub_graphs = tables(&mut b, &sub_graphs);
        let codes: Vec<Built> = kinds.iter().map(|kind| code(&mut b, kind)).collect();
        let codes = tables(&mut b, &codes);
        let empty = [Vec::new()];
        let mut buffers: Vec<Built> =
            empty.iter().chain(&self.buffers).map(|data| buffer(&mut b, data)).collect();
        buffers.extend(self.outside.iter().map(|&(start, size)| outside(&mut b, start, size)));
        let buffers = tables(&mut b, &buffers);
        let metadata: Vec<Built> = self.metadata.iter().map(|entry| named(&mut b, entry)).collect();
        let metadata = tables(&mut b, &metadata);
        let signatures: Vec<Built> = self.signatures.iter().map(|one| signature(&mut b, one)).collect();
        let signatures = tables(&mut b, &signatures);
        let description = self.description.map(|text| b.create_string(text));
        let start = b.start_table();
        b.push_slot_always(slot(0), 3_u32);
        b.push_slot_always(slot(1), codes);
        b.push_slot_always(slot(2), sub_graphs);
        if let Some(description) = description {
            b.push_slot_always(slot(3), description);
        }
        b.push_slot_always(slot(4), buffers);
        b.push_slot_always(slot(6), metadata);
        b.push_slot_always(slot(7), signatures);
        if self.newer_field {
            b.push_slot_always(slot(10), 7_u32);
        }
        let root = b.end_table(start);
        b.finish(root, Some("TFL3"));
        b.finished_data().to_vec()
    }
}

impl Sub {
    fn build(&self, b: &mut Builder, kinds: &[&str]) -> Built {
        let operators: Vec<Built> = self.operators.iter().map(|operator| operator.build(b, kinds)).collect();
        let operators = tables(b, &operators);
        let tensors: Vec<Built> = self.tensors.iter().map(|tensor| tensor.build(b)).collect();
        let tensors = tables(b, &tensors);
        let inputs = b.create_vector(&self.inputs);
        let outputs = b.create_vector(&self.outputs);
        let name = b.create_string("main");
        let start = b.start_table();
        b.push_slot_always(slot(0), tensors);
        b.push_slot_always(slot(1), inputs);
        b.push_slot_always(slot(2), outputs);
        b.push_slot_always(slot(3), operators);
        b.push_slot_always(slot(4), name);
        b.end_table(start)
    }
}

impl Tensor {
    fn build(&self, b: &mut Builder) -> Built {
        let shape = b.create_vector(&self.shape);
        let signature = b.create_vector(&self.signature);
        let name = b.create_string(self.name);
        let scales = b.create_vector(&self.scales);
        let zero_points = b.create_vector(&self.zero_points);
        let start = b.start_table();
        b.push_slot_always(slot(2), scales);
        b.push_slot_always(slot(3), zero_points);
        let quantization = b.end_table(start);
        let sparsity = self.sparse.then(|| {
            let start = b.start_table();
            b.end_table(start)
        });
        let start = b.start_table();
        if let Some(sparsity) = sparsity {
            b.push_slot_always(slot(6), sparsity);
        }
        b.push_slot_always(slot(0), shape);
        b.push_slot_always(slot(1), self.dtype);
        b.push_slot_always(slot(2), self.buffer);
        b.push_slot_always(slot(3), name);
        b.push_slot_always(slot(4), quantization);
        b.push_slot_always(slot(5), self.variable);
        b.push_slot_always(slot(7), signature);
        b.end_table(start)
    }
}

impl Operator {
    fn build(&self, b: &mut Builder, kinds: &[&str]) -> Built {
        let inputs = b.create_vector(&self.inputs);
        let outputs = b.create_vector(&self.outputs);
        let options = self.options.as_ref().map(|(kind, fields)| (*kind, options(b, fields)));
        let start = b.start_table();
        let code = kinds.iter().position(|kind| *kind == self.kind).unwrap();
        b.push_slot_always(slot(0), u32::try_from(code).unwrap());
        b.push_slot_always(slot(1), inputs);
        b.push_slot_always(slot(2), outputs);
        if let Some((kind, table)) = options {
            let (kind, field) = if kind > 200 { (kind - 200, 11) } else { (kind, 3) };
            b.push_slot_always(slot(field), kind);
            b.push_slot_always(slot(field + 1), table);
        }
        if let Some((start, size)) = self.large_options {
            b.push_slot_always(slot(9), start);
            b.push_slot_always(slot(10), size);
        }
        b.end_table(start)
    }
}

fn options(b: &mut Builder, fields: &[(VOffsetT, Value)]) -> Built {
    let parts: Vec<Option<u32>> = fields
        .iter()
        .map(|(_, value)| match value {
            Value::Ints(values) => Some(b.create_vector(values).value()),
            Value::Text(text) => Some(b.create_string(text).value()),
            _ => None,
        })
        .collect();
    let start = b.start_table();
    for ((field, value), part) in fields.iter().zip(parts) {
        match value {
            Value::Byte(value) => b.push_slot_always(slot(*field), *value),
            Value::Int(value) => b.push_slot_always(slot(*field), *value),
            Value::Ints(_) | Value::Text(_) => {
                b.push_slot_always(slot(*field), WIPOffset::<Vector<'static, i32>>::new(part.unwrap()));
            }
        }
    }
    b.end_table(start)
}

fn code(b: &mut Builder, kind: &str) -> Built {
    let custom = kind.strip_prefix("CUSTOM:").map(|name| b.create_string(name));
    let name = if custom.is_some() { "CUSTOM" } else { kind };
    let number = NUMBERS.iter().find(|(known, _)| *known == name).unwrap().1;
    let start = b.start_table();
    b.push_slot_always(slot(0), i8::try_from(number).unwrap_or(127));
    if let Some(custom) = custom {
        b.push_slot_always(slot(1), custom);
    }
    if number >= 127 {
        b.push_slot_always(slot(3), number);
    }
    b.end_table(start)
}

fn buffer(b: &mut Builder, data: &[u8]) -> Built {
    let data = (!data.is_empty()).then(|| b.create_vector(data));
    let start = b.start_table();
    if let Some(data) = data {
        b.push_slot_always(slot(0), data);
    }
    b.end_table(start)
}

fn outside(b: &mut Builder, offset: u64, size: u64) -> Built {
    let start = b.start_table();
    b.push_slot_always(slot(1), offset);
    b.push_slot_always(slot(2), size);
    b.end_table(start)
}

fn named(b: &mut Builder, (name, buffer): &(&str, u32)) -> Built {
    let name = b.create_string(name);
    let start = b.start_table();
    b.push_slot_always(slot(0), name);
    b.push_slot_always(slot(1), *buffer);
    b.end_table(start)
}

fn signature(b: &mut Builder, signature: &Signature) -> Built {
    let [inputs, outputs] = [&signature.inputs, &signature.outputs].map(|named_tensors| {
        let maps: Vec<Built> = named_tensors
            .iter()
            .map(|(name, tensor)| named(b, &(name, u32::try_from(*tensor).unwrap())))
            .collect();
        tables(b, &maps)
    });
    let key = b.create_string(&signature.key);
    let start = b.start_table();
    b.push_slot_always(slot(0), inputs);
    b.push_slot_always(slot(1), outputs);
    b.push_slot_always(slot(2), key);
    b.push_slot_always(slot(4), u32::try_from(signature.sub_graph).unwrap());
    b.end_table(start)
}

/// Two branches that meet, with a convolution's constants and a quantised tensor.
pub(crate) fn diamond() -> File {
    let quantized = Tensor { scales: vec![0.5], zero_points: vec![3], ..activation("b", 10) };
    File {
        buffers: vec![vec![1; 36], vec![0, 0, 0, 0, 255, 255, 255, 255]],
        description: Some("made by hand"),
        ..single(Sub {
            tensors: vec![
                activation("x", 10),
                activation("a", 20),
                constant("weights", &[1, 3, 3, 4], INT8, 1),
                quantized,
                activation("y", 50),
                constant("axes", &[2], INT32, 2),
                activation("z", 1),
            ],
            operators: vec![
                operator("CONV_2D", &[0, 2, -1], &[1]).with(
                    1,
                    &[(0, Value::Byte(1)), (1, Value::Int(2)), (2, Value::Int(3)), (3, Value::Byte(3))],
                ),
                operator("RELU", &[0], &[3]),
                operator("CONCATENATION", &[1, 3, 1], &[4]).with(10, &[(0, Value::Int(-1))]),
                operator("MEAN", &[4, 5], &[6]).with(27, &[(0, Value::Byte(1))]),
            ],
            inputs: vec![0],
            outputs: vec![6],
        })
    }
}
