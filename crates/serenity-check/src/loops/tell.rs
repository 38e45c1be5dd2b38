//! Where two contents differ, in words.

use super::identity::Identity;
use super::program::Program;
use super::terms::{Note, Piece, Term, Terms};
use serenity_ir::OpId;

/// How deep a difference is followed.
const DEEPEST: usize = 10_000;

/// A difference: who reads what is wrong, what should be there, what is.
pub(super) struct Difference {
    pub(super) reader: String,
    pub(super) expected: String,
    pub(super) found: String,
}

/// Tells the runs apart that a comparison is about.
pub(super) struct Teller<'t, 'a> {
    pub(super) terms: &'t Terms,
    /// By run: the model that ran.
    pub(super) programs: &'t [&'t Program<'a>],
}

impl Teller<'_, '_> {
    /// The first difference, followed from what ops made to what they made it from.
    pub(super) fn difference(&self, expected: &[Piece], found: &[Piece]) -> Difference {
        let mut reader = "it holds".to_owned();
        let (mut expected, mut found) = (expected.to_vec(), found.to_vec());
        for _ in 0..DEEPEST {
            let Some((wanted, given)) = first_difference(self.terms, &expected, &found) else { break };
            let rows = match (self.terms.term(wanted.value), self.terms.term(given.value)) {
                (
                    Term::Made { of: a, rows: wanted_rows, output: n, run: i },
                    Term::Made { of: b, rows: given_rows, output: m, run: j },
                ) if (a, n, i) == (b, m, j) && wanted.offset == given.offset => {
                    wanted_rows.iter().zip(given_rows).find(|(a, b)| a != b)
                }
                _ => None,
            };
            let Some((wanted_row, given_row)) = rows else {
                return Difference { reader, expected: self.tell(&wanted), found: self.tell(&given) };
            };
            reader = format!("{} reads", self.place(self.terms.note(given.value)));
            (expected, found) =
                (self.terms.content(*wanted_row).to_vec(), self.terms.content(*given_row).to_vec());
        }
        let unknown = || "something else".to_owned();
        Difference { reader, expected: unknown(), found: unknown() }
    }

    fn tell(&self, piece: &Piece) -> String {
        let (begin, end) = (piece.offset, piece.offset + piece.bytes);
        match self.terms.term(piece.value) {
            Term::Input(number) => {
                let main = self.programs[0].graphs[0];
                let label = main.inputs().get(*number).map(|&t| main.tensor_label(t)).unwrap_or_default();
                format!("bytes {begin} to {end} of input `{label}`")
            }
            Term::Bytes(pattern) if pattern.len() <= 8 => format!("bytes that repeat {pattern:?}"),
            Term::Bytes(_) => "numbers of a constant".to_owned(),
            Term::Constant { of, position } => {
                format!("the constant at position {position} of {}", self.name(*of))
            }
            Term::Made { of, .. } => {
                let note = self.terms.note(piece.value);
                format!("row {} of {}, made by {}", note.row, self.name(*of), self.place(note))
            }
            Term::Outside => "nothing, beyond an end".to_owned(),
            Term::Garbage { .. } => "what was never written, or is lost".to_owned(),
        }
    }

    /// The op that an identity stands for.
    fn name(&self, of: Identity) -> String {
        let (program, graph, op): (_, usize, OpId) = match of {
            Identity::Old { graph, op } => (self.programs.first(), graph, op),
            Identity::New { graph, op } => (self.programs.last(), graph, op),
        };
        let graph = program.and_then(|program| program.graphs.get(graph));
        graph
            .filter(|graph| op.index() < graph.ops().len())
            .map_or_else(|| format!("op {op}"), |graph| format!("`{}`", graph.op_label(op)))
    }

    fn place(&self, note: Note) -> String {
        let program = self.programs.get(note.run).or(self.programs.last());
        match (program, note.op) {
            (Some(program), Some(op)) => program.at(note.graph, op, note.iteration).to_string(),
            _ => "nobody".to_owned(),
        }
    }
}

/// What lies at the first byte that differs, as far as it is in one piece on both sides.
fn first_difference(terms: &Terms, expected: &[Piece], found: &[Piece]) -> Option<(Piece, Piece)> {
    let (mut expected, mut found) = (expected.to_vec(), found.to_vec());
    loop {
        let (Some(&a), Some(&b)) = (expected.first(), found.first()) else { return None };
        let bytes = a.bytes.min(b.bytes);
        let (a, b) = (Piece { bytes, ..a }, Piece { bytes, ..b });
        if a != b {
            return Some((a, b));
        }
        [expected, found] = [expected, found].map(|content| terms.cut(&content, bytes, u64::MAX));
    }
}
