//! Windows that slide, as a model for an interpreter: each run takes the new frames of a window.
//!
//! A run makes as many rows of each tensor as the window moves by. Rows that the next run needs again leave it as an
//! output and enter the next as an input, both at one place by the plan of the arena. So the model is made of standard
//! operators only: `CONCATENATION` puts the rows of the run before ahead of the new ones, `SLICE` takes those for the
//! next run.

use super::shape::Shape;
use super::{Above, SlideLine};
use crate::emit::retired;
use crate::emit::writer::{Operand, Writer, numbers};
use crate::looped::Looped;
use crate::rows::Rows;
use crate::streams::prefix::{Prefix, Rule};
use serde_json::{Map, json};
use serenity_ir::{CARRIED, Graph, GraphBuilder, OpId, Operator, Tensor, TensorId};
use std::fmt;

/// Why windows of a prefix cannot slide in an interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoHops {
    /// No rows are the same in two windows.
    NothingKept,
    /// Some rows of what an operator makes see the padding of their window.
    Padded(String),
    /// A stride does not divide the hop.
    Phases,
    /// An operator for which rows cannot be taken from run to run.
    Operator(String),
}

impl fmt::Display for NoHops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingKept => f.write_str("two windows have no rows in common that save a multiplication"),
            Self::Padded(kind) => {
                write!(f, "`{kind}` pads the window over time, so its rows differ from window to window")
            }
            Self::Phases => f.write_str("the hop is no multiple of the strides over time"),
            Self::Operator(kind) => write!(f, "`{kind}` cannot run on the new rows alone"),
        }
    }
}

/// A model that takes the new frames of a window.
#[derive(Clone, Debug)]
pub struct Hops {
    /// The model. Its main graph says what is [carried](Graph::carried).
    pub model: Looped,
    /// Multiplications of the operators on rows.
    pub macs: u64,
    /// Bytes that are carried.
    pub carried: u64,
}

impl Prefix {
    /// The model with this beginning of its main graph in windows that slide by `hop` rows; the rest runs on each window.
    /// `order` is the order of its ops.
    ///
    /// # Errors
    /// If rows of a window differ from those of the next, or cannot be told apart from rows that must be made anew.
    pub fn hops(&self, graphs: &[Graph], order: &[OpId], hop: u64) -> Result<Hops, NoHops> {
        let (main, hop) =
            (graphs.first().ok_or(NoHops::NothingKept)?, self.hop(hop).ok_or(NoHops::NothingKept)?);
        let shape = Shape::of(self, hop, Above::Kept).ok_or(NoHops::NothingKept)?;
        if shape.phases > 1 {
            return Err(NoHops::Phases);
        }
        let pads = |op: &super::StreamOp, line: &SlideLine| {
            let differs = line.first > 0 || line.last + 1 < line.rows;
            differs.then(|| name(main, op.op))
        };
        if let Some(padded) = self.ops.iter().zip(&shape.lines[1..]).find_map(|(op, line)| pads(op, line)) {
            return Err(NoHops::Padded(padded));
        }
        let wanted = wanted(main, &shape)?;
        let mut writing = Writing::new(main, &shape, wanted);
        writing.all(order).ok_or(NoHops::NothingKept)?;
        let macs = self.ops.iter().zip(&shape.lines[1..]).map(|(op, line)| op.macs * line.shift as u64);
        let (macs, carried) = (macs.sum(), writing.carried_bytes());
        let model = writing.finish(graphs).ok_or(NoHops::NothingKept)?;
        Ok(Hops { model, macs, carried })
    }
}

fn name(graph: &Graph, op: OpId) -> String {
    graph.op(op).kind.as_str().to_owned()
}

/// By line: how many of the last rows of a window are read in a hop, the new ones included.
fn wanted(graph: &Graph, shape: &Shape) -> Result<Vec<i64>, NoHops> {
    let mut all = Vec::new();
    for (number, line) in shape.lines.iter().enumerate() {
        let mut wanted = line.shift;
        for op in shape.readers(number) {
            wanted = wanted.max(read(graph, shape, op, number)?);
        }
        if line.shift >= line.rows {
            return Err(NoHops::NothingKept);
        }
        all.push(if shape.prefix.leaving.contains(&number) { line.rows } else { wanted });
    }
    Ok(all)
}

