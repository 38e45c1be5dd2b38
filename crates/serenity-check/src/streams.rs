//! Streams: operators that run row by row, in rings.
//!
//! The checker takes the steps of a stream as code takes them, and remembers which row each byte of the arena holds. A
//! row that an operator reads must be there with all its bytes; what it writes may lie over nothing that it reads. In the
//! end all rows of the tensor that leaves must be there.

use crate::loops::windows::Axis;
use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType, Graph, OpId, TensorId};

/// More bytes than any device has that rows would be followed in.
const MOST_BYTES: u64 = 1 << 28;

/// What a stream claims: the first operators of a network, and where their rows lie.
#[derive(Clone, Debug)]
pub struct StreamClaim {
    /// The operators.
    pub ops: Vec<OpId>,
    /// The rows of the input, then of what each operator makes.
    pub lines: Vec<ClaimedLine>,
    /// What happens, one after the other.
    pub steps: Vec<ClaimedStep>,
    /// Do the rows of the input come one by one?
    pub is_pushed: bool,
    /// The lines whose tensors leave, and where these lie in the end.
    pub leaves: Vec<(usize, u64)>,
    /// Bytes of the arena.
    pub arena: u64,
}

/// The rows of one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedLine {
    /// The tensor.
    pub tensor: TensorId,
    /// Row `r` lies at `r` modulo this.
    pub held: u64,
    /// Where the ring begins.
    pub place: u64,
    /// Where a new row lies until it is kept, if not in the ring.
    pub newest: Option<u64>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimedStep {
    /// A row of the input comes.
    Push,
    /// An operator makes its next row.
    Run(usize),
    /// The newest row of a line is copied to its ring.
    Keep(usize),
}

/// Why a stream is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum StreamFault {
    /// Operators, lines and the graph do not belong together.
    #[error("the stream does not belong to the network: {0}")]
    Shape(String),
    /// Rows of an operator's result do not follow from rows of its operands as far as the checker knows.
    #[error("op {0} cannot be followed row by row")]
    Unfollowed(OpId),
    /// A step that cannot be taken.
    #[error("step {step} cannot be taken: {reason}")]
    Step { step: usize, reason: String },
    /// A row that is needed is not where it is looked for.
    #[error("step {step} needs row {row} of tensor {tensor}, which is not at {offset}")]
    Lost { step: usize, tensor: TensorId, row: u64, offset: u64 },
    /// Bytes are written that the same step reads.
    #[error("step {step} writes over what it reads")]
    Overwrites { step: usize },
    /// Something lies outside the arena.
    #[error("step {step} writes beyond the {arena} bytes of the arena")]
    Outside { step: usize, arena: u64 },
    /// A ring that is kept from window to window shares bytes with something else.
    #[error("the ring of tensor {0} lies over something else")]
    Shared(TensorId),
    /// The tensor that leaves is not there as a whole.
    #[error("row {row} of the tensor that leaves is not there in the end")]
    Unfinished { row: u64 },
}

/// The fault of a stream, if it has one.
///
/// # Errors
/// If some row is lost, or if the checker cannot follow the stream.
pub fn check_stream(graph: &Graph, claim: &StreamClaim) -> Result<(), StreamFault> {
    let mut machine = Machine::new(graph, claim)?;
    for (number, step) in claim.steps.iter().enumerate() {
        machine.now = number;
        match *step {
            ClaimedStep::Push => machine.push()?,
            ClaimedStep::Run(op) => machine.run(op)?,
            ClaimedStep::Keep(line) => machine.keep(line)?,
        }
    }
    machine.end()
}

/// Which rows an operator reads for its row `r`.
pub(super) enum Reads {
    Same,
    Window(Axis),
    Padded {
        top: u64,
    },
    Cropped {
        top: u64,
    },
    Repeated {
        times: u64,
    },
    /// Row `r` is added to sums.
    Sum,
}

/// A row, or sums after so many rows, or the result of them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Held {
    line: u32,
    row: u32,
}

const NOTHING: Held = Held { line: u32::MAX, row: 0 };
const RESULT: Held = Held { line: u32::MAX, row: 1 };

