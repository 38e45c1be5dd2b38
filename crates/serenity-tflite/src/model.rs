//! A model: its bytes, what they mean, and the graphs made from them.

use crate::Error;
use crate::bodies;
use crate::budget::Budget;
use crate::buffers::Buffers;
use crate::control::{self, ControlDependencies};
use crate::error::At;
use crate::flat::Table;
use crate::graph;
use crate::metadata::{self, Metadata, OfflinePlan, RefusedPlan, Signature};
use crate::operator::OperatorCode;
use crate::schema::model as slot;
use crate::state::States;
use crate::sub_graph::SubGraph;
use crate::tensor::Storage;
use serenity_ir::{Attributes, Graph};

/// How to read a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Leave out operators that read constants only, and take their outputs for constants. The runtimes do compute and store
    /// these outputs (weights of 16 bits behind `DEQUANTIZE`, sparse ones behind `DENSIFY`), so such a graph shows
    /// less memory than a run takes. A model read this way cannot be written.
    pub fold_constants: bool,
}

/// A TensorFlow Lite model.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) bytes: Vec<u8>,
    pub(crate) codes: Vec<OperatorCode>,
    pub(crate) buffers: Buffers,
    pub(crate) sub_graphs: Vec<SubGraph>,
    pub(crate) graphs: Vec<Graph>,
    pub(crate) description: String,
    pub(crate) metadata: Vec<Metadata>,
    pub(crate) signatures: Vec<Signature>,
    /// `None` if there are none, or if they cannot be understood.
    pub(crate) control: Option<ControlDependencies>,
    pub(crate) options: ReadOptions,
}

impl Model {
    /// Do these bytes begin as a model of this format does? Eight are enough to tell.
    pub fn is_model(bytes: &[u8]) -> bool {
        bytes.get(4..8) == Some(b"TFL3")
    }

