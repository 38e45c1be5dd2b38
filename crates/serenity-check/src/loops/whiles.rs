//! `WHILE`, as TFLM runs it.
//!
//! Its inputs are copied to the inputs of the condition and to its outputs; these to the inputs of the body; what the
//! body gives to the outputs again, and from there to the condition. Each copy is a `memcpy` of a whole tensor, in the
//! order of the values, or nothing if both lie at one address. In old versions, the first copy to the outputs comes
//! after the first run of the condition.

use super::fault::LoopFault;
use super::machine::Machine;
use super::operands::Operand;
use super::overlap::Range;
use super::terms::Piece;
use serenity_ir::{OpId, TensorId};

/// A value that is handed over: where it lies, or, for a constant, what it is.
type Source = (Range, Option<Vec<Piece>>);

impl Machine<'_, '_> {
    pub(super) fn run_while(
        &mut self,
        graph: usize,
        op: OpId,
        [cond, body]: [usize; 2],
        depth: usize,
    ) -> Result<(), LoopFault> {
        let (program, places) = (self.program, self.places);
        let at = (graph, op);
        let ranges = |graph: usize, tensors: &[TensorId]| -> Vec<Range> {
            tensors.iter().map(|&t| places.range(graph, t)).collect()
        };
        let [condition, inner] = [cond, body].map(|index| program.graphs[index]);
        let outputs = ranges(graph, &program.graphs[graph].op(op).outputs);
        let to_cond = ranges(cond, condition.inputs());
        let (to_body, from_body) = (ranges(body, inner.inputs()), ranges(body, inner.outputs()));
        let inputs = self.sources(graph, op);
        for list in [&outputs, &to_cond, &to_body, &from_body] {
            let fits = list.len() == inputs.len()
                && list.iter().zip(&inputs).all(|(range, (input, _))| range.bytes == input.bytes);
            if !fits {
                return Err(self.unfollowed(graph, op, "its values do not fit its condition and its body"));
            }
        }
        let as_sources =
            |ranges: &[Range]| -> Vec<Source> { ranges.iter().map(|&range| (range, None)).collect() };
        let outer = self.iteration.replace(0);
        self.copy_all(at, &inputs, &to_cond)?;
        if !places.are_outputs_late() {
            self.copy_all(at, &inputs, &outputs)?;
        }
        let mut goes_on = self.ask(at, cond, depth)?;
        if places.are_outputs_late() {
            self.copy_all(at, &inputs, &outputs)?;
        }
        let (outputs_again, from_body) = (as_sources(&outputs), as_sources(&from_body));
        let mut iteration = 0;
        while goes_on {
            self.spend(1)?;
            self.copy_all(at, &outputs_again, &to_body)?;
            self.run_graph(body, depth)?;
            self.copy_all(at, &from_body, &outputs)?;
            iteration += 1;
            self.iteration = Some(iteration);
            self.copy_all(at, &outputs_again, &to_cond)?;
            goes_on = self.ask(at, cond, depth)?;
        }
        self.iteration = outer;
        Ok(())
    }

    /// The values that the loop begins with.
    fn sources(&mut self, graph: usize, op: OpId) -> Vec<Source> {
        let program = self.program;
        let mut sources = Vec::new();
        for (position, operand) in program.ops[graph][op.index()].operands.iter().enumerate() {
            sources.push(match operand {
                Operand::Activation(tensor) => (self.places.range(graph, *tensor), None),
                constant => {
                    let bytes = constant.packed(program.graphs[graph]).map_or(0, |packed| packed.bytes);
                    let content = self.read_part(graph, constant, position, 0, bytes);
                    (Range { begin: 0, bytes }, Some(content))
                }
            });
        }
        sources
    }

    fn copy_all(&mut self, at: (usize, OpId), from: &[Source], to: &[Range]) -> Result<(), LoopFault> {
        for (position, ((range, content), &to)) in from.iter().zip(to).enumerate() {
            self.copy(at, position, content.clone(), *range, to)?;
        }
        Ok(())
    }

    /// Does the condition say that there is another iteration?
    fn ask(&mut self, at: (usize, OpId), cond: usize, depth: usize) -> Result<bool, LoopFault> {
        self.run_graph(cond, depth)?;
        let answer = self.program.graphs[cond].outputs().first().copied();
        let answer = answer.map(|t| self.places.range(cond, t)).filter(|range| range.bytes > 0);
        let content = answer.map(|range| self.read(Range { bytes: 1, ..range })).unwrap_or_default();
        match self.terms.known_bytes(&content).as_deref() {
            Some([byte]) => Ok(*byte != 0),
            _ => Err(self.unfollowed(at.0, at.1, "whether there is another iteration depends on the input")),
        }
    }
}
