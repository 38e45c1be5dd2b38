//! The sizes of TFLM's structures in each build.
//!
//! The figures of [`X86_64`] were read off the runtime, one call of its allocator after the other; those of [`ARM32`]
//! follow from the same structures with pointers of 4 bytes.

/// Bytes of each structure in one build of TFLM.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// A pointer; structures that hold one are aligned to it.
    pub pointer: u64,
    /// The allocator of the arena.
    pub arena_allocator: u64,
    /// The planner of the head.
    pub memory_planner: u64,
    /// The allocator of the interpreter.
    pub micro_allocator: u64,
    /// The allocator of operators' options.
    pub builtin_data_allocator: u64,
    /// The table of resource variables.
    pub resources: u64,
    /// One entry of that table.
    pub resource: u64,
    /// What is kept of each sub-graph.
    pub sub_graph: u64,
    /// What is kept of each tensor.
    pub eval_tensor: u64,
    /// What is kept of each operator.
    pub node: u64,
    /// A graph input or output as the caller sees it.
    pub tensor: u64,
    /// How such an input or output is quantised.
    pub quantization: u64,
    /// While memory is planned: a request for scratch.
    pub scratch_request: u64,
    /// While memory is planned: what is known of each tensor.
    pub allocation_info: u64,
    /// Options of a dense layer, which hold pointers or differ between releases: bytes and alignment.
    pub fully_connected_options: (u64, u64),
    /// Options of a handle to a resource variable: bytes and alignment.
    pub var_handle_options: (u64, u64),
    /// What the kernel of a convolution keeps. This and the following hold pointers or differ between kernels.
    pub convolution: u64,
    /// What the kernel of a transposed convolution keeps.
    pub transposed_convolution: u64,
    /// What the kernel of a dense layer keeps.
    pub fully_connected: u64,
    /// What the kernel of a concatenation keeps.
    pub concatenation: u64,
    /// What the kernel of a pool keeps.
    pub pool: u64,
    /// What the kernel of an LSTM keeps.
    pub lstm: u64,
    /// What the kernel of a softmax keeps.
    pub softmax: u64,
    /// What the kernel of the logarithm of a softmax keeps.
    pub log_softmax: u64,
    /// What the kernel of a product of matrices keeps.
    pub batch_matmul: u64,
    /// What the kernel of an embedding keeps.
    pub embedding_lookup: u64,
    /// Does a dense layer that CMSIS-NN runs as a convolution keep a scale for each channel, and not only in scratch?
    pub dense_scales_are_kept: bool,
}

/// The Python package `tflite-micro`: with compression, and an allocator that records.
pub const X86_64: Layout = Layout {
    pointer: 8,
    arena_allocator: 104,
    memory_planner: 72,
    micro_allocator: 272,
    builtin_data_allocator: 16,
    resources: 16,
    resource: 40,
    sub_graph: 24,
    eval_tensor: 24,
    node: 64,
    tensor: 64,
    quantization: 24,
    scratch_request: 16,
    allocation_info: 32,
    fully_connected_options: (32, 8),
    var_handle_options: (16, 8),
    convolution: 80,
    transposed_convolution: 88,
    fully_connected: 72,
    concatenation: 80,
    pool: 32,
    lstm: 688,
    softmax: 80,
    log_softmax: 40,
    batch_matmul: 32,
    embedding_lookup: 16,
    dense_scales_are_kept: false,
};

/// Firmware with the portable kernels, as it is usually built: without compression, nothing recorded, an enumeration in 4 bytes.
pub const ARM32: Layout = Layout {
    pointer: 4,
    arena_allocator: 36,
    memory_planner: 44,
    micro_allocator: 36,
    builtin_data_allocator: 8,
    resources: 12,
    resource: 20,
    sub_graph: 8,
    eval_tensor: 12,
    node: 32,
    tensor: 40,
    quantization: 12,
    scratch_request: 12,
    allocation_info: 24,
    fully_connected_options: (24, 4),
    var_handle_options: (8, 4),
    convolution: 56,
    transposed_convolution: 72,
    fully_connected: 48,
    concatenation: 24,
    pool: 32,
    lstm: 688,
    softmax: 56,
    log_softmax: 28,
    batch_matmul: 16,
    embedding_lookup: 8,
    dense_scales_are_kept: false,
};

/// Firmware with CMSIS-NN, whose kernels remember a scratch buffer, for dense layers and products of matrices a few
/// numbers more, and for an LSTM all its parameters once again, as the library wants them.
pub const ARM32_CMSIS_NN: Layout = Layout {
    convolution: 60,
    fully_connected: 76,
    pool: 36,
    lstm: 688 + LSTM_OF_CMSIS_NN,
    batch_matmul: 36,
    ..ARM32
};

/// Firmware with ESP-NN, whose kernels remember a scratch buffer.
pub const ARM32_ESP_NN: Layout = Layout { convolution: 60, softmax: 60, ..ARM32 };

/// 15 numbers, and 10 for each of 4 gates.
const LSTM_OF_CMSIS_NN: u64 = 4 * (15 + 4 * 10);

/// Everything that makes a 32-bit build larger, at once: compression, a recording allocator, the largest options of any
/// release, and one word more for each tensor and operator than any release has had so far.
pub const ARM32_LARGEST: Layout = Layout {
    arena_allocator: 52,
    micro_allocator: 136,
    sub_graph: 12,
    eval_tensor: 16,
    node: 36,
    fully_connected_options: (32, 4),
    convolution: 64,
    transposed_convolution: 80,
    fully_connected: 56,
    concatenation: 64,
    ..ARM32
};

/// [`ARM32_LARGEST`] with CMSIS-NN.
pub const ARM32_CMSIS_NN_LARGEST: Layout = Layout {
    convolution: 68,
    transposed_convolution: 84,
    fully_connected: 84,
    pool: ARM32_CMSIS_NN.pool,
    lstm: ARM32_CMSIS_NN.lstm,
    batch_matmul: ARM32_CMSIS_NN.batch_matmul,
    dense_scales_are_kept: true,
    ..ARM32_LARGEST
};

/// [`ARM32_LARGEST`] with ESP-NN.
pub const ARM32_ESP_NN_LARGEST: Layout = Layout {
    convolution: ARM32_LARGEST.convolution + 4,
    softmax: ARM32_LARGEST.softmax + 4,
    ..ARM32_LARGEST
};
