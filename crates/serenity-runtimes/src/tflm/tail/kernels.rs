//! What TFLM keeps for each operator: its options, the data of its kernel, and what the kernel prepares.

use super::Prepares;
use serenity_facts::layout::Layout;
use serenity_ir::ElementType;
use serenity_ir::Operator::{self, *};
use serenity_tflite::{FileOperator, FileTensor, Model, SubGraph};

/// One operator of a model.
#[derive(Clone, Copy)]
pub(super) struct Node<'m> {
    pub(super) model: &'m Model,
    /// Which sub-graph, and which of its operators.
    pub(super) place: (usize, usize),
    pub(super) operator: &'m FileOperator,
}

impl<'m> Node<'m> {
    /// All operators, in the order of the file.
    pub(super) fn all(model: &'m Model) -> impl Iterator<Item = Self> {
        let sub_graphs = model.sub_graphs().iter().enumerate();
        sub_graphs.flat_map(move |(index, sub_graph)| {
            let operators = sub_graph.operators().iter().enumerate();
            operators.map(move |(number, operator)| Self { model, place: (index, number), operator })
        })
    }

    pub(super) fn operator(&self) -> Operator {
        Operator::named(&self.operator.kind)
    }

    fn tensor(&self, operands: &[Option<usize>], position: usize) -> Option<&'m FileTensor> {
        let number = operands.get(position).copied().flatten()?;
        self.model.sub_graphs().get(self.place.0)?.tensors().get(number)
    }

    pub(super) fn input(&self, position: usize) -> Option<&'m FileTensor> {
        self.tensor(&self.operator.inputs, position)
    }

    fn output(&self, position: usize) -> Option<&'m FileTensor> {
        self.tensor(&self.operator.outputs, position)
    }

    /// Everything it reads and writes.
    pub(super) fn operands(&self) -> impl Iterator<Item = &'m FileTensor> {
        let tensors = self.model.sub_graphs().get(self.place.0).map_or([].as_slice(), SubGraph::tensors);
        let numbers = self.operator.inputs.iter().chain(&self.operator.outputs).flatten();
        numbers.filter_map(|&number| tensors.get(number))
    }

    /// How many descriptions of each operand its kernel holds while it prepares: some ask for them again before they
    /// give them back.
    pub(super) fn descriptions_at_once(&self) -> u64 {
        match self.operator() {
            CONV_2D | DEPTHWISE_CONV_2D | TRANSPOSE_CONV | CONCATENATION | MEAN | SUM | REDUCE_MAX
            | REDUCE_MIN | REDUCE_ALL => 2,
            _ => 1,
        }
    }

    fn input_is(&self, types: &[ElementType]) -> bool {
        self.input(0).is_some_and(|tensor| types.contains(&tensor.dtype))
    }

    fn option(&self, field: usize) -> bool {
        self.model.option_flag(self.place.0, self.place.1, field)
    }
}

/// Bytes of a tensor as TFLM stores it: elements of 4 bits are unpacked.
pub(super) fn stored_bytes(tensor: &FileTensor) -> u64 {
    let unpacked = (tensor.dtype == ElementType::Int4).then(|| ElementType::Int8.bytes_of(&tensor.shape));
    unpacked.flatten().unwrap_or(tensor.bytes)
}

/// The structure into which an operator's options are unpacked: bytes and alignment.
pub(super) fn options(operator: Operator, layout: &Layout) -> (u64, u64) {
    match operator {
        CONV_2D | DEPTHWISE_CONV_2D => (28, 4),
        TRANSPOSE_CONV => (20, 4),
        FULLY_CONNECTED => layout.fully_connected_options,
        VAR_HANDLE => layout.var_handle_options,
        AVERAGE_POOL_2D | MAX_POOL_2D | L2_POOL_2D => (40, 4),
        RESHAPE | SQUEEZE => (36, 4),
        STRIDED_SLICE => (24, 4),
        UNIDIRECTIONAL_SEQUENCE_LSTM => (16, 4),
        SVDF => (12, 4),
        ADD | SUB | CAST | CONCATENATION | GATHER | PACK | UNPACK | IF | WHILE => (8, 4),
        MUL | DIV | ARG_MAX | ARG_MIN | CALL_ONCE | DEPTH_TO_SPACE | SPACE_TO_DEPTH | L2_NORMALIZATION
        | LEAKY_RELU | MIRROR_PAD | SHAPE | SOFTMAX | SPLIT | SPLIT_V => (4, 4),
        BATCH_MATMUL => (3, 1),
        RESIZE_BILINEAR | RESIZE_NEAREST_NEIGHBOR | CUMSUM => (2, 1),
        MEAN | SUM | REDUCE_MAX | REDUCE_MIN | REDUCE_ALL => (1, 1),
        _ => (0, 1),
    }
}

