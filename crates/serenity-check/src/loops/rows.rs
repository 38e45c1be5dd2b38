//! Ops that make each row of their result from some rows of their operands.

use super::acts::RowOperand;
use super::fault::LoopFault;
use super::machine::Machine;
use super::terms::{Note, Piece, RowId, Term};
use super::windows::{Filler, Window};
use serenity_ir::OpId;

impl Machine<'_, '_> {
    /// Convolutions and pools. Rows are taken as far as windows cover them, with all padding in place: so a row that
    /// was padded before by hand and one that the op pads itself are the same, and columns that no window reaches do
    /// not count.
    pub(super) fn window(
        &mut self,
        graph: usize,
        op: OpId,
        window: &Window,
    ) -> Result<Vec<Piece>, LoopFault> {
        let Window { rows, columns, pixel, .. } = *window;
        let filler = match &window.filler {
            Filler::ZeroPoint(bytes) => self.terms.bytes(bytes),
            Filler::Nothing => self.terms.value(Term::Outside, Note::default()),
        };
        let width = columns.covered() * pixel;
        let [left, row_bytes] = [columns.before, columns.input].map(|pixels| pixels * pixel);
        let operand = &self.program.ops[graph][op.index()].operands[0];
        let beside = self.terms.piece(filler, 0, width);
        let outside = self.terms.row(&[beside]);
        let mut padded = Vec::new();
        for row in 0..rows.input {
            let inside = self.read_part(graph, operand, 0, row * row_bytes, row_bytes);
            self.spend(2 + inside.len() as u64)?;
            let mut content = Vec::new();
            self.terms.append(&mut content, self.terms.piece(filler, 0, left));
            for piece in inside {
                self.terms.append(&mut content, piece);
            }
            let right = width.saturating_sub(left + row_bytes);
            self.terms.append(&mut content, self.terms.piece(filler, 0, right));
            let content = self.terms.cut(&content, 0, width);
            padded.push(self.terms.row(&content));
        }
        let mut result = Vec::new();
        for row in 0..rows.output {
            self.spend(rows.taps)?;
            let read: Box<[RowId]> =
                rows.places(row).map(|place| place.map_or(outside, |place| padded[place as usize])).collect();
            self.make(graph, op, row, read, window.output_row, &mut result);
        }
        Ok(result)
    }

    /// Element-wise ops, concatenations of channels, and rows that are repeated.
    pub(super) fn rows(
        &mut self,
        graph: usize,
        op: OpId,
        rows: &[RowOperand],
    ) -> Result<Vec<Piece>, LoopFault> {
        let Some((output, operands)) = rows.split_last() else { return Ok(Vec::new()) };
        let mut result = Vec::new();
        for row in 0..output.rows {
            let mut read = Vec::new();
            for part in operands {
                let operand = &self.program.ops[graph][op.index()].operands[part.position];
                let own = row * part.rows / output.rows;
                let content =
                    self.read_part(graph, operand, part.position, own * part.row_bytes, part.row_bytes);
                self.spend(1 + content.len() as u64)?;
                read.push(self.terms.row(&content));
            }
            self.make(graph, op, row, read.into(), output.row_bytes, &mut result);
        }
        Ok(result)
    }

    /// The next row of the result of an op.
    fn make(
        &mut self,
        graph: usize,
        op: OpId,
        row: u64,
        rows: Box<[RowId]>,
        bytes: u64,
        result: &mut Vec<Piece>,
    ) {
        let of = self.program.ops[graph][op.index()].identity;
        // These have no memory: how often they ran does not matter.
        let made = Term::Made { of, output: 0, run: 0, rows };
        let value = self.terms.value(made, self.note(graph, op, row));
        result.push(self.terms.piece(value, 0, bytes));
    }
}