/// How many of the last rows of a line an operator reads for its new rows.
fn read(graph: &Graph, shape: &Shape, op: usize, line: usize) -> Result<i64, NoHops> {
    let refused = NoHops::Operator(name(graph, shape.prefix.ops[op].op));
    let (from, made) = (&shape.lines[line], &shape.lines[op + 1]);
    let rows = match shape.prefix.ops[op].rule {
        Rule::Rows(Rows::Alike) => from.shift,
        Rule::Rows(rule @ Rows::Sliding(sliding)) => {
            let rows = from.rows - rule.needed((made.rows - made.shift, made.rows)).0;
            let over = sliding.over(rows).filter(|over| over.output == made.shift);
            let is_whole = over.is_some_and(|over| over.before == 0 && over.after <= 0);
            if is_whole { rows } else { return Err(refused) }
        }
        Rule::Rows(_) | Rule::Sum => return Err(refused),
    };
    if (1..=from.rows).contains(&rows) { Ok(rows) } else { Err(refused) }
}

/// The tensors of a line in a run.
#[derive(Clone, Copy)]
struct Tensors {
    /// The new rows.
    newest: TensorId,
    /// All that are wanted: those of the run before, then the new ones.
    all: TensorId,
    /// What enters and what leaves, if anything is carried.
    carried: Option<(TensorId, TensorId)>,
}

struct Writing<'a> {
    graph: &'a Graph,
    shape: &'a Shape<'a>,
    wanted: Vec<i64>,
    writer: Writer,
    made: Vec<Tensors>,
}

impl<'a> Writing<'a> {
    fn new(graph: &'a Graph, shape: &'a Shape<'a>, wanted: Vec<i64>) -> Self {
        let mut builder = GraphBuilder::new(graph.name());
        let gone = |id: TensorId| {
            let line = shape.lines.iter().position(|line| line.tensor == id);
            line.is_some_and(|line| !shape.prefix.leaving.contains(&line))
        };
        for id in graph.tensor_ids() {
            let tensor = graph.tensor(id);
            builder.tensor(if gone(id) { retired(tensor) } else { tensor.clone() });
        }
        let writer = Writer { graph: builder, origins: Vec::new() };
        Self { graph, shape, wanted, writer, made: Vec::new() }
    }

    /// The input, the ops in their order, and what is carried as soon as nobody reads it any more. `None` if a tensor has
    /// no shape.
    fn all(&mut self, order: &[OpId]) -> Option<()> {
        let frames = self.rows_of(0, self.shape.lines[0].shift, "")?;
        self.writer.graph.mark_input(frames);
        self.begin(frames)?;
        let last: Vec<Option<usize>> =
            (0..self.shape.lines.len()).map(|line| self.last_reader(line, order)).collect();
        for (position, &op) in order.iter().enumerate() {
            match self.shape.prefix.ops.iter().position(|inside| inside.op == op) {
                Some(inside) => self.run(inside)?,
                None => self.writer.push(self.graph.op(op).clone(), Some(op)),
            }
            let read_last = (0..last.len()).filter(|&line| last[line] == Some(position));
            read_last.map(|line| self.carry(line)).collect::<Option<()>>()?;
        }
        Some(())
    }

    /// The position of the last op that reads a line.
    fn last_reader(&self, line: usize, order: &[OpId]) -> Option<usize> {
        let readers = self.graph.consumers(self.shape.lines[line].tensor);
        order.iter().rposition(|op| readers.contains(op))
    }

    /// A new tensor for some rows of a line.
    fn rows_of(&mut self, line: usize, rows: i64, suffix: &str) -> Option<TensorId> {
        let like = self.graph.tensor(self.shape.lines[line].tensor);
        let mut shape = like.shape.clone()?;
        *shape.get_mut(1)? = u64::try_from(rows).ok()?;
        let tensor = Tensor::shaped(format!("{}{suffix}", like.name), shape, like.dtype.clone()?)?;
        Some(self.writer.graph.tensor(Tensor { quantization: like.quantization.clone(), ..tensor }))
    }

