//! A `.tflite` model without the conversions at its ends.
//!
//! Many quantised models take floats, which a `QUANTIZE` turns into bytes, and give floats, which a `DEQUANTIZE` makes
//! of bytes. The caller can do that as well, or has bytes anyway, as from a camera. Then the tensor behind the
//! `QUANTIZE` is the input and the one before the `DEQUANTIZE` the output, and the floats, four times as large, never
//! exist. Nothing else in the model changes: it computes the same from the same bytes.

use super::operators::MAIN;
use crate::{KeptPort, Port, QuantizedIo, QuantizedPort};
use serenity_ir::{ElementType, OpId, Operator, TensorId};
use serenity_tflite::{Error, FileTensor, Model, OperatorSource, Storage, SubGraph};
use std::collections::{BTreeMap, BTreeSet};

/// The model with whole numbers for inputs and outputs that it would only convert, read again; as it was if there are none.
pub(super) fn converted(model: &Model) -> Result<(Model, QuantizedIo), Error> {
    if model.folds_constants() {
        return Err(Error::Edit("it was read with constants folded; read it without".to_owned()));
    }
    let mut change = Change::new(model);
    for position in 0..change.inputs.len() {
        change.decide(Port::Input(position));
    }
    for position in 0..change.outputs.len() {
        change.decide(Port::Output(position));
    }
    if change.io.is_unchanged() {
        return Ok((model.clone(), change.io));
    }
    change.make()
}

struct Change<'a> {
    model: &'a Model,
    main: &'a SubGraph,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    /// By tensor: how often it is an input or an output.
    ports: Vec<usize>,
    /// By tensor: the operators that read it.
    readers: Vec<Vec<usize>>,
    /// By tensor: the operator that writes it.
    writers: Vec<Option<usize>>,
    /// Does another part of the model run the main graph?
    is_called: bool,
    /// Operators that are not needed any more.
    gone: BTreeSet<usize>,
    /// Tensors that several `QUANTIZE` made alike of one input, by the one that stands for all.
    same: BTreeMap<usize, usize>,
    io: QuantizedIo,
}

/// A tensor of whole numbers that can stand for one of floats, and what it makes superfluous.
struct Found {
    quantized: usize,
    operators: Vec<usize>,
    /// Tensors that hold the same.
    same: Vec<usize>,
}

impl<'a> Change<'a> {
    fn new(model: &'a Model) -> Self {
        let main = &model.sub_graphs()[MAIN];
        let tensors = main.tensors().len();
        let mut ports = vec![0; tensors];
        for &port in main.inputs().iter().chain(main.outputs()) {
            ports[port] += 1;
        }
        let (mut readers, mut writers) = (vec![Vec::new(); tensors], vec![None; tensors]);
        for (number, operator) in main.operators().iter().enumerate() {
            for &read in operator.inputs.iter().flatten().collect::<BTreeSet<_>>() {
                readers[read].push(number);
            }
            for &written in operator.outputs.iter().flatten() {
                writers[written] = Some(number);
            }
        }
        let mut operators = model.sub_graphs().iter().flat_map(SubGraph::operators);
        Self {
            model,
            main,
            inputs: main.inputs().to_vec(),
            outputs: main.outputs().to_vec(),
            ports,
            readers,
            writers,
            is_called: operators.any(|operator| operator.bodies.contains(&MAIN)),
            gone: BTreeSet::new(),
            same: BTreeMap::new(),
            io: QuantizedIo::default(),
        }
    }

    /// Changes an input or output if it is converted and nothing speaks against it.
    fn decide(&mut self, port: Port) {
        let tensor = match port {
            Port::Input(position) => self.inputs[position],
            Port::Output(position) => self.outputs[position],
        };
        let described = &self.main.tensors()[tensor];
        if described.dtype != ElementType::Float32 {
            return;
        }
        let found = match port {
            Port::Input(_) => self.behind_input(tensor),
            Port::Output(_) => self.before_output(tensor),
        };
        let checked = found.map(|found| found.and_then(|found| self.checked(tensor, found)));
        match checked {
            None => {}
            Some(Err(reason)) => {
                self.io.kept.push(KeptPort { port, name: described.name.clone(), reason });
            }
            Some(Ok((found, scale, zero_point))) => {
                let new = &self.main.tensors()[found.quantized];
                let (position, ports, changed) = match port {
                    Port::Input(position) => (position, &mut self.inputs, &mut self.io.inputs),
                    Port::Output(position) => (position, &mut self.outputs, &mut self.io.outputs),
                };
                ports[position] = found.quantized;
                let (was, name, dtype) = (described.name.clone(), new.name.clone(), new.dtype.clone());
                changed.push(QuantizedPort { position, was, name, dtype, scale, zero_point });
                self.ports[tensor] -= 1;
                self.ports[found.quantized] += 1;
                self.gone.extend(found.operators);
                self.same.extend(found.same.into_iter().map(|same| (same, found.quantized)));
            }
        }
    }

