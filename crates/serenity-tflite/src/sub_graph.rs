//! One sub-graph's own tables.

use crate::Error;
use crate::budget::Budget;
use crate::buffers::Buffers;
use crate::error::At;
use crate::flat::Table;
use crate::operator::{FileOperator, OperatorCode, tensor_or_absent};
use crate::schema::sub_graph;
use crate::tensor::FileTensor;
use serenity_ir::{OpId, TensorId};

/// A sub-graph as the file describes it: all tensors, constants included, by the file's own numbers.
#[derive(Clone, Debug)]
pub struct SubGraph {
    pub(crate) name: String,
    pub(crate) tensors: Vec<FileTensor>,
    pub(crate) operators: Vec<FileOperator>,
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<usize>,
    /// By tensor of the file: the tensor of the graph.
    pub(crate) graph_tensors: Vec<Option<TensorId>>,
    /// By tensor of the graph: the tensor of the file. The made-up tensors come last and are not here.
    pub(crate) file_tensors: Vec<usize>,
    /// By op of the graph: the operator of the file.
    pub(crate) file_operators: Vec<usize>,
}

impl SubGraph {
    pub(crate) fn read(
        index: usize,
        table: &Table,
        codes: &[OperatorCode],
        buffers: &Buffers,
        bytes: &[u8],
        budget: &mut Budget,
    ) -> Result<Self, Error> {
        let place = || format!("sub-graph {index}");
        let name = table.text(sub_graph::NAME).at(place)?;
        budget.take(512 + 2 * name.len(), place)?;

        let mut tensors = Vec::new();
        for (number, tensor) in table.tables(sub_graph::TENSORS).at(place)?.iter().enumerate() {
            let place = || format!("sub-graph {index}, tensor {number}");
            tensors.push(FileTensor::read(&tensor.at(place)?, buffers, bytes, budget, &place)?);
        }
        let mut operators = Vec::new();
        for (number, operator) in table.tables(sub_graph::OPERATORS).at(place)?.iter().enumerate() {
            let place = || format!("sub-graph {index}, operator {number}");
            let table = operator.at(place)?;
            operators.push(FileOperator::read(&table, codes, tensors.len(), bytes.len(), budget, &place)?);
        }
        let mut list = |slot, what: &str| {
            let place = || format!("sub-graph {index}, {what}");
            let list = table.numbers::<i32>(slot).at(place)?;
            budget.take(16 * list.len(), place)?;
            // -1 stands for a result that nobody wants.
            let list = list.filter_map(|number| tensor_or_absent(number, tensors.len(), place).transpose());
            list.collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            inputs: list(sub_graph::INPUTS, "inputs")?,
            outputs: list(sub_graph::OUTPUTS, "outputs")?,
            graph_tensors: Vec::new(),
            file_tensors: Vec::new(),
            file_operators: Vec::new(),
            tensors,
            operators,
        })
    }

    /// Its name, for people; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All its tensors, by the file's numbers.
    pub fn tensors(&self) -> &[FileTensor] {
        &self.tensors
    }

    /// All its operators, in the file's order.
    pub fn operators(&self) -> &[FileOperator] {
        &self.operators
    }

    /// What the caller provides, by the file's numbers.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// What the caller gets, by the file's numbers; constants may be among them.
    pub fn outputs(&self) -> &[usize] {
        &self.outputs
    }

    /// The tensor of the graph that stands for a tensor of the file; `None` if that is a constant or a variable.
    pub fn graph_tensor(&self, file_tensor: usize) -> Option<TensorId> {
        self.graph_tensors.get(file_tensor).copied().flatten()
    }

    /// The tensor of the file that a tensor of the graph stands for; `None` for the made-up ones that keep state in order.
    pub fn file_tensor(&self, id: TensorId) -> Option<usize> {
        self.file_tensors.get(id.index()).copied()
    }

    /// The operator of the file that an op of the graph stands for. They are the same, one by one, unless constants were folded.
    pub fn file_operator(&self, op: OpId) -> Option<usize> {
        self.file_operators.get(op.index()).copied()
    }
}
