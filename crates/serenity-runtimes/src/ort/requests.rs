//! What ONNX Runtime's planner requests from its arena.
//!
//! The planner goes through the steps once before the run. A result that is no view and not written over an input
//! takes, unless the session forbids it, the buffer that was freed last among those of its shape and element size.
//! Whoever shares a buffer keeps it from the first writer to the last reader of all.

use super::chunks::Chunks;
use super::lists::Lists;
use super::nodes::{Facts, Nodes, Value};
use super::sharing::OrtSharing;
use serenity_ir::Graph;

/// Where a value lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValuePlace {
    /// In memory that is not the arena's: the caller's, or a constant's.
    Outside,
    /// In the buffer that was allocated for this value.
    Buffer(Value),
}

struct Planner<'a> {
    facts: &'a Facts,
    nodes: &'a Nodes,
    places: Vec<ValuePlace>,
    /// Of each buffer, the reads to come, with one for the writing of each value in it and one for the caller.
    uses: Vec<usize>,
    /// Buffers to be taken again, by layout, the last one freed at the end.
    free: Vec<Vec<Value>>,
    /// May freed buffers be taken again?
    reuse: bool,
}

/// The memory that a run takes.
pub(super) struct Taken {
    /// The peak of requested bytes.
    pub(super) requested: u64,
    /// The peak of bytes in chunks, including temporary buffers of kernels.
    pub(super) in_use: u64,
}

/// Follows a run; `temporaries` are by op, and with `reuse` a tensor may take the buffer of another.
pub(super) fn follow(
    graph: &Graph,
    facts: &Facts,
    nodes: &Nodes,
    steps: &[usize],
    temporaries: &[u64],
    reuse: bool,
) -> Taken {
    let places = plan(graph, facts, nodes, steps, reuse);
    let bytes = |value: Value| facts.bytes[nodes.tensors[value]];
    let mut released: Vec<Option<usize>> = vec![None; places.len()];
    let mut is_read = vec![false; places.len()];
    for (time, &step) in steps.iter().enumerate() {
        for &value in nodes.inputs.of(step) {
            is_read[value] = true;
            if let ValuePlace::Buffer(buffer) = places[value] {
                released[buffer] = Some(time);
            }
        }
    }
    // Results stay; so does what nobody reads, with whatever buffer it took.
    for (value, place) in places.iter().enumerate() {
        if let ValuePlace::Buffer(buffer) = *place
            && (!is_read[value] || facts.is_output[nodes.tensors[value]])
        {
            released[buffer] = None;
        }
    }
    let released: Vec<(usize, Value)> =
        released.iter().enumerate().filter_map(|(buffer, time)| Some(((*time)?, buffer))).collect();
    let released_at = Lists::grouped(steps.len(), &released);
    let mut chunks = Chunks::default();
    let mut chunk_of = vec![None; places.len()];
    let (mut now, mut requested) = (0, 0);
    for (time, &step) in steps.iter().enumerate() {
        for &value in
            nodes.outputs.of(step).iter().filter(|&&value| places[value] == ValuePlace::Buffer(value))
        {
            chunk_of[value] = chunks.take(bytes(value));
            now += bytes(value);
        }
        if let Some(chunk) = chunks.take(temporaries[nodes.ops[step].index()]) {
            chunks.give_back(chunk);
        }
        requested = requested.max(now);
        for &buffer in released_at.of(time) {
            now -= bytes(buffer);
            if let Some(chunk) = chunk_of[buffer] {
                chunks.give_back(chunk);
            }
        }
    }
    Taken { requested, in_use: chunks.most() }
}

fn plan(graph: &Graph, facts: &Facts, nodes: &Nodes, steps: &[usize], reuse: bool) -> Vec<ValuePlace> {
    let mut planner = Planner {
        facts,
        nodes,
        places: (0..nodes.tensors.len()).map(ValuePlace::Buffer).collect(),
        uses: vec![0; nodes.tensors.len()],
        free: vec![Vec::new(); facts.layouts],
        reuse,
    };
    for node in 0..nodes.ops.len() {
        for &value in nodes.inputs.of(node).iter().chain(nodes.outputs.of(node)) {
            planner.uses[value] += 1;
        }
    }
    for &tensor in graph.outputs() {
        planner.uses[tensor.index()] += 1;
    }
    for &tensor in graph.inputs() {
        planner.places[tensor.index()] = ValuePlace::Outside;
    }
    for &step in steps {
        planner.step(step);
    }
    planner.places
}

impl Planner<'_> {
    fn step(&mut self, node: usize) {
        let nodes = self.nodes;
        for (position, &output) in nodes.outputs.of(node).iter().enumerate() {
            if self.facts.is_output[nodes.tensors[output]] {
                continue;
            }
            let shared = if position == 0 { self.shared(node, output) } else { None };
            if let Some(place) = shared.or_else(|| self.freed(output)) {
                self.places[output] = place;
                if let ValuePlace::Buffer(buffer) = place {
                    self.uses[buffer] += self.uses[output];
                }
            }
        }
        for &value in nodes.inputs.of(node).iter().chain(nodes.outputs.of(node)) {
            if let ValuePlace::Buffer(buffer) = self.places[value] {
                self.uses[buffer] -= 1;
                if self.uses[buffer] == 0
                    && let Some(layout) = self.layout(buffer)
                {
                    self.free[layout].push(buffer);
                }
            }
        }
    }

    /// The place of an operand, for a view or to write over it.
    fn shared(&self, node: usize, output: Value) -> Option<ValuePlace> {
        let (sharing, position, is_constant) = self.facts.shared[self.nodes.ops[node].index()];
        if sharing == OrtSharing::None {
            return None;
        }
        let Some(&input) = position.and_then(|position| self.nodes.inputs.of(node).get(position)) else {
            return (sharing == OrtSharing::View && is_constant).then_some(ValuePlace::Outside);
        };
        let place = self.places[input];
        match (sharing, place) {
            (OrtSharing::View, _) => Some(place),
            (_, ValuePlace::Buffer(buffer)) => {
                let fits = self.layout(input).is_some() && self.layout(input) == self.layout(output);
                (self.uses[buffer] == 1 && fits).then_some(place)
            }
            (_, ValuePlace::Outside) => None,
        }
    }

    fn freed(&mut self, output: Value) -> Option<ValuePlace> {
        let layout = self.layout(output).filter(|_| self.reuse)?;
        self.free[layout].pop().map(ValuePlace::Buffer)
    }

    fn layout(&self, value: Value) -> Option<usize> {
        self.facts.layout[self.nodes.tensors[value]]
    }
}
