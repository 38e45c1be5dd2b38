//! Before an op runs: may its results lie where they do?

use super::acts::Move;
use super::fault::LoopFault;
use super::machine::Machine;
use super::moves::Copy;
use super::operands::Operand;
use super::overlap::{Range, is_read_first, moves_in_place, replay_fault};
use serenity_ir::OpId;

impl Machine<'_, '_> {
    /// An op that computes: the replay of its kernel tells whether its results may lie over what it reads.
    pub(super) fn check_overlap(&mut self, graph: usize, op: OpId) -> Result<(), LoopFault> {
        let Some(kernels) = self.places.kernels().filter(|_| self.is_checked.insert((graph, op))) else {
            return Ok(());
        };
        let program = self.program;
        let g = program.graphs[graph];
        self.check_outputs(graph, op)?;
        for (position, operand) in program.ops[graph][op.index()].operands.iter().enumerate() {
            let Operand::Activation(input) = *operand else { continue };
            let read = self.places.range(graph, input);
            for &output in &g.op(op).outputs {
                let written = self.places.range(graph, output);
                let fault = written
                    .meets(read)
                    .then(|| replay_fault(g, op, kernels, (input, read.begin), (output, written.begin)));
                if let Some(reason) = fault.flatten() {
                    let at = program.at(graph, op, self.iteration);
                    return Err(LoopFault::Overwrites { at, operand: position, reason });
                }
            }
        }
        Ok(())
    }

    fn check_outputs(&self, graph: usize, op: OpId) -> Result<(), LoopFault> {
        let outputs = &self.program.graphs[graph].op(op).outputs;
        for (number, &a) in outputs.iter().enumerate() {
            let a = self.places.range(graph, a);
            if outputs[number + 1..].iter().any(|&b| self.places.range(graph, b).meets(a)) {
                return Err(LoopFault::SharedOutputs { at: self.program.at(graph, op, self.iteration) });
            }
        }
        Ok(())
    }

    /// An op that moves: as [`check_overlap`](Self::check_overlap), but what goes onto itself does not move at all.
    pub(super) fn check_moves(
        &mut self,
        graph: usize,
        op: OpId,
        kind: Move,
        copies: &[Copy],
    ) -> Result<(), LoopFault> {
        if self.places.kernels().is_none() {
            return Ok(());
        }
        let program = self.program;
        let operands = &program.ops[graph][op.index()].operands;
        let output = self.places.range(graph, program.graphs[graph].op(op).outputs[0]);
        let places: Vec<Option<Range>> = (operands.iter().enumerate())
            .map(|(position, operand)| match operand {
                Operand::Activation(tensor) if !is_read_first(kind, position) => {
                    Some(self.places.range(graph, *tensor))
                }
                _ => None,
            })
            .collect();
        let is_apart = places.iter().flatten().all(|place| !place.meets(output));
        if is_apart || moves_in_place(kind, copies, &places, output) {
            return Ok(());
        }
        self.check_overlap(graph, op)
    }
}
