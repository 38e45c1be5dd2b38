//! A `.tflite` model without channels that are constant or never read.
//!
//! [`steps`] tells what each operator does with channels, [`constants`] reads the weights that decide it, and [`cut`]
//! makes the smaller constants. Operators stay as they are, and so do the numbers of tensors: some have fewer channels.
//! Inputs and outputs keep their shapes.

mod constants;
mod cut;
mod steps;

use super::operators::MAIN;
use crate::channels::{is_same, weighing};
use crate::{BeforeAfter, NarrowedChannels};
use cut::Cuts;
use serenity_ir::TensorId;
use serenity_rewrite::constant_channels::{Narrowing, Network, narrow};
use serenity_tflite::{Error, FileTensor, Model, NewTensor, OFFLINE_PLAN, PLAN_NOTE, SubGraph};
use steps::Reader;

/// The model without such channels, read again, and what that saves; `None` if there are none, or if `stop` said so.
pub(super) fn narrowed(
    model: &Model,
    stop: &dyn Fn() -> bool,
) -> Result<Option<(Model, NarrowedChannels)>, Error> {
    let main = &model.sub_graphs()[MAIN];
    let Some((network, operands)) = Reader::new(model).network(stop) else { return Ok(None) };
    let narrowing = narrow(&network, stop);
    if narrowing.is_empty() {
        return Ok(None);
    }
    let mut edit = model.edit();
    for (number, kept) in narrowing.kept.iter().enumerate() {
        let Some(kept) = kept else { continue };
        edit.replace_tensor(MAIN, number, resized(&main.tensors()[number], kept.len()))?;
    }
    let operators =
        Cuts { model, main, network: &network, narrowing: &narrowing }.make(&operands, &mut edit)?;
    edit.set_operators(MAIN, operators)?;
    // A plan of the arena is for the sizes that tensors had.
    edit.remove_metadata(OFFLINE_PLAN);
    edit.remove_metadata(PLAN_NOTE);
    edit.shrink();
    let new = Model::parse(edit.finish()?.bytes)?;
    check(model, &new, &narrowing)?;
    let channels = counted((model, &new), &network, &narrowing);
    Ok(Some((new, channels)))
}

/// A tensor with so many channels, of which the last dimension counts.
fn resized(old: &FileTensor, channels: usize) -> NewTensor {
    let (mut shape, mut shape_signature) = (old.shape.clone(), old.shape_signature.clone());
    if let Some(last) = shape.last_mut() {
        *last = channels as u64;
    }
    if let Some(last) = shape_signature.as_mut().and_then(|signature| signature.last_mut()) {
        *last = if *last < 0 { *last } else { channels as i32 };
    }
    NewTensor {
        name: old.name.clone(),
        shape,
        shape_signature,
        dtype: old.dtype.clone(),
        buffer: old.buffer,
        quantization: old.quantization.clone(),
    }
}

/// Is the new model the old one, but for channels? That it was written as asked for was seen to when it was; this asks
/// for the graph that was read from it.
fn check(old: &Model, new: &Model, narrowing: &Narrowing) -> Result<(), Error> {
    let (old_main, new_main) = (&old.sub_graphs()[MAIN], &new.sub_graphs()[MAIN]);
    let (old, new) = (&old.graphs()[MAIN], &new.graphs()[MAIN]);
    let is_as_wide = |id: TensorId| {
        let kept = old_main.file_tensor(id).and_then(|number| narrowing.kept[number].as_ref());
        let mut expected = old.tensor(id).shape.clone();
        if let (Some(kept), Some(last)) = (kept, expected.as_mut().and_then(|shape| shape.last_mut())) {
            *last = kept.len() as u64;
        }
        old_main.file_tensor(id) == new_main.file_tensor(id) && new.tensor(id).shape == expected
    };
    if is_same(old, new, is_as_wide) {
        Ok(())
    } else {
        Err(Error::Unfaithful("the model without constant channels".to_owned()))
    }
}

/// What was saved.
fn counted((old, new): (&Model, &Model), network: &Network, narrowing: &Narrowing) -> NarrowedChannels {
    let [old, new] = [old, new].map(|model| &model.sub_graphs()[MAIN]);
    let all_macs = |main: &SubGraph| weighing(network).filter_map(|(step, _)| macs(main, step)).sum();
    let macs = BeforeAfter { before: all_macs(old), after: all_macs(new) };
    let weight_bytes = BeforeAfter { before: constant_bytes(old), after: constant_bytes(new) };
    NarrowedChannels::of(network, narrowing, |number| old.graph_tensor(number), macs, weight_bytes)
}

/// Every weight is used once at every position of the result.
fn macs(main: &SubGraph, operator: usize) -> Option<u64> {
    let operator = main.operators().get(operator)?;
    let result = &main.tensors()[(*operator.outputs.first()?)?].shape;
    let weights = &main.tensors()[(*operator.inputs.get(1)?)?].shape;
    let positions = result.split_last()?.1;
    Some(positions.iter().chain(weights).fold(1, |product: u64, &factor| product.saturating_mul(factor)))
}

fn constant_bytes(main: &SubGraph) -> u64 {
    let read: std::collections::BTreeSet<usize> =
        main.operators().iter().flat_map(|operator| operator.inputs.iter().flatten()).copied().collect();
    let constants = read.into_iter().map(|tensor| &main.tensors()[tensor]);
    constants
        .filter(|tensor| tensor.storage == serenity_tflite::Storage::Constant)
        .map(|tensor| tensor.bytes)
        .sum()
}
