//! The graphs of a model with loops.
//!
//! The state of a loop: its counter, the tensor that is written (with the one that enters, if that dies), carried rows, and whatever else enters as a whole. All of it
//! but carried rows is flat, so that rows are cut and written as one block. No arithmetic is done on whole numbers: what depends on the iteration is cut out of a table
//! by the counter, since every kernel set has a `SLICE` and some have no `ADD` of 32-bit integers.

use crate::Looped;
use crate::program::{Also, Program, Step, Stripe, StripeId, constant};
use crate::rows::{Image, Rows};
use crate::window::Window;
use serde_json::{Value, json};
use serenity_ir::{
    Attributes, ElementType, Graph, GraphBuilder, Op, OpId, OpKind, Operator, Tensor, TensorId,
};
use std::collections::BTreeMap;

/// A window of the order, and the loop that it becomes.
pub(crate) struct Chosen<'g> {
    pub(crate) window: Window<'g>,
    pub(crate) program: Program,
}

/// Constants from so many bytes on are made by an operator when the model runs, so that files stay small. An operator costs some 60 bytes of memory.
const LARGE_CONSTANT: u64 = 2048;

/// The model with these loops, its main graph in this order; `None` if a tensor has no shape.
pub(crate) fn emit(graphs: &[Graph], order: &[OpId], loops: &[Chosen]) -> Option<Looped> {
    let main = graphs.first()?;
    let mut builder = GraphBuilder::new(main.name());
    for id in main.tensor_ids() {
        let is_inside = |chosen: &Chosen| {
            let makes = |op: &&crate::RowLocal| op.output == id;
            chosen.window.ops.iter().any(makes) && chosen.window.leaving().all(|leaves| leaves != id)
        };
        let tensor = main.tensor(id);
        builder.tensor(if loops.iter().any(is_inside) { retired(tensor) } else { tensor.clone() });
    }
    let mut new = Graphs { all: graphs[1..].to_vec(), origins: vec![Vec::new(); graphs.len()] };
    let mut writer = Writer { graph: builder, origins: Vec::new() };
    for &op in order {
        let of = |chosen: &&Chosen| chosen.window.ops.iter().any(|inside| inside.op == op);
        match loops.iter().find(of) {
            None => writer.push(main.op(op).clone(), Some(op)),
            Some(chosen) if chosen.window.ops[0].op == op => {
                Loop { chosen, graph: main }.write(&mut writer, &mut new)?;
            }
            Some(_) => {}
        }
    }
    main.inputs().iter().for_each(|&id| writer.graph.mark_input(id));
    main.outputs().iter().for_each(|&id| writer.graph.output(id));
    main.unknown().iter().for_each(|unknown| writer.graph.unknown(unknown.clone()));
    writer.graph.extra(main.extra().clone());
    let Graphs { mut all, mut origins } = new;
    all.insert(0, writer.graph.build().ok()?);
    origins[0] = writer.origins;
    Some(Looped { graphs: all, origins })
}

/// What is left of a tensor that exists as stripes only.
fn retired(tensor: &Tensor) -> Tensor {
    let shape = tensor.shape.as_ref().map(|_| vec![0]);
    Tensor { shape, dtype: tensor.dtype.clone(), ..Tensor::sized(tensor.name.clone(), 0) }
}

/// The sub-graphs so far, and where all ops come from.
struct Graphs {
    all: Vec<Graph>,
    origins: Vec<Vec<Option<OpId>>>,
}

impl Graphs {
    /// Adds a sub-graph; returns its number.
    fn add(&mut self, writer: Writer) -> Option<usize> {
        self.all.push(writer.graph.build().ok()?);
        self.origins.push(writer.origins);
        Some(self.all.len())
    }
}

/// A graph under construction.
struct Writer {
    graph: GraphBuilder,
    origins: Vec<Option<OpId>>,
}

/// An operand of a new op.
enum Operand {
    Tensor(TensorId),
    Constant(Value),
}
use Operand::{Constant, Tensor as Given};

fn numbers(values: &[i64]) -> Operand {
    Constant(json!({"shape": [values.len()], "dtype": "int32", "values": values}))
}

impl Writer {
    fn new(name: String) -> Self {
        Self { graph: GraphBuilder::new(name), origins: Vec::new() }
    }