pub(super) struct Line {
    pub(super) rows: u64,
    pub(super) bytes: u64,
    made: u64,
    is_new: bool,
}

struct Machine<'c> {
    claim: &'c StreamClaim,
    lines: Vec<Line>,
    ops: Vec<Made>,
    /// What each byte holds, and which of the bytes of that.
    arena: Vec<(Held, u32)>,
    /// Bytes of the tensor that leaves.
    leaving: u64,
    now: usize,
}

impl<'c> Machine<'c> {
    fn new(graph: &Graph, claim: &'c StreamClaim) -> Result<Self, StreamFault> {
        if claim.arena > MOST_BYTES {
            return Err(StreamFault::Shape("its arena is larger than any".to_owned()));
        }
        let tensors: Vec<TensorId> = claim.lines.iter().map(|line| line.tensor).collect();
        let (lines, ops) = followed(graph, &claim.ops, &tensors, &claim.leaves)?;
        let leaving = graph.tensor(claim.lines[claim.ops.len()].tensor).bytes;
        let arena = vec![(NOTHING, 0); claim.arena as usize];
        let mut machine = Self { claim, lines, ops, arena, leaving, now: 0 };
        if !claim.is_pushed {
            machine.fill()?;
        }
        Ok(machine)
    }

    /// The whole input is there.
    fn fill(&mut self) -> Result<(), StreamFault> {
        let claimed = self.claim.lines[0];
        if claimed.held != self.lines[0].rows || claimed.newest.is_some() {
            return Err(StreamFault::Shape("the input is not there as a whole".to_owned()));
        }
        for row in 0..claimed.held {
            self.write(claimed.place.saturating_add(row * self.lines[0].bytes), 0, row)?;
        }
        self.lines[0].made = claimed.held;
        Ok(())
    }

    fn refused(&self, reason: &str) -> StreamFault {
        StreamFault::Step { step: self.now, reason: reason.to_owned() }
    }

    /// Where the code looks for a row.
    fn offset(&self, line: usize, row: u64) -> u64 {
        let (claimed, state) = (&self.claim.lines[line], &self.lines[line]);
        match claimed.newest {
            Some(newest) if state.is_new && row + 1 == state.made => newest,
            _ => claimed.place.saturating_add(row % claimed.held.max(1) * state.bytes),
        }
    }

    /// Where the code writes the next row.
    fn next(&self, line: usize) -> u64 {
        let (claimed, state) = (&self.claim.lines[line], &self.lines[line]);
        let in_ring = claimed.place.saturating_add(state.made % claimed.held.max(1) * state.bytes);
        claimed.newest.unwrap_or(in_ring)
    }

    /// The bytes of a row, which must be there.
    fn look(&self, line: usize, row: u64) -> Result<(u64, u64), StreamFault> {
        let (offset, bytes) = (self.offset(line, row), self.lines[line].bytes);
        self.holds(offset, line, row).then_some((offset, offset + bytes)).ok_or(StreamFault::Lost {
            step: self.now,
            tensor: self.claim.lines[line].tensor,
            row,
            offset,
        })
    }

    fn holds(&self, offset: u64, line: usize, row: u64) -> bool {
        let wanted = Held { line: line as u32, row: row as u32 };
        let bytes = self.lines[line].bytes;
        let end = offset.saturating_add(bytes);
        end <= self.claim.arena
            && (offset..end).zip(0..).all(|(at, byte)| self.arena[at as usize] == (wanted, byte))
    }

    fn write(&mut self, offset: u64, line: usize, row: u64) -> Result<(), StreamFault> {
        let (bytes, arena) = (self.lines[line].bytes, self.claim.arena);
        if offset.saturating_add(bytes) > arena {
            return Err(StreamFault::Outside { step: self.now, arena });
        }
        let held = Held { line: line as u32, row: row as u32 };
        for byte in 0..bytes {
            self.arena[(offset + byte) as usize] = (held, byte as u32);
        }
        Ok(())
    }

    /// The next row of a line, written while these bytes are read.
    fn make(&mut self, line: usize, read: &[(u64, u64)]) -> Result<(), StreamFault> {
        let (offset, row) = (self.next(line), self.lines[line].made);
        self.is_apart(offset, self.lines[line].bytes, read)?;
        self.write(offset, line, row)?;
        self.lines[line].made += 1;
        self.lines[line].is_new = self.claim.lines[line].newest.is_some();
        Ok(())
    }