    /// What every `QUANTIZE` makes of an input; `None` if none reads it.
    fn behind_input(&self, tensor: usize) -> Option<Result<Found, String>> {
        let readers = &self.readers[tensor];
        if self.ports[tensor] > 1 {
            let is_converted = readers.first().is_some_and(|&reader| self.is(reader, Operator::QUANTIZE));
            return is_converted.then(|| Err(self.is_taken(tensor)));
        }
        let (operators, others): (Vec<usize>, Vec<usize>) =
            readers.iter().partition(|&&reader| self.is(reader, Operator::QUANTIZE));
        let made: Vec<usize> = operators
            .iter()
            .filter_map(|&one| self.main.operators()[one].outputs.first().copied()?)
            .collect();
        let (&quantized, same) = made.split_first()?;
        if let Some(&other) = others.first() {
            let kind = &self.main.operators()[other].kind;
            return Some(Err(format!("{kind} reads the floats as well")));
        }
        let numbers = |tensor: usize| {
            let FileTensor { shape, dtype, quantization, .. } = &self.main.tensors()[tensor];
            (shape, dtype, quantization)
        };
        if same.iter().any(|&one| numbers(one) != numbers(quantized)) {
            return Some(Err("it is quantised in several ways".to_owned()));
        }
        if let Some(&taken) = same.iter().find(|&&one| self.ports[one] > 0) {
            return Some(Err(self.is_taken(taken)));
        }
        Some(Ok(Found { quantized, operators, same: same.to_vec() }))
    }

    /// What a `DEQUANTIZE` makes an output of; `None` if none does.
    fn before_output(&self, tensor: usize) -> Option<Result<Found, String>> {
        let writer = self.writers[tensor].filter(|&writer| self.is(writer, Operator::DEQUANTIZE))?;
        let source = self.main.operators()[writer].inputs.first().copied()??;
        if self.ports[tensor] > 1 {
            return Some(Err(self.is_taken(tensor)));
        }
        if let Some(&reader) = self.readers[tensor].first() {
            let kind = &self.main.operators()[reader].kind;
            return Some(Err(format!("{kind} reads the floats as well")));
        }
        let quantized = self.same.get(&source).copied().unwrap_or(source);
        Some(Ok(Found { quantized, operators: vec![writer], same: Vec::new() }))
    }

    /// Can it stand for a tensor of floats, and with which scale and zero point? If not, why.
    fn checked(&self, floats: usize, found: Found) -> Result<(Found, f32, i64), String> {
        let (old, new) = (&self.main.tensors()[floats], &self.main.tensors()[found.quantized]);
        if self.ports[found.quantized] > 0 {
            return Err(self.is_taken(found.quantized));
        }
        if self.is_called {
            return Err("another part of the model runs its main graph".to_owned());
        }
        if found.operators.iter().any(|&operator| self.keeps_its_place(operator)) {
            return Err("the conversion must keep its place among other operators".to_owned());
        }
        let is_activation = |tensor: &FileTensor| tensor.storage == Storage::Activation;
        let is_computed = self.writers[found.quantized].is_some();
        if !is_activation(old) || !is_activation(new) || !is_computed || old.shape != new.shape {
            return Err(format!("`{}` is not computed, or of another shape", new.name));
        }
        let integers = [ElementType::Int8, ElementType::UInt8, ElementType::Int16];
        let parameters = new.quantization.as_ref().filter(|_| new.is_plain && integers.contains(&new.dtype));
        match parameters.map(|given| (given.scales.as_slice(), given.zero_points.as_slice())) {
            Some(([scale], points @ ([] | [_]))) if scale.is_finite() && *scale > 0.0 => {
                Ok((found, *scale, points.first().copied().unwrap_or(0)))
            }
            _ => Err(format!("`{}` is not int8, uint8 or int16 with one scale and one zero point", new.name)),
        }
    }

    fn is_taken(&self, tensor: usize) -> String {
        format!("`{}` would be an input or an output more than once", self.main.tensors()[tensor].name)
    }

    /// Is it tied to others by what is no tensor, such as state?
    fn keeps_its_place(&self, operator: usize) -> bool {
        let op = self.model.graphs()[MAIN].op(OpId(operator as u32));
        let is_made_up = |id: &TensorId| self.main.file_tensor(*id).is_none();
        op.inputs.iter().chain(&op.outputs).any(is_made_up)
    }

    fn is(&self, operator: usize, kind: Operator) -> bool {
        Operator::named(&self.main.operators()[operator].kind) == kind
    }

    /// The new file. Tensors keep their numbers, and those of floats nothing but their names.
    fn make(self) -> Result<(Model, QuantizedIo), Error> {
        let mut edit = self.model.edit();
        let mut operators = Vec::new();
        let mut used: BTreeSet<usize> = self.inputs.iter().chain(&self.outputs).copied().collect();
        for (number, old) in self.main.operators().iter().enumerate() {
            if self.gone.contains(&number) {
                continue;
            }
            let follow =
                |tensor: &Option<usize>| tensor.map(|one| self.same.get(&one).copied().unwrap_or(one));
            let inputs: Vec<Option<usize>> = old.inputs.iter().map(follow).collect();
            used.extend(inputs.iter().chain(&old.outputs).flatten());
            operators.push(if inputs == old.inputs {
                OperatorSource::Kept(number)
            } else {
                OperatorSource::Rewired { operator: number, inputs, outputs: old.outputs.clone() }
            });
        }
        let gone = self.gone.iter().map(|&number| &self.main.operators()[number]);
        let touched: BTreeSet<usize> =
            gone.flat_map(|old| old.inputs.iter().chain(&old.outputs)).flatten().copied().collect();
        for &tensor in touched.difference(&used) {
            edit.retire_tensor(MAIN, tensor)?;
        }
        edit.set_operators(MAIN, operators)?;
        edit.set_inputs_outputs(MAIN, self.inputs, self.outputs)?;
        Ok((Model::parse(edit.finish()?.bytes)?, self.io))
    }
}
