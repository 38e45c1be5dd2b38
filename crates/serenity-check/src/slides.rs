//! Windows that slide: rings whose rows are kept from one window to the next.
//!
//! The checker knows nothing of interior rows and borders. It gives each row a number that stands for the operator and for
//! the numbers of all rows that it reads, those outside included: rows with equal numbers are equal, in whatever window.
//! Then it takes the steps as code takes them, from the first row that is pushed, and notes which row lies where. When a
//! window is full, the rows that leave must have the numbers that they have if the whole network runs on this window.
//!
//! Windows are followed until each row has lived as long as any can after the first is full. Rings turn from round to
//! round: they may share bytes with nothing, so it does not matter how far.

use crate::StreamFault;
use crate::streams::{Line, Made, Reads, followed};
use serenity_ir::{Graph, OpId, TensorId};
use std::collections::{BTreeMap, HashMap};

/// More steps than are followed.
const MOST_STEPS: u64 = 1 << 24;

/// What windows that slide claim: the first operators of a network, and what is kept of their rows.
#[derive(Clone, Debug)]
pub struct SlideClaim {
    /// The operators.
    pub ops: Vec<OpId>,
    /// The rows of the input, then of what each operator makes.
    pub lines: Vec<SlideLine>,
    /// What happens in a round, again and again.
    pub steps: Vec<SlideStep>,
    /// The step that takes the first row.
    pub start: usize,
    /// Windows that end before there are enough rows.
    pub early: u64,
    /// Rows of the input from one window to the next.
    pub hop: u64,
    /// Windows of a round.
    pub phases: u64,
    /// Rounds after which code counts them from 0.
    pub rounds: u64,
    /// The lines whose tensors leave, and where these lie when a window is full.
    pub leaves: Vec<(usize, u64)>,
    /// Bytes of the arena that the rest of the network writes when a window is full, from 0 on.
    pub rest: u64,
    /// Bytes of the arena.
    pub arena: u64,
}

/// A ring: row `r` lies at `r` modulo `held`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlideRing {
    /// Rows that it has room for.
    pub held: u64,
    /// Where it begins.
    pub place: u64,
}

/// The rows of one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlideLine {
    /// The tensor.
    pub tensor: TensorId,
    /// The first row that lies in the rings which are kept.
    pub first: i64,
    /// The last row that lies there.
    pub last: i64,
    /// The first one for steps of the upper border.
    pub again: i64,
    /// Rings, for as many windows.
    pub phases: u64,
    /// Rows by which a ring has moved when its next window comes.
    pub shift: u64,
    /// The first ring; the others follow.
    pub kept: SlideRing,
    /// Other rows, or sums.
    pub border: SlideRing,
    /// Where a new row lies until it is kept, if not in a ring.
    pub newest: Option<u64>,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlideAct {
    /// A row of the input comes.
    Push,
    /// An operator makes a row.
    Run(usize),
    /// A row of a line is copied to the tensor that leaves.
    Gather(usize),
    /// The newest row of a line is copied to its ring.
    Keep(usize),
    /// The window is full.
    Full,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlideStep {
    /// What it does.
    pub act: SlideAct,
    /// The window, from the first of the round on.
    pub window: u64,
    /// The row in this window.
    pub row: u64,
    /// Is it part of the upper border?
    pub is_top: bool,
    /// The lines whose last row that is read lies at `newest`.
    pub fresh: Vec<usize>,
}

/// The fault of windows that slide, if they have one.
///
/// # Errors
/// If some window does not get what the network makes of it, or if the checker cannot follow.
pub fn check_slide(graph: &Graph, claim: &SlideClaim) -> Result<(), StreamFault> {
    let tensors: Vec<TensorId> = claim.lines.iter().map(|line| line.tensor).collect();
    let (lines, ops) = followed(graph, &claim.ops, &tensors, &claim.leaves)?;
    let leaving = graph.tensor(tensors[claim.ops.len()]).bytes;
    let mut machine = Machine::new(claim, lines, ops, leaving)?;
    machine.rings_are_alone()?;
    machine.follow()
}

/// What a row is: equal numbers are equal rows.
type Content = u32;

/// A row that comes of rows which were not there.
const GARBAGE: Content = 0;

/// Numbers of rows, by what they are made of.
#[derive(Default)]
struct Contents {
    /// By operator, or none for the input, and what is read: by row of the operator for sums.
    known: HashMap<(usize, Vec<Option<i64>>), Content>,
}

impl Contents {
    fn of(&mut self, maker: usize, read: Vec<Option<i64>>) -> Content {
        let next = self.known.len() as Content + 1;
        *self.known.entry((maker, read)).or_insert(next)
    }
}

/// A step's window, counted from the first that is full, and what the code finds rows by.
#[derive(Clone, Copy)]
struct At {
    window: i64,
    in_round: u64,
    round: u64,
    is_top: bool,
}

struct Machine<'c> {
    claim: &'c SlideClaim,
    lines: Vec<Line>,
    ops: Vec<Made>,
    /// Bytes of the result of sums.
    leaving: u64,
    contents: Contents,
    /// By window: the rows of each line if the network runs on it as a whole; of sums, each sum and then the result.
    wanted: BTreeMap<i64, Vec<Vec<Content>>>,
    /// Rows in the arena: from where to where, and what.
    arena: BTreeMap<u64, (u64, Content)>,
    pushed: i64,
    now: usize,
}

