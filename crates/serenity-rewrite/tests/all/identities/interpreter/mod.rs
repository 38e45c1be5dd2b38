//! A plain interpreter of small models: one straightforward line of arithmetic for each op, nothing fast.
//!
//! Floats are added up in the order of `TFLite`'s reference kernels, and quantised integers are computed bit for bit as those do it; the real
//! runtime checks both. Whatever a model says twice (the attribute `kernel` and the shape of the kernel, the shape of a result and
//! the shape that the graph declares) must agree. A model that makes no sense fails the test.

mod attributes;
mod fixed_point;
mod grid;
mod hard_swish;
mod int8;
mod real;
mod resize;
mod value;
mod window;

pub(crate) use grid::Grid;
pub(crate) use value::{Data, Value};

use serenity_ir::{ElementType, Model, Op, Operand, Tensor};

/// What `model` makes of its inputs.
pub(crate) fn run(model: &Model, inputs: &[Data]) -> Vec<Data> {
    let constants: Vec<Value> = model.constants().iter().map(Value::of_constant).collect();
    run_with(model, &constants, inputs.to_vec())
}

/// What `model` makes of its inputs if every float has 64 bits, which hides the effect of rounding.
pub(crate) fn run_in_doubles(model: &Model, inputs: &[Data]) -> Vec<Data> {
    let precise = |constant: Value| Value { data: constant.data.more_precisely(), ..constant };
    let constants: Vec<Value> = model.constants().iter().map(Value::of_constant).map(precise).collect();
    run_with(model, &constants, inputs.iter().cloned().map(Data::more_precisely).collect())
}

fn run_with(model: &Model, constants: &[Value], inputs: Vec<Data>) -> Vec<Data> {
    let graph = model.graph();
    let mut values: Vec<Option<Value>> = vec![None; graph.tensors().len()];
    assert_eq!(graph.inputs().len(), inputs.len(), "inputs of `{}`", graph.name());
    for (&id, data) in graph.inputs().iter().zip(inputs) {
        values[id.index()] = Some(declared(data, graph.tensor(id)));
    }
    for id in graph.file_order() {
        let op = graph.op(id);
        let operands: Vec<&Value> = model.operands()[id.index()]
            .iter()
            .map(|operand| match *operand {
                Operand::Activation(tensor) => {
                    values[tensor.index()].as_ref().expect("written before it is read")
                }
                Operand::Constant(index) => &constants[index],
            })
            .collect();
        let &[output] = op.outputs.as_slice() else { panic!("`{}` has more than one output", op.name) };
        let value = declared(compute(op, &operands, graph.tensor(output)), graph.tensor(output));
        values[output.index()] = Some(value);
    }
    graph.outputs().iter().map(|id| values[id.index()].clone().expect("written").data).collect()
}

fn compute(op: &Op, operands: &[&Value], result: &Tensor) -> Data {
    match result.dtype {
        Some(ElementType::Float32) if matches!(operands[0].data, Data::Double(_)) => {
            Data::Double(real::compute(op, operands))
        }
        Some(ElementType::Float32) => Data::Float(real::compute(op, operands)),
        Some(ElementType::Int8) => Data::Int8(int8::compute(op, operands, result.quantization.as_ref())),
        _ => panic!("`{}` writes elements of type {:?}", op.name, result.dtype),
    }
}

/// The value of a tensor, which must have the shape that the graph declares.
fn declared(data: Data, tensor: &Tensor) -> Value {
    let shape = tensor.shape.as_deref().expect("a shape").iter().map(|&size| size as usize);
    assert_eq!(data.shape(), shape.collect::<Vec<usize>>(), "tensor `{}`", tensor.name);
    Value { data, quantization: tensor.quantization.clone() }
}
