//! Runs a model on terms: every op reads what its operands' bytes hold, and writes terms.

use super::acts::{Act, Move};
use super::fault::LoopFault;
use super::identity::Identity;
use super::memory::Memory;
use super::moves::{From, View};
use super::operands::{Constant, Operand, Packed, numbers};
use super::overlap::Range;
use super::places::Places;
use super::program::Program;
use super::terms::{Note, Piece, Term, Terms, ValueId};
use serenity_ir::{OpId, TensorId};
use std::collections::{HashMap, HashSet};

/// Rows, pieces and ops that are looked at in one run, at most.
pub(super) const MOST_STEPS: u64 = 10_000_000;

/// An op takes as long as so many rows, even if it reads but one.
const STEPS_OF_OP: u64 = 32;

/// Loops inside loops, at most.
const DEEPEST: usize = 16;

/// Numbers that say where from are few.
const MOST_NUMBER_BYTES: u64 = 64;

type Content = Vec<Piece>;

/// The window of a model that takes the new rows of it.
pub(super) struct Frames {
    /// Bytes of the window.
    pub(super) bytes: u64,
    /// Bytes of the rows that a run takes.
    pub(super) hop: u64,
    /// How many of its outputs are those of the whole model.
    pub(super) outputs: usize,
}

/// A model in the course of a run.
pub(super) struct Machine<'m, 'a> {
    pub(super) program: &'m Program<'a>,
    pub(super) terms: &'m mut Terms,
    pub(super) places: &'m Places,
    memory: Memory,
    /// Which run this is: garbage is another in each.
    run: usize,
    /// How often ops have run that may have a memory of their own.
    runs: HashMap<Identity, u64>,
    /// Ops whose operands and results were found to lie well.
    pub(super) is_checked: HashSet<(usize, OpId)>,
    pub(super) iteration: Option<u64>,
    steps_left: u64,
    most_steps: u64,
}

impl<'m, 'a> Machine<'m, 'a> {
    /// A run that is given up after so many steps.
    pub(super) fn new(
        program: &'m Program<'a>,
        places: &'m Places,
        terms: &'m mut Terms,
        run: usize,
        most_steps: u64,
    ) -> Self {
        let garbage = terms.value(Term::Garbage { run }, Note::default());
        Self {
            program,
            terms,
            places,
            memory: Memory::full_of(garbage),
            run,
            runs: HashMap::new(),
            is_checked: HashSet::new(),
            iteration: None,
            steps_left: most_steps,
            most_steps,
        }
    }

    /// Runs the main graph: what its outputs hold in the end, and how many steps that took.
    pub(super) fn outputs(mut self) -> Result<(Vec<Content>, u64), LoopFault> {
        self.take_inputs();
        self.run_graph(0, 0)?;
        let main = self.program.graphs[0];
        let contents = main.outputs().iter().map(|&t| self.read(self.places.range(0, t))).collect();
        Ok((contents, self.most_steps - self.steps_left))
    }

    /// Runs the main graph as often as it takes to see a window of an input, whose rows come `hop` at a time: what its
    /// first outputs hold in the end. Nothing but the new rows is written between two runs.
    pub(super) fn outputs_of_hops(mut self, window: &Frames) -> Result<(Vec<Content>, u64), LoopFault> {
        let main = self.program.graphs[0];
        let Some(&input) = main.inputs().first() else { return Ok((Vec::new(), 0)) };
        let range = self.places.range(0, input);
        let whole = self.terms.value(Term::Input(0), Note::default());
        let runs = window.bytes.div_ceil(window.hop);
        for run in (0..runs).rev() {
            self.memory.lose(range.begin, range.begin + range.bytes, self.terms);
            // The first run takes rows that are older than the window.
            let end = window.bytes - run * window.hop;
            let new = end.min(window.hop);
            let frames = [self.terms.piece(whole, end - new, new)];
            self.memory.write(range.begin + window.hop - new, &frames, self.terms);
            self.runs.clear();
            self.run_graph(0, 0)?;
        }
        let outputs = main.outputs().iter().take(window.outputs);
        let contents = outputs.map(|&t| self.read(self.places.range(0, t))).collect();
        Ok((contents, self.most_steps - self.steps_left))
    }

    fn take_inputs(&mut self) {
        let ranges: Vec<Range> =
            self.program.graphs[0].inputs().iter().map(|&t| self.places.range(0, t)).collect();
        for (number, &range) in ranges.iter().enumerate() {
            let value = self.terms.value(Term::Input(number), Note::default());
            let content = [self.terms.piece(value, 0, range.bytes)];
            self.memory.write(range.begin, &content[..usize::from(range.bytes > 0)], self.terms);
        }
        // Which of two inputs in the same bytes the caller writes last is not known.
        for (number, &a) in ranges.iter().enumerate() {
            for &b in ranges[number + 1..].iter().filter(|&&b| b.meets(a)) {
                let end = (a.begin + a.bytes).min(b.begin + b.bytes);
                self.memory.lose(a.begin.max(b.begin), end, self.terms);
            }
        }
    }