    /// The next line, whose new rows are there: puts those of the run before ahead of them.
    fn begin(&mut self, newest: TensorId) -> Option<()> {
        let number = self.made.len();
        let (line, wanted) = (self.shape.lines[number], self.wanted[number]);
        if wanted == line.shift {
            self.made.push(Tensors { newest, all: newest, carried: None });
            return Some(());
        }
        let kept = wanted - line.shift;
        let before = self.rows_of(number, kept, "/carried")?;
        self.writer.graph.mark_input(before);
        let leaves = self.shape.prefix.leaving.contains(&number);
        let all = if leaves { line.tensor } else { self.rows_of(number, wanted, "/rows")? };
        let options = [("axis", json!(1)), ("activation", json!("none"))];
        let operands = vec![Operand::Tensor(before), Operand::Tensor(newest)];
        self.writer.op("CONCATENATION", operands, vec![all], &options);
        let next = self.rows_of(number, kept, "/next")?;
        self.made.push(Tensors { newest, all, carried: Some((before, next)) });
        Some(())
    }

    /// Takes the rows that the next run finds.
    fn carry(&mut self, line: usize) -> Option<()> {
        let Tensors { all, carried: Some((_, next)), .. } = self.made[line] else { return Some(()) };
        let begin = numbers(&[0, self.shape.lines[line].shift, 0, 0]);
        self.writer.slice(all, begin, next)
    }

    /// The last rows of a line.
    fn last_rows(&mut self, line: usize, rows: i64) -> Option<TensorId> {
        let (new, wanted) = (self.shape.lines[line].shift, self.wanted[line]);
        let Tensors { newest, all, .. } = self.made[line];
        if rows == wanted || rows == new {
            return Some(if rows == new { newest } else { all });
        }
        let out = self.rows_of(line, rows, "")?;
        let (from, there) = if rows < new { (newest, new) } else { (all, wanted) };
        self.writer.slice(from, numbers(&[0, there - rows, 0, 0]), out)?;
        Some(out)
    }

    /// An operator on the rows that its new ones need.
    fn run(&mut self, inside: usize) -> Option<()> {
        let id = self.shape.prefix.ops[inside].op;
        let mut op = self.graph.op(id).clone();
        for input in &mut op.inputs {
            let line = self.shape.lines.iter().position(|line| line.tensor == *input)?;
            let rows = read(self.graph, self.shape, inside, line).ok()?;
            *input = self.last_rows(line, rows)?;
        }
        let newest = self.rows_of(inside + 1, self.shape.lines[inside + 1].shift, "")?;
        if let Operator::RESHAPE | Operator::SQUEEZE | Operator::EXPAND_DIMS = op.kind.operator() {
            self.writer.reshape(*op.inputs.first()?, newest)?;
        } else {
            op.outputs = vec![newest];
            self.writer.push(op, Some(id));
        }
        self.begin(newest)
    }

    fn carried_bytes(&self) -> u64 {
        let carried = self.made.iter().filter_map(|made| made.carried);
        carried.map(|(before, _)| self.writer.graph.get(before).bytes).sum()
    }

    fn finish(self, graphs: &[Graph]) -> Option<Looped> {
        let Self { graph, mut writer, made, .. } = self;
        graph.outputs().iter().for_each(|&id| writer.graph.output(id));
        let nexts: Vec<TensorId> = made.iter().filter_map(|made| Some(made.carried?.1)).collect();
        for &id in &nexts {
            writer.graph.output(id);
        }
        graph.unknown().iter().for_each(|unknown| writer.graph.unknown(unknown.clone()));
        let mut extra = graph.extra().clone();
        let pairs = (0..nexts.len()).map(|at| json!([1 + at, graph.outputs().len() + at]));
        extra.extend(Map::from_iter([(CARRIED.to_owned(), pairs.collect())]));
        writer.graph.extra(extra);
        let mut graphs = graphs.to_vec();
        let mut origins = vec![Vec::new(); graphs.len()];
        graphs[0] = writer.graph.build().ok()?;
        origins[0] = writer.origins;
        Some(Looped { graphs, origins })
    }
}