    /// Reads a model. The bytes may be anything: they give a model or an error.
    ///
    /// # Errors
    /// See [`Error`]: each names the place.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, Error> {
        Self::parse_with(bytes, ReadOptions::default())
    }

    /// Reads a model in the given way.
    ///
    /// # Errors
    /// See [`Error`]: each names the place.
    pub fn parse_with(bytes: Vec<u8>, options: ReadOptions) -> Result<Self, Error> {
        if !Self::is_model(&bytes) {
            return Err(Error::Identifier);
        }
        let root = Table::root(&bytes).at(|| "model".to_owned())?;
        let version = root.number(slot::VERSION, 0).at(|| "version".to_owned())?;
        if version != 3 {
            return Err(Error::Version { found: version });
        }
        let mut budget = Budget::for_file(bytes.len());
        let codes = OperatorCode::read_all(&root, &mut budget)?;
        let buffers = Buffers::read(&root, &bytes)?;
        let mut sub_graphs = Vec::new();
        for (index, table) in root.tables(slot::SUB_GRAPHS).at(|| "sub-graphs".to_owned())?.iter().enumerate()
        {
            let table = table.at(|| format!("sub-graph {index}"))?;
            sub_graphs.push(SubGraph::read(index, &table, &codes, &buffers, &bytes, &mut budget)?);
        }
        if sub_graphs.is_empty() {
            let problem = "it has no sub-graphs".to_owned();
            return Err(Error::Invalid { place: "model".to_owned(), problem });
        }
        bodies::resolve(&mut sub_graphs, &bytes, &mut budget)?;
        let tensors: Vec<usize> = sub_graphs.iter().map(|sub_graph| sub_graph.tensors.len()).collect();
        let metadata = Metadata::read_all(&root, buffers.len(), &mut budget)?;
        let signatures = Signature::read_all(&root, &tensors, &mut budget)?;
        let description = root.text(slot::DESCRIPTION).at(|| "description".to_owned())?;
        let description = String::from_utf8_lossy(description).into_owned();
        let mut model = Self {
            bytes,
            codes,
            buffers,
            sub_graphs,
            graphs: Vec::new(),
            description,
            metadata,
            signatures,
            control: None,
            options,
        };
        model.make_graphs(&mut budget)?;
        Ok(model)
    }

    fn make_graphs(&mut self, budget: &mut Budget) -> Result<(), Error> {
        let operators: Vec<usize> = self.sub_graphs.iter().map(|s| s.operators.len()).collect();
        let control = self.metadata_bytes(control::CONTROL_DEPENDENCIES);
        self.control = control.and_then(|bytes| control::parse(bytes, &operators));
        let states = States::read(&self.sub_graphs, &self.bytes, budget)?;
        for index in 0..self.sub_graphs.len() {
            let pairs = self.control.as_ref().map_or([].as_slice(), |control| &control[index]);
            let lowered = graph::lower(self, index, &states, pairs, self.options.fold_constants, budget)?;
            let sub_graph = &mut self.sub_graphs[index];
            for (tensor, storage) in sub_graph.tensors.iter_mut().zip(lowered.storage) {
                tensor.storage = storage;
            }
            sub_graph.graph_tensors = lowered.graph_tensors;
            sub_graph.file_tensors = lowered.file_tensors;
            sub_graph.file_operators = lowered.file_operators;
            self.graphs.push(lowered.graph);
        }
        Ok(())
    }

    /// The file, byte for byte as it was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Was it read with constants folded? Then it cannot be written.
    pub fn folds_constants(&self) -> bool {
        self.options.fold_constants
    }

    /// One graph of activations for each sub-graph; the first is the model's own, the others are bodies or entry points
    /// of their own.
    pub fn graphs(&self) -> &[Graph] {
        &self.graphs
    }

    /// The sub-graphs as the file describes them.
    pub fn sub_graphs(&self) -> &[SubGraph] {
        &self.sub_graphs
    }

    /// What the converter says about the model; may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// How many buffers the file has.
    pub fn buffer_count(&self) -> usize {
        self.buffers.len()
    }

    /// The bytes of a buffer; empty if it has none, or if there is no such buffer.
    pub fn buffer(&self, index: usize) -> &[u8] {
        self.buffers.get(&self.bytes, index)
    }

    /// The bytes of a constant; `None` if that tensor is none, or if the file does not hold its bytes.
    pub fn constant(&self, sub_graph: usize, tensor: usize) -> Option<&[u8]> {
        let tensor = self.sub_graphs.get(sub_graph)?.tensors.get(tensor)?;
        let data = self.buffer(tensor.buffer);
        (tensor.storage == Storage::Constant && !data.is_empty()).then_some(data)
    }

    /// The bytes of an operator's custom options; empty if it has none.
    pub fn custom_options(&self, sub_graph: usize, operator: usize) -> &[u8] {
        let operator = self.sub_graphs.get(sub_graph).and_then(|s| s.operators.get(operator));
        operator.and_then(|operator| self.bytes.get(operator.custom_options.clone())).unwrap_or_default()
    }

    /// What an operator's custom options say, if they are a map of `FlexBuffers`: its whole numbers, floats and truths by name.
    pub fn custom_attributes(&self, sub_graph: usize, operator: usize) -> Attributes {
        crate::flexible::numbers(self.custom_options(sub_graph, operator)).unwrap_or_default()
    }

    /// The list of named metadata.
    pub fn metadata(&self) -> &[Metadata] {
        &self.metadata
    }

    /// The bytes of the first metadata of this name.
    pub fn metadata_bytes(&self, name: &str) -> Option<&[u8]> {
        let metadata = self.metadata.iter().find(|metadata| metadata.name == name)?;
        Some(self.buffer(metadata.buffer))
    }

    /// The named entry points.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// The memory plan in the file that TensorFlow Lite for Microcontrollers follows, if there is one.
    ///
    /// # Errors
    /// If there is one that TFLM refuses, or that would make it fail in the run.
    pub fn offline_plan(&self) -> Result<Option<OfflinePlan>, RefusedPlan> {
        metadata::plan_of(self)
    }
}