    pub(super) fn run_graph(&mut self, graph: usize, depth: usize) -> Result<(), LoopFault> {
        let program = self.program;
        for &op in program.orders[graph] {
            self.run_op(graph, op, depth)?;
        }
        Ok(())
    }

    fn run_op(&mut self, graph: usize, op: OpId, depth: usize) -> Result<(), LoopFault> {
        self.spend(STEPS_OF_OP)?;
        let program = self.program;
        let prepared = &program.ops[graph][op.index()];
        if let Act::While { cond, body } = prepared.act {
            if depth >= DEEPEST {
                return Err(self.unfollowed(graph, op, "loops are nested too deep"));
            }
            return self.run_while(graph, op, [cond, body], depth + 1);
        }
        // Scratch may lie wherever nothing is needed.
        for &(begin, end) in self.places.gaps(graph, op) {
            self.memory.lose(begin, end, self.terms);
        }
        match &prepared.act {
            Act::Move(kind) => self.run_move(graph, op, *kind),
            Act::Less => self.run_less(graph, op),
            Act::Window(_) | Act::Rows(_) => {
                self.check_overlap(graph, op)?;
                let content = match &prepared.act {
                    Act::Window(window) => self.window(graph, op, window)?,
                    Act::Rows(rows) => self.rows(graph, op, rows)?,
                    _ => Vec::new(),
                };
                self.write(graph, program.graphs[graph].op(op).outputs[0], &content)
            }
            Act::Whole => self.run_whole(graph, op),
            Act::Unknown(reason) => Err(self.unfollowed(graph, op, reason)),
            Act::While { .. } => Ok(()),
        }
    }

    fn run_move(&mut self, graph: usize, op: OpId, kind: Move) -> Result<(), LoopFault> {
        let program = self.program;
        let node = program.graphs[graph].op(op);
        let output = node.outputs[0];
        let Some(copies) = self.view(graph, op, kind).and_then(|view| view.copies(kind)) else {
            return self.run_whole(graph, op);
        };
        self.spend(copies.len() as u64)?;
        self.check_moves(graph, op, kind, &copies)?;
        let mut contents = Vec::new();
        for copy in &copies {
            contents.push(match &copy.from {
                From::Pattern(pattern) => {
                    let value = self.terms.bytes(pattern);
                    vec![self.terms.piece(value, 0, copy.bytes)]
                }
                From::Operand { position, offset } => {
                    let operand = &program.ops[graph][op.index()].operands[*position];
                    self.read_part(graph, operand, *position, *offset, copy.bytes)
                }
            });
        }
        let begin = self.places.range(graph, output).begin;
        for (copy, content) in copies.iter().zip(&contents) {
            self.spend(content.len() as u64)?;
            self.memory.write(begin + copy.to, content, self.terms);
        }
        Ok(())
    }