impl<'c> Machine<'c> {
    fn new(
        claim: &'c SlideClaim,
        lines: Vec<Line>,
        ops: Vec<Made>,
        leaving: u64,
    ) -> Result<Self, StreamFault> {
        let shape = |reason: &str| Err(StreamFault::Shape(reason.to_owned()));
        let is_small = |number: u64| number <= 1 << 32;
        let are_small = claim.lines.iter().all(|line| {
            let numbers = [line.kept.held, line.kept.place, line.border.held, line.border.place, line.shift];
            numbers.into_iter().all(is_small) && line.phases >= 1 && claim.phases.is_multiple_of(line.phases)
        });
        if !are_small || claim.hop == 0 || claim.phases == 0 || !is_small(claim.hop * claim.phases) {
            return shape("its numbers make no sense");
        }
        let is_line = |&line: &usize| line < claim.lines.len();
        let is_known = |step: &SlideStep| {
            let is_there = match step.act {
                SlideAct::Run(op) => op < ops.len(),
                SlideAct::Gather(line) | SlideAct::Keep(line) => is_line(&line),
                SlideAct::Push | SlideAct::Full => true,
            };
            is_there && step.fresh.iter().all(is_line) && is_small(step.window) && is_small(step.row)
        };
        if claim.start >= claim.steps.len() || !claim.steps.iter().all(is_known) {
            return shape("a step names what is not there");
        }
        let turns = |line: &SlideLine| {
            let advance = u128::from(line.shift * (claim.phases / line.phases));
            (u128::from(claim.rounds) * advance).is_multiple_of(u128::from(line.kept.held.max(1)))
        };
        if claim.rounds == 0 || !claim.lines.iter().all(turns) {
            return shape("its rings do not begin where they did when rounds are counted anew");
        }
        let (wanted, arena) = (BTreeMap::new(), BTreeMap::new());
        let contents = Contents::default();
        Ok(Self { claim, lines, ops, leaving, contents, wanted, arena, pushed: 0, now: 0 })
    }

