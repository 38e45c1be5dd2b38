//! Reading models, whatever they are stored in.

use crate::{Error, Offsets, Tail};
use serenity_ir::{ElementType, Graph, json};
use serenity_runtimes::{Kernels, MemoryModel, OrtOrder};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// A model that was read.
#[derive(Clone, Debug)]
pub struct Input {
    /// What it was read from, for messages.
    pub name: String,
    /// The network: its main graph, and those that its ops run.
    pub graphs: Vec<Graph>,
    /// The memory model that fits where it came from.
    pub default_model: MemoryModel,
    /// What it was read from, to write it back.
    pub source: Source,
}

/// Where a model came from. Clones share the file.
#[derive(Clone, Debug)]
pub enum Source {
    /// The zoo, or a JSON graph: the graph is all there is.
    Graph,
    /// A TensorFlow Lite file.
    Tflite(Arc<serenity_tflite::Model>),
    /// An ONNX file.
    Onnx(Arc<serenity_onnx::Model>),
}

impl Input {
    /// The main graph.
    pub fn graph(&self) -> &Graph {
        &self.graphs[0]
    }

    /// The plan of the arena that the model came with, for TFLM: by graph, by tensor. `None` if it has none, or one that TFLM would refuse.
    pub fn plan(&self) -> Option<Offsets> {
        let Source::Tflite(model) = &self.source else { return None };
        let plan = model.offline_plan()?;
        let mut left = plan.offsets.as_slice();
        let mut offsets = Vec::new();
        for (graph, sub_graph) in self.graphs.iter().zip(model.sub_graphs()) {
            let (here, rest) = left.split_at_checked(sub_graph.tensors().len())?;
            left = rest;
            let offset = |t| u64::try_from(*here.get(sub_graph.file_tensor(t)?)?).ok();
            offsets.push(graph.tensor_ids().map(offset).collect());
        }
        left.is_empty().then_some(offsets)
    }

    /// What TFLM keeps besides the head, if it is the target and the model is known with all its tensors.
    pub fn tail(&self, model: MemoryModel) -> Option<Tail> {
        match (&self.source, model.kernels()) {
            (Source::Tflite(file), Some(kernels)) => Some(Tail::of(file, kernels)),
            (Source::Tflite(_), None) | (Source::Graph | Source::Onnx(_), _) => None,
        }
    }

    fn of_graph(name: &str, graph: Graph, default_model: MemoryModel) -> Self {
        Self { name: name.to_owned(), graphs: vec![graph], default_model, source: Source::Graph }
    }
}

impl From<Graph> for Input {
    /// A graph that was made in memory.
    fn from(graph: Graph) -> Self {
        let name = graph.name().to_owned();
        Self::of_graph(&name, graph, MemoryModel::Plain)
    }
}

/// How to read a model.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Leave out operators that read constants only, and take what they write for constants: fewer activations than the runtimes really hold.
    /// A `.tflite` model read this way cannot be written back.
    pub fold_constants: bool,
    /// The memory model that figures will speak of, if that is settled. `plain` and `paper` stand for no runtime, which would run operators
    /// on constants: for them, those of an `.onnx` model are left out in any case.
    pub model: Option<MemoryModel>,
    /// For `.onnx`: shapes of dynamic inputs, and of other tensors whose shape cannot be inferred, by name.
    pub shapes: BTreeMap<String, Vec<u64>>,
    /// For `.onnx`: element types of tensors whose type cannot be inferred, by name.
    pub types: BTreeMap<String, ElementType>,
}

/// Reads a model: the path of a `.tflite` or `.onnx` model or of a `.json` graph, `-` for a graph on standard input, or `zoo:NAME` for a built-in network.
///
/// # Errors
/// If it cannot be read, or is not a model. Any bytes give a model or an error.
pub fn load(source: &str) -> Result<Input, Error> {
    load_with(source, &ReadOptions::default())
}

/// Reads a model in a given way.
///
/// # Errors
/// As [`load`].
pub fn load_with(source: &str, options: &ReadOptions) -> Result<Input, Error> {
    if let Some(spec) = source.strip_prefix("zoo:") {
        let graph =
            serenity_zoo::build(spec).map_err(|error| Error::Zoo { spec: spec.to_owned(), source: error })?;
        return Ok(Input::of_graph(source, graph, MemoryModel::Paper));
    }
    let extension = Path::new(source).extension().and_then(OsStr::to_str).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "tflite" | "lite" => tflite(source, options),
        "onnx" => onnx(source, options),
        "json" => json_graph(source),
        _ if source == "-" || !Path::new(source).exists() => json_graph(source),
        _ => Err(Error::UnknownFormat { path: source.to_owned() }),
    }
}

fn json_graph(path: &str) -> Result<Input, Error> {
    let text = read_text(path)?;
    let graph = json::parse(&text).map_err(|error| Error::Json { path: path.to_owned(), source: error })?;
    Ok(Input::of_graph(path, graph, MemoryModel::Plain))
}

fn tflite(path: &str, options: &ReadOptions) -> Result<Input, Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let how = serenity_tflite::ReadOptions { fold_constants: options.fold_constants };
    let model = serenity_tflite::Model::parse_with(bytes, how)
        .map_err(|error| Error::Tflite { path: path.to_owned(), source: error })?;
    Ok(Input {
        name: path.to_owned(),
        graphs: model.graphs().to_vec(),
        default_model: MemoryModel::Tflm(Kernels::Any),
        source: Source::Tflite(Arc::new(model)),
    })
}

fn onnx(path: &str, options: &ReadOptions) -> Result<Input, Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let how = serenity_onnx::ReadOptions {
        shapes: options.shapes.clone(),
        types: options.types.clone(),
        keep_constant_nodes: !options.fold_constants && options.model.is_none_or(MemoryModel::is_runtime),
    };
    let model = serenity_onnx::Model::parse(bytes, &how)
        .map_err(|error| Error::Onnx { path: path.to_owned(), source: error })?;
    Ok(Input {
        name: path.to_owned(),
        graphs: vec![model.graph().clone()],
        default_model: MemoryModel::Ort(OrtOrder::Priority),
        source: Source::Onnx(Arc::new(model)),
    })
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn read_text(path: &str) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = if path == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|b| bytes = b)
    };
    read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    String::from_utf8(bytes)
        .map_err(|error| Error::NotText { path: path.to_owned(), position: error.utf8_error().valid_up_to() })
}
