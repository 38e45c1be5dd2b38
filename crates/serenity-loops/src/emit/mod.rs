//! Writes the graphs of a model with loops.
//!
//! The state of a loop: its counter, the tensor that is written (with the entering one, if that dies), carried rows,
//! and all other tensors that enter as a whole. All but the carried rows are flat, so that rows are cut and written as
//! one block. Integers are not computed: numbers that depend on the iteration are cut out of a table by the counter,
//! since every kernel set has a `SLICE` and some have no `ADD` of 32-bit integers.

mod body;
mod stripes;
pub(crate) mod writer;

use crate::Looped;
use crate::program::{Also, Program};
use crate::rows::{Image, zero_point};
use crate::window::Window;
use serde_json::json;
use serenity_ir::{ElementType, Graph, GraphBuilder, OpId, Tensor, TensorId};
use writer::Operand::{self, Constant, Tensor as Given};
use writer::{Writer, numbers};

/// A window of the order, and its loop.
pub(crate) struct Chosen<'g> {
    pub(crate) window: Window<'g>,
    pub(crate) program: Program,
}

/// Constants of at least this many bytes are made by an operator when the model runs, so that files stay small. An
/// operator costs some 60 bytes of memory.
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

/// A placeholder for a tensor that exists only as stripes.
pub(crate) fn retired(tensor: &Tensor) -> Tensor {
    let shape = tensor.shape.as_ref().map(|_| vec![0]);
    Tensor { shape, dtype: tensor.dtype.clone(), ..Tensor::sized(tensor.name.clone(), 0) }
}

/// The sub-graphs so far, and the origins of all ops.
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

    /// The room of a leaving tensor other than the result.
    fn room(&self, also: &Also) -> Option<Tensor> {
        self.flat(also.tensor, also.rows * self.window().row_bytes(also.tensor))
    }

    /// The position of a row, by dimension, from a column on.
    fn place(&self, like: TensorId, row: i64, column: i64) -> Option<Vec<i64>> {
        let image = Image::of(self.graph, like)?;
        let mut place = vec![0; image.rank];
        *place.get_mut(image.axis)? = row;
        if column > 0 {
            *place.get_mut(2)? += column;
        }
        Some(place)
    }

    /// A constant of zero points, of the type of a tensor.
    fn zeros(&self, like: TensorId, shape: &[u64]) -> Operand {
        let tensor = self.graph.tensor(like);
        let dtype = tensor.dtype.as_ref().map_or("", ElementType::name);
        let mut described = json!({"shape": shape, "dtype": dtype, "fill": zero_point(tensor)});
        if let Some(quantization) = &tensor.quantization {
            described["quantization"] = quantization.to_json();
        }
        Constant(described)
    }

    /// A constant of zero points or, if that were large, a tensor.
    fn zeros_or_filled(&self, writer: &mut Writer, like: TensorId, tensor: Tensor) -> Option<Operand> {
        // No kernel fills tensors of 16 bits.
        if tensor.bytes < LARGE_CONSTANT || tensor.dtype == Some(ElementType::Int16) {
            return Some(self.zeros(like, tensor.shape.as_ref()?));
        }
        self.filled(writer, like, tensor).map(Given)
    }

    /// A tensor of zero points, made by an op.
    fn filled(&self, writer: &mut Writer, like: TensorId, tensor: Tensor) -> Option<TensorId> {
        let shape: Vec<i64> = tensor.shape.as_ref()?.iter().map(|&side| side as i64).collect();
        let out = writer.graph.tensor(tensor);
        writer.op("FILL", vec![numbers(&shape), self.zeros(like, &[])], vec![out], &[]);
        Some(out)
    }

    /// The tensors of the state in one of the graphs.
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
        let body = graphs.add(body::body(self)?)?;
        let flat_whole = |main: &mut Writer, whole: TensorId| {
            let flat = main.graph.tensor(self.flat(whole, self.graph.tensor(whole).bytes as i64)?);
            main.reshape(whole, flat)?;
            Some(flat)
        };
        let enters = program.wholes[0];
        let begun = stripes::ahead(self, main)?;
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

    /// Cuts a leaving tensor out of a state in which it begins at byte `begin`.
    fn leave(&self, main: &mut Writer, state: TensorId, begin: i64, leaves: TensorId) -> Option<()> {
        let (bytes, item) = (self.graph.tensor(leaves).bytes, self.window().item(leaves));
        if main.graph.get(state).bytes == bytes {
            return main.reshape(state, leaves);
        }
        let flat = main.graph.tensor(self.flat(leaves, bytes as i64)?);
        main.slice(state, numbers(&[begin / item]), flat)?;
        main.reshape(flat, leaves)
    }

    /// The state before the first iteration: the entering tensor, with room around it.
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
