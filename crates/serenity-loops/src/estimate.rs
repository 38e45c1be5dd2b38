//! Estimates the memory of a loop before anything is placed.
//!
//! Stripes that are views of others, or lie in others, take no room of their own, as in the final plan: new rows lie in
//! their line buffer, behind the carried ones.

use crate::program::{ALIGNMENT, Program, Step, StripeId, aligned, constant};
use crate::window::Window;
use serenity_ir::{GraphBuilder, OpId, TensorId};
use serenity_runtimes::{Kernels, Overlap, overlaps, scratch};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Bytes for the counter and the numbers cut out of tables.
const SMALL_CHANGE: i64 = 96;

/// The scratch and overlaps of kernels on stripes, computed once per shape.
pub(crate) struct Costs {
    kernels: Kernels,
    known: RefCell<BTreeMap<Asked, OnStripes>>,
}

/// An op, whether its padding becomes `VALID`, and the rows and added columns of all its stripes.
type Asked = (OpId, bool, Vec<i64>);

/// An op on stripes.
#[derive(Clone, Debug, Default)]
struct OnStripes {
    scratch: i64,
    /// Per input: bytes that the result may share with it if it dies.
    shared: Vec<i64>,
}

impl Costs {
    pub(crate) fn new(kernels: Kernels) -> Self {
        Self { kernels, known: RefCell::default() }
    }

    fn of(&self, window: &Window, program: &Program, step: &Step) -> OnStripes {
        let Step::Run { op, inputs, out, is_valid } = step else { return OnStripes::default() };
        let op = window.ops[*op].op;
        let sizes = inputs.iter().chain([out]).flat_map(|&s| {
            let stripe = program.stripes[s];
            [stripe.rows, stripe.columns]
        });
        let key = (op, *is_valid, sizes.collect());
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let asked = self.ask(window, program, op, inputs, *out, *is_valid).unwrap_or_default();
        self.known.borrow_mut().insert(key, asked.clone());
        asked
    }

    fn ask(
        &self,
        window: &Window,
        program: &Program,
        op: OpId,
        inputs: &[StripeId],
        out: StripeId,
        is_valid: bool,
    ) -> Option<OnStripes> {
        let whole = window.graph.op(op);
        let mut graph = GraphBuilder::new("");
        let mut given: BTreeMap<TensorId, TensorId> = BTreeMap::new();
        for &input in inputs {
            let tensor = graph.input(program.tensor(window, input)?);
            given.insert(program.stripes[input].like, tensor);
        }
        let output = graph.tensor(program.tensor(window, out)?);
        let mut on_stripes = whole.clone();
        on_stripes.inputs = whole.inputs.iter().map(|t| given.get(t).copied()).collect::<Option<_>>()?;
        on_stripes.outputs = vec![output];
        if is_valid {
            on_stripes.attributes.insert("padding".to_owned(), "valid".into());
        }
        graph.push_op(on_stripes);
        graph.output(output);
        let graph = graph.build().ok()?;
        let made = aligned(graph.tensor(output).bytes as i64);
        let found = overlaps(&graph, OpId(0), self.kernels);
        let shared = |input: &StripeId| {
            let tensor = given[&program.stripes[*input].like];
            let read = aligned(graph.tensor(tensor).bytes as i64);
            let ways = found.iter().filter(|overlap| overlap.input == tensor);
            let most =
                |overlap: &Overlap| overlap.most_shared(read as u64, made as u64, ALIGNMENT as u64) as i64;
            ways.map(most).max().unwrap_or(0)
        };
        let bytes = scratch(&graph, OpId(0), self.kernels.sets()[0]);
        Some(OnStripes {
            scratch: bytes.iter().map(|&bytes| aligned(bytes as i64)).sum(),
            shared: inputs.iter().map(shared).collect(),
        })
    }
}