    fn push(&mut self, op: Op, origin: Option<OpId>) {
        self.graph.push_op(op);
        self.origins.push(origin);
    }

    /// An op of the loop itself.
    fn op(&mut self, kind: &str, operands: Vec<Operand>, outputs: Vec<TensorId>, options: &[(&str, Value)]) {
        let mut attributes: Attributes =
            options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let (mut inputs, mut constants) = (Vec::new(), Attributes::new());
        for (position, operand) in operands.into_iter().enumerate() {
            match operand {
                Given(tensor) => inputs.push(tensor),
                Constant(value) => {
                    constants.insert(position.to_string(), value);
                }
            }
        }
        if !constants.is_empty() {
            attributes.insert("constants".to_owned(), Value::Object(constants));
        }
        let op = Op {
            name: String::new(),
            kind: OpKind::new(kind),
            inputs,
            outputs,
            attributes,
            extra: Attributes::new(),
        };
        self.push(op, None);
    }

    fn reshape(&mut self, from: TensorId, to: TensorId) -> Option<()> {
        let shape: Vec<i64> = self.graph.get(to).shape.as_ref()?.iter().map(|&side| side as i64).collect();
        self.op("RESHAPE", vec![Given(from)], vec![to], &[("new_shape", json!(shape))]);
        Some(())
    }

    /// A part of a tensor from `begin` on, as large as `to`.
    fn slice(&mut self, from: TensorId, begin: Operand, to: TensorId) -> Option<()> {
        let size: Vec<i64> = self.graph.get(to).shape.as_ref()?.iter().map(|&side| side as i64).collect();
        let mut options = vec![("size", json!(size))];
        if let Constant(begin) = &begin {
            options.push(("begin", begin["values"].clone()));
        }
        self.op("SLICE", vec![Given(from), begin, numbers(&size)], vec![to], &options);
        Some(())
    }
}

/// One loop to be written.
struct Loop<'a> {
    chosen: &'a Chosen<'a>,
    graph: &'a Graph,
}

