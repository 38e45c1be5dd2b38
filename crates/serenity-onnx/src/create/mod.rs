//! A new file from a [`Model`].
//!
//! The neutral form has feature maps as height, width, channels and fuses activations into operators; ONNX has the
//! channels first and fuses nothing. So shapes, axes and weights are permuted, and a fused activation becomes a node of
//! its own. The file computes the same function of transposed inputs.

mod error;
mod file;
mod layout;
mod operators;

pub use error::CreateError;

use file::File;
use operators::Translation;
use serenity_ir::{ElementType, Model, Tensor};

/// Room for everything but data, below the 2 GiB that a protocol buffer may have.
const MOST_DATA: u64 = (1 << 31) - (1 << 27);

/// Writes `model` as an `.onnx` file: opset 17, 32-bit floats, channels first.
///
/// # Errors
/// If the model has an op, an attribute or a tensor that is not translated, or is too large for a file.
pub fn create(model: &Model) -> Result<Vec<u8>, CreateError> {
    let bytes = model.constants().iter().map(|c| c.data.len() as u64).sum();
    if bytes > MOST_DATA {
        return Err(CreateError::TooLarge { bytes });
    }
    let graph = model.graph();
    let mut file = File::default();
    let names: Vec<String> = graph.tensors().iter().map(|tensor| file.unique(&tensor.name)).collect();
    for tensor in graph.tensors() {
        shape_of(tensor)?;
    }
    for &input in graph.inputs() {
        file.input(&names[input.index()], &layout::shape(shape_of(graph.tensor(input))?));
    }
    let mut translation = Translation { model, names: &names, file: &mut file };
    for op in graph.file_order() {
        translation.add(op)?;
    }
    for &output in graph.outputs() {
        file.output(&names[output.index()], &layout::shape(shape_of(graph.tensor(output))?));
    }
    Ok(file.finish(graph.name()))
}

/// Every tensor of a new file has a shape and is of floats.
fn shape_of(tensor: &Tensor) -> Result<&[u64], CreateError> {
    let shape = tensor.shape.as_deref().filter(|_| tensor.dtype == Some(ElementType::Float32));
    shape.ok_or_else(|| CreateError::Tensor { tensor: tensor.name.clone() })
}
