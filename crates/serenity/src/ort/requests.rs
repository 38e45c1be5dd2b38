//! What ONNX Runtime's planner asks its arena for.
//!
//! The planner goes through the steps once before the run. A result that is no view and not written over an input takes the buffer that was
//! freed last among those of its shape and element size. Whoever shares a buffer keeps it from the first writer to the last reader of all.

use super::chunks::Chunks;
use super::nodes::{Node, Nodes, Value};
use serenity_ir::{Graph, OrtSharing, TensorId, ort_layout, ort_sharing};
use std::collections::HashMap;

/// Where a value lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In memory that is not the arena's: the caller's, or a constant's.
    Outside,
    /// In the buffer that was allocated for this value.
    Buffer(Value),
}

struct Planner<'a> {
    graph: &'a Graph,
    nodes: &'a Nodes,
    places: Vec<Place>,
    /// Of each buffer, the reads to come, with one for the writing of each value in it and one for the caller.
    uses: Vec<usize>,
    /// Buffers to be taken again, the last one freed at the end.
    free: HashMap<(&'a [u64], u64), Vec<Value>>,
}

/// What a run takes.
pub(super) struct Taken {
    /// The most bytes asked for and not given back.
    pub(super) requested: u64,
    /// The most bytes in chunks, with what kernels ask for while they run.
    pub(super) in_use: u64,
}

/// Follows a run; `temporaries` are by op.
pub(super) fn follow(graph: &Graph, nodes: &Nodes, steps: &[usize], temporaries: &[u64]) -> Taken {
    let places = plan(graph, nodes, steps);
    let bytes = |value: Value| graph.tensor(nodes.tensors[value]).bytes;
    let mut released: Vec<Option<usize>> = vec![None; places.len()];
    let mut is_read = vec![false; places.len()];
    for (time, &step) in steps.iter().enumerate() {
        for &value in &nodes.list[step].inputs {
            is_read[value] = true;
            if let Place::Buffer(buffer) = places[value] {
                released[buffer] = Some(time);
            }
        }
    }
    // Results stay; so does what nobody reads, with whatever buffer it took.
    for (value, place) in places.iter().enumerate() {
        if let Place::Buffer(buffer) = *place
            && (!is_read[value] || graph.is_output(nodes.tensors[value]))
        {
            released[buffer] = None;
        }
    }
    let mut released_at = vec![Vec::new(); steps.len()];
    for (buffer, time) in released.iter().enumerate() {
        if let Some(time) = *time {
            released_at[time].push(buffer);
        }
    }
    let mut chunks = Chunks::default();
    let mut chunk_of = vec![None; places.len()];
    let (mut now, mut requested) = (0, 0);
    for (&step, released) in steps.iter().zip(released_at) {
        let node = &nodes.list[step];
        for &value in node.outputs.iter().filter(|&&value| places[value] == Place::Buffer(value)) {
            chunk_of[value] = chunks.take(bytes(value));
            now += bytes(value);
        }
        if let Some(chunk) = chunks.take(temporaries[node.op.index()]) {
            chunks.give_back(chunk);
        }
        requested = requested.max(now);
        for buffer in released {
            now -= bytes(buffer);
            if let Some(chunk) = chunk_of[buffer] {
                chunks.give_back(chunk);
            }
        }
    }
    Taken { requested, in_use: chunks.most() }
}

fn plan(graph: &Graph, nodes: &Nodes, steps: &[usize]) -> Vec<Place> {
    let mut planner = Planner {
        graph,
        nodes,
        places: (0..nodes.tensors.len()).map(Place::Buffer).collect(),
        uses: vec![0; nodes.tensors.len()],
        free: HashMap::new(),
    };
    for node in &nodes.list {
        for &value in node.inputs.iter().chain(&node.outputs) {
            planner.uses[value] += 1;
        }
    }
    for &tensor in graph.outputs() {
        planner.uses[tensor.index()] += 1;
    }
    for &tensor in graph.inputs() {
        planner.places[tensor.index()] = Place::Outside;
    }
    for &step in steps {
        planner.step(&nodes.list[step]);
    }
    planner.places
}

impl<'a> Planner<'a> {
    fn step(&mut self, node: &Node) {
        for (position, &output) in node.outputs.iter().enumerate() {
            if self.graph.is_output(self.tensor(output)) {
                continue;
            }
            let shared = if position == 0 { self.shared(node, output) } else { None };
            if let Some(place) = shared.or_else(|| self.freed(output)) {
                self.places[output] = place;
                if let Place::Buffer(buffer) = place {
                    self.uses[buffer] += self.uses[output];
                }
            }
        }
        for &value in node.inputs.iter().chain(&node.outputs) {
            if let Place::Buffer(buffer) = self.places[value] {
                self.uses[buffer] -= 1;
                if self.uses[buffer] == 0
                    && let Some(layout) = self.layout(buffer)
                {
                    self.free.entry(layout).or_default().push(buffer);
                }
            }
        }
    }

    /// The place of the first input, for a view or to write over it.
    fn shared(&self, node: &Node, output: Value) -> Option<Place> {
        let op = self.graph.op(node.op);
        let sharing = ort_sharing(op);
        if sharing == OrtSharing::None {
            return None;
        }
        let Some(&input) = node.inputs.first().filter(|_| op.operand(0).is_some()) else {
            return (sharing == OrtSharing::View && op.constant(0).is_some()).then_some(Place::Outside);
        };
        let place = self.places[input];
        match (sharing, place) {
            (OrtSharing::View, _) => Some(place),
            (_, Place::Buffer(buffer)) => {
                let fits = self.layout(input).is_some() && self.layout(input) == self.layout(output);
                (self.uses[buffer] == 1 && fits).then_some(place)
            }
            (_, Place::Outside) => None,
        }
    }

    fn freed(&mut self, output: Value) -> Option<Place> {
        let layout = self.layout(output)?;
        self.free.get_mut(&layout)?.pop().map(Place::Buffer)
    }

    fn layout(&self, value: Value) -> Option<(&'a [u64], u64)> {
        ort_layout(self.graph.tensor(self.tensor(value)))
    }

    fn tensor(&self, value: Value) -> TensorId {
        self.nodes.tensors[value]
    }
}