    fn is_apart(&self, offset: u64, bytes: u64, read: &[(u64, u64)]) -> Result<(), StreamFault> {
        let end = offset.saturating_add(bytes);
        let is_apart = read.iter().all(|&(first, until)| end <= first || until <= offset);
        if is_apart { Ok(()) } else { Err(StreamFault::Overwrites { step: self.now }) }
    }

    fn push(&mut self) -> Result<(), StreamFault> {
        if !self.claim.is_pushed || self.lines[0].made == self.lines[0].rows {
            return Err(self.refused("no row comes"));
        }
        self.make(0, &[])
    }

    fn run(&mut self, op: usize) -> Result<(), StreamFault> {
        let Some((inputs, reads)) = self.ops.get(op) else { return Err(self.refused("there is no such op")) };
        let row = self.lines[op + 1].made;
        if row == self.lines[op + 1].rows {
            return Err(self.refused("all rows of it are made"));
        }
        let mut read = Vec::new();
        for &line in inputs {
            let rows = self.lines[line].rows;
            for row in reads.rows(row, rows).into_iter().flatten() {
                read.push(self.look(line, row)?);
            }
        }
        if matches!(reads, Reads::Sum) { self.sum(op + 1, &read) } else { self.make(op + 1, &read) }
    }

    /// Adds a row to sums, which lie at the place of the line; with the last, writes the result.
    fn sum(&mut self, line: usize, read: &[(u64, u64)]) -> Result<(), StreamFault> {
        let (claimed, row) = (self.claim.lines[line], self.lines[line].made);
        let bytes = self.lines[line].bytes;
        if claimed.held != 1 || claimed.newest.is_some() {
            return Err(self.refused("sums have one row, and no other place"));
        }
        if row > 0 && !self.holds(claimed.place, line, row - 1) {
            let (step, tensor, offset) = (self.now, claimed.tensor, claimed.place);
            return Err(StreamFault::Lost { step, tensor, row: row - 1, offset });
        }
        self.is_apart(claimed.place, bytes, read)?;
        self.write(claimed.place, line, row)?;
        self.lines[line].made += 1;
        if row + 1 == self.lines[line].rows {
            // Written while sums and the last row are read.
            let sums = (claimed.place, claimed.place + bytes);
            let leaves = self.claim.leaves.iter().find(|&&(leaves, _)| leaves == line);
            let &(_, leaves) = leaves.ok_or_else(|| self.refused("what sums make does not leave"))?;
            self.is_apart(leaves, self.leaving, &[read, &[sums]].concat())?;
            if leaves.saturating_add(self.leaving) > self.claim.arena {
                return Err(StreamFault::Outside { step: self.now, arena: self.claim.arena });
            }
            // The result is no row: its bytes hold what nothing but the end looks for.
            for at in leaves..leaves + self.leaving {
                self.arena[at as usize] = (RESULT, (at - leaves) as u32);
            }
        }
        Ok(())
    }

    fn keep(&mut self, line: usize) -> Result<(), StreamFault> {
        let Some(state) = self.lines.get(line).filter(|state| state.is_new) else {
            return Err(self.refused("there is no new row to keep"));
        };
        let row = state.made - 1;
        let from = self.look(line, row)?;
        self.lines[line].is_new = false;
        let to = self.offset(line, row);
        self.is_apart(to, self.lines[line].bytes, &[from])?;
        self.write(to, line, row)
    }

    fn end(&self) -> Result<(), StreamFault> {
        for &(number, offset) in &self.claim.leaves {
            let (line, claimed) = (&self.lines[number], self.claim.lines[number]);
            if line.made != line.rows {
                return Err(StreamFault::Unfinished { row: line.made });
            }
            if number == self.claim.ops.len() && matches!(self.ops[number - 1].1, Reads::Sum) {
                let is_there = |byte: u64| self.arena[(offset + byte) as usize] == (RESULT, byte as u32);
                if !(0..self.leaving).all(is_there) {
                    return Err(StreamFault::Unfinished { row: 0 });
                }
                continue;
            }
            if claimed.held != line.rows || claimed.place != offset {
                return Err(StreamFault::Unfinished { row: 0 });
            }
            if let Some(row) = (0..line.rows).find(|&row| !self.holds(offset + row * line.bytes, number, row))
            {
                return Err(StreamFault::Unfinished { row });
            }
        }
        Ok(())
    }
}

