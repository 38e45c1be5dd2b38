//! A model without its first operators.

use super::operators::{MAIN, retire};
use serenity_ir::TensorId;
use serenity_tflite::{Error, Model, OFFLINE_PLAN, OperatorSource, PLAN_NOTE};

/// The model without the first `count` operators: its inputs are these tensors.
pub(super) fn behind(model: &Model, count: usize, inputs: &[TensorId]) -> Result<Model, Error> {
    let main = &model.sub_graphs()[MAIN];
    let inputs: Option<Vec<usize>> = inputs.iter().map(|&tensor| main.file_tensor(tensor)).collect();
    let inputs = inputs.ok_or_else(|| Error::Edit("an input of it is no tensor of the file".to_owned()))?;
    let operators: Vec<OperatorSource> = (count..main.operators().len()).map(OperatorSource::Kept).collect();
    let mut edit = model.edit();
    for &old in main.inputs() {
        edit.retire_tensor(MAIN, old)?;
    }
    retire(&mut edit, main, &operators, |_| true)?;
    edit.remove_signatures();
    edit.set_operators(MAIN, operators)?;
    edit.set_inputs_outputs(MAIN, inputs, main.outputs().to_vec())?;
    edit.remove_metadata(OFFLINE_PLAN);
    edit.remove_metadata(PLAN_NOTE);
    Model::parse(edit.finish()?.bytes)
}