impl Loop<'_> {
    fn window(&self) -> &Window<'_> {
        &self.chosen.window
    }

    fn program(&self) -> &Program {
        &self.chosen.program
    }

    /// A flat tensor of so many bytes, otherwise like one of the graph.
    fn flat(&self, like: TensorId, bytes: i64) -> Option<Tensor> {
        let like = self.graph.tensor(like);
        let layout = like.layout()?;
        let tensor =
            Tensor::shaped(like.name.clone(), vec![(bytes / layout.item) as u64], layout.dtype.clone())?;
        Some(Tensor { quantization: like.quantization.clone(), ..tensor })
    }

    /// The room of something that leaves besides the result.
    fn room(&self, also: &Also) -> Option<Tensor> {
        self.flat(also.tensor, also.rows * self.window().row_bytes(also.tensor))
    }

    /// Where a row begins, by dimension, from a column on.
    fn place(&self, like: TensorId, row: i64, column: i64) -> Option<Vec<i64>> {
        let image = Image::of(self.graph, like)?;
        let mut place = vec![0; image.rank];
        *place.get_mut(image.axis)? = row;
        if column > 0 {
            *place.get_mut(2)? += column;
        }
        Some(place)
    }

    /// The value that stands for zero.
    fn zero_point(&self, like: TensorId) -> i64 {
        let quantization = self.graph.tensor(like).quantization.as_ref();
        quantization.and_then(|q| q.zero_points.first().copied()).unwrap_or(0)
    }

    /// A constant full of what stands for zero, of the type of a tensor.
    fn zeros(&self, like: TensorId, shape: &[u64]) -> Operand {
        let tensor = self.graph.tensor(like);
        let dtype = tensor.dtype.as_ref().map_or("", ElementType::name);
        let mut described = json!({"shape": shape, "dtype": dtype, "fill": self.zero_point(like)});
        if let Some(quantization) = &tensor.quantization {
            described["quantization"] = quantization.to_json();
        }
        Constant(described)
    }

    /// A constant full of what stands for zero or, if that were large, a tensor.
    fn zeros_or_filled(&self, writer: &mut Writer, like: TensorId, tensor: Tensor) -> Option<Operand> {
        // No kernel fills tensors of 16 bits.
        if tensor.bytes < LARGE_CONSTANT || tensor.dtype == Some(ElementType::Int16) {
            return Some(self.zeros(like, tensor.shape.as_ref()?));
        }
        self.filled(writer, like, tensor).map(Given)
    }

    /// A tensor full of what stands for zero, made by an op.
    fn filled(&self, writer: &mut Writer, like: TensorId, tensor: Tensor) -> Option<TensorId> {
        let shape: Vec<i64> = tensor.shape.as_ref()?.iter().map(|&side| side as i64).collect();
        let out = writer.graph.tensor(tensor);
        writer.op("FILL", vec![numbers(&shape), self.zeros(like, &[])], vec![out], &[]);
        Some(out)
    }

    /// The tensors of the state, as each of the graphs has them.
    fn state(&self, writer: &mut Writer) -> Option<State> {
        let program = self.program();
        let counter = Tensor::shaped("i", vec![1], ElementType::Int32)?;
        let mut add = |tensor: Tensor| writer.graph.tensor(tensor);
        let shared = usize::from(program.shares);
        Some(State {
            counter: add(counter),
            result: add(self.flat(program.leaves, program.state)?),
            carries: program
                .carries
                .iter()
                .map(|carry| Some(add(carry.tensor(self.window())?)))
                .collect::<Option<_>>()?,
            also: program.also.iter().map(|also| Some(add(self.room(also)?))).collect::<Option<_>>()?,
            wholes: program.wholes[shared..]
                .iter()
                .map(|&whole| Some(add(self.flat(whole, self.graph.tensor(whole).bytes as i64)?)))
                .collect::<Option<_>>()?,
        })
    }

    fn write(&self, main: &mut Writer, graphs: &mut Graphs) -> Option<()> {
        let program = self.program();
        let condition = graphs.add(self.condition()?)?;
        let body = graphs.add(self.body()?)?;
        let flat_whole = |main: &mut Writer, whole: TensorId| {
            let flat = main.graph.tensor(self.flat(whole, self.graph.tensor(whole).bytes as i64)?);
            main.reshape(whole, flat)?;
            Some(flat)
        };
        let enters = program.wholes[0];
        let begun = self.ahead(main)?;
        let mut operands = vec![numbers(&[0])];
        if program.shares {
            let flat = flat_whole(main, enters)?;
            operands.push(Given(self.widened(main, flat)?));
        } else {
            let state = self.flat(program.leaves, program.state)?;
            operands.push(self.zeros_or_filled(main, program.leaves, state)?);
        }
        for (carry, begun) in program.carries.iter().zip(begun) {
            operands.push(match begun {
                Some(begun) => Given(begun),
                None => self.zeros_or_filled(main, carry.like, carry.tensor(self.window())?)?,
            });
        }
        for also in &program.also {
            let room = self.room(also)?;
            operands.push(self.zeros_or_filled(main, also.tensor, room)?);
        }
        for &whole in &program.wholes[usize::from(program.shares)..] {
            operands.push(Given(flat_whole(main, whole)?));
        }
        let done = self.state(main)?;
        main.op("WHILE", operands, done.all(), &[("bodies", json!([condition, body]))]);
        for (also, &room) in program.also.iter().zip(&done.also) {
            let before = also.before * self.window().row_bytes(also.tensor);
            self.leave(main, room, before, also.tensor)?;
        }
        self.leave(main, done.result, 0, program.leaves)
    }

    /// What leaves, out of a state in which it begins at a byte.
    fn leave(&self, main: &mut Writer, state: TensorId, begin: i64, leaves: TensorId) -> Option<()> {
        let (bytes, item) = (self.graph.tensor(leaves).bytes, self.window().item(leaves));
        if main.graph.get(state).bytes == bytes {
            return main.reshape(state, leaves);
        }
        let flat = main.graph.tensor(self.flat(leaves, bytes as i64)?);
        main.slice(state, numbers(&[begin / item]), flat)?;
        main.reshape(flat, leaves)
    }

    /// Computes ahead of the loop what the first iteration takes for carried: by carry, what it begins as.
    fn ahead(&self, main: &mut Writer) -> Option<Vec<Option<TensorId>>> {
        let program = self.program();
        let nothing = State {
            counter: TensorId(0),
            result: TensorId(0),
            carries: vec![],
            also: vec![],
            wholes: vec![],
        };
        let mut body = Body {
            of: self,
            next: nothing.clone(),
            state: nothing,
            writer: std::mem::replace(main, Writer::new(String::new())),
            stripes: BTreeMap::new(),
            multiples: BTreeMap::new(),
            vectors: BTreeMap::new(),
        };
        for step in &program.ahead {
            match step {
                // Here what enters has its own shape.
                Step::Cut { whole, out, .. } => {
                    let (like, rows) = (program.wholes[*whole], program.stripes[*out].rows);
                    if rows == self.window().height(like) {
                        body.stripes.insert(*out, like);
                    } else {
                        let begin = self.place(like, 0, 0)?;
                        let out = body.stripe(*out)?;
                        body.writer.slice(like, numbers(&begin), out)?;
                    }
                }
                step => body.step(step)?,
            }
        }
        let begun = program.begun.iter().map(|begun| begun.map(|stripe| body.stripes[&stripe])).collect();
        *main = body.writer;
        Some(begun)
    }

    /// The state before the first iteration: what enters, with room around it.
    fn widened(&self, main: &mut Writer, flat: TensorId) -> Option<TensorId> {
        let program = self.program();
        let enters = program.wholes[0];
        let bytes = self.graph.tensor(enters).bytes as i64;
        if program.state == bytes {
            return Some(flat);
        }
        let mut parts = Vec::new();
        if program.distance > 0 {
            let above = self.flat(enters, program.distance)?;
            parts.push(self.zeros_or_filled(main, enters, above)?);
        }
        parts.push(Given(flat));
        let rest = program.state - program.distance - bytes;
        if rest > 0 {
            let below = self.flat(enters, rest)?;
            parts.push(self.zeros_or_filled(main, enters, below)?);
        }
        let state = main.graph.tensor(self.flat(enters, program.state)?);
        let options = [("axis", json!(0)), ("activation", json!("none"))];
        main.op("CONCATENATION", parts, vec![state], &options);
        Some(state)
    }

    fn condition(&self) -> Option<Writer> {
        let mut writer = Writer::new("condition".to_owned());
        let state = self.state(&mut writer)?;
        state.all().into_iter().for_each(|id| writer.graph.mark_input(id));
        let goes_on = writer.graph.tensor(Tensor::shaped("goes_on", vec![1], ElementType::Bool)?);
        let operands = vec![Given(state.counter), numbers(&[self.program().iterations])];
        writer.op("LESS", operands, vec![goes_on], &[]);
        writer.graph.output(goes_on);
        Some(writer)
    }

    fn body(&self) -> Option<Writer> {
        let mut writer = Writer::new("body".to_owned());
        let state = self.state(&mut writer)?;
        state.all().into_iter().for_each(|id| writer.graph.mark_input(id));
        let mut body = Body {
            of: self,
            next: State { counter: state.counter, ..state.clone() },
            state,
            writer,
            stripes: BTreeMap::new(),
            multiples: BTreeMap::new(),
            vectors: BTreeMap::new(),
        };
        for step in &self.program().steps {
            body.step(step)?;
        }
        let next: Vec<i64> = (1..=self.program().iterations).collect();
        body.next.counter = body.number(&next)?;
        let Body { next, mut writer, .. } = body;
        next.all().into_iter().for_each(|id| writer.graph.output(id));
        Some(writer)
    }
}

