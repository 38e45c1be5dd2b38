//! A planned `.tflite` model as what C is written from.

use serenity_emit::{DataPlace, Library, Scratch, Source, SourceGraph, SourceOp, SourceTensor};
use serenity_ir::{Attributes, OpId};
use serenity_tflite::{Error, Model, Storage};

/// The model at the places of the plan that it carries, with scratch by graph and op.
pub(super) fn source(
    model: &Model,
    scratch: &dyn Fn(usize, OpId) -> Option<Scratch>,
) -> Result<Source, Error> {
    let plan = model.offline_plan().map_err(|refused| Error::Edit(refused.to_string()))?;
    let plan = plan.ok_or_else(|| Error::Edit("it carries no plan of its arena".to_owned()))?;
    let mut offsets = plan.offsets.iter();
    let mut graphs = Vec::new();
    for (index, (sub_graph, graph)) in model.sub_graphs().iter().zip(model.graphs()).enumerate() {
        let mut tensors = Vec::new();
        for (number, tensor) in sub_graph.tensors().iter().enumerate() {
            let offset = offsets.next().and_then(|&offset| u64::try_from(offset).ok());
            let place = match (tensor.storage, offset) {
                (Storage::Activation, Some(offset)) => DataPlace::Arena(offset),
                (Storage::Activation, None) => DataPlace::Nowhere,
                (Storage::Variable, _) => DataPlace::Variable,
                (Storage::Constant, _) => match model.constant(index, number) {
                    // Sparse ones, and those in other files, hold something else.
                    Some(bytes) if tensor.is_plain => DataPlace::Constant(bytes.to_vec()),
                    _ => DataPlace::Nowhere,
                },
            };
            tensors.push(SourceTensor {
                name: tensor.name.clone(),
                shape: tensor.shape.clone(),
                dtype: tensor.dtype.clone(),
                quantization: tensor.quantization.clone(),
                bytes: tensor.bytes,
                place,
            });
        }
        let mut of_graph = vec![(Attributes::new(), None); sub_graph.operators().len()];
        for id in graph.op_ids() {
            if let Some(operator) = sub_graph.file_operator(id) {
                of_graph[operator] = (graph.op(id).attributes.clone(), scratch(index, id));
            }
        }
        for (number, (attributes, _)) in of_graph.iter_mut().enumerate() {
            attributes.extend(model.custom_attributes(index, number));
        }
        let ops =
            sub_graph.operators().iter().zip(of_graph).map(|(operator, (attributes, scratch))| SourceOp {
                kind: operator.kind.clone(),
                inputs: operator.inputs.clone(),
                outputs: operator.outputs.clone(),
                attributes,
                bodies: operator.bodies.clone(),
                scratch,
            });
        graphs.push(SourceGraph {
            ops: ops.collect(),
            inputs: sub_graph.inputs().to_vec(),
            outputs: sub_graph.outputs().to_vec(),
            tensors,
        });
    }
    Ok(Source { graphs, about: String::new(), library: Library::None, stream: None })
}