/// The data that a kernel keeps whatever the operands are; `None` if the kernel is not known.
pub(super) fn user_data(operator: Operator, layout: &Layout) -> Option<u64> {
    Some(match operator {
        CONV_2D | DEPTHWISE_CONV_2D => layout.convolution,
        TRANSPOSE_CONV => layout.transposed_convolution,
        FULLY_CONNECTED => layout.fully_connected,
        CONCATENATION => layout.concatenation,
        SOFTMAX => layout.softmax,
        BATCH_MATMUL => layout.batch_matmul,
        UNIDIRECTIONAL_SEQUENCE_LSTM => layout.lstm,
        AVERAGE_POOL_2D | MAX_POOL_2D => layout.pool,
        ELU => 256,
        SQUARED_DIFFERENCE => 112,
        STRIDED_SLICE => 84,
        SignalFilterBank => 64,
        ADD => 60,
        PAD | PADV2 | SignalFilterBankSpectralSubtraction => 56,
        SUB => 52,
        SignalRfft => 48,
        MEAN | SUM | REDUCE_MAX | REDUCE_MIN | REDUCE_ALL => 44,
        MUL | SVDF => 36,
        QUANTIZE | DEQUANTIZE | EQUAL | NOT_EQUAL | GREATER | GREATER_EQUAL | LESS | LESS_EQUAL => 32,
        ABS | RSQRT | RELU | PRELU | DIV => 28,
        LEAKY_RELU => 24,
        HARD_SWISH | MIRROR_PAD => 20,
        LOGISTIC | TANH => 16,
        RELU6 | IF | WHILE | CALL_ONCE | SignalWindow | SignalEnergy | SignalFilterBankLog => 8,
        ASSIGN_VARIABLE | VAR_HANDLE | L2_NORMALIZATION | SPACE_TO_BATCH_ND | SignalPCAN => 4,
        SELECT_V2 => 1,
        ARG_MAX
        | ARG_MIN
        | ADD_N
        | BATCH_TO_SPACE_ND
        | BROADCAST_ARGS
        | BROADCAST_TO
        | CAST
        | CEIL
        | COS
        | CUMSUM
        | DEPTH_TO_SPACE
        | SPACE_TO_DEPTH
        | DYNAMIC_UPDATE_SLICE
        | EMBEDDING_LOOKUP
        | EXP
        | EXPAND_DIMS
        | FILL
        | FLOOR
        | FLOOR_DIV
        | FLOOR_MOD
        | GATHER
        | GATHER_ND
        | L2_POOL_2D
        | LOG
        | LOGICAL_AND
        | LOGICAL_NOT
        | LOGICAL_OR
        | LOG_SOFTMAX
        | MAXIMUM
        | MINIMUM
        | NEG
        | PACK
        | READ_VARIABLE
        | RESHAPE
        | RESIZE_BILINEAR
        | RESIZE_NEAREST_NEIGHBOR
        | REVERSE_V2
        | ROUND
        | SHAPE
        | SIN
        | SLICE
        | SPLIT
        | SPLIT_V
        | SQRT
        | SQUARE
        | SQUEEZE
        | TRANSPOSE
        | UNPACK
        | ZEROS_LIKE
        | SignalFftAutoScale
        | SignalFilterBankSquareRoot => 0,
        _ => return None,
    })
}

/// What a kernel keeps because of its operands, one size per request. What the file does not tell counts as 0.
pub(super) fn prepared(node: &Node, layout: &Layout, prepares: Prepares) -> Vec<u64> {
    let (int8, int16) = (ElementType::Int8, ElementType::Int16);
    let is_quantized = node.input_is(&[int8.clone(), int16.clone()]);
    let is_cmsis_nn = matches!(prepares, Prepares::CmsisNn { .. });
    let when = |is_kept: bool, bytes: u64| if is_kept { vec![bytes] } else { Vec::new() };
    match node.operator() {
        // CMSIS-NN keeps none of what follows where it has nothing to scale.
        CONV_2D | DEPTHWISE_CONV_2D if is_cmsis_nn && !is_quantized => Vec::new(),
        // A multiplier and a shift for each channel, also where one would do.
        CONV_2D | TRANSPOSE_CONV => vec![words(dimension(node.input(1), 0)); 2],
        DEPTHWISE_CONV_2D => vec![words(dimension(node.input(1), 3)); 2],
        UNIDIRECTIONAL_SEQUENCE_LSTM if is_cmsis_nn => lstm_sums(node),
        FULLY_CONNECTED => fully_connected(node, layout, is_quantized, prepares),
        BATCH_MATMUL => batch_matmul(node, layout, is_quantized),
        SVDF if matches!(prepares, Prepares::CmsisNn { sums: true }) => {
            when(node.input_is(&[int8]), words(dimension(node.input(1), 0)))
        }
        GATHER | GATHER_ND | DEPTH_TO_SPACE | SPACE_TO_DEPTH | L2_POOL_2D => {
            vec![dims(node.output(0))]
        }
        EMBEDDING_LOOKUP => vec![dims(node.output(0)), layout.embedding_lookup],
        // Two tables of 513 values.
        SOFTMAX if node.input_is(&[int16]) => vec![1026; 2],
        LOG_SOFTMAX => when(node.input_is(&[int8]), layout.log_softmax),
        ADD_N => when(is_quantized, 40),
        CUMSUM => when(is_quantized, 36),
        SignalRfft => vec![fourier_transform(node, layout)],
        // 64 bits for each channel and one more; 32 bits for each.
        SignalFilterBank => {
            vec![words(elements(node.output(0)).saturating_add(1)).saturating_mul(2)]
        }
        SignalFilterBankSpectralSubtraction => vec![words(elements(node.output(0)))],
        _ => Vec::new(),
    }
}

