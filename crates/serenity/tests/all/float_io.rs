//! A model that takes and gives floats, made of one that takes and gives whole numbers: converted at both ends, as
//! converters do it by default.

use serenity::ir::ElementType;
use serenity::tflite::{Model, NewOptions, NewTensor, OperatorSource};

/// The file with a `QUANTIZE` before every quantised input and a `DEQUANTIZE` behind every quantised output.
pub(crate) fn with_float_io(bytes: Vec<u8>) -> Vec<u8> {
    let model = Model::parse(bytes).unwrap();
    let main = &model.sub_graphs()[0];
    let mut edit = model.edit();
    let [quantize, dequantize] = [("QUANTIZE", 1), ("DEQUANTIZE", 2)]
        .map(|(kind, version)| edit.operator_code(kind, version).unwrap());
    let mut floats = |number: usize| {
        let old = &main.tensors()[number];
        assert!(old.quantization.is_some(), "`{}` is not quantised", old.name);
        let name = format!("{}/float", old.name);
        let (shape, dtype) = (old.shape.clone(), ElementType::Float32);
        edit.add_tensor(
            0,
            NewTensor { name, shape, shape_signature: None, dtype, buffer: 0, quantization: None },
        )
        .unwrap()
    };
    let inputs: Vec<usize> = main.inputs().iter().map(|&number| floats(number)).collect();
    let outputs: Vec<usize> = main.outputs().iter().map(|&number| floats(number)).collect();
    let convert = |code: usize, from: usize, to: usize| {
        let (inputs, outputs) = (vec![Some(from)], vec![Some(to)]);
        OperatorSource::New { code, inputs, outputs, options: NewOptions::None }
    };
    let before = inputs.iter().zip(main.inputs()).map(|(&from, &to)| convert(quantize, from, to));
    let behind = main.outputs().iter().zip(&outputs).map(|(&from, &to)| convert(dequantize, from, to));
    let kept = (0..main.operators().len()).map(OperatorSource::Kept);
    edit.set_operators(0, before.chain(kept).chain(behind).collect()).unwrap();
    edit.set_inputs_outputs(0, inputs, outputs).unwrap();
    edit.finish().unwrap().bytes
}