/// How an operator makes rows: the lines that it reads, and which rows of them.
pub(super) type Made = (Vec<usize>, Reads);

/// The rows of each line, and what each operator reads for a row: refuses what is no beginning of the network.
pub(super) fn followed(
    graph: &Graph,
    claimed: &[OpId],
    tensors: &[TensorId],
    leaves: &[(usize, u64)],
) -> Result<(Vec<Line>, Vec<Made>), StreamFault> {
    let shape = |reason: &str| StreamFault::Shape(reason.to_owned());
    let &[input] = graph.inputs() else { return Err(shape("it has several inputs")) };
    if tensors.len() != claimed.len() + 1 || claimed.is_empty() {
        return Err(shape("there is not one line for each operator"));
    }
    if tensors[0] != input {
        return Err(shape("its first line is not the input"));
    }
    let mut lines = vec![line_of(graph, input).ok_or_else(|| shape("its input is no image"))?];
    let mut ops = Vec::new();
    for (number, &op) in claimed.iter().enumerate() {
        if op.index() >= graph.ops().len() || claimed[..number].contains(&op) {
            return Err(shape("an operator is missing, or there twice"));
        }
        let call = Call::new(graph, op);
        let &[output] = call.op.outputs.as_slice() else { return Err(StreamFault::Unfollowed(op)) };
        let before = &tensors[..=number];
        let known = call.activations().map(|t| before.iter().position(|&line| line == t));
        let inputs: Vec<usize> =
            known.collect::<Option<_>>().ok_or_else(|| shape("an operator reads what no line holds"))?;
        let found = reads(&call, &inputs, &lines, graph, output);
        let (reads, line) = found.ok_or(StreamFault::Unfollowed(op))?;
        if tensors[number + 1] != output {
            return Err(shape("a line is not what its operator makes"));
        }
        if matches!(reads, Reads::Sum) && number + 1 != claimed.len() {
            return Err(shape("sums are not made by its last operator"));
        }
        ops.push((inputs, reads));
        lines.push(line);
    }
    // What is outside may read nothing but what leaves.
    let is_inside = |op: &OpId| claimed.contains(op);
    let is_private = |(number, &tensor): (usize, &TensorId)| {
        leaves.iter().any(|&(leaves, _)| leaves == number)
            || !graph.is_output(tensor) && graph.consumers(tensor).iter().all(is_inside)
    };
    let are_there = leaves.iter().all(|&(line, _)| line < tensors.len());
    if !are_there || !tensors.iter().enumerate().all(is_private) {
        return Err(shape("something behind it reads rows that are gone"));
    }
    Ok((lines, ops))
}

impl Reads {
    /// The rows that row `row` reads of a line of so many, one after the other; `None` for those outside.
    pub(super) fn rows(&self, row: u64, rows: u64) -> Vec<Option<u64>> {
        match self {
            Self::Same | Self::Sum => vec![Some(row)],
            Self::Window(axis) => axis.places(row).collect(),
            Self::Padded { top } => vec![row.checked_sub(*top).filter(|&row| row < rows)],
            Self::Cropped { top } => vec![Some(row + top)],
            Self::Repeated { times } => vec![Some(row / times)],
        }
    }
}

/// The rows of an image.
fn line_of(graph: &Graph, tensor: TensorId) -> Option<Line> {
    let tensor = graph.tensor(tensor);
    match tensor.shape.as_deref()? {
        &[1, rows @ 1..=0xffff_ffff, _, _] if tensor.bytes > 0 && tensor.bytes.is_multiple_of(rows) => {
            Some(Line { rows, bytes: tensor.bytes / rows, made: 0, is_new: false })
        }
        _ => None,
    }
}

