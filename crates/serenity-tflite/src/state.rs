//! State that outlives an operator, and the order it forces on the operators that touch it.
//!
//! | state | touched by |
//! |---|---|
//! | a resource variable or hash table | reads by `READ_VARIABLE`, `HASHTABLE_FIND`, `HASHTABLE_SIZE`; writes by every other operator that takes its handle |
//! | a variable tensor | every operator that lists it (the kernels of SVDF and LSTM write it) |
//! | the random generator | random operators |
//! | anything else | custom operators that are not known to be pure, operators newer than our list, delegates |
//!
//! Two reads may change places; a write keeps its place among the other accesses. A handle is known by the container
//! and shared name (or table number) of the operator that makes it. If one handle of a sub-graph comes from elsewhere,
//! it may mean any resource, and then all resources of the sub-graph are one state. Custom operators keep their order
//! among each other, not towards the rest. Those of the TFLM signal library and of `MediaPipe` are free: what they
//! remember belongs to one operator alone, and that runs once in each run, wherever it stands.
//!
//! `CALL_ONCE`, and operators whose bodies touch any state, keep their place towards everything above.

use crate::Error;
use crate::bodies::innermost_first;
use crate::budget::Budget;
use crate::error::At;
use crate::operator::{FileOperator, Options};
use crate::schema::builtin;
use crate::sub_graph::SubGraph;
use crate::tensor::Storage;
use std::collections::BTreeMap;

/// Custom operators that compute their outputs from their inputs and from what they alone remember.
const PURE_CUSTOM: &str = "\
    Convolution2DTransposeBias Landmarks2TransformMatrix MaxPoolingWithArgmax2D MaxUnpooling2D \
    SignalDelay SignalEnergy SignalFftAutoScale SignalFilterBank SignalFilterBankLog \
    SignalFilterBankSpectralSubtraction SignalFilterBankSquareRoot SignalFramer SignalIrfft \
    SignalOverlapAdd SignalPCAN SignalRfft SignalStacker SignalWindow TFLite_Detection_PostProcess \
    TransformLandmarks TransformTensorBilinear";

/// One thing that is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// A resource variable: the number of its container and shared name.
    Resource(usize),
    /// A hash table, by its own number.
    HashTable(i32),
    /// Every resource there is.
    AnyResource,
    /// A variable tensor, by its number.
    Variable(usize),
    Random,
    /// Whatever an operator that we do not know may touch.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// What every operator of a model touches.
pub(crate) struct States {
    /// By sub-graph and operator, bodies aside.
    accesses: Vec<Vec<Vec<(State, Access)>>>,
    /// By sub-graph: does running it touch any state?
    stateful: Vec<bool>,
    /// By sub-graph: does it run an operator of which nothing is known?
    secretive: Vec<bool>,
}

impl States {
    pub(crate) fn read(sub_graphs: &[SubGraph], bytes: &[u8], budget: &mut Budget) -> Result<Self, Error> {
        let mut names = Names::new();
        let mut accesses = Vec::new();
        for (index, sub_graph) in sub_graphs.iter().enumerate() {
            accesses.push(own_accesses(index, sub_graph, bytes, &mut names, budget)?);
        }
        let none = vec![false; sub_graphs.len()];
        let mut states = Self { accesses, stateful: none.clone(), secretive: none };
        for index in innermost_first(sub_graphs) {
            let operators = sub_graphs[index].operators.iter().enumerate();
            let mut touches = operators.map(|(number, operator)| states.touches(index, number, operator));
            states.stateful[index] = touches.any(|touches| touches);
            let mut operators = sub_graphs[index].operators.iter().enumerate();
            states.secretive[index] =
                operators.any(|(number, operator)| states.is_secret(index, number, operator));
        }
        Ok(states)
    }

    /// Could this operator give another result if it ran at another time, or change what others find?
    pub(crate) fn touches(&self, sub_graph: usize, number: usize, operator: &FileOperator) -> bool {
        !self.accesses[sub_graph][number].is_empty() || self.is_barrier(operator)
    }

    fn is_barrier(&self, operator: &FileOperator) -> bool {
        operator.kind == "CALL_ONCE" || operator.bodies.iter().any(|&body| self.stateful[body])
    }

    /// Is nothing known of what this operator, or one that it runs, may touch?
    pub(crate) fn is_secret(&self, sub_graph: usize, number: usize, operator: &FileOperator) -> bool {
        self.accesses[sub_graph][number].iter().any(|(state, _)| *state == State::Unknown)
            || operator.bodies.iter().any(|&body| self.secretive[body])
    }

    /// Pairs of operators of one sub-graph, the first to run before the second.
    pub(crate) fn required_order(&self, index: usize, sub_graph: &SubGraph) -> Vec<(usize, usize)> {
        let mut history = History::default();
        for (number, operator) in sub_graph.operators.iter().enumerate() {
            if self.is_barrier(operator) {
                history.barrier(number);
            } else {
                for &(state, access) in &self.accesses[index][number] {
                    history.access(number, state, access);
                }
            }
        }
        history.pairs
    }
}

/// Numbers for pairs of container and shared name.
type Names<'a> = BTreeMap<(&'a [u8], &'a [u8]), usize>;

