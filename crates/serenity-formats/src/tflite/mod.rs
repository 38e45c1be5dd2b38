//! TensorFlow Lite.

mod behind;
mod channels;
mod conditions;
mod constants;
mod half_weights;
mod looped;
mod operators;
mod quantized_io;
mod rewritten;
mod source;

use crate::{FileError, Format, ModelFile, Narrowed, PlanNote, Problem, QuantizedIo, ReadOptions};
use serenity_ir::{Graph, OpId, TensorId};
use serenity_loops::Looped;
use serenity_rewrite::{ErrorBounds, Patch, Rewriting, Settings, widen};
use serenity_runtimes::{Kernels, Offsets, Tail};
use serenity_tflite::{Error, Model, OFFLINE_PLAN, OfflinePlan, OperatorSource, PLAN_NOTE};
use std::borrow::Cow;
use std::sync::Arc;

pub(crate) fn read(bytes: Vec<u8>, options: &ReadOptions) -> Result<impl ModelFile + use<>, FileError> {
    let model = Model::parse(bytes)?;
    if !options.fold_constants {
        return Ok(Tflite(model));
    }
    // What then is still made of constants alone cannot be written as such.
    let model = half_weights::as_floats(&model)?.unwrap_or(model);
    let folded =
        Model::parse_with(model.bytes().to_vec(), serenity_tflite::ReadOptions { fold_constants: true })?;
    let is_same = folded.graphs()[0].ops().len() == model.graphs()[0].ops().len();
    Ok(Tflite(if is_same { model } else { folded }))
}

#[derive(Debug)]
struct Tflite(Model);

impl ModelFile for Tflite {
    fn format(&self) -> Format {
        Format::TfLite
    }

    fn bytes(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.0.bytes())
    }

    fn graphs(&self) -> &[Graph] {
        self.0.graphs()
    }

    fn retain_possible(&self, _: &Settings, patches: &mut Vec<Patch>) {
        let Self(model) = self;
        let graph = &model.graphs()[0];
        patches.retain(|patch| self.is_whole() && conditions::hold(model, graph, patch));
    }

    fn widened(&self, rewriting: Rewriting) -> Result<(Rewriting, ErrorBounds), FileError> {
        let widened = widen(rewriting, &|op, position| constants::operand(&self.0, op, position));
        let unknown = || Error::Edit("how much room partial results need is not known".to_owned());
        Ok(widened.ok_or_else(unknown)?)
    }

    fn rewritten(&self, rewriting: &Rewriting) -> Result<Arc<dyn ModelFile>, FileError> {
        Ok(Arc::new(Self(rewritten::rewritten(&self.0, rewriting)?)))
    }

    fn looped(&self, looped: &Looped) -> Result<Arc<dyn ModelFile>, FileError> {
        Ok(Arc::new(Self(looped::looped(&self.0, looped)?)))
    }

    fn behind(&self, count: usize, inputs: &[TensorId]) -> Result<Arc<dyn ModelFile>, FileError> {
        Ok(Arc::new(Self(behind::behind(&self.0, count, inputs)?)))
    }

    fn with_quantized_io(&self) -> Result<(Arc<dyn ModelFile>, QuantizedIo), FileError> {
        let (model, io) = quantized_io::converted(&self.0)?;
        Ok((Arc::new(Self(model)), io))
    }

    fn without_constant_channels(&self, stop: &dyn Fn() -> bool) -> Result<Option<Narrowed>, FileError> {
        let narrowed = if self.is_whole() { channels::narrowed(&self.0, stop)? } else { None };
        Ok(narrowed.map(|(model, channels)| (Arc::new(Self(model)) as _, channels)))
    }

    fn planned(
        &self,
        orders: &[&[OpId]],
        places: Option<&Offsets>,
        note: Option<&PlanNote>,
    ) -> Result<Vec<u8>, FileError> {
        let Some(places) = places else {
            let orders: Vec<Vec<OpId>> = orders.iter().map(|order| order.to_vec()).collect();
            let reordered = self.0.reordered(&orders)?;
            return if self.refused_plan().is_some() { without_plan(reordered) } else { Ok(reordered) };
        };
        Ok(with_offline_plan(&self.0, orders, places, note)?)
    }

    fn places(&self) -> Option<Offsets> {
        let plan = self.0.offline_plan().ok()??;
        let mut left = plan.offsets.as_slice();
        let mut offsets = Vec::new();
        for (graph, sub_graph) in self.graphs().iter().zip(self.0.sub_graphs()) {
            let (here, rest) = left.split_at_checked(sub_graph.tensors().len())?;
            left = rest;
            let offset = |t| u64::try_from(*here.get(sub_graph.file_tensor(t)?)?).ok();
            offsets.push(graph.tensor_ids().map(offset).collect());
        }
        left.is_empty().then_some(offsets)
    }

    fn refused_plan(&self) -> Option<String> {
        self.0.offline_plan().err().map(|refused| refused.to_string())
    }

    fn note(&self) -> Option<PlanNote> {
        serde_json::from_slice(self.0.metadata_bytes(PLAN_NOTE)?).ok()
    }

    fn source(
        &self,
        scratch: &dyn Fn(usize, OpId) -> Option<serenity_emit::Scratch>,
    ) -> Result<serenity_emit::Source, FileError> {
        Ok(source::source(&self.0, scratch)?)
    }

    fn tail(&self, kernels: Kernels) -> Option<Tail> {
        // Where there is no interpreter, nothing is kept for it.
        (!kernels.are_emitted()).then(|| Tail::of(&self.0, kernels))
    }

    fn is_whole(&self) -> bool {
        !self.0.folds_constants()
    }
}

