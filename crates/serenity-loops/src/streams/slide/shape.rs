//! Which rows are interior, and how far a window moves in each tensor.

use super::super::prefix::{Prefix, Rule, StreamOp};
use super::{Above, Act, Ring, SlideLine};
use crate::rows::Rows;

/// Most windows of a round: each has rings of its own.
const MOST_PHASES: i64 = 16;

/// Most rows of a tensor: code counts them in 16 bits.
const MOST_ROWS: i64 = u16::MAX as i64;
/// Most rows of all tensors in as many windows as have a row in common, so that windows can be followed and checked.
const MOST_FOLLOWED: i64 = 1 << 25;

/// Part of the rows of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Rows at the upper border, and those that are computed anew for them.
    Top,
    /// Rows below the interior.
    Bottom,
}

/// A prefix with what a window that slides needs to know.
pub(super) struct Shape<'p> {
    pub(super) prefix: &'p Prefix,
    pub(super) lines: Vec<SlideLine>,
    /// Windows of a round.
    pub(super) phases: i64,
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

pub(super) fn lcm(a: i64, b: i64) -> i64 {
    a / gcd(a, b) * b
}

impl<'p> Shape<'p> {
    /// `None` if some tensor has no row that is the same in several windows, or moves by another number of rows on two
    /// paths, or if there are more rows than are followed.
    pub(super) fn of(prefix: &'p Prefix, hop: i64, above: Above) -> Option<Self> {
        let rows = || prefix.shapes.iter().map(|shape| shape.rows);
        let windows = prefix.shapes[0].rows / hop + 1;
        if rows().any(|rows| rows > MOST_ROWS) || rows().sum::<i64>().checked_mul(windows)? > MOST_FOLLOWED {
            return None;
        }
        let mut lines: Vec<SlideLine> = Vec::new();
        for (number, shape) in prefix.shapes.iter().enumerate() {
            let line = SlideLine {
                tensor: shape.tensor,
                rows: shape.rows,
                row_bytes: shape.row_bytes as u64,
                first: 0,
                last: shape.rows - 1,
                again: 0,
                phases: 1,
                shift: hop,
                kept: Ring::default(),
                border: Ring::default(),
                newest: None,
            };
            let line = match number.checked_sub(1).map(|op| &prefix.ops[op]) {
                None => line,
                Some(StreamOp { rule: Rule::Sum, .. }) => SlideLine { last: -1, shift: 0, ..line },
                Some(StreamOp { rule: Rule::Rows(rule), reads, .. }) => moved(line, *rule, reads, &lines)?,
            };
            lines.push(line);
        }
        let phases = lines.iter().fold(1, |phases, line| lcm(phases, line.phases));
        // Rows that no window holds are only left out where every window is of the same phase.
        let has_gaps = lines.iter().any(|line| line.last >= 0 && line.shift > line.last - line.first + 1);
        if phases > MOST_PHASES || has_gaps && phases > 1 {
            return None;
        }
        let mut shape = Self { prefix, lines, phases };
        shape.computes_anew(above);
        shape.is_sound().then_some(shape)
    }

    /// The operators that work row by row and read a line.
    pub(super) fn readers(&self, line: usize) -> impl Iterator<Item = usize> + '_ {
        let ops = self.prefix.ops.iter().enumerate();
        ops.filter(move |(_, op)| op.rule != Rule::Sum && op.reads.contains(&line)).map(|(number, _)| number)
    }

    /// The lines whose rows are taken one by one when a window is full, and what takes them.
    pub(super) fn wholes(&self) -> Vec<(usize, Act)> {
        let last = self.prefix.ops.len() - 1;
        let taken = |&line: &usize| match self.prefix.is_sum() && line == last + 1 {
            true => (self.prefix.ops[last].reads[0], Act::Run(last)),
            false => (line, Act::Gather(line)),
        };
        self.prefix.leaving.iter().map(taken).collect()
    }

    /// The rows of a line that a row of an operator's result needs.
    pub(super) fn needs(&self, op: usize, row: i64, line: usize) -> (i64, i64) {
        self.prefix.ops[op].rule.needs(row, self.lines[line].rows)
    }

    /// The rows of a line that belong to a part.
    pub(super) fn part(&self, line: usize, part: Part) -> (i64, i64) {
        let SlideLine { rows, last, again, .. } = self.lines[line];
        match part {
            Part::Top => (0, again),
            Part::Bottom => (last + 1, rows),
        }
    }

    /// The rows of a line that a row at a border finds in the ring of interior rows.
    pub(super) fn kept_needs(&self, op: usize, row: i64, line: usize, part: Part) -> Option<(i64, i64)> {
        let SlideLine { first, last, again, .. } = self.lines[line];
        let (a, b) = self.needs(op, row, line);
        let (a, b) = (a.max(if part == Part::Top { again } else { first }), b.min(last + 1));
        (a < b).then_some((a, b))
    }

    /// Decides how many rows above are computed anew.
    fn computes_anew(&mut self, above: Above) {
        for line in (1..self.lines.len()).rev() {
            let needed = self.readers(line).filter(|&op| self.lines[op + 1].again > 0);
            let needed = needed.map(|op| self.needs(op, self.lines[op + 1].again - 1, line).1).max();
            let needed = needed.filter(|_| above == Above::Anew).unwrap_or(0);
            self.lines[line].again = self.lines[line].first.max(needed);
        }
    }

    /// Do the two borders of a window never need each other's rows?
    fn is_sound(&self) -> bool {
        let is_apart = |line: usize| {
            let SlideLine { first, last, again, .. } = self.lines[line];
            let reads_above = |op: usize| {
                let (_, end) = self.part(op + 1, Part::Top);
                end > 0 && self.needs(op, end - 1, line).1 > last + 1
            };
            let reads_below = |op: usize| {
                let (row, end) = self.part(op + 1, Part::Bottom);
                row < end && self.needs(op, row, line).0 < first
            };
            again <= last + 1 && !self.readers(line).any(|op| reads_above(op) || reads_below(op))
        };
        let count = self.lines.len() - usize::from(self.prefix.is_sum());
        (0..count).all(is_apart)
    }
}