    /// Refuses rings that share bytes with anything: they turn, and only one place of each is followed.
    fn rings_are_alone(&self) -> Result<(), StreamFault> {
        let claim = self.claim;
        let mut places = vec![(0, claim.rest, None)];
        for (number, (line, one)) in claim.lines.iter().zip(&self.lines).enumerate() {
            let kept = line.kept.held.saturating_mul(one.bytes).saturating_mul(line.phases);
            let places_of_it = [
                (line.kept.place, kept, Some(number)),
                (line.border.place, line.border.held.saturating_mul(one.bytes), None),
                (line.newest.unwrap_or(0), line.newest.map_or(0, |_| one.bytes), None),
            ];
            places.extend(places_of_it);
        }
        for &(line, offset) in &claim.leaves {
            places.push((offset, self.bytes_of(line), None));
        }
        for &(place, bytes, ring) in &places {
            let Some(number) = ring.filter(|_| bytes > 0) else { continue };
            let end = place.saturating_add(bytes);
            let shares = |&(other, bytes, of): &(u64, u64, Option<usize>)| {
                of != ring && bytes > 0 && place < other.saturating_add(bytes) && other < end
            };
            if end > claim.arena || places.iter().any(shares) {
                return Err(StreamFault::Shared(claim.lines[number].tensor));
            }
        }
        Ok(())
    }

    fn is_sum(&self, line: usize) -> bool {
        line.checked_sub(1).is_some_and(|op| matches!(self.ops[op].1, Reads::Sum))
    }

    /// Bytes of a tensor that leaves.
    fn bytes_of(&self, line: usize) -> u64 {
        let one = &self.lines[line];
        if self.is_sum(line) { self.leaving } else { one.bytes.saturating_mul(one.rows) }
    }

    fn follow(&mut self) -> Result<(), StreamFault> {
        let (phases, frames) = (self.claim.phases as i64, self.lines[0].rows);
        let first = i64::try_from(self.claim.early).map(|early| -early);
        let first = first.map_err(|_| StreamFault::Shape("its first window never comes".to_owned()))?;
        let last = i64::try_from(frames.div_ceil(self.claim.hop)).unwrap_or(i64::MAX / 2) + 3 * phases;
        let (mut window, mut round, mut taken) = (first, 0_u64, 0_u64);
        self.now = self.claim.start;
        if self.claim.steps[self.now].act != SlideAct::Push {
            return Err(self.refused("the first step takes no row"));
        }
        let of_round = first.div_euclid(phases);
        while window < last {
            let step = &self.claim.steps[self.now];
            let (in_round, is_top) = (step.window, step.is_top);
            let number = step.window as i64 + (of_round + round as i64) * phases;
            let at = At { window: number, in_round, round: round % self.claim.rounds, is_top };
            if step.act == SlideAct::Full {
                if number != window {
                    return Err(self.refused("another window is full"));
                }
                self.full(window)?;
                window += 1;
            } else {
                self.take(step, at)?;
            }
            self.now += 1;
            if self.now == self.claim.steps.len() {
                (self.now, round) = (0, round + 1);
            }
            taken += 1;
            if taken > MOST_STEPS {
                return Err(self.refused("it takes too many steps"));
            }
        }
        Ok(())
    }

    fn refused(&self, reason: &str) -> StreamFault {
        StreamFault::Step { step: self.now, reason: reason.to_owned() }
    }

    fn take(&mut self, step: &SlideStep, at: At) -> Result<(), StreamFault> {
        match step.act {
            SlideAct::Push => {
                let frame = self.contents.of(usize::MAX, vec![Some(self.pushed)]);
                self.pushed += 1;
                self.make(0, at, step.row, frame, &[])
            }
            SlideAct::Keep(line) => {
                let newest = self.claim.lines[line].newest;
                let from = newest.ok_or_else(|| self.refused("there is no new row to keep"))?;
                let bytes = self.lines[line].bytes;
                let content = self.holds(from, bytes);
                let to = self.slot(line, at, step.row);
                self.write(to, bytes, content, &[(from, from + bytes)])
            }
            SlideAct::Gather(line) => {
                let (content, read) = self.look(line, at, step.row, step.fresh.contains(&line))?;
                let leaves = self.claim.leaves.iter().find(|&&(leaves, _)| leaves == line);
                let &(_, offset) = leaves.ok_or_else(|| self.refused("the line does not leave"))?;
                let bytes = self.lines[line].bytes;
                if step.row >= self.lines[line].rows {
                    return Err(self.refused("there is no such row"));
                }
                self.write(offset.saturating_add(step.row * bytes), bytes, content, &[read])
            }
            SlideAct::Run(op) => self.run(op, step, at),
            SlideAct::Full => Ok(()),
        }
    }