    /// What is known of an op that moves.
    fn view(&mut self, graph: usize, op: OpId, kind: Move) -> Option<View<'a>> {
        let program = self.program;
        let (g, prepared) = (program.graphs[graph], &program.ops[graph][op.index()]);
        let node = g.op(op);
        let output = Packed::tensor(g, node.outputs[0])?;
        let operands: Vec<Option<Packed>> =
            prepared.operands.iter().map(|operand| operand.packed(g)).collect();
        let has_numbers = !matches!(kind, Move::Reshape | Move::Concatenation { .. });
        let mut bytes = vec![None; operands.len()];
        for (position, packed) in operands.iter().enumerate().skip(1).filter(|_| has_numbers) {
            if let Some(packed) = packed.as_ref().filter(|packed| packed.bytes <= MOST_NUMBER_BYTES) {
                let content = self.read_part(graph, &prepared.operands[position], position, 0, packed.bytes);
                bytes[position] = self.terms.known_bytes(&content);
            }
        }
        let as_numbers = |(bytes, packed): (&Option<Vec<u8>>, &Option<Packed>)| {
            numbers(bytes.as_ref()?, &packed.as_ref()?.dtype)
        };
        Some(View {
            numbers: bytes.iter().zip(&operands).map(as_numbers).collect(),
            scalars: bytes
                .iter()
                .map(|bytes| bytes.clone().filter(|b| b.len() as u64 == output.item))
                .collect(),
            quantization: g.tensor(node.outputs[0]).quantization.as_ref(),
            masks: ["begin_mask", "end_mask"].map(|mask| node.number(mask).unwrap_or(0)),
            is_padded_with_given: prepared.operands.len() > 2,
            operands,
            output,
        })
    }

    /// Compares numbers if they are known, as a loop's counter and its end are.
    fn run_less(&mut self, graph: usize, op: OpId) -> Result<(), LoopFault> {
        let program = self.program;
        let (g, prepared) = (program.graphs[graph], &program.ops[graph][op.index()]);
        let mut known: Vec<Vec<i64>> = Vec::new();
        for (position, operand) in prepared.operands.iter().enumerate() {
            let Some(packed) = operand.packed(g).filter(|packed| packed.bytes <= MOST_NUMBER_BYTES) else {
                continue;
            };
            let content = self.read_part(graph, operand, position, 0, packed.bytes);
            known.extend(self.terms.known_bytes(&content).and_then(|bytes| numbers(&bytes, &packed.dtype)));
        }
        let output = super::acts::only_result(g, g.op(op)).filter(|output| output.item == 1);
        let is_one_by_one = known.iter().all(|numbers| numbers.len() == 1);
        let ([a, b], Some(1), true) = (&known[..], output.map(|output| output.bytes), is_one_by_one) else {
            return self.run_whole(graph, op);
        };
        self.check_overlap(graph, op)?;
        let value = self.terms.bytes(&[u8::from(a < b)]);
        let content = [self.terms.piece(value, 0, 1)];
        self.write(graph, g.op(op).outputs[0], &content)
    }

    fn run_whole(&mut self, graph: usize, op: OpId) -> Result<(), LoopFault> {
        self.check_overlap(graph, op)?;
        let program = self.program;
        let (g, prepared) = (program.graphs[graph], &program.ops[graph][op.index()]);
        let mut rows = Vec::new();
        for (position, operand) in prepared.operands.iter().enumerate() {
            let content = match operand {
                Operand::Activation(tensor) => self.read(self.places.range(graph, *tensor)),
                Operand::Constant(constant) => {
                    let value = self.constant(constant, position);
                    vec![self.terms.piece(value, 0, 1)]
                }
                Operand::Other => Vec::new(),
            };
            self.spend(1 + content.len() as u64)?;
            rows.push(self.terms.row(&content));
        }
        let count = self.runs.entry(prepared.identity).or_default();
        *count += 1;
        let run = *count;
        for (number, &output) in g.op(op).outputs.iter().enumerate() {
            let made = Term::Made { of: prepared.identity, output: number, run, rows: rows.clone().into() };
            let value = self.terms.value(made, self.note(graph, op, 0));
            let content = [self.terms.piece(value, 0, self.places.range(graph, output).bytes)];
            self.write(graph, output, &content)?;
        }
        Ok(())
    }

    fn constant(&mut self, constant: &Constant, position: usize) -> ValueId {
        match &constant.data {
            Some(data) => self.terms.bytes(data),
            None => self.terms.value(Term::Constant { of: constant.of, position }, Note::default()),
        }
    }

    /// Some bytes of an operand.
    pub(super) fn read_part(
        &mut self,
        graph: usize,
        operand: &Operand,
        position: usize,
        offset: u64,
        bytes: u64,
    ) -> Content {
        match operand {
            Operand::Activation(tensor) => {
                let begin = self.places.range(graph, *tensor).begin + offset;
                self.read(Range { begin, bytes })
            }
            Operand::Constant(constant) => {
                let value = self.constant(constant, position);
                vec![self.terms.piece(value, offset, bytes)]
            }
            Operand::Other => Vec::new(),
        }
    }

    pub(super) fn read(&self, range: Range) -> Content {
        self.memory.read(range.begin, range.bytes, self.terms)
    }

    fn write(&mut self, graph: usize, tensor: TensorId, content: &[Piece]) -> Result<(), LoopFault> {
        self.spend(content.len() as u64)?;
        let range = self.places.range(graph, tensor);
        self.memory.lose(range.begin, range.begin + range.bytes, self.terms);
        let content = self.terms.cut(content, 0, range.bytes);
        self.memory.write(range.begin, &content, self.terms);
        Ok(())
    }

    /// A loop hands a value on: not at all if it is there already.
    pub(super) fn copy(
        &mut self,
        at: (usize, OpId),
        position: usize,
        content: Option<Content>,
        from: Range,
        to: Range,
    ) -> Result<(), LoopFault> {
        if content.is_none() && from.begin == to.begin {
            return Ok(());
        }
        if content.is_none() && from.meets(to) {
            let at = self.program.at(at.0, at.1, self.iteration);
            return Err(LoopFault::OverlappingCopy { at, position });
        }
        let content = content.unwrap_or_else(|| self.read(from));
        self.spend(1 + content.len() as u64)?;
        self.memory.write(to.begin, &content, self.terms);
        Ok(())
    }

    pub(super) fn note(&self, graph: usize, op: OpId, row: u64) -> Note {
        Note { run: self.run, graph, op: Some(op), iteration: self.iteration, row }
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<(), LoopFault> {
        let left = self.steps_left.checked_sub(steps);
        self.steps_left = left.ok_or(LoopFault::TooLarge { most: self.most_steps })?;
        Ok(())
    }

    pub(super) fn unfollowed(&self, graph: usize, op: OpId, reason: &str) -> LoopFault {
        LoopFault::Unfollowed { at: self.program.at(graph, op, self.iteration), reason: reason.to_owned() }
    }
}
