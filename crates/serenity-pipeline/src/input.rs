//! A model that was read, in whatever format it was stored.

use crate::Error;
use crate::stages::place::is_safe;
use serenity_formats::{Format, GraphFile, ModelFile, NarrowedChannels, PlanNote, QuantizedIo};
use serenity_ir::{Graph, OpId};
use serenity_runtimes::{
    Content, Kernels, MemoryModel, MemoryModelExt, Offsets, Tail, TflmFacts, tflm_arena,
};
use serenity_search::Limits;
use std::sync::Arc;

/// A model that was read from a file or made in memory. Clones share its data.
#[derive(Clone, Debug)]
pub struct Input {
    /// The path of the file, or the name of the graph, for messages.
    pub name: String,
    /// The memory model that is the default for the format of the file.
    pub default_model: MemoryModel,
    /// The file: its graphs, and everything needed to write it back.
    pub file: Arc<dyn ModelFile>,
}

impl Input {
    /// The main graph.
    pub fn graph(&self) -> &Graph {
        &self.graphs()[0]
    }

    /// The main graph, and the sub-graphs that its ops run.
    pub fn graphs(&self) -> &[Graph] {
        self.file.graphs()
    }

    /// Checks that a memory model can count the memory of this model.
    ///
    /// # Errors
    /// If its views are more than can be followed.
    pub fn can_be_counted(&self, model: MemoryModel) -> Result<(), Error> {
        let is_followed = self.graphs().iter().all(|graph| model.can_follow(graph));
        is_followed.then_some(()).ok_or_else(|| Error::Views { graph: self.name.clone() })
    }

    /// The memory plan for TFLM that is stored in the model, per graph and per tensor. `None` if it has none, or one
    /// that TFLM would refuse.
    pub fn plan(&self) -> Option<Offsets> {
        self.file.places()
    }

    /// The note in the model that says how its stored memory plan was made.
    pub fn plan_note(&self) -> Option<PlanNote> {
        self.file.note()
    }

    /// Is the memory plan stored in the model right for these kernels? It is if it was made for them, or if the checker
    /// finds that they allow all of it. `None` if there is no plan.
    pub fn plan_serves(&self, kernels: Kernels) -> Option<bool> {
        let plan = self.plan()?;
        let is_made_for_them = self.plan_note().is_some_and(|note| note.serves(kernels));
        Some(is_made_for_them || is_safe(self.graphs(), &self.completed(plan, kernels), kernels))
    }

    /// The plan, completed with the offsets that TFLM itself gives to tensors without one.
    fn completed(&self, mut plan: Offsets, kernels: Kernels) -> Offsets {
        let graphs: Vec<&Graph> = self.graphs().iter().collect();
        let own: Vec<Vec<OpId>> = graphs.iter().map(|graph| graph.file_order()).collect();
        let orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
        let arena = tflm_arena(&TflmFacts::new(&graphs, kernels), &orders, Some(&plan));
        for piece in arena.into_iter().flat_map(|arena| arena.pieces) {
            if let Content::Tensor { graph, tensor } = piece.content {
                plan[graph][tensor.index()].get_or_insert(piece.offset);
            }
        }
        plan
    }

    /// Why TFLM with these kernels fails, or may compute wrong results, with the memory plan stored in the model, as a
    /// sentence. `None` if it does neither.
    pub fn plan_fault(&self, kernels: Kernels) -> Option<String> {
        if let Some(refused) = self.file.refused_plan() {
            return Some(format!("{refused}: TFLM cannot run it"));
        }
        if self.plan_serves(kernels)? {
            return None;
        }
        let made_for = self.plan_note().map_or_else(
            || "has overlaps".to_owned(),
            |note| format!("was made for kernels `{}` (Serenity {})", note.kernels, note.version),
        );
        Some(format!(
            "the plan of the arena in this model {made_for}: with kernels `{kernels}` results may be wrong"
        ))
    }

    /// What TFLM keeps in the arena besides the head. `None` if TFLM is not the target, or if the model lacks the
    /// tensors of its file.
    pub fn tail(&self, model: MemoryModel) -> Option<Tail> {
        self.file.tail(model.kernels()?)
    }

    /// Replaces float inputs and outputs that the model only converts by the integers that it converts them to. Returns
    /// the new model (unchanged if there are none), and what became of each input and output.
    ///
    /// # Errors
    /// If this is no `.tflite` model, or if it holds something that cannot be carried over.
    pub fn with_quantized_io(&self) -> Result<(Self, QuantizedIo), Error> {
        let changed = self.file.with_quantized_io();
        let (file, io) = changed.map_err(|source| Error::File { path: self.name.clone(), source })?;
        Ok((self.with_file(file), io))
    }

    /// Removes channels that are constant or never read. Returns the new model and what that saves; `None` if there are
    /// no such channels, or if the limits ended the search for them.
    ///
    /// # Errors
    /// If the model holds something that cannot be carried over.
    pub fn without_constant_channels(
        &self,
        limits: &Limits,
    ) -> Result<Option<(Self, NarrowedChannels)>, Error> {
        let narrowed = self.file.without_constant_channels(&|| limits.are_over());
        let narrowed = narrowed.map_err(|source| Error::File { path: self.name.clone(), source })?;
        Ok(narrowed.map(|(file, channels)| (self.with_file(file), channels)))
    }

    /// This input with its file replaced.
    #[must_use]
    pub fn with_file(&self, file: Arc<dyn ModelFile>) -> Self {
        Self { name: self.name.clone(), default_model: self.default_model, file }
    }
}

impl From<Graph> for Input {
    /// Wraps a graph that was made in memory.
    fn from(graph: Graph) -> Self {
        Self {
            name: graph.name().to_owned(),
            default_model: Format::Json.default_model(),
            file: Arc::new(GraphFile::from(graph)),
        }
    }
}
