//! ONNX Runtime's memory once more, written down independently.

use crate::holdings::{Figure, Holding};
use serenity_facts::OrtSetup;
use serenity_ir::Operator::*;
use serenity_ir::{Graph, KnownDim, KnownShape, Op, OpId, Tensor, TensorId};
use std::collections::BTreeSet;

/// What an operator does with the memory of one of its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// The result is the first operand under another shape.
    Reshapes,
    /// The result is written over this operand, if it can be.
    Overwrites(usize),
}

impl Reuse {
    pub(crate) fn operand(self) -> usize {
        match self {
            Self::Reshapes => 0,
            Self::Overwrites(operand) => operand,
        }
    }
}

pub(crate) fn reuse(op: &Op) -> Option<Reuse> {
    match op.kind.operator() {
        Flatten | Identity | Reshape | Squeeze | Unsqueeze => Some(Reuse::Reshapes),
        Cast | Celu | Clip | Elu | HardSigmoid | LeakyRelu | LogSoftmax | Relu | ScatterElements | Selu
        | Shrink | Sigmoid | Softmax | Softplus | Softsign | Tanh | ThresholdedRelu | Trilu
        | MicrosoftTrilu => Some(Reuse::Overwrites(0)),
        // A convolution that adds its result to something.
        FusedConv | NchwcConv => Some(Reuse::Overwrites(3)),
        _ => None,
    }
}

/// Puts every tensor where ONNX Runtime has it in whatever order; returns what is in use during single ops only.
pub(crate) fn share(
    graph: &Graph,
    setup: OrtSetup,
    holdings: &mut [Option<Holding>],
    figure: Figure,
) -> Vec<Holding> {
    let mut places = Places {
        setup,
        lies_in: graph.tensor_ids().collect(),
        // The caller may look at inputs before and at outputs after the run.
        looks: graph
            .tensor_ids()
            .map(|t| {
                let by_caller = [graph.is_input(t), graph.is_output(t)];
                graph.consumers(t).len() + by_caller.into_iter().filter(|&looks| looks).count()
            })
            .collect(),
        may_be_overwriting: vec![false; graph.tensors().len()],
    };
    for t in graph.tensor_ids() {
        // What is never read is never released.
        if let Some(holding) = &mut holdings[t.index()] {
            holding.kept |= graph.consumers(t).is_empty();
        }
    }
    for id in graph.file_order() {
        let op = graph.op(id);
        match op.outputs.first() {
            Some(&result) if !graph.is_output(result) => places.settle(graph, op, id, result, holdings),
            _ => {}
        }
    }
    // Memory of the caller's.
    for input in graph.inputs() {
        holdings[input.index()] = None;
    }
    match figure {
        Figure::Peak => Vec::new(),
        Figure::Arena => relax(graph, &places, holdings),
    }
}

/// Counts only what is needed in every order: what may be written over an operand in some orders counts from its first
/// reader on; what nobody reads counts while it is computed, since another tensor may take its memory later; and a
/// `DequantizeLinear` is computed for each of its readers.
fn relax(graph: &Graph, places: &Places, holdings: &mut [Option<Holding>]) -> Vec<Holding> {
    let mut residents: Vec<Vec<TensorId>> = vec![Vec::new(); graph.tensors().len()];
    for t in graph.tensor_ids() {
        residents[places.lies_in[t.index()].index()].push(t);
    }
    let is_copied = |t: &TensorId| {
        let operator = graph.producer(*t).map(|op| graph.op(op).kind.operator());
        let looks = graph.consumers(*t).len() + usize::from(graph.is_output(*t));
        operator == Some(DequantizeLinear) && looks > 1
    };
    let mut during = Vec::new();
    for host in graph.tensor_ids() {
        let tensors = &residents[host.index()];
        let Some(memory) = &mut holdings[host.index()] else { continue };
        memory.kept = tensors.iter().any(|&t| graph.is_output(t));
        if tensors.iter().any(is_copied) {
            let users: BTreeSet<OpId> = memory.writers.iter().chain(&memory.readers).copied().collect();
            during.extend(users.into_iter().map(|op| Holding::during(op, memory.bytes)));
            holdings[host.index()] = None;
        } else if places.may_be_overwriting[host.index()] {
            if tensors.iter().all(|&t| graph.consumers(t).is_empty()) {
                holdings[host.index()] = None;
            } else {
                memory.writers.clone_from(&memory.readers);
            }
        }
    }
    during
}

struct Places {
    setup: OrtSetup,
    /// By tensor: whose memory it lies in.
    lies_in: Vec<TensorId>,
    /// By tensor whose memory it is: how many look at it, but for the ops that put others there.
    looks: Vec<usize>,
    /// By tensor: may it be written over its operand, in some orders?
    may_be_overwriting: Vec<bool>,
}

impl Places {
    fn settle(
        &mut self,
        graph: &Graph,
        op: &Op,
        id: OpId,
        result: TensorId,
        holdings: &mut [Option<Holding>],
    ) {
        let Some(reuse) = reuse(op) else { return };
        let reshapes = reuse == Reuse::Reshapes;
        let Some(operand) = op.operand(reuse.operand()) else {
            if reshapes && op.constant(0).is_some() {
                // A constant by another name.
                holdings[result.index()] = None;
                self.looks[result.index()] += 1;
            }
            return;
        };
        let host = self.lies_in[operand.index()];
        let fits = reshapes
            || (op.inputs.iter().filter(|&&t| t == operand).count() == 1
                && same_layout(graph, self.setup, operand, result));
        if !fits {
            return;
        }
        if !reshapes && self.looks[host.index()] > 1 {
            self.may_be_overwriting[result.index()] = true;
            return;
        }
        self.lies_in[result.index()] = host;
        self.looks[host.index()] = self.looks[host.index()] - 1 + self.looks[result.index()];
        let (Some(guest), Some(memory)) = (holdings[result.index()].take(), &mut holdings[host.index()])
        else {
            return;
        };
        memory.readers.extend(guest.readers);
        memory.kept |= guest.kept;
        if !reshapes {
            memory.writers.push(id);
        }
    }
}

fn same_layout(graph: &Graph, setup: OrtSetup, a: TensorId, b: TensorId) -> bool {
    let (a, b) = (layout(graph.tensor(a), setup), layout(graph.tensor(b), setup));
    a.is_some() && a == b
}

/// Shape, bytes of two elements, and what the runtime knows of the shape if that is less.
type Layout<'g> = (&'g [u64], u64, Option<&'g [KnownDim]>);

/// Tensors that agree in it can take each other's place. `None` if something is unknown (for a session without reuse
/// the file says it all), or there is no dimension.
pub(crate) fn layout(tensor: &Tensor, setup: OrtSetup) -> Option<Layout<'_>> {
    let shape = tensor.shape.as_deref().filter(|shape| !shape.is_empty())?;
    let known = match &tensor.known {
        KnownShape::Nothing if setup.reuse => return None,
        KnownShape::Partly(dims) if setup.reuse => {
            let is_told = |dim: &KnownDim| !matches!(dim, KnownDim::Open);
            Some(dims.iter().all(is_told).then_some(dims.as_slice())?)
        }
        _ => None,
    };
    Some((shape, tensor.dtype.as_ref()?.bytes_of(&[2])?, known))
}