    fn run(&mut self, op: usize, step: &SlideStep, at: At) -> Result<(), StreamFault> {
        let (mut content, mut read) = (Vec::new(), Vec::new());
        if step.row >= self.lines[op + 1].rows {
            return Err(self.refused("there is no such row"));
        }
        for line in self.ops[op].0.clone() {
            let rows = self.ops[op].1.rows(step.row, self.lines[line].rows);
            let highest = rows.iter().rposition(Option::is_some);
            for (tap, row) in rows.into_iter().enumerate() {
                let is_fresh = Some(tap) == highest && step.fresh.contains(&line);
                let found = row.map(|row| self.look(line, at, row, is_fresh)).transpose()?;
                content.push(found.map(|(content, _)| i64::from(content)));
                read.extend(found.map(|(_, bytes)| bytes));
            }
        }
        if matches!(self.ops[op].1, Reads::Sum) {
            return self.sum(op, step.row, content, &read);
        }
        let is_lost = content.contains(&Some(i64::from(GARBAGE)));
        let made = if is_lost { GARBAGE } else { self.contents.of(op, content) };
        self.make(op + 1, at, step.row, made, &read)
    }

    /// Adds a row to sums; with the last, writes the result.
    fn sum(
        &mut self,
        op: usize,
        row: u64,
        mut content: Vec<Option<i64>>,
        read: &[(u64, u64)],
    ) -> Result<(), StreamFault> {
        let (place, bytes, rows) =
            (self.claim.lines[op + 1].border.place, self.lines[op + 1].bytes, self.lines[op + 1].rows);
        content.push((row > 0).then(|| i64::from(self.holds(place, bytes))));
        content.push(Some(row as i64));
        let is_lost = content[..content.len() - 1].contains(&Some(i64::from(GARBAGE)));
        let made = if is_lost { GARBAGE } else { self.contents.of(op, content) };
        self.write(place, bytes, made, read)?;
        if row + 1 == rows {
            let leaves = self.claim.leaves.iter().find(|&&(leaves, _)| leaves == op + 1);
            let &(_, offset) = leaves.ok_or_else(|| self.refused("what sums make does not leave"))?;
            let all = [read, &[(place, place + bytes)]].concat();
            self.write(offset, self.leaving, made, &all)?;
        }
        Ok(())
    }

    /// Where the code looks for a row that is not in the buffer of new ones.
    fn slot(&self, line: usize, at: At, row: u64) -> u64 {
        let (claimed, bytes) = (&self.claim.lines[line], self.lines[line].bytes);
        let first = if at.is_top { claimed.again } else { claimed.first };
        if (row as i64) < first || row as i64 > claimed.last {
            return claimed.border.place + row % claimed.border.held.max(1) * bytes;
        }
        let held = claimed.kept.held.max(1);
        let advance = claimed.shift * (self.claim.phases / claimed.phases);
        let moved = at.round % held * (advance % held) % held;
        let place = (row + at.in_round / claimed.phases * claimed.shift + moved) % held;
        claimed.kept.place + (at.in_round % claimed.phases * held + place) * bytes
    }

    /// What lies there, if it is a whole row.
    fn holds(&self, offset: u64, bytes: u64) -> Content {
        self.arena.get(&offset).filter(|&&(end, _)| end == offset + bytes).map_or(GARBAGE, |&(_, row)| row)
    }

    /// A row that is read, and its bytes. In windows that count it must be the right one.
    fn look(
        &mut self,
        line: usize,
        at: At,
        row: u64,
        is_fresh: bool,
    ) -> Result<(Content, (u64, u64)), StreamFault> {
        let newest = self.claim.lines[line].newest;
        let offset = match is_fresh {
            true => newest.ok_or_else(|| self.refused("no new row lies in a buffer"))?,
            false => self.slot(line, at, row),
        };
        let bytes = self.lines[line].bytes;
        let content = self.holds(offset, bytes);
        if at.window >= 0 && self.wanted(at.window)[line].get(row as usize) != Some(&content) {
            let (step, tensor) = (self.now, self.claim.lines[line].tensor);
            return Err(StreamFault::Lost { step, tensor, row, offset });
        }
        Ok((content, (offset, offset + bytes)))
    }

