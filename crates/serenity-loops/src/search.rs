//! Chooses the windows that become loops, and the way in which each does.
//!
//! Every run of row-local ops from which few tensors leave can become a loop in several ways: with a halo computed
//! again or with carried lines, and with different numbers of rows per iteration. Each way has an estimate of the
//! memory in use while it runs, its extra multiplications, and its persistent memory. For a cap on the memory, dynamic
//! programming over positions of the order finds the cheapest windows that stay below it; caps are tried from low to
//! high.

use crate::estimate::{Costs, peak};
use crate::instructions::extra_instructions;
use crate::program::{Program, Step, aligned};
use crate::rows::RowLocal;
use crate::speed::Measured;
use crate::window::Window;
use crate::{Loop, halo, lines};
use serenity_ir::{Graph, OpId, TensorId};
use serenity_runtimes::{Kernels, TflmFacts, live_by_op};
use std::collections::{BTreeMap, BTreeSet};

/// The most ops of a window: longer ones gain little and take long to search.
const LONGEST: usize = 40;
/// The most operators with a halo in a window without carried lines: every one of them widens the halo.
const MOST_HALOS: usize = 4;
/// Windows that do not reach this percentage of the peak are ignored.
const WORTH_A_LOOK: u64 = 20;
/// The most caps that are tried.
const MOST_CAPS: usize = 200;

/// Rows of the result per iteration that are tried.
const STEPS_WITH_HALO: &[i64] = &[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64];
const STEPS_OF_LINES: &[i64] = &[1, 2, 3, 4, 6, 8];

/// Persistent bytes on a 32-bit device, measured: of a loop, of each additional entering tensor, of each line buffer.
const TAIL_OF_A_LOOP: u64 = 1200;
const TAIL_OF_A_WHOLE: u64 = 150;
const TAIL_OF_A_CARRY: u64 = 400;
/// Persistent bytes on a 32-bit device, measured: of each op ahead of a loop, and of each channel if it is a
/// convolution.
const TAIL_OF_A_STEP: u64 = 90;
const TAIL_OF_A_CHANNEL: u64 = 8;

/// How a window is computed in stripes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// With a halo of the tensor that enters.
    Halo { enters: TensorId, step: i64 },
    /// With line buffers.
    Lines { step: i64, is_peeled: bool },
}

impl Way {
    fn is_peeled(self) -> bool {
        matches!(self, Self::Lines { is_peeled: true, .. })
    }
}

/// One way to make a loop of a window.
#[derive(Clone, Copy, Debug)]
struct PricedWay {
    way: Way,
    /// Bytes in use while it runs, including everything else.
    bytes: u64,
    extra_macs: u64,
    extra_instructions: u64,
    tail: u64,
}

/// The cost of a way besides its memory.
type Price = fn(&PricedWay) -> u64;

/// Slow kernels spend their time on multiplications, others also on calls and copies.
const PRICES: [Price; 2] = [|candidate| candidate.extra_macs, |candidate| candidate.extra_instructions];

/// The costs by which choices are compared, besides memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Multiplications only, for kernels without an estimate of instructions.
    Multiplications,
    /// Multiplications and instructions, for kernels with an estimate of instructions.
    InstructionsToo,
}

/// All windows of a model in one order, with the ways to make loops of them.
pub struct Windows<'g> {
    graphs: &'g [Graph],
    order: Vec<OpId>,
    /// Per position: the op, if it is row-local.
    locals: Vec<Option<RowLocal>>,
    /// Per position: the memory in use.
    live: Vec<u64>,
    /// Bytes of the inputs of the model, before anything runs.
    inputs: u64,
    /// By first and last position.
    candidates: BTreeMap<(usize, usize), Vec<PricedWay>>,
    macs: u64,
}

/// A set of loops, chosen together.
#[derive(Clone, Debug)]
pub struct Choice {
    loops: Vec<(usize, usize, Way)>,
    /// The estimated memory in use.
    pub bytes: u64,
    /// Multiplications that the loops add.
    pub extra_macs: u64,
    /// Estimated instructions that the loops add with CMSIS-NN.
    pub extra_instructions: u64,
    /// Estimated bytes that the loops add to the tail of the arena.
    pub tail: u64,
}