/// The tensors of a loop's state in one of its graphs.
#[derive(Clone)]
struct State {
    counter: TensorId,
    result: TensorId,
    carries: Vec<TensorId>,
    also: Vec<TensorId>,
    wholes: Vec<TensorId>,
}

impl State {
    fn all(&self) -> Vec<TensorId> {
        [self.counter, self.result]
            .into_iter()
            .chain([&self.carries, &self.also, &self.wholes].into_iter().flatten().copied())
            .collect()
    }
}

/// The body of a loop under construction.
struct Body<'a> {
    of: &'a Loop<'a>,
    state: State,
    next: State,
    writer: Writer,
    stripes: BTreeMap<StripeId, TensorId>,
    /// Multiples of the counter, to cut vectors of so many numbers out of a table.
    multiples: BTreeMap<i64, TensorId>,
    /// Vectors that were cut out already, by their table.
    vectors: BTreeMap<Vec<i64>, TensorId>,
}

impl Body<'_> {
    fn step(&mut self, step: &Step) -> Option<()> {
        let program = self.of.program();
        match step {
            Step::Cut { whole, begins, out } => {
                let like = program.wholes[*whole];
                let (row, item) = (self.of.window().row_bytes(like), self.of.window().item(like));
                let (from, at) = match (*whole, program.shares) {
                    (0, true) => (self.state.result, program.distance),
                    (whole, shares) => (self.state.wholes[whole - usize::from(shares)], 0),
                };
                let begins: Vec<i64> = begins.iter().map(|begin| (at + begin * row) / item).collect();
                let begin = self.one_number(&begins)?;
                let rows = program.stripes[*out].rows;
                let flat = self.writer.graph.tensor(self.of.flat(like, rows * row)?);
                self.writer.slice(from, begin, flat)?;
                let out = self.stripe(*out)?;
                self.writer.reshape(flat, out)
            }
            Step::Rows { of, begins, left, out } => {
                let begin = self.row_of(program.stripes[*of].like, begins, *left)?;
                let (from, out) = (self.stripes[of], self.stripe(*out)?);
                self.writer.slice(from, begin, out)
            }
            Step::Widen { of, above, sides, out } => {
                let paddings = json!([[0, 0], [above, 0], sides, [0, 0]]);
                let values = [0, 0, *above, 0, sides[0], sides[1], 0, 0];
                let operand = Constant(json!({"shape": [4, 2], "dtype": "int32", "values": values}));
                let (from, out) = (self.stripes[of], self.stripe(*out)?);
                self.writer.op("PAD", vec![Given(from), operand], vec![out], &[("paddings", paddings)]);
                Some(())
            }
            Step::Run { op, inputs, out, is_valid } => self.run(*op, inputs, *out, *is_valid),
            Step::Join { front, carried, new, out } => {
                let new_rows = program.stripes[*new];
                let kept = carried.map_or(0, |carried| program.carries[carried].rows);
                let back = program.stripes[*out].rows - new_rows.rows - kept - front;
                let spare = |rows: i64| {
                    let zeros = || self.zero_rows(Stripe { rows, ..new_rows });
                    if rows > 0 { zeros().map(Some) } else { Some(None) }
                };
                let carried = carried.map(|carried| Given(self.state.carries[carried]));
                let parts = [spare(*front)?, carried, Some(Given(self.stripes[new])), spare(back)?];
                let parts = parts.into_iter().flatten().collect();
                let out = self.stripe(*out)?;
                let axis = Image::of(self.of.graph, new_rows.like)?.axis;
                let options = [("axis", json!(axis)), ("activation", json!("none"))];
                self.writer.op("CONCATENATION", parts, vec![out], &options);
                Some(())
            }
            Step::Border { of, rows, begins, out } => {
                let buffer = program.stripes[*of];
                let zeros = self.zero_rows(Stripe { rows: *rows, ..buffer })?;
                let begin = self.row_of(buffer.like, begins, 0)?;
                let (from, out) = (self.stripes[of], self.stripe(*out)?);
                self.writer.op("DYNAMIC_UPDATE_SLICE", vec![Given(from), zeros, begin], vec![out], &[]);
                Some(())
            }
            Step::Keep { of, begin, carried } => {
                let carry = program.carries[*carried];
                let out = self.writer.graph.tensor(carry.tensor(self.of.window())?);
                self.next.carries[*carried] = out;
                let begin = self.of.place(carry.like, *begin, 0)?;
                self.writer.slice(self.stripes[of], numbers(&begin), out)
            }
            Step::Put { of, begins } => {
                self.next.result = self.put(*of, begins, self.state.result)?;
                Some(())
            }
            Step::PutAlso { also, of, begins } => {
                self.next.also[*also] = self.put(*of, begins, self.state.also[*also])?;
                Some(())
            }
        }
    }

    /// Writes rows of something that leaves into its state, from this iteration's row on; returns the state.
    fn put(&mut self, of: StripeId, begins: &[i64], state: TensorId) -> Option<TensorId> {
        let Stripe { like, rows, .. } = self.of.program().stripes[of];
        let (row, item) = (self.of.window().row_bytes(like), self.of.window().item(like));
        let flat = self.writer.graph.tensor(self.of.flat(like, rows * row)?);
        self.writer.reshape(self.stripes[&of], flat)?;
        let begins: Vec<i64> = begins.iter().map(|begin| begin * row / item).collect();
        let begin = self.one_number(&begins)?;
        let out = self.writer.graph.get(state).clone();
        let out = self.writer.graph.tensor(out);
        self.writer.op("DYNAMIC_UPDATE_SLICE", vec![Given(state), Given(flat), begin], vec![out], &[]);
        Some(out)
    }

    fn stripe(&mut self, stripe: StripeId) -> Option<TensorId> {
        let tensor = self.of.program().tensor(self.of.window(), stripe)?;
        let id = self.writer.graph.tensor(tensor);
        self.stripes.insert(stripe, id);
        Some(id)
    }

    fn run(&mut self, op: usize, inputs: &[StripeId], out: StripeId, is_valid: bool) -> Option<()> {
        let local = self.of.window().ops[op];
        let whole = self.of.graph.op(local.op);
        let given = |t: &TensorId| {
            let position = local.inputs.iter().position(|input| input == t)?;
            self.stripes.get(&inputs[position]).copied()
        };
        let given: Vec<TensorId> = whole.inputs.iter().map(given).collect::<Option<_>>()?;
        let out = self.stripe(out)?;
        if let Rows::Cropped { top, left } = local.rows {
            let begin = self.of.place(local.output, top, left)?;
            return self.writer.slice(given[0], numbers(&begin), out);
        }
        if let Operator::RESHAPE | Operator::SQUEEZE | Operator::EXPAND_DIMS = whole.kind.operator() {
            return self.writer.reshape(given[0], out);
        }
        let mut op = whole.clone();
        (op.inputs, op.outputs) = (given, vec![out]);
        if is_valid {
            op.attributes.insert("padding".to_owned(), json!("valid"));
        }
        if let Rows::Repeated { .. } = local.rows {
            // It is told how large its result is.
            let Some(&[_, height, width, _]) = self.writer.graph.get(out).shape.as_deref() else {
                return None;
            };
            let size = json!({"shape": [2], "dtype": "int32", "values": [height, width]});
            op.attributes.insert("size".to_owned(), size["values"].clone());
            op.attributes.insert("constants".to_owned(), json!({"1": size}));
        }
        self.writer.push(op, Some(local.op));
        Some(())
    }

    /// Rows of what stands for zero.
    fn zero_rows(&self, rows: Stripe) -> Option<Operand> {
        Some(self.of.zeros(rows.like, rows.tensor(self.of.window())?.shape.as_ref()?))
    }

    /// This iteration's number of a list.
    fn number(&mut self, list: &[i64]) -> Option<TensorId> {
        let out = self.writer.graph.tensor(Tensor::shaped("at", vec![1], ElementType::Int32)?);
        let Constant(table) = numbers(list) else { return None };
        let operands = vec![Constant(table), Given(self.state.counter), numbers(&[1])];
        self.writer.op("SLICE", operands, vec![out], &[("size", json!([1]))]);
        Some(out)
    }

    /// The same as an operand: a constant if it is always the same number.
    fn one_number(&mut self, list: &[i64]) -> Option<Operand> {
        match constant(list) {
            Some(always) => Some(numbers(&[always])),
            None => Some(Given(self.number(list)?)),
        }
    }

    /// This iteration's row, from a column on, as a place in a tensor.
    fn row_of(&mut self, like: TensorId, rows: &[i64], column: i64) -> Option<Operand> {
        if let Some(always) = constant(rows) {
            return Some(numbers(&self.of.place(like, always, column)?));
        }
        let places = rows.iter().map(|&row| self.of.place(like, row, column)).collect::<Option<Vec<_>>>()?;
        let (rank, table) = (places.first()?.len() as i64, places.concat());
        if let Some(&known) = self.vectors.get(&table) {
            return Some(Given(known));
        }
        let at = if let Some(&known) = self.multiples.get(&rank) {
            known
        } else {
            let multiples: Vec<i64> = (0..self.of.program().iterations).map(|i| rank * i).collect();
            let made = self.number(&multiples)?;
            self.multiples.insert(rank, made);
            made
        };
        let out = self.writer.graph.tensor(Tensor::shaped("at", vec![rank as u64], ElementType::Int32)?);
        let operands = vec![numbers(&table), Given(at), numbers(&[rank])];
        self.writer.op("SLICE", operands, vec![out], &[("size", json!([rank]))]);
        self.vectors.insert(table, out);
        Some(Given(out))
    }
}
