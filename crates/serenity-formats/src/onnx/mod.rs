//! ONNX.

mod channels;
mod conditions;
mod rewritten;
mod session;

use crate::{FileError, Format, ModelFile, Narrowed, PlanNote, Problem, ReadOptions};
use conditions::Conditions;
use serenity_ir::{Graph, OpId};
use serenity_onnx::{Error, Model};
use serenity_rewrite::{Patch, Rewriting, Settings, Sums};
use serenity_runtimes::{MemoryModel, Offsets, OrtSetup};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn read(bytes: Vec<u8>, options: &ReadOptions) -> Result<impl ModelFile + use<>, FileError> {
    let how = serenity_onnx::ReadOptions {
        shapes: options.shapes.clone(),
        types: options.types.clone(),
        keep_constant_nodes: !options.fold_constants && options.model.is_none_or(MemoryModel::is_runtime),
    };
    Ok(Onnx(Model::parse(bytes, &how)?))
}

#[derive(Debug)]
struct Onnx(Model);

impl ModelFile for Onnx {
    fn format(&self) -> Format {
        Format::Onnx
    }

    fn bytes(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.0.bytes())
    }

    fn graphs(&self) -> &[Graph] {
        std::slice::from_ref(self.0.graph())
    }

    fn retain_possible(&self, settings: &Settings, patches: &mut Vec<Patch>) {
        let mut conditions = Conditions::of(&self.0);
        // There is no operator that adds into an accumulator.
        patches.retain(|patch| settings.sums == Sums::Chain && conditions.hold_for(patch));
    }

    fn rewritten(&self, rewriting: &Rewriting) -> Result<Arc<dyn ModelFile>, FileError> {
        Ok(Arc::new(Self(rewritten::rewritten(&self.0, rewriting)?)))
    }

    fn without_constant_channels(&self, stop: &dyn Fn() -> bool) -> Result<Option<Narrowed>, FileError> {
        let narrowed = channels::narrowed(&self.0, conditions::is_quantised(&self.0), stop)?;
        Ok(narrowed.map(|(model, channels)| (Arc::new(Self(model)) as _, channels)))
    }

    fn planned(
        &self,
        orders: &[&[OpId]],
        _: Option<&Offsets>,
        _: Option<&PlanNote>,
    ) -> Result<Vec<u8>, FileError> {
        Ok(self.0.reordered(orders.first().copied().unwrap_or_default())?)
    }

    fn session(&self) -> Option<OrtSetup> {
        session::of(&self.0)
    }

    fn for_session(
        &self,
        order: &[OpId],
        setup: OrtSetup,
        made_by: &str,
    ) -> Result<Arc<dyn ModelFile>, FileError> {
        Ok(Arc::new(Self(session::prepared(&self.0, order, setup, made_by)?)))
    }

    fn given_shapes(&self) -> BTreeMap<String, Vec<u64>> {
        self.0.options().shapes.clone()
    }

    fn optimized(&self, bytes: Vec<u8>) -> Result<Arc<dyn ModelFile>, FileError> {
        Ok(Arc::new(Self(self.0.successor(bytes)?)))
    }

    fn side_files(&self) -> &[String] {
        self.0.side_files()
    }
}

impl From<Error> for FileError {
    fn from(error: Error) -> Self {
        let problem = match &error {
            Error::OpenInputs { .. } => Problem::OpenSize,
            Error::UnknownName { .. } | Error::ShapeConflict { .. } => Problem::Request,
            Error::Edit(_) => Problem::CannotKeep,
            Error::Unfaithful(_) => Problem::Unfaithful,
            _ => Problem::Damaged,
        };
        let (place, help) = (error.place(), error.help());
        Self { problem, place, help, verdict: "is not an ONNX model that can be read", source: error.into() }
    }
}