/// Bytes in use while the loop runs: its states, and the peak of its body.
pub(crate) fn peak(window: &Window, program: &Program, costs: &Costs) -> i64 {
    let bytes: Vec<i64> =
        (0..program.stripes.len()).map(|stripe| aligned(program.bytes(window, stripe))).collect();
    let mut state = aligned(program.state);
    if !program.shares {
        state += aligned(window.graph.tensor(program.wholes[0]).bytes as i64);
    }
    for also in &program.also {
        state += aligned(also.rows * window.row_bytes(also.tensor));
    }
    for &whole in &program.wholes[1..] {
        state += aligned(window.graph.tensor(whole).bytes as i64);
    }
    // Per stripe: in whose room it lies, when it is last read, and what its room takes besides the carried rows.
    let mut room: Vec<StripeId> = (0..bytes.len()).collect();
    let mut taken = bytes.clone();
    let mut spare = vec![0; bytes.len()];
    for step in &program.steps {
        match step {
            Step::Rows { of, begins, out, .. } if !program.are_copied(*of, begins, *out) => {
                let row = program.stripes[*of].row_bytes(window);
                if constant(begins).is_some_and(|begin| begin * row % ALIGNMENT == 0) {
                    room[*out] = room[*of];
                }
            }
            Step::Border { of, out, .. } => {
                room[*out] = room[*of];
                spare[*out] = spare[*of];
            }
            Step::Join { carried, new, out, .. } => {
                let kept = carried.map_or(0, |carried| program.carries[carried].bytes(window));
                state += aligned(kept);
                // Spare rows are needed only for a moment.
                spare[*out] = bytes[*out] - kept - program.bytes(window, *new);
                if kept % ALIGNMENT == 0 {
                    // The new rows come first: the buffer exists from then on.
                    room[*out] = room[*new];
                } else {
                    taken[*out] = bytes[*out] - spare[*out];
                }
            }
            _ => {}
        }
    }
    let mut last = vec![0; bytes.len()];
    for (at, step) in program.steps.iter().enumerate() {
        for &read in step.reads() {
            last[room[read]] = at;
        }
    }
    let (mut live, mut most) = (0, 0);
    let mut is_there = vec![false; bytes.len()];
    for (at, step) in program.steps.iter().enumerate() {
        let mut saved = 0;
        if let Some(out) = step.makes()
            && !is_there[room[out]]
        {
            is_there[room[out]] = true;
            live += taken[room[out]];
            let dies = |input: StripeId| last[room[input]] == at;
            match step {
                Step::Run { inputs, .. } => {
                    let on_stripes = costs.of(window, program, step);
                    let shares = inputs.iter().zip(&on_stripes.shared).filter(|(input, _)| dies(**input));
                    saved = shares.map(|(_, &shared)| shared).max().unwrap_or(0) - on_stripes.scratch;
                }
                Step::Rows { of, .. } if dies(*of) => saved = bytes[out],
                _ => {}
            }
        }
        let to_spare = step.makes().map_or(0, |out| spare[out]);
        most = most.max(live - saved + to_spare);
        for (stripe, is_there) in is_there.iter_mut().enumerate() {
            if *is_there && last[stripe] <= at && room[stripe] == stripe {
                *is_there = false;
                live -= taken[stripe];
            }
        }
    }
    (state + most + SMALL_CHANGE).max(ahead(window, program))
}

/// Bytes in use while the first rows are computed ahead of the loop, including tensors that enter as a whole.
fn ahead(window: &Window, program: &Program) -> i64 {
    let mut live: i64 =
        program.wholes.iter().map(|&whole| aligned(window.graph.tensor(whole).bytes as i64)).sum();
    let bytes = |stripe: StripeId| aligned(program.bytes(window, stripe));
    let mut most = 0;
    for (at, step) in program.ahead.iter().enumerate() {
        live += step.makes().map_or(0, bytes);
        most = most.max(live);
        let is_wanted = |stripe: &StripeId| {
            program.begun.contains(&Some(*stripe))
                || program.ahead[at + 1..].iter().any(|later| later.reads().contains(stripe))
        };
        let mut read = step.reads().to_vec();
        read.sort_unstable();
        read.dedup();
        live -= read.into_iter().filter(|stripe| !is_wanted(stripe)).map(bytes).sum::<i64>();
    }
    most
}
