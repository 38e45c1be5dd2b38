//! The part of schema version 3 that we read: field numbers, operator names, element types.

pub(crate) mod builtin;
pub(crate) mod element;

/// Field numbers of `Model`.
pub(crate) mod model {
    pub(crate) const VERSION: usize = 0;
    pub(crate) const OPERATOR_CODES: usize = 1;
    pub(crate) const SUB_GRAPHS: usize = 2;
    pub(crate) const DESCRIPTION: usize = 3;
    pub(crate) const BUFFERS: usize = 4;
    pub(crate) const METADATA_BUFFER: usize = 5;
    pub(crate) const METADATA: usize = 6;
    pub(crate) const SIGNATURES: usize = 7;
    pub(crate) const EXTERNAL_BUFFER_GROUPS: usize = 8;
    pub(crate) const EXTERNAL_BUFFERS: usize = 9;
}

/// Field numbers of `OperatorCode`.
pub(crate) mod operator_code {
    pub(crate) const DEPRECATED_BUILTIN: usize = 0;
    pub(crate) const CUSTOM: usize = 1;
    pub(crate) const VERSION: usize = 2;
    pub(crate) const BUILTIN: usize = 3;
}

/// Field numbers of `SubGraph`.
pub(crate) mod sub_graph {
    pub(crate) const TENSORS: usize = 0;
    pub(crate) const INPUTS: usize = 1;
    pub(crate) const OUTPUTS: usize = 2;
    pub(crate) const OPERATORS: usize = 3;
    pub(crate) const NAME: usize = 4;
    pub(crate) const DEBUG_METADATA_INDEX: usize = 5;
}

/// Field numbers of `Tensor`.
pub(crate) mod tensor {
    pub(crate) const SHAPE: usize = 0;
    pub(crate) const TYPE: usize = 1;
    pub(crate) const BUFFER: usize = 2;
    pub(crate) const NAME: usize = 3;
    pub(crate) const QUANTIZATION: usize = 4;
    pub(crate) const IS_VARIABLE: usize = 5;
    pub(crate) const SPARSITY: usize = 6;
    pub(crate) const SHAPE_SIGNATURE: usize = 7;
    pub(crate) const VARIANTS: usize = 9;
    pub(crate) const EXTERNAL_BUFFER: usize = 10;
}

/// Field numbers of `QuantizationParameters`.
pub(crate) mod quantization {
    pub(crate) const SCALE: usize = 2;
    pub(crate) const ZERO_POINT: usize = 3;
    pub(crate) const DETAILS: usize = 5;
    pub(crate) const QUANTIZED_DIMENSION: usize = 6;
}

/// Field numbers of `Operator`.
pub(crate) mod operator {
    pub(crate) const OPCODE_INDEX: usize = 0;
    pub(crate) const INPUTS: usize = 1;
    pub(crate) const OUTPUTS: usize = 2;
    pub(crate) const OPTIONS_TYPE: usize = 3;
    pub(crate) const OPTIONS: usize = 4;
    pub(crate) const CUSTOM_OPTIONS: usize = 5;
    pub(crate) const CUSTOM_OPTIONS_FORMAT: usize = 6;
    pub(crate) const MUTATING_VARIABLE_INPUTS: usize = 7;
    pub(crate) const INTERMEDIATES: usize = 8;
    pub(crate) const LARGE_CUSTOM_OPTIONS_OFFSET: usize = 9;
    pub(crate) const LARGE_CUSTOM_OPTIONS_SIZE: usize = 10;
    pub(crate) const OPTIONS_2_TYPE: usize = 11;
    pub(crate) const OPTIONS_2: usize = 12;
    pub(crate) const DEBUG_METADATA_INDEX: usize = 13;
}

/// Field numbers of `Buffer`.
pub(crate) mod buffer {
    pub(crate) const DATA: usize = 0;
    pub(crate) const OFFSET: usize = 1;
    pub(crate) const SIZE: usize = 2;
}

/// Field numbers of `Metadata`.
pub(crate) mod metadata {
    pub(crate) const NAME: usize = 0;
    pub(crate) const BUFFER: usize = 1;
}

/// Field numbers of `SignatureDef`.
pub(crate) mod signature {
    pub(crate) const INPUTS: usize = 0;
    pub(crate) const OUTPUTS: usize = 1;
    pub(crate) const KEY: usize = 2;
    pub(crate) const TAG: usize = 3;
    pub(crate) const SUB_GRAPH: usize = 4;
}

/// Field numbers of `TensorMap`, one named tensor of a signature.
pub(crate) mod tensor_map {
    pub(crate) const NAME: usize = 0;
    pub(crate) const TENSOR: usize = 1;
}
