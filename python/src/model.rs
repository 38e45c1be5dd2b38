//! Models, read or made.

use crate::errors::Failure;
use crate::wishes::{Reading, RuntimeNames};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use serenity::ir::{self, OpId, TensorId};
use serenity::pipeline::peak;
use serenity::runtimes::{MemoryModelExt, main_graph};
use serenity::{Format, Input};

/// A model that was read or made; never changed.
#[pyclass(frozen, module = "serenity._serenity")]
pub(crate) struct Model(pub(crate) Input);

/// Name, type, inputs and outputs of an op.
type OpFields = (String, String, Vec<u32>, Vec<u32>);

/// Name and bytes of a tensor, its shape and type if they are known.
type TensorFields = (String, u64, Option<Vec<u64>>, Option<String>);

#[pymethods]
impl Model {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.0.file.format().extensions()[0]
    }

    #[getter]
    fn runtime(&self) -> String {
        self.0.default_model.to_string()
    }

    fn __len__(&self) -> usize {
        self.0.graph().ops().len()
    }

    fn ops(&self) -> Vec<OpFields> {
        let ids = |list: &[TensorId]| list.iter().map(|t| t.0).collect();
        let ops = self.0.graph().ops().iter();
        ops.map(|op| (op.name.clone(), op.kind.as_str().to_owned(), ids(&op.inputs), ids(&op.outputs)))
            .collect()
    }

    fn tensors(&self) -> Vec<TensorFields> {
        let tensors = self.0.graph().tensors().iter();
        tensors
            .map(|t| {
                (t.name.clone(), t.bytes, t.shape.clone(), t.dtype.as_ref().map(|d| d.name().to_owned()))
            })
            .collect()
    }

    fn inputs(&self) -> Vec<u32> {
        self.0.graph().inputs().iter().map(|t| t.0).collect()
    }

    fn outputs(&self) -> Vec<u32> {
        self.0.graph().outputs().iter().map(|t| t.0).collect()
    }

    /// The file, as it was read.
    fn bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.file.bytes())
    }

    fn to_json(&self) -> String {
        ir::json::write(self.0.graph())
    }

    /// The most memory in use if the ops run in this order, or in their own. What loops hand on from one round to the
    /// next counts once, if the plan in the file puts it into the same bytes.
    fn peak(&self, order: Option<Vec<u32>>, target: RuntimeNames) -> PyResult<u64> {
        let (model, graphs) = (target.model(&self.0)?, self.0.graphs());
        let own: Vec<Vec<OpId>> = graphs.iter().map(ir::Graph::file_order).collect();
        let graph = main_graph(graphs, &own[1..], model);
        let (order, plan) = match order {
            // The plan in the file is for its own order.
            Some(order) if order.iter().zip(&own[0]).any(|(asked, own)| *asked != own.0) => {
                (checked_order(&graph, &order)?, None)
            }
            Some(order) => (checked_order(&graph, &order)?, self.0.plan()),
            None => (model.execution_order(&graph, &own[0]), self.0.plan()),
        };
        Ok(peak::profile(graphs, (&order, &own[1..]), model, plan.as_ref()).peak())
    }
}

/// An order that comes from outside.
pub(crate) fn checked_order(graph: &ir::Graph, order: &[u32]) -> Result<Vec<OpId>, Failure> {
    let order: Vec<OpId> = order.iter().copied().map(OpId).collect();
    let refuse = |error: ir::OrderError| {
        Failure::request(
            format!("`{}` cannot run in this order: {error}", graph.name()),
            "give the position of every op once, after those it reads from",
        )
    };
    graph.check_order(&order).map_err(refuse)?;
    Ok(order)
}

/// Reads a file, or a built-in network.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, source: &str, reading: Reading) -> PyResult<Model> {
    let options = reading.options()?;
    Ok(Model(py.detach(|| serenity::load_with(source, &options)).map_err(Failure::from)?))
}

/// Reads bytes. Without a format they tell by themselves.
#[pyfunction]
pub(crate) fn read(
    py: Python<'_>,
    name: &str,
    bytes: Vec<u8>,
    format: Option<&str>,
    reading: Reading,
) -> PyResult<Model> {
    let options = reading.options()?;
    let format = match format {
        None => Format::of_bytes(&bytes),
        Some(name) => Format::of_path(&format!("model.{name}")).ok_or_else(|| {
            Failure::request(format!("unknown format `{name}`"), "choose one of: tflite, onnx, json")
        })?,
    };
    let input = py.detach(|| serenity::load_bytes(name, bytes, format, &options));
    Ok(Model(input.map_err(Failure::from)?))
}

/// An op as it is handed over: name, type, inputs, outputs, and who may lie in whose place.
type NewOp = (String, String, Vec<u32>, Vec<u32>, Vec<(u32, u32)>, Vec<(u32, u32)>);

/// A graph from its parts: as if it had been read from a JSON graph, with the same checks and the same messages.
#[pyfunction]
pub(crate) fn build(
    py: Python<'_>,
    name: &str,
    tensors: Vec<(String, u64)>,
    ops: Vec<NewOp>,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
) -> PyResult<Model> {
    let built = py.detach(|| {
        let tensor = |(name, bytes): (String, u64)| json!({"name": name, "bytes": bytes});
        let op = |(name, kind, inputs, outputs, in_place, aliases): NewOp| {
            let mut op = json!({"name": name, "type": kind, "inputs": inputs, "outputs": outputs});
            for (key, pairs) in [("in_place", in_place), ("aliases", aliases)] {
                if !pairs.is_empty() {
                    op[key] = json!(pairs);
                }
            }
            op
        };
        let document = json!({
            "name": name,
            "tensors": tensors.into_iter().map(tensor).collect::<Vec<Value>>(),
            "ops": ops.into_iter().map(op).collect::<Vec<Value>>(),
            "inputs": inputs,
            "outputs": outputs,
        });
        let title = if name.is_empty() { "the graph" } else { name };
        serenity::load_bytes(
            title,
            document.to_string().into_bytes(),
            Format::Json,
            &serenity::ReadOptions::default(),
        )
    });
    Ok(Model(built.map_err(Failure::from)?))
}