/// Which rows an operator reads, and what it makes.
fn reads(
    call: &Call,
    inputs: &[usize],
    lines: &[Line],
    graph: &Graph,
    output: TensorId,
) -> Option<(Reads, Line)> {
    let rows = lines[*inputs.first()?].rows;
    let made = line_of(graph, output)?;
    let is_alike = || inputs.iter().all(|&line| lines[line].rows == made.rows);
    let window = |kernel: u64| {
        let dilation = if call.op.has("dilation") { call.op.pair("dilation")?[0] } else { 1 };
        let is_same = match call.op.word("padding")? {
            "same" => true,
            "valid" => false,
            _ => return None,
        };
        Axis::new(rows, made.rows, kernel, call.op.pair("stride")?[0], dilation, is_same)
    };
    let values = |position| call.values(position);
    let sums = if made.rows == 1 && rows > 1 { summed(call, graph, output, rows) } else { None };
    let is_moved = || graph.tensor(call.activation(0)?).bytes.eq(&graph.tensor(output).bytes).then_some(());
    let reads = match call.operator() {
        MEAN => return sums.map(|line| (Reads::Sum, line)),
        AVERAGE_POOL_2D if sums.is_some() => return sums.map(|line| (Reads::Sum, line)),
        RESHAPE | SQUEEZE | EXPAND_DIMS if is_alike() && is_moved().is_some() => Reads::Same,
        CONV_2D | DEPTHWISE_CONV_2D if inputs.len() == 1 => Reads::Window(window(call.shape(1)?[1])?),
        AVERAGE_POOL_2D | MAX_POOL_2D => Reads::Window(window(call.op.pair("kernel")?[0])?),
        CONCATENATION if call.axis(4)? == 3 && is_alike() => Reads::Same,
        PAD => {
            let &[0, 0, top, bottom, ..] = values(1)?.as_slice() else { return None };
            let fits = top >= 0 && bottom >= 0 && made.rows == rows + (top + bottom) as u64;
            fits.then_some(Reads::Padded { top: top as u64 })?
        }
        STRIDED_SLICE => {
            let (begin, steps) = (values(1)?, values(3)?);
            let is_masked = call.op.number("begin_mask").unwrap_or(0) >> 1 & 1 == 1;
            let top = if is_masked { 0 } else { u64::try_from(*begin.get(1)?).ok()? };
            (steps.get(1) == Some(&1) && top + made.rows <= rows).then_some(Reads::Cropped { top })?
        }
        RESIZE_NEAREST_NEIGHBOR if made.rows.is_multiple_of(rows) => {
            Reads::Repeated { times: made.rows / rows }
        }
        ADD | SUB | MUL | DIV | MAXIMUM | MINIMUM | SQUARED_DIFFERENCE | PRELU | RELU | RELU6
        | RELU_N1_TO_1 | RELU_0_TO_1 | LEAKY_RELU | ELU | HARD_SWISH | LOGISTIC | TANH | ABS | NEG
        | SQUARE | FLOOR | CEIL | ROUND | EXP | LOG | SQRT | RSQRT | SIN | COS | QUANTIZE | DEQUANTIZE
            if is_alike() =>
        {
            Reads::Same
        }
        _ => return None,
    };
    Some((reads, made))
}

/// The sums of a mean over all pixels: four bytes per channel.
fn summed(call: &Call, graph: &Graph, output: TensorId, rows: u64) -> Option<Line> {
    let input = call.activation(0)?;
    let [1, height, width, depth] = graph.tensor(input).shape.as_deref()? else { return None };
    let covers_all = match call.operator() {
        MEAN => {
            let mut axes = call.values(1)?;
            axes.sort_unstable();
            axes == [1, 2]
        }
        _ => call.op.pair("kernel")? == [*height, *width],
    };
    let item = match graph.tensor(input).dtype.as_ref()? {
        ElementType::Int8 => 1,
        ElementType::Float32 => 4,
        _ => return None,
    };
    let is_alike = graph.tensor(input).dtype == graph.tensor(output).dtype;
    let fits = covers_all && is_alike && graph.tensor(output).bytes == *depth * item;
    fits.then_some(Line { rows, bytes: 4 * depth, made: 0, is_new: false })
}