/// What each operator touches, its bodies aside.
fn own_accesses<'a>(
    index: usize,
    sub_graph: &SubGraph,
    bytes: &'a [u8],
    names: &mut Names<'a>,
    budget: &mut Budget,
) -> Result<Vec<Vec<(State, Access)>>, Error> {
    let mut handles: Vec<Option<State>> = vec![None; sub_graph.tensors.len()];
    let mut all: Vec<Vec<(State, Access)>> = Vec::with_capacity(sub_graph.operators.len());
    let mut every_handle_is_known = true;
    for (number, operator) in sub_graph.operators.iter().enumerate() {
        let place = || format!("sub-graph {index}, operator {number}, options");
        if let Some(state) = made_by(operator, bytes, names, budget, &place)? {
            for output in operator.present_outputs() {
                handles[output] = Some(state);
            }
            all.push(Vec::new());
            continue;
        }
        let mut accesses = Vec::new();
        let access = match operator.kind.as_str() {
            "READ_VARIABLE" | "HASHTABLE_FIND" | "HASHTABLE_SIZE" => Access::Read,
            _ => Access::Write,
        };
        for operand in operator.present_inputs().chain(operator.present_outputs()) {
            let tensor = &sub_graph.tensors[operand];
            if tensor.storage == Storage::Variable {
                accesses.push((State::Variable(operand), Access::Write));
            } else if tensor.is_handle() {
                every_handle_is_known &= handles[operand].is_some();
                accesses.push((handles[operand].unwrap_or(State::AnyResource), access));
            }
        }
        accesses.extend(hidden(operator));
        all.push(accesses);
    }
    if !every_handle_is_known {
        for (state, _) in all.iter_mut().flatten() {
            if matches!(state, State::Resource(_) | State::HashTable(_)) {
                *state = State::AnyResource;
            }
        }
    }
    Ok(all)
}

/// The state that an operator makes a handle to.
fn made_by<'a>(
    operator: &FileOperator,
    bytes: &'a [u8],
    names: &mut Names<'a>,
    budget: &mut Budget,
    place: &dyn Fn() -> String,
) -> Result<Option<State>, Error> {
    let is_variable = operator.kind == "VAR_HANDLE";
    if !is_variable && operator.kind != "HASHTABLE" {
        return Ok(None);
    }
    let options = match operator.options(bytes).at(place)? {
        Options::First(_, table) => Some(table),
        _ => None,
    };
    if !is_variable {
        let number = options.map_or(Ok(0), |options| options.number(0, 0)).at(place)?;
        return Ok(Some(State::HashTable(number)));
    }
    let text = |slot| options.map_or(Ok([].as_slice()), |options| options.text(slot)).at(place);
    let name = (text(0)?, text(1)?);
    budget.take(name.0.len() + name.1.len(), place)?;
    let number = names.len();
    Ok(Some(State::Resource(*names.entry(name).or_insert(number))))
}

/// State that no operand shows.
fn hidden(operator: &FileOperator) -> Option<(State, Access)> {
    let state = match operator.kind.as_str() {
        "RANDOM_UNIFORM" | "RANDOM_STANDARD_NORMAL" | "MULTINOMIAL" => State::Random,
        "DELEGATE" | "PLACEHOLDER_FOR_GREATER_OP_CODES" | "STABLEHLO_CUSTOM_CALL" => State::Unknown,
        kind if operator.builtin == builtin::CUSTOM => {
            let name = kind.strip_prefix("CUSTOM:").unwrap_or(kind);
            if PURE_CUSTOM.split(' ').any(|pure| pure == name) {
                return None;
            }
            State::Unknown
        }
        _ if builtin::known(operator.builtin).is_none() => State::Unknown,
        _ => return None,
    };
    Some((state, Access::Write))
}

/// Who touched what so far, and the order that follows.
#[derive(Default)]
struct History {
    /// What was touched since the last barrier.
    touched: BTreeMap<State, Touched>,
    barrier: Option<usize>,
    pairs: Vec<(usize, usize)>,
}

#[derive(Default)]
struct Touched {
    /// Who wrote last; a barrier counts.
    writer: Option<usize>,
    /// Who has read since.
    readers: Vec<usize>,
}

impl Touched {
    /// Those after whom a write must come. Readers stand for the writer, whom they follow.
    fn before_a_write(&mut self) -> Vec<usize> {
        let readers = std::mem::take(&mut self.readers);
        if readers.is_empty() { self.writer.into_iter().collect() } else { readers }
    }
}

impl History {
    fn access(&mut self, operator: usize, state: State, access: Access) {
        let barrier = self.barrier;
        let touched =
            self.touched.entry(state).or_insert_with(|| Touched { writer: barrier, readers: Vec::new() });
        let before = match access {
            Access::Read => touched.writer.into_iter().collect(),
            Access::Write => touched.before_a_write(),
        };
        match access {
            Access::Read => touched.readers.push(operator),
            Access::Write => touched.writer = Some(operator),
        }
        self.after(operator, before);
    }

    /// Every access before it stays before, every access after it stays after. Each access is looked at by one barrier only.
    fn barrier(&mut self, operator: usize) {
        let touched = std::mem::take(&mut self.touched);
        if touched.is_empty() {
            self.after(operator, self.barrier.into_iter().collect());
        }
        for mut touched in touched.into_values() {
            let before = touched.before_a_write();
            self.after(operator, before);
        }
        self.barrier = Some(operator);
    }

    fn after(&mut self, operator: usize, before: Vec<usize>) {
        let earlier = before.into_iter().filter(|&earlier| earlier != operator);
        self.pairs.extend(earlier.map(|earlier| (earlier, operator)));
    }
}