impl<'g> Windows<'g> {
    /// Finds all windows of the main graph in an order, for each of these kernels of TFLM. `None` if the model cannot
    /// run.
    pub fn by_kernels(
        graphs: &'g [Graph],
        order: &[OpId],
        kernels: &[Kernels],
        is_over: impl Fn() -> bool,
    ) -> Option<Vec<Self>> {
        let mut all: Vec<Self> = kernels
            .iter()
            .map(|&kernels| Self::without_any(graphs, order, kernels))
            .collect::<Option<_>>()?;
        look(&mut all, kernels, is_over);
        Some(all)
    }

    fn without_any(graphs: &'g [Graph], order: &[OpId], kernels: Kernels) -> Option<Self> {
        let main = graphs.first()?;
        // Of several sets of kernels, one with much scratch in few ops must not hide what all others gain.
        let facts = TflmFacts::new(&graphs.iter().collect::<Vec<_>>(), kernels).of_first_set();
        let own: Vec<Vec<OpId>> = graphs[1..].iter().map(Graph::file_order).collect();
        let orders: Vec<&[OpId]> = std::iter::once(order).chain(own.iter().map(Vec::as_slice)).collect();
        let live = live_by_op(&facts, &orders)?;
        let locals: Vec<Option<RowLocal>> = order.iter().map(|&op| RowLocal::of(main, op)).collect();
        let inputs = main.inputs().iter().map(|&t| aligned(main.tensor(t).bytes as i64) as u64).sum();
        let macs = locals.iter().flatten().map(|local| local.macs).sum();
        Some(Self { graphs, order: order.to_vec(), locals, live, inputs, candidates: BTreeMap::new(), macs })
    }

    /// The most memory in use between two positions.
    fn most(&self, first: usize, last: usize) -> u64 {
        self.live[first..=last].iter().copied().max().unwrap_or(0)
    }

    /// Multiplications of the row-local ops without loops.
    pub fn macs(&self) -> u64 {
        self.macs
    }

    /// The tensors that are in use when the op at a position begins, with their bytes.
    fn alive_before(&self, position: usize) -> Vec<(TensorId, u64)> {
        let graph = &self.graphs[0];
        let has_come: BTreeSet<OpId> = self.order[..position].iter().copied().collect();
        let is_alive = |&t: &TensorId| {
            let is_there = match graph.producer(t) {
                Some(op) => has_come.contains(&op),
                None => graph.is_input(t),
            };
            let is_wanted = graph.is_output(t) || graph.consumers(t).iter().any(|op| !has_come.contains(op));
            is_there && is_wanted
        };
        let alive = graph.tensor_ids().filter(is_alive);
        alive.map(|t| (t, aligned(graph.tensor(t).bytes as i64) as u64)).collect()
    }

    /// The choices worth planning, each with at most `most_macs` additional multiplications, the least memory first:
    /// for each cap on the memory in use the choice with the fewest multiplications and, if these are `counted`, the
    /// one with the fewest instructions. Choices that another beats in memory, tail and cost are left out.
    pub fn choices(&self, most_macs: u64, counted: Counted) -> Vec<Choice> {
        let estimates = self.candidates.values().flatten().map(|candidate| candidate.bytes);
        let caps: BTreeSet<u64> =
            estimates.chain(self.live.iter().copied()).map(|bytes| bytes.max(self.inputs)).collect();
        let caps: Vec<u64> = caps.into_iter().collect();
        let stride = caps.len().div_ceil(MOST_CAPS).max(1);
        // Windows that stay below a cap stay below a higher one: the lowest possible cap is always tried.
        let is_too_low = |&cap: &u64| self.cheapest(cap, most_macs, true, PRICES[0]).is_none();
        let lowest = caps.get(caps.partition_point(is_too_low));
        let prices = match counted {
            Counted::Multiplications => &PRICES[..1],
            Counted::InstructionsToo => &PRICES[..],
        };
        let mut found: Vec<Choice> = Vec::new();
        for &cap in caps.iter().step_by(stride).chain(lowest) {
            // Computing rows ahead saves multiplications but takes persistent memory: only worth it where there are too
            // many of them.
            let ways =
                [false, true].into_iter().flat_map(|may_peel| prices.iter().map(move |&p| (may_peel, p)));
            for (may_peel, price) in ways {
                let Some(choice) = self.cheapest(cap, most_macs, may_peel, price) else { continue };
                let is_beaten = |known: &Choice| {
                    known.tail <= choice.tail
                        && known.extra_macs <= choice.extra_macs
                        && (counted == Counted::Multiplications
                            || known.extra_instructions <= choice.extra_instructions)
                };
                if !choice.loops.is_empty() && !found.iter().any(is_beaten) {
                    found.push(choice);
                }
            }
        }
        found
    }

