//! Goes through the operators and gathers what is written.

use crate::fragments::Fragment;
use crate::lower;
use crate::names::{in_comment, short};
use crate::number::{Numbers, as_expression};
use crate::pool::{Ctype, Pool};
use crate::refused::Refused;
use crate::source::{DataPlace, Source, SourceGraph, SourceOp, SourceTensor};
use serenity_ir::ElementType;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// More numbers than any loop looks up are not kept.
const MOST_NUMBERS: usize = 1 << 22;

/// Places of state are multiples of this.
const STATE_ALIGNMENT: u64 = 16;

pub(crate) struct Emitter<'s> {
    pub(crate) source: &'s Source,
    pub(crate) prefix: String,
    pub(crate) pool: Pool,
    pub(crate) fragments: BTreeSet<Fragment>,
    /// A function a step.
    pub(crate) functions: String,
    /// What is called, one after the other.
    pub(crate) calls: Vec<String>,
    /// What makes a row of each operator of the stream.
    pub(crate) row_calls: Vec<String>,
    /// The end of the highest tensor, or scratch.
    pub(crate) arena: u64,
    /// Where the arena goes on in a further array.
    pub(crate) cuts: Vec<u64>,
    pub(crate) state: State,
    /// Functions so far.
    steps: usize,
}

/// What is kept from one run to the next.
#[derive(Default)]
pub(crate) struct State {
    /// By graph and tensor, or by name: where it is, how large, and the byte that it begins with.
    pub(crate) places: BTreeMap<StateKey, (u64, u64, u8)>,
    pub(crate) bytes: u64,
    /// What is called once, before the first run.
    pub(crate) once: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StateKey {
    Tensor(usize, usize),
    Shared(String),
}

impl State {
    /// Where some state lies.
    pub(crate) fn place(&mut self, key: StateKey, bytes: u64, begins_with: u8) -> u64 {
        if let Some(&(place, ..)) = self.places.get(&key) {
            return place;
        }
        let place = self.bytes.next_multiple_of(STATE_ALIGNMENT);
        self.places.insert(key, (place, bytes, begins_with));
        self.bytes = place + bytes;
        place
    }
}

/// A graph while it is gone through.
pub(crate) struct Scope {
    pub(crate) graph: usize,
    /// How often it runs in a row, if it is the body of a loop.
    pub(crate) iterations: usize,
    /// Tensors whose values are known.
    pub(crate) numbers: BTreeMap<usize, Numbers>,
    /// Tensors that stand for shared state, by its name.
    pub(crate) handles: BTreeMap<usize, String>,
    /// Which row of its inputs an operator of a stream reads, as an expression.
    pub(crate) row: String,
}

impl Scope {
    pub(crate) fn new(graph: usize, iterations: usize) -> Self {
        Self { graph, iterations, numbers: BTreeMap::new(), handles: BTreeMap::new(), row: String::new() }
    }
}

/// One operator with all that its code is made from.
pub(crate) struct At<'a, 's> {
    pub(crate) emitter: &'a mut Emitter<'s>,
    pub(crate) scope: &'a mut Scope,
    pub(crate) graph: &'s SourceGraph,
    pub(crate) op: &'s SourceOp,
}

impl<'s> Emitter<'s> {
    pub(crate) fn new(source: &'s Source, prefix: &str) -> Self {
        Self {
            source,
            prefix: prefix.to_owned(),
            pool: Pool::default(),
            fragments: BTreeSet::new(),
            functions: String::new(),
            calls: Vec::new(),
            row_calls: Vec::new(),
            arena: 0,
            cuts: Vec::new(),
            state: State::default(),
            steps: 0,
        }
    }

    /// An offset in the arena as an address in C.
    pub(crate) fn address(&self, offset: u64) -> String {
        let array = self.cuts.partition_point(|&cut| cut <= offset);
        let begin = self.begin_of(array);
        format!("{} + {}", self.array(array), offset - begin)
    }

    /// The name of an array of the arena.
    pub(crate) fn array(&self, array: usize) -> String {
        match array {
            0 => format!("{}_arena", self.prefix),
            _ => format!("{}_arena_{}", self.prefix, array + 1),
        }
    }

    /// Where each array of the arena begins and ends.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = (u64, u64)> {
        let ends = self.cuts.iter().copied().chain([self.arena]);
        ends.enumerate().map(|(array, end)| (self.begin_of(array), end))
    }

    fn begin_of(&self, array: usize) -> u64 {
        array.checked_sub(1).map_or(0, |before| self.cuts[before])
    }

