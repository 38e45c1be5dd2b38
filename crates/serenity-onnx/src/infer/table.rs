//! Which rule an operator follows.

use super::{Call, elementwise, indexing, layout, product, recurrent, reduce, resize, signal, window};
use crate::data_type::DataType;
use crate::fact::Fact;

/// Operators whose first output is like their first input. Of the first versions, never standardised: `Affine`, `ImageScaler`,
/// `ParametricSoftplus`, `ScaledTanh`.
const LIKE_FIRST: &str = "\
    Abs Acos Acosh Affine Asin Asinh Atan Atanh BitwiseNot Ceil Celu Clip Cos Cosh CumProd CumSum Elu \
    Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity ImageScaler \
    InstanceNormalization LRN LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish \
    Neg Not PRelu ParametricSoftplus RMSNormalization Reciprocal Relu ReverseSequence RotaryEmbedding \
    Round ScaledTanh Scatter ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Softmax \
    Softplus Softsign Sqrt Swish Tan Tanh TensorScatter ThresholdedRelu Trilu";

/// Is it one of these words?
pub(super) fn is_among(name: &str, words: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

/// The facts of the outputs, as far as the rules go.
#[allow(clippy::too_many_lines, reason = "one line an operator")]
pub(super) fn infer(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    match call.node.op_type {
        name if is_among(name, LIKE_FIRST) => elementwise::like_first(call, None),
        "IsInf" | "IsNaN" => elementwise::like_first(call, Some(DataType::BOOL)),
        "BitCast" | "Cast" => elementwise::like_first(call, Some(call.type_attribute("to")?)),
        "CastLike" => elementwise::like_first(call, Some(call.data_type(1)?)),
        "Bernoulli" | "EyeLike" | "RandomNormalLike" | "RandomUniformLike" => {
            elementwise::like_first(call, call.type_attribute("dtype"))
        }
        "Add" | "BitShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "Div" | "Max" | "Mean" | "Min"
        | "Mod" | "Mul" | "Pow" | "Sub" | "Sum" => elementwise::broadcast(call, call.data_type(0), 0),
        "And" | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "Or" | "Xor" => {
            elementwise::broadcast(call, Some(DataType::BOOL), 0)
        }
        "Where" => elementwise::broadcast(call, call.data_type(1).or(call.data_type(2)), 0),
        "Expand" => elementwise::expand(call),
        "Dropout" => elementwise::dropout(call),
        "BatchNormalization" => elementwise::batch_normalization(call),
        // ONNX Runtime has the second in the domain of the standard.
        "LayerNormalization" | "SimplifiedLayerNormalization" => elementwise::layer_normalization(call),
        "QuantizeLinear" => elementwise::quantize(call),
        "DequantizeLinear" => {
            elementwise::like_first(call, call.type_attribute("output_dtype").or(call.data_type(1)))
        }
        "DynamicQuantizeLinear" => elementwise::dynamic_quantize(call),

        "Conv" | "ConvInteger" | "QLinearConv" | "DeformConv" => window::convolution(call),
        "ConvTranspose" => window::transposed_convolution(call),
        "AveragePool" | "MaxPool" | "LpPool" => window::pool(call),
        "GlobalAveragePool" | "GlobalLpPool" | "GlobalMaxPool" => window::global_pool(call),
        "MaxRoiPool" | "RoiAlign" => window::region_pool(call),
        "MaxUnpool" => window::unpool(call),
        "Col2Im" => window::columns_to_image(call),

        "Gemm" => product::gemm(call),
        "MatMul" => product::matmul(call, 0, 1, call.data_type(0)),
        "MatMulInteger" => product::matmul(call, 0, 1, Some(DataType::INT32)),
        "QLinearMatMul" => product::matmul(call, 0, 3, call.data_type(7)),
        "Einsum" => product::einsum(call),
        "Det" => product::determinant(call),
        "Attention" => product::attention(call),
        "LSTM" => recurrent::infer(call, 3),
        "GRU" | "RNN" => recurrent::infer(call, 2),

        "Reshape" => layout::reshape(call),
        "Flatten" => layout::flatten(call),
        "Squeeze" => layout::squeeze(call),
        "Unsqueeze" => layout::unsqueeze(call),
        "Transpose" => layout::transpose(call),
        "Concat" => layout::concat(call),
        "Crop" => layout::crop(call),
        "Split" => layout::split(call),
        "Slice" => layout::slice(call),
        "Pad" => layout::pad(call),
        "Tile" => layout::tile(call),
        "DepthToSpace" => layout::depth_to_space(call),
        "SpaceToDepth" => layout::space_to_depth(call),
        "CenterCropPad" => layout::center_crop_pad(call),
        "Resize" => resize::resize(call),
        "Upsample" => resize::upsample(call),
        "GridSample" => resize::grid_sample(call),
        "AffineGrid" => resize::affine_grid(call),

        "ArgMax" | "ArgMin" => reduce::arg_reduce(call),
        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean"
        | "ReduceMin" | "ReduceProd" | "ReduceSum" | "ReduceSumSquare" => reduce::reduce(call),
        "TopK" => reduce::top_k(call),

        "Gather" => indexing::gather(call),
        "GatherElements" => indexing::gather_elements(call),
        "GatherND" => indexing::gather_nd(call),
        "OneHot" => indexing::one_hot(call),
        "Constant" => indexing::constant(call),
        "ConstantOfShape" => indexing::constant_of_shape(call),
        "RandomNormal" | "RandomUniform" => indexing::random(call),
        "Multinomial" => indexing::multinomial(call),
        "Range" => indexing::range(call),
        "Shape" => indexing::shape(call),
        "Size" => indexing::size(call),

        "BlackmanWindow" | "HammingWindow" | "HannWindow" => signal::window(call),
        "DFT" => signal::fourier(call),
        "STFT" => signal::short_time_fourier(call),
        "MelWeightMatrix" => signal::mel_weights(call),
        _ => None,
    }
}