    /// The cheapest windows that stay below a cap.
    fn cheapest(&self, cap: u64, most_macs: u64, may_peel: bool, price: Price) -> Option<Choice> {
        let positions = self.order.len();
        let mut by_end: Vec<Vec<(usize, &Vec<PricedWay>)>> = vec![Vec::new(); positions + 1];
        for (&(first, last), candidates) in &self.candidates {
            by_end[last + 1].push((first, candidates));
        }
        // A byte of the tail costs some multiplications: with all else equal, fewer loops are better.
        let price_of_tail = (self.macs / 50_000_000).max(1);
        let mut best: Vec<Option<(u64, usize, Option<PricedWay>)>> = vec![None; positions + 1];
        best[0] = Some((0, 0, None));
        for end in 1..=positions {
            let mut here = None;
            if let Some((cost, ..)) = best[end - 1]
                && self.live[end - 1] <= cap
            {
                here = Some((cost, end - 1, None));
            }
            for &(first, candidates) in &by_end[end] {
                let Some((cost, ..)) = best[first] else { continue };
                let is_allowed = |candidate: &&PricedWay| {
                    candidate.bytes <= cap && (may_peel || !candidate.way.is_peeled())
                };
                for candidate in candidates.iter().filter(is_allowed) {
                    let cost = cost + price(candidate) + candidate.tail * price_of_tail;
                    if here.is_none_or(|(known, ..)| cost < known) {
                        here = Some((cost, first, Some(*candidate)));
                    }
                }
            }
            best[end] = here;
        }
        let mut choice =
            Choice { loops: Vec::new(), bytes: cap, extra_macs: 0, extra_instructions: 0, tail: 0 };
        let mut end = positions;
        while end > 0 {
            let (_, first, candidate) = best[end]?;
            if let Some(candidate) = candidate {
                choice.loops.push((first, end - 1, candidate.way));
                choice.extra_macs += candidate.extra_macs;
                choice.extra_instructions += candidate.extra_instructions;
                choice.tail += candidate.tail;
            }
            end = first;
        }
        choice.loops.reverse();
        (choice.extra_macs <= most_macs).then_some(choice)
    }

    /// The loops of a choice.
    pub fn loops(&self, choice: &Choice) -> Vec<Loop> {
        let each = choice.loops.iter().map(|&(first, last, way)| {
            let ops = self.order[first..=last].to_vec();
            match way {
                Way::Halo { enters, step } => {
                    Loop { ops, enters, carries: false, peeled: false, step: step as u64 }
                }
                Way::Lines { step, is_peeled } => {
                    let enters = self.locals[first].as_ref().map_or(TensorId(0), |local| local.inputs[0]);
                    Loop { ops, enters, carries: true, peeled: is_peeled, step: step as u64 }
                }
            }
        });
        each.collect()
    }
}

/// Finds the windows of one model in one order for several kernels, which share the programs of each window.
fn look(all: &mut [Windows], kernels: &[Kernels], is_over: impl Fn() -> bool) {
    let costs: Vec<Costs> = kernels.iter().map(|&kernels| Costs::new(kernels)).collect();
    let worth: Vec<u64> =
        all.iter().map(|one| one.live.iter().copied().max().unwrap_or(0) / 100 * WORTH_A_LOOK).collect();
    let mut found: Vec<_> = all.iter().map(|_| BTreeMap::new()).collect();
    let Some(any) = all.first() else { return };
    for first in 0..any.order.len() {
        if is_over() {
            break;
        }
        let alive = any.alive_before(first);
        let mut ops: Vec<&RowLocal> = Vec::new();
        for last in first..any.order.len().min(first + LONGEST) {
            let Some(local) = &any.locals[last] else { break };
            ops.push(local);
            if all.iter().zip(&worth).all(|(one, &worth)| one.most(first, last) < worth) {
                continue;
            }
            let Some(window) = Window::new(&any.graphs[0], ops.clone()) else { continue };
            let others =
                alive.iter().filter(|(t, _)| !window.enters.contains(t)).map(|(_, bytes)| bytes).sum();
            let mut programs = Programs { window: &window, made: BTreeMap::new() };
            for (at, one) in all.iter().enumerate() {
                let most = one.most(first, last);
                let ways =
                    if most < worth[at] { Vec::new() } else { ways(&mut programs, others, most, &costs[at]) };
                if !ways.is_empty() {
                    found[at].insert((first, last), ways);
                }
            }
        }
    }
    for (one, found) in all.iter_mut().zip(found) {
        one.candidates = found;
    }
}