    /// Do so many bytes lie in one array of the arena?
    pub(crate) fn holds(&self, offset: u64, bytes: u64) -> bool {
        let end = offset.saturating_add(bytes);
        self.arrays().any(|(begin, last)| begin <= offset && end <= last)
    }

    pub(crate) fn run(&mut self) -> Result<(), Refused> {
        for graph in &self.source.graphs {
            for tensor in &graph.tensors {
                if let DataPlace::Arena(offset) = tensor.place {
                    self.arena = self.arena.max(offset.saturating_add(tensor.bytes));
                }
            }
            for scratch in graph.ops.iter().filter_map(|op| op.scratch) {
                self.arena = self.arena.max(scratch.offset.saturating_add(scratch.bytes));
            }
        }
        self.arena = self.arena.max(self.source.stream.as_ref().map_or(0, |stream| stream.bytes));
        if self.arena > i32::MAX as u64 {
            return Err(self.model("the arena is larger than 2 GiB"));
        }
        let across = |offset: u64, bytes: u64| !self.cuts.is_empty() && !self.holds(offset, bytes);
        let graphs = || self.source.graphs.iter();
        let tensors = graphs().flat_map(|graph| &graph.tensors);
        let scratch = graphs().flat_map(|graph| &graph.ops).filter_map(|op| op.scratch);
        if tensors.filter_map(|t| Some((t.place.offset()?, t.bytes))).any(|(at, bytes)| across(at, bytes))
            || scratch.map(|scratch| (scratch.offset, scratch.bytes)).any(|(at, bytes)| across(at, bytes))
            || !self.cuts.is_empty() && self.source.stream.is_some()
        {
            return Err(self.model("its tensors lie across two arrays"));
        }
        let Some(main) = self.source.graphs.first() else { return Err(self.model("there is no graph")) };
        let is_there = |&tensor: &usize| {
            main.tensors.get(tensor).is_some_and(|t| matches!(t.place, DataPlace::Arena(_)) && has_c_type(t))
        };
        if !main.inputs.iter().all(is_there) || !main.outputs.iter().all(is_there) {
            return Err(
                self.model("an input or output has no place in the arena, or a type without a C type")
            );
        }
        let mut scope = Scope::new(0, 1);
        self.calls = self.graph(&mut scope)?;
        if main.outputs.iter().any(|output| scope.numbers.contains_key(output)) {
            return Err(self.model("an output is known before it runs"));
        }
        Ok(())
    }

    /// The first operator that is not covered, whatever its places.
    pub(crate) fn not_covered(&mut self) -> Option<Refused> {
        let graph = self.source.graphs.first()?;
        let mut scope = Scope::new(0, 1);
        let mut refusals = graph
            .ops
            .iter()
            .filter_map(|op| lower::lowered(&mut At { emitter: self, scope: &mut scope, graph, op }).err());
        refusals.find(|refused| refused.is_for_good)
    }

    fn model(&self, why: &str) -> Refused {
        let (kind, name) = ("the model".to_owned(), self.source.about.clone());
        Refused { kind, name, why: why.to_owned(), is_for_good: false }
    }

    /// Writes a function for each operator of a graph that does something, and returns what calls them.
    pub(crate) fn graph(&mut self, scope: &mut Scope) -> Result<Vec<String>, Refused> {
        let graph = &self.source.graphs[scope.graph];
        let mut calls = Vec::new();
        for op in &graph.ops {
            let mut at = At { emitter: self, scope, graph, op };
            let Some(body) = lower::lowered(&mut at)? else { continue };
            let about = at.about();
            calls.push(self.function(&about, &body, scope.iterations > 1));
        }
        Ok(calls)
    }

    /// Writes a function; returns how it is called.
    pub(crate) fn function(&mut self, about: &About, body: &str, in_loop: bool) -> String {
        let name = format!("step_{}_{}", self.steps, about.name);
        self.steps += 1;
        let has_counter = in_loop && uses_counter(body);
        let parameter = if has_counter { "int32_t i" } else { "void" };
        let argument = if has_counter { "i" } else { "" };
        let _ = write!(self.functions, "/* {}\n */\nstatic void {name}({parameter})\n{{\n", about.comment);
        for line in body.lines() {
            let _ = if line.is_empty() {
                writeln!(self.functions)
            } else {
                writeln!(self.functions, "    {line}")
            };
        }
        self.functions.push_str("}\n\n");
        format!("{name}({argument});")
    }
}

/// Does this body use the counter of its loop?
fn uses_counter(body: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    body.split(|c: char| !is_word(c)).any(|word| word == "i")
}

