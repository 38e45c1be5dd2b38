//! The operators by which something is decided, each named once.

/// Makes an operator of each name, and a way from names to operators: a name that is not listed here does not compile elsewhere.
macro_rules! operators {
    (named { $($name:ident)* } custom { $($custom:ident)* } spelled { $($spelled:ident = $spelling:literal)* }) => {
        /// What an operator is, spelled as files spell it: `TFLite`'s `ADD` is not ONNX's `Add`. Kernels, rewrites and
        /// checks are chosen by it.
        ///
        /// Meant to be imported whole, for tables of bare names. Where one is misspelt, it would be a variable with a
        /// name that the workspace denies.
        #[allow(missing_docs, non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operator {
            $($name,)*
            $($custom,)*
            $($spelled,)*
            /// One that nothing asks for by name, or none at all.
            Other,
        }

        impl Operator {
            /// The operator of this name.
            ///
            /// ```
            /// use serenity_ir::Operator;
            /// assert_eq!(Operator::named("CONV_2D"), Operator::CONV_2D);
            /// assert_eq!(Operator::named("CUSTOM:SignalRfft"), Operator::SignalRfft);
            /// assert_eq!(Operator::named("Conv_2D"), Operator::Other);
            /// ```
            pub fn named(name: &str) -> Self {
                match name {
                    $(stringify!($name) => Self::$name,)*
                    $(concat!("CUSTOM:", stringify!($custom)) => Self::$custom,)*
                    $($spelling => Self::$spelled,)*
                    _ => Self::Other,
                }
            }
        }
    };
}

operators! {
    named {
        // TFLite.
        ABS ADD ADD_N ARG_MAX ARG_MIN ASSIGN_VARIABLE AVERAGE_POOL_2D BATCH_MATMUL BATCH_TO_SPACE_ND
        BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN BITCAST BROADCAST_ARGS BROADCAST_TO
        CALL_ONCE CAST CEIL CONCATENATION CONV_2D CONV_3D_TRANSPOSE COS CUMSUM DENSIFY DEPTHWISE_CONV_2D
        DEPTH_TO_SPACE DEQUANTIZE DIV DYNAMIC_UPDATE_SLICE ELU EMBEDDING_LOOKUP EQUAL EXP EXPAND_DIMS FILL
        FLOOR FLOOR_DIV FLOOR_MOD FULLY_CONNECTED GATHER GATHER_ND GELU GREATER GREATER_EQUAL HARD_SWISH
        IF L2_NORMALIZATION L2_POOL_2D LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR
        LOGISTIC LOG_SOFTMAX LSTM MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL MULTINOMIAL NEG
        NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 NOT_EQUAL ONE_HOT PACK PAD PADV2 POW PRELU QUANTIZE
        RANDOM_STANDARD_NORMAL RANDOM_UNIFORM RANGE RANK READ_VARIABLE REDUCE_ALL REDUCE_ANY REDUCE_MAX
        REDUCE_MIN REDUCE_PROD RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 RESHAPE RESIZE_BILINEAR
        RESIZE_NEAREST_NEIGHBOR REVERSE_V2 RFFT2D RNN ROUND RSQRT SCATTER_ND SELECT_V2 SHAPE SIGN SIN
        SLICE SOFTMAX SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPARSE_TO_DENSE SPLIT SPLIT_V SQRT SQUARE
        SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM SVDF TANH TILE TOPK_V2 TRANSPOSE TRANSPOSE_CONV
        UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN UNIQUE UNPACK UNSORTED_SEGMENT_MAX
        UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_SUM VAR_HANDLE WHERE WHILE ZEROS_LIKE

        // Only in graphs of our own making, beside those of TFLite.
        ACCUMULATE SEPARABLE_CONV_2D

        // ONNX.
        Abs Add AveragePool BatchNormalization Cast Ceil Celu Clip Concat ConstantOfShape Conv Cos
        DequantizeLinear Div Elu Erf Exp Flatten Floor Gelu Gemm GlobalAveragePool GlobalMaxPool
        HardSigmoid HardSwish Identity LeakyRelu Log LogSoftmax LpPool MatMul MaxPool Mish Mul Neg PRelu
        Pad Pow Reciprocal ReduceMax ReduceMean ReduceMin ReduceSum Relu Reshape Round ScatterElements
        Selu Shape Shrink Sigmoid Sign Sin Size Softmax Softplus Softsign Sqrt Squeeze Sub Sum Tanh
        ThresholdedRelu Trilu Unsqueeze
    }
    // Of TFLite, by the name that the model gives them.
    custom {
        SignalEnergy SignalFftAutoScale SignalFilterBank SignalFilterBankLog
        SignalFilterBankSpectralSubtraction SignalFilterBankSquareRoot SignalPCAN SignalRfft SignalWindow
        TFLite_Detection_PostProcess
    }
    // Of ONNX Runtime, behind their domain.
    spelled {
        FusedConv = "com.microsoft:FusedConv"
        MicrosoftTrilu = "com.microsoft:Trilu"
        NchwcConv = "com.microsoft.nchwc:Conv"
    }
}