/// The programs of one window, each made on demand.
struct Programs<'w> {
    window: &'w Window<'w>,
    made: BTreeMap<Way, Option<Program>>,
}

impl Programs<'_> {
    fn of(&mut self, way: Way) -> Option<&Program> {
        let made = self.made.entry(way).or_insert_with(|| match way {
            Way::Halo { enters, step } => halo::program(self.window, enters, step),
            Way::Lines { step, is_peeled } => lines::program(self.window, step, is_peeled),
        });
        made.as_ref()
    }
}

/// Persistent bytes of a step ahead of a loop: a second copy of an op keeps as much as the first.
fn tail_ahead(window: &Window, step: &Step) -> u64 {
    match step {
        Step::Run { op, .. } if window.ops[*op].macs > 0 => {
            let shape = window.graph.tensor(window.ops[*op].output).shape.as_deref();
            TAIL_OF_A_STEP + TAIL_OF_A_CHANNEL * shape.and_then(<[u64]>::last).copied().unwrap_or(0)
        }
        _ => TAIL_OF_A_STEP,
    }
}

/// The ways in which a window needs less than it does now: `others` are the bytes in use that it does not touch.
fn ways(programs: &mut Programs, others: u64, most: u64, costs: &Costs) -> Vec<PricedWay> {
    let window = programs.window;
    let bytes = |t: TensorId| aligned(window.graph.tensor(t).bytes as i64) as u64;
    let also: u64 = window.also.iter().map(|&t| bytes(t)).sum();
    let room = |enters: TensorId| {
        let (read, written) = (bytes(enters), bytes(window.leaves));
        also + if window.can_share(enters) { read.max(written) } else { read + written }
    };
    let mut found: Vec<PricedWay> = Vec::new();
    let mut offer = |way: Way| -> bool {
        let Some(program) = programs.of(way) else { return true };
        let extra_macs = program.extra_macs.max(0) as u64;
        let bytes = others + peak(window, program, costs) as u64;
        let wholes = (program.wholes.len() + program.also.len()) as u64 - 1;
        let ahead: u64 = program.ahead.iter().map(|step| tail_ahead(window, step)).sum();
        let tail = TAIL_OF_A_LOOP
            + TAIL_OF_A_WHOLE * wholes
            + TAIL_OF_A_CARRY * program.carries.len() as u64
            + ahead;
        if bytes < most {
            let extra_instructions = extra_instructions(window, program, Measured::CmsisNn.speed());
            found.push(PricedWay { way, bytes, extra_macs, extra_instructions, tail });
        }
        bytes < most
    };
    let height = window.height(window.leaves);
    let halos = window.ops.iter().filter(|op| op.rows.widens()).count();
    if halos <= MOST_HALOS {
        // Stripes are cut from an input of the first op.
        for &enters in &window.ops[0].inputs {
            let rest: u64 = window.enters.iter().filter(|&&t| t != enters).map(|&t| bytes(t)).sum();
            if others + room(enters) + rest >= most {
                continue;
            }
            for &step in STEPS_WITH_HALO.iter().take_while(|&&step| step < height) {
                if !offer(Way::Halo { enters, step }) {
                    break;
                }
            }
        }
    }
    if let [enters] = window.enters[..]
        && others + room(enters) < most
    {
        for &step in STEPS_OF_LINES.iter().take_while(|&&step| step < height) {
            if !offer(Way::Lines { step, is_peeled: false }) {
                break;
            }
            offer(Way::Lines { step, is_peeled: true });
        }
    }
    undominated(found)
}

/// The candidates that no other beats in everything.
fn undominated(candidates: Vec<PricedWay>) -> Vec<PricedWay> {
    let beats = |one: &PricedWay, other: &PricedWay| {
        let worth = |c: &PricedWay| (c.bytes, c.extra_macs, c.extra_instructions, c.tail);
        one.bytes <= other.bytes
            && one.extra_macs <= other.extra_macs
            && one.extra_instructions <= other.extra_instructions
            && one.tail <= other.tail
            && worth(one) != worth(other)
    };
    let all = candidates.clone();
    candidates.into_iter().filter(|candidate| !all.iter().any(|other| beats(other, candidate))).collect()
}