/// What is said of a step.
pub(crate) struct About {
    name: String,
    comment: String,
}

/// Has an element of this tensor a type in C?
fn has_c_type(tensor: &SourceTensor) -> bool {
    use ElementType::*;
    matches!(tensor.dtype, Int8 | UInt8 | Int16 | Int32 | UInt32 | Float32 | Bool | Int64 | UInt64)
}

impl<'s> At<'_, 's> {
    /// Its name, and what it reads and writes.
    pub(crate) fn about(&self) -> About {
        let first = self.op.outputs.first().copied().flatten();
        let name = first.map_or("", |tensor| self.graph.tensors[tensor].name.as_str());
        let mut comment = self.op.kind.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_");
        let sides = [("reads", &self.op.inputs), ("writes", &self.op.outputs)];
        for (verb, tensors) in sides {
            for tensor in tensors.iter().flatten().map(|&tensor| &self.graph.tensors[tensor]) {
                if let DataPlace::Arena(offset) = tensor.place {
                    let _ = write!(
                        comment,
                        "\n * {verb} \"{}\", {} {:?}, bytes {offset} to {}",
                        in_comment(&tensor.name),
                        in_comment(tensor.dtype.name()),
                        tensor.shape,
                        offset + tensor.bytes
                    );
                }
            }
        }
        if let Some(scratch) = self.op.scratch {
            let _ = write!(
                comment,
                "\n * works in bytes {} to {}",
                scratch.offset,
                scratch.offset + scratch.bytes
            );
        }
        About { name: format!("{}_{}", short(&self.op.kind), short(name)), comment }
    }

    /// Nothing is written of it at these places, or of this form of the model, for this reason.
    pub(crate) fn refused(&self, why: impl Into<String>) -> Refused {
        let first = self.op.outputs.first().copied().flatten();
        let name = first.map_or_else(String::new, |tensor| in_comment(&self.graph.tensors[tensor].name));
        Refused { kind: in_comment(&self.op.kind), name, why: why.into(), is_for_good: false }
    }

    /// Nothing is ever written of such an operator, whatever its places are.
    pub(crate) fn not_covered(&self, why: impl Into<String>) -> Refused {
        Refused { is_for_good: true, ..self.refused(why) }
    }

    /// Refuses an operator whose shapes do not fit together.
    pub(crate) fn refuse_misfit(&self, is_misfit: bool) -> Result<(), Refused> {
        if is_misfit { Err(self.not_covered("its shapes do not fit together")) } else { Ok(()) }
    }

    pub(crate) fn input_id(&self, position: usize) -> Option<usize> {
        self.op.inputs.get(position).copied().flatten()
    }

    pub(crate) fn output_id(&self, position: usize) -> Option<usize> {
        self.op.outputs.get(position).copied().flatten()
    }

    /// An operand that must be there.
    pub(crate) fn input(&self, position: usize) -> Result<&'s SourceTensor, Refused> {
        let tensor = self.input_id(position).and_then(|tensor| self.graph.tensors.get(tensor));
        tensor.ok_or_else(|| self.refused(format!("operand {position} is missing")))
    }

    /// A result that must be there.
    pub(crate) fn output(&self, position: usize) -> Result<&'s SourceTensor, Refused> {
        let tensor = self.output_id(position).and_then(|tensor| self.graph.tensors.get(tensor));
        tensor.ok_or_else(|| self.refused(format!("result {position} is missing")))
    }

    /// The bytes of an operand that is a constant.
    pub(crate) fn constant(&self, position: usize) -> Option<&'s [u8]> {
        match &self.graph.tensors.get(self.input_id(position)?)?.place {
            DataPlace::Constant(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The numbers of an operand that are known now, by iteration.
    pub(crate) fn numbers(&self, position: usize) -> Option<Numbers> {
        let id = self.input_id(position)?;
        if let Some(numbers) = self.scope.numbers.get(&id) {
            return Some(numbers.clone());
        }
        let values = self.constant_numbers(position)?;
        let is_small = values.len().saturating_mul(self.scope.iterations) <= MOST_NUMBERS;
        is_small.then(|| vec![values; self.scope.iterations])
    }

    /// The numbers of an operand that is a constant.
    pub(crate) fn constant_numbers(&self, position: usize) -> Option<Vec<i64>> {
        let id = self.input_id(position)?;
        whole_numbers(&self.graph.tensors[id].dtype, self.constant(position)?)
    }

    /// The numbers of an operand that are the same in every iteration.
    pub(crate) fn fixed_numbers(&self, position: usize) -> Option<Vec<i64>> {
        let numbers = self.numbers(position)?;
        let first = numbers.first()?.clone();
        numbers.iter().all(|numbers| *numbers == first).then_some(first)
    }

    /// Where an operand is, as an address in C.
    pub(crate) fn read(&mut self, position: usize) -> Result<String, Refused> {
        let id =
            self.input_id(position).ok_or_else(|| self.refused(format!("operand {position} is missing")))?;
        self.address(id)
    }

    /// Where a result goes.
    pub(crate) fn write(&mut self, position: usize) -> Result<String, Refused> {
        let id =
            self.output_id(position).ok_or_else(|| self.refused(format!("result {position} is missing")))?;
        if matches!(self.graph.tensors[id].place, DataPlace::Constant(_)) {
            return Err(self.refused("it writes a constant"));
        }
        self.address(id)
    }

    fn address(&mut self, id: usize) -> Result<String, Refused> {
        let tensor = &self.graph.tensors[id];
        if self.scope.numbers.contains_key(&id) {
            return Err(self.refused("it needs numbers in memory that were told when the code was written"));
        }
        let prefix = &self.emitter.prefix;
        match &tensor.place {
            DataPlace::Arena(offset) => Ok(self.emitter.address(*offset)),
            DataPlace::Constant(bytes) => {
                let ctype = match tensor.dtype {
                    ElementType::Int8 => Ctype::I8,
                    ElementType::Int16 => Ctype::I16,
                    ElementType::Int32 => Ctype::I32,
                    ElementType::Float32 => Ctype::F32,
                    _ => Ctype::U8,
                };
                let why = format!("\"{}\"", in_comment(&tensor.name));
                let name = self.emitter.pool.named(ctype, bytes, &short(&tensor.name), &why);
                Ok(if ctype == Ctype::U8 { name } else { format!("(const uint8_t *){name}") })
            }
            DataPlace::Variable => {
                let zero =
                    tensor.quantization.as_ref().and_then(|q| q.zero_points.first().copied()).unwrap_or(0);
                let begins_with = if tensor.item() == 1 { zero as u8 } else { 0 };
                let key = StateKey::Tensor(self.scope.graph, id);
                let place = self.emitter.state.place(key, tensor.bytes, begins_with);
                Ok(format!("{prefix}_state + {place}"))
            }
            DataPlace::Row(line) if self.output_id(0) == Some(id) => Ok(format!("{prefix}_next({line})")),
            DataPlace::Row(line) => Ok(format!("{prefix}_row({line}, {})", self.scope.row)),
            DataPlace::Rows(_) => Err(self.refused("it cannot read rows that lie apart")),
            DataPlace::Nowhere => Err(self.refused(format!("\"{}\" has no place", in_comment(&tensor.name)))),
        }
    }

    /// Where in the arena an operand or result is.
    pub(crate) fn offset(&self, id: Option<usize>) -> Option<u64> {
        match self.graph.tensors.get(id?)?.place {
            DataPlace::Arena(offset) => Some(offset),
            _ => None,
        }
    }

    /// Uses a piece of C.
    pub(crate) fn uses(&mut self, fragment: Fragment) {
        self.emitter.fragments.insert(fragment);
    }

    /// A number by iteration, as an expression. One that follows no line is looked up in a table.
    pub(crate) fn expression(&mut self, values: &[i64], what: &str) -> Result<String, Refused> {
        if let Some(expression) = as_expression(values) {
            return Ok(expression);
        }
        let words: Option<Vec<i32>> = values.iter().map(|&value| i32::try_from(value).ok()).collect();
        let words = words.ok_or_else(|| self.refused("an offset beyond 2 GiB"))?;
        let why = format!("{what}, by iteration");
        Ok(match words.iter().map(|&word| i16::try_from(word).ok()).collect::<Option<Vec<i16>>>() {
            Some(halves) => {
                let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
                format!("{}[i]", self.emitter.pool.named(Ctype::I16, &bytes, what, &why))
            }
            None => format!("{}[i]", self.emitter.pool.i32s(&words, what, &why)),
        })
    }
}

/// The elements of a constant of whole numbers.
pub(crate) fn whole_numbers(dtype: &ElementType, bytes: &[u8]) -> Option<Vec<i64>> {
    let (words, _) = bytes.as_chunks::<4>();
    let (longs, _) = bytes.as_chunks::<8>();
    match dtype {
        ElementType::Int32 => Some(words.iter().map(|&word| i64::from(i32::from_le_bytes(word))).collect()),
        ElementType::Int64 => Some(longs.iter().map(|&long| i64::from_le_bytes(long)).collect()),
        _ => None,
    }
}