    /// A row of a line comes to be, while these bytes are read.
    fn make(
        &mut self,
        line: usize,
        at: At,
        row: u64,
        content: Content,
        read: &[(u64, u64)],
    ) -> Result<(), StreamFault> {
        let newest = self.claim.lines[line].newest;
        let offset = newest.unwrap_or_else(|| self.slot(line, at, row));
        self.write(offset, self.lines[line].bytes, content, read)
    }

    fn write(
        &mut self,
        offset: u64,
        bytes: u64,
        content: Content,
        read: &[(u64, u64)],
    ) -> Result<(), StreamFault> {
        let (end, arena) = (offset.saturating_add(bytes), self.claim.arena);
        if end > arena {
            return Err(StreamFault::Outside { step: self.now, arena });
        }
        if read.iter().any(|&(first, until)| offset < until && first < end) {
            return Err(StreamFault::Overwrites { step: self.now });
        }
        self.drop(offset, end);
        self.arena.insert(offset, (end, content));
        Ok(())
    }

    /// Drops all rows of which some bytes are written over.
    fn drop(&mut self, offset: u64, end: u64) {
        // Rows never lie over each other, so the ends of those before grow with their beginnings.
        while let Some((&first, _)) =
            self.arena.range(..end).next_back().filter(|&(_, &(until, _))| until > offset)
        {
            self.arena.remove(&first);
        }
    }

    /// A window is full: what leaves must be there, then the rest runs.
    fn full(&mut self, window: i64) -> Result<(), StreamFault> {
        if window >= 0 {
            let frames = self.lines[0].rows as i64 + window * self.claim.hop as i64;
            if self.pushed != frames {
                return Err(self.refused("a window is full before its last row, or after"));
            }
            for &(line, offset) in &self.claim.leaves {
                let is_sum = self.is_sum(line);
                let wanted = self.wanted(window)[line].clone();
                if is_sum {
                    let is_there = wanted.last() == Some(&self.holds(offset, self.leaving));
                    if !is_there {
                        return Err(StreamFault::Unfinished { row: 0 });
                    }
                    continue;
                }
                let bytes = self.lines[line].bytes;
                for (row, wanted) in (0..).zip(wanted) {
                    if self.holds(offset + row * bytes, bytes) != wanted {
                        return Err(StreamFault::Unfinished { row });
                    }
                }
            }
        }
        self.drop(0, self.claim.rest);
        self.wanted.retain(|&wanted, _| wanted > window);
        Ok(())
    }