/// The model without a plan that TFLM refuses: with it, no device could run what is written.
fn without_plan(bytes: Vec<u8>) -> Result<Vec<u8>, FileError> {
    let model = Model::parse(bytes)?;
    let mut edit = model.edit();
    edit.remove_metadata(OFFLINE_PLAN);
    edit.remove_metadata(PLAN_NOTE);
    Ok(edit.finish()?.bytes)
}

/// The model in other orders, with a plan that TFLM obeys.
fn with_offline_plan(
    model: &Model,
    orders: &[&[OpId]],
    places: &Offsets,
    note: Option<&PlanNote>,
) -> Result<Vec<u8>, Error> {
    let mut entries = Vec::new();
    for (sub_graph, places) in model.sub_graphs().iter().zip(places) {
        for index in 0..sub_graph.tensors().len() {
            let place = sub_graph.graph_tensor(index).and_then(|t| *places.get(t.index())?);
            let too_far = |_| Error::Edit("an offset beyond 2 GiB cannot be written".to_owned());
            entries.push(place.map_or(Ok(-1), i32::try_from).map_err(too_far)?);
        }
    }
    let plan = OfflinePlan { sub_graphs: model.sub_graphs().len() as i32, offsets: entries };
    let mut edit = model.edit();
    for (index, (sub_graph, order)) in model.sub_graphs().iter().zip(orders).enumerate() {
        let kept = |&op: &OpId| sub_graph.file_operator(op).map(OperatorSource::Kept);
        let operators: Option<Vec<_>> = order.iter().map(kept).collect();
        let too_many = || Error::Edit("the plan names an op too many".to_owned());
        edit.set_operators(index, operators.ok_or_else(too_many)?)?;
    }
    edit.set_metadata(OFFLINE_PLAN, plan.to_bytes());
    if let Some(note) = note {
        edit.set_metadata(PLAN_NOTE, serde_json::json!(note).to_string().into_bytes());
    }
    Ok(edit.finish()?.bytes)
}

impl From<Error> for FileError {
    fn from(error: Error) -> Self {
        let problem = match &error {
            Error::Edit(_) => Problem::CannotKeep,
            Error::Unfaithful(_) => Problem::Unfaithful,
            _ => Problem::Damaged,
        };
        let place = error.place();
        let verdict = "is not a TensorFlow Lite model that can be read";
        Self { problem, place, help: None, verdict, source: error.into() }
    }
}