/// What an operator makes of lines that move: `None` if they do not move alike, or nothing of it is interior.
fn moved(line: SlideLine, rule: Rows, reads: &[usize], lines: &[SlideLine]) -> Option<SlideLine> {
    let inputs = || reads.iter().map(|&read| &lines[read]);
    let phases = inputs().fold(1, |phases, input| lcm(phases, input.phases));
    let shift = inputs().next()?.advance(phases);
    if phases > MOST_PHASES || inputs().any(|input| input.advance(phases) != shift) {
        return None;
    }
    let fine = shift.checked_mul(rule.times())?;
    let more = rule.stride() / gcd(fine, rule.stride());
    let is_interior = |row: i64| {
        let (a, b) = rule.needed((row, row + 1));
        inputs().all(|input| a >= input.first && b <= input.last + 1)
    };
    let first = (0..line.rows).find(|&row| is_interior(row))?;
    let last = (0..line.rows).rfind(|&row| is_interior(row))?;
    let shift = fine.checked_mul(more)? / rule.stride();
    (more <= MOST_PHASES && shift > 0).then_some(SlideLine {
        first,
        last,
        phases: phases * more,
        shift,
        ..line
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::{Form, Prefix};
    use super::super::follow::follow;
    use super::super::{Above, Act};
    use super::Shape;
    use serde_json::{Value, json};
    use serenity_ir::{ElementType, Graph, GraphBuilder, Op, OpKind, Tensor};

    /// Pools over time: kernel, stride and padding of each.
    fn pools(rows: u64, pools: &[(u64, u64, &str, u64)]) -> Graph {
        let mut graph = GraphBuilder::new("pools");
        let tensor = |rows: u64| Tensor::shaped("", vec![1, rows, 1, 4], ElementType::Int8).unwrap();
        let mut last = graph.input(tensor(rows));
        for &(kernel, stride, padding, made) in pools {
            let output = graph.tensor(tensor(made));
            let Value::Object(attributes) = json!({"kernel": [kernel, 1], "stride": [stride, 1], "padding": padding, "activation": "none"})
            else {
                unreachable!("attributes are an object")
            };
            let (name, kind) = (String::new(), OpKind::new("MAX_POOL_2D"));
            let (inputs, outputs) = (vec![last], vec![output]);
            graph.push_op(Op { name, kind, inputs, outputs, attributes, extra: serde_json::Map::new() });
            last = output;
        }
        // What leaves is read behind the cut.
        let end = graph.op("", "RESHAPE", &[last], Tensor::sized("", 1));
        graph.output(end);
        graph.build().unwrap()
    }

    fn prefix(graph: &Graph) -> Prefix {
        Prefix::all(graph, &graph.file_order()).pop().unwrap()
    }

    #[test]
    fn borders_grow_and_strides_have_phases() {
        let graph = pools(12, &[(3, 1, "same", 12), (2, 2, "valid", 6), (1, 1, "valid", 6)]);
        let prefix = prefix(&graph);
        let seen = |hop: i64| {
            let shape = Shape::of(&prefix, hop, Above::Kept).unwrap();
            let lines = shape.lines.iter().map(|line| (line.first, line.last, line.phases, line.shift));
            lines.collect::<Vec<_>>()
        };
        assert_eq!(seen(1), [(0, 11, 1, 1), (1, 10, 1, 1), (1, 4, 2, 1), (1, 4, 2, 1)]);
        assert_eq!(seen(4), [(0, 11, 1, 4), (1, 10, 1, 4), (1, 4, 1, 2), (1, 4, 1, 2)]);
    }

    #[test]
    fn a_hop_makes_each_interior_row_once_and_borders_anew() {
        let graph = pools(12, &[(3, 1, "same", 12), (3, 1, "same", 12)]);
        let prefix = prefix(&graph);
        let rows = |hop: i64, above: Above| {
            let shape = Shape::of(&prefix, hop, above).unwrap();
            let followed = follow(&shape, Form::Tight).unwrap();
            let made = |op: usize| followed.steps.iter().filter(|step| step.act == Act::Run(op)).count();
            ([made(0), made(1)], followed.kept)
        };
        // One border row at each end of the first result, two of the second; and one interior row per hop.
        let (kept_rows, kept) = rows(1, Above::Kept);
        assert_eq!(kept_rows, [3, 5]);
        let (again, few) = rows(1, Above::Anew);
        // The second result's upper rows read three rows of the first.
        assert_eq!(again, [5, 5]);
        assert!(few[1] < kept[1], "{few:?} {kept:?}");
        assert_eq!(rows(3, Above::Kept).0, [5, 7]);
    }
}