    /// The rows of each line if the network runs on a window as a whole.
    fn wanted(&mut self, window: i64) -> &Vec<Vec<Content>> {
        if !self.wanted.contains_key(&window) {
            let begins = window.saturating_mul(self.claim.hop as i64);
            let frames = (0..self.lines[0].rows as i64)
                .map(|row| self.contents.of(usize::MAX, vec![Some(begins.saturating_add(row))]));
            let mut all = vec![frames.collect::<Vec<Content>>()];
            for (op, (inputs, reads)) in self.ops.iter().enumerate() {
                let mut made: Vec<Content> = Vec::new();
                for row in 0..self.lines[op + 1].rows {
                    let read = inputs.iter().flat_map(|&line| {
                        let rows = reads.rows(row, self.lines[line].rows);
                        let found =
                            |row: Option<u64>| all[line].get(row? as usize).map(|&row| i64::from(row));
                        rows.into_iter().map(found).collect::<Vec<_>>()
                    });
                    let mut read: Vec<Option<i64>> = read.collect();
                    if matches!(reads, Reads::Sum) {
                        read.push(made.last().map(|&sums| i64::from(sums)));
                        read.push(Some(row as i64));
                    }
                    made.push(self.contents.of(op, read));
                }
                all.push(made);
            }
            self.wanted.insert(window, all);
        }
        &self.wanted[&window]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use serenity_ir::{ElementType, GraphBuilder, Op, OpKind, Tensor};

    /// A pool over two of four rows of one byte, and something that reads its result.
    fn pool() -> Graph {
        let mut graph = GraphBuilder::new("pool");
        let tensor = |rows: u64| Tensor::shaped("", vec![1, rows, 1, 1], ElementType::Int8).unwrap();
        let (input, output) = (graph.input(tensor(4)), graph.tensor(tensor(3)));
        let Value::Object(attributes) =
            json!({"kernel": [2, 1], "stride": [1, 1], "padding": "valid", "activation": "none"})
        else {
            unreachable!("attributes are an object")
        };
        let (name, kind) = (String::new(), OpKind::new("MAX_POOL_2D"));
        let (inputs, outputs, extra) = (vec![input], vec![output], serde_json::Map::new());
        graph.push_op(Op { name, kind, inputs, outputs, attributes, extra });
        let end = graph.op("", "RESHAPE", &[output], Tensor::sized("", 3));
        graph.output(end);
        graph.build().unwrap()
    }

    /// Two rows of the input and three of the result are kept; what leaves lies at 0.
    fn claim(graph: &Graph) -> SlideClaim {
        let step = |act, row| SlideStep { act, window: 0, row, is_top: false, fresh: Vec::new() };
        let line = |tensor: TensorId, last, held, place| SlideLine {
            tensor,
            first: 0,
            last,
            again: 0,
            phases: 1,
            shift: 1,
            kept: SlideRing { held, place },
            border: SlideRing { held: 0, place: 0 },
            newest: None,
        };
        let pool = graph.file_order()[0];
        let gather = (0..3).map(|row| step(SlideAct::Gather(1), row));
        let steps = [step(SlideAct::Push, 3), step(SlideAct::Run(0), 2)].into_iter().chain(gather);
        SlideClaim {
            ops: vec![pool],
            lines: vec![line(graph.inputs()[0], 3, 2, 3), line(graph.op(pool).outputs[0], 2, 3, 5)],
            steps: steps.chain([step(SlideAct::Full, 0)]).collect(),
            start: 0,
            early: 3,
            hop: 1,
            phases: 1,
            rounds: 6,
            leaves: vec![(1, 0)],
            rest: 3,
            arena: 8,
        }
    }

    #[test]
    fn rings_are_followed_over_windows() {
        let graph = pool();
        assert_eq!(check_slide(&graph, &claim(&graph)), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let graph = pool();
        let fault = |change: fn(&mut SlideClaim)| {
            let mut claim = claim(&graph);
            change(&mut claim);
            check_slide(&graph, &claim).unwrap_err()
        };
        let is_lost = |fault: StreamFault| matches!(fault, StreamFault::Lost { .. });
        assert!(is_lost(fault(|claim| claim.lines[0].kept.held = 1)));
        assert!(is_lost(fault(|claim| claim.lines[1].kept.held = 2)));
        assert!(is_lost(fault(|claim| claim.lines[1].shift = 2)));
        // A row that is not made anew, and so is that of another window.
        assert!(is_lost(fault(|claim| drop(claim.steps.remove(1)))));
        assert!(matches!(fault(|claim| claim.lines[0].kept.place = 4), StreamFault::Shared(_)));
        assert!(matches!(fault(|claim| claim.rest = 4), StreamFault::Shared(_)));
        assert!(matches!(fault(|claim| drop(claim.steps.remove(4))), StreamFault::Unfinished { row: 2 }));
        // The first window would be full with a row too few, or too many.
        assert!(is_lost(fault(|claim| claim.early = 2)));
        assert!(is_lost(fault(|claim| claim.early = 4)));
        assert!(matches!(fault(|claim| claim.rounds = 5), StreamFault::Shape(_)));
        assert!(matches!(fault(|claim| claim.steps.clear()), StreamFault::Shape(_)));
        assert!(matches!(fault(|claim| claim.arena = 7), StreamFault::Shared(_)));
    }
}