/// As a convolution if each channel has its own scale. CMSIS-NN runs several rows as a convolution, whatever the
/// scales: what that needs is scratch, but was kept by releases until September 2024. On cores with vectors it keeps
/// the sum of each row of weights if TFLM is built for speed.
fn fully_connected(node: &Node, layout: &Layout, is_quantized: bool, prepares: Prepares) -> Vec<u64> {
    let filter = node.input(1);
    let scales = filter.and_then(|filter| filter.quantization.as_ref()).map_or(0, |q| q.scales.len());
    let is_per_channel = is_quantized && scales > 1;
    let is_int8 = node.input_is(&[ElementType::Int8]);
    let is_convolution = matches!(prepares, Prepares::CmsisNn { .. })
        && is_int8
        && node.output(0).is_some_and(|output| output.shape.len() > 2)
        && dimension(filter, 1).is_multiple_of(4);
    let channels = words(dimension(filter, 0));
    let has_sums = matches!(prepares, Prepares::CmsisNn { sums: true }) && is_int8 && !is_convolution;
    let has_scales = is_per_channel || is_convolution && layout.dense_scales_are_kept;
    vec![channels; 2 * usize::from(has_scales) + usize::from(has_sums)]
}

/// Sums that CMSIS-NN takes in advance, for each cell: of what comes in and of what comes back, for each of four gates.
fn lstm_sums(node: &Node) -> Vec<u64> {
    let cells = words(dimension(node.input(LSTM_STATE), 1));
    match node.input(0).map(|input| &input.dtype) {
        Some(ElementType::Int8) => vec![cells; 8],
        Some(ElementType::Int16) => vec![cells.saturating_mul(2); 8],
        _ => Vec::new(),
    }
}

/// Which operand of an LSTM is what it gave last.
const LSTM_STATE: usize = 18;

/// A transposed copy of each operand that does not lie as the kernel wants it.
fn batch_matmul(node: &Node, layout: &Layout, is_quantized: bool) -> Vec<u64> {
    let (adjoint_left, adjoint_right) = (node.option(0), node.option(1));
    let mut kept = Vec::new();
    if is_quantized {
        kept.push(28);
    }
    for (position, is_copied) in [(0, adjoint_left), (1, !adjoint_right)] {
        if is_copied {
            let operand = node.input(position);
            kept.extend([layout.eval_tensor, dims(operand), operand.map_or(0, stored_bytes)]);
        }
    }
    kept.push(dims(node.output(0)));
    kept
}

/// The tables of a transform of n real values, of which n/2 + 1 complex ones come out: a head with room for 32 factors,
/// and twiddle factors.
fn fourier_transform(node: &Node, layout: &Layout) -> u64 {
    let complex = if node.input_is(&[ElementType::Int16]) { 4 } else { 8 };
    let depth = node.output(0).and_then(|output| output.shape.last().copied()).unwrap_or(0);
    let half = depth.saturating_sub(2) / 2;
    let twiddles = (half + half / 2).saturating_add(half).min(u64::MAX / 16);
    3 * layout.pointer + 8 + 4 * 64 + complex * twiddles
}

/// So many values of 32 bits.
fn words(count: u64) -> u64 {
    count.saturating_mul(4)
}

/// A list of a tensor's dimensions, with its length.
fn dims(tensor: Option<&FileTensor>) -> u64 {
    tensor.map_or(0, |tensor| words(1 + tensor.shape.len() as u64))
}

fn dimension(tensor: Option<&FileTensor>, position: usize) -> u64 {
    tensor.and_then(|tensor| tensor.shape.get(position).copied()).unwrap_or(0)
}

fn elements(tensor: Option<&FileTensor>) -> u64 {
    tensor.map_or(0, |tensor| tensor.shape.iter().fold(1, |product, &dim| dim.saturating_mul(product)))
}
