//! The steps of a round, found by following windows until rounds repeat.
//!
//! Interior rows are made as soon as their frames are there, the deepest operator first. When a window is full, its upper
//! border is made, then its lower one, and what leaves is gathered row by row meanwhile. Rows are counted from the first
//! window of their phase on, without an end; a step names its row as the window does that it is made for.

use super::super::Form;
use super::super::prefix::Rule;
use super::shape::{Part, Shape};
use super::{Act, SlideStep};
use std::collections::BTreeSet;

/// Rounds that are followed: rings fill in the first, and the others must be alike.
const ROUNDS: i64 = 3;
/// Most steps of a round: code counts them in 16 bits.
const MOST_STEPS: usize = 1 << 15;
/// Most steps until the first windows are full.
const MOST_BEFORE: usize = 1 << 18;

/// What following windows tells.
pub(super) struct Followed {
    /// The steps of a round.
    pub(super) steps: Vec<SlideStep>,
    /// By line: rows that the ring of each phase, and the ring of border rows, must have room for.
    pub(super) kept: Vec<i64>,
    pub(super) border: Vec<i64>,
    /// By line: the operators that read a new row of it in the shared buffer.
    pub(super) touched: Vec<BTreeSet<usize>>,
    /// Multiplications after each frame of a round.
    pub(super) macs: Vec<u64>,
    /// Are rows made when a window is full?
    pub(super) has_borders: bool,
}

/// A row as a window names it.
#[derive(Clone, Copy)]
struct Place {
    window: i64,
    row: i64,
    is_top: bool,
}

struct Follower<'s, 'p> {
    shape: &'s Shape<'p>,
    form: Form,
    /// The window that ends next.
    window: i64,
    /// The border that is being made, if the window is full.
    part: Option<Part>,
    /// By line and phase: the next interior row.
    made: Vec<Vec<i64>>,
    /// By line: the next row of the upper and of the lower border of this window.
    top: Vec<i64>,
    bottom: Vec<i64>,
    /// Of what leaves, or is added up: the next row of this window.
    whole: Vec<i64>,
    /// The newest row of each line, while it lies in the shared buffer.
    fresh: Vec<Option<Place>>,
    found: Followed,
    /// Is anything that the code cannot do?
    is_lost: bool,
}

/// `None` if rounds do not repeat.
pub(super) fn follow(shape: &Shape, form: Form) -> Option<Followed> {
    let count = shape.lines.len();
    let made = shape.lines.iter().map(|line| vec![line.first; line.phases as usize]);
    let mut follower = Follower {
        shape,
        form,
        window: 0,
        part: None,
        made: made.collect(),
        top: vec![0; count],
        bottom: vec![0; count],
        whole: vec![0; count],
        fresh: vec![None; count],
        found: Followed {
            steps: Vec::new(),
            kept: vec![0; count],
            border: vec![0; count],
            touched: vec![BTreeSet::new(); count],
            macs: Vec::new(),
            has_borders: false,
        },
        is_lost: false,
    };
    let mut before = None;
    for round in 0..ROUNDS {
        if round > 0 {
            before =
                Some((std::mem::take(&mut follower.found.steps), std::mem::take(&mut follower.found.macs)));
            follower.found.kept.fill(0);
        }
        for _ in 0..shape.phases {
            follower.slide();
            if follower.is_lost {
                return None;
            }
        }
        let first = round * shape.phases;
        follower.found.steps.iter_mut().for_each(|step| step.window -= first);
    }
    let found = follower.found;
    let is_alike = before.is_some_and(|(steps, macs)| steps == found.steps && macs == found.macs);
    (is_alike && found.steps.len() <= MOST_STEPS && found.steps.iter().all(|step| step.window >= 0))
        .then_some(found)
}

impl Follower<'_, '_> {
    /// The frames of a window that are not there yet, and all that it takes.
    fn slide(&mut self) {
        let input = &self.shape.lines[0];
        let frames = if self.window == 0 { input.rows } else { input.shift.min(input.rows) };
        let most = if self.window < self.shape.phases { MOST_BEFORE } else { MOST_STEPS };
        for left in (0..frames).rev() {
            if self.found.steps.len() > most {
                self.is_lost = true;
                return;
            }
            let (window, row) = self.next(0, 0);
            let row = Place { window, row, is_top: false };
            self.step(Act::Push, row, Vec::new());
            self.found.macs.push(0);
            self.make(0, row);
            while let Some((op, row)) = self.ready() {
                self.run(op, row);
            }
            if left > 0 {
                self.keep_all_but(&[]);
            }
        }
        self.top.fill(0);
        self.whole.fill(0);
        for (line, next) in self.bottom.iter_mut().enumerate() {
            *next = self.shape.part(line, Part::Bottom).0;
        }
        for part in [Part::Top, Part::Bottom] {
            self.part = Some(part);
            while self.gather() || self.run_border(part) {}
        }
        self.is_lost |= !self.is_full();
        self.keep_all_but(&[]);
        self.part = None;
        self.step(Act::Full, Place { window: self.window, row: 0, is_top: false }, Vec::new());
        self.window += 1;
    }

    fn is_full(&self) -> bool {
        let shape = self.shape;
        let rows = 0..shape.lines.len() - usize::from(shape.prefix.is_sum());
        rows.into_iter().all(|line| {
            self.top[line] == shape.part(line, Part::Top).1 && self.bottom[line] == shape.lines[line].rows
        }) && (shape.wholes().iter().zip(&self.whole))
            .all(|(&(line, _), &made)| made == shape.lines[line].rows)
    }

    fn step(&mut self, act: Act, Place { window, row, is_top }: Place, fresh: Vec<usize>) {
        self.found.steps.push(SlideStep { act, window, row, is_top, fresh });
    }

    /// The next interior row of a phase of a line: the first window that has it, and its number there.
    fn next(&self, line: usize, phase: usize) -> (i64, i64) {
        let (one, row) = (&self.shape.lines[line], self.made[line][phase]);
        let shift = one.shift.max(1);
        let windows = ((row - one.last).max(0) + shift - 1) / shift;
        // Rows that no window has are left out.
        let row = (row - windows * one.shift).max(one.first);
        (phase as i64 + windows * one.phases, row)
    }

    /// A row of a window as its phase counts: phase and number.
    fn counted(&self, line: usize, window: i64, row: i64) -> (usize, i64) {
        let one = &self.shape.lines[line];
        ((window % one.phases) as usize, row + window / one.phases * one.shift)
    }

    /// The deepest operator of which an interior row can be made.
    fn ready(&self) -> Option<(usize, Place)> {
        let ops = (0..self.shape.prefix.ops.len()).rev();
        let ops = ops.filter(|&op| self.shape.prefix.ops[op].rule != Rule::Sum);
        let mut rows = ops.flat_map(|op| {
            (0..self.made[op + 1].len()).map(move |phase| {
                let (window, row) = self.next(op + 1, phase);
                (op, Place { window, row, is_top: false })
            })
        });
        rows.find(|&(op, Place { window, row, .. })| {
            self.shape.prefix.ops[op].reads.iter().all(|&line| {
                let (_, end) = self.shape.needs(op, row, line);
                let (phase, end) = self.counted(line, window, end);
                self.made[line][phase] >= end
            })
        })
    }

    /// Makes the next row of a border that can be made, the deepest first.
    fn run_border(&mut self, part: Part) -> bool {
        let next = |op: usize| if part == Part::Top { self.top[op + 1] } else { self.bottom[op + 1] };
        let can_run = |&op: &usize| {
            let row = next(op);
            let is_there = |&line: &usize| {
                let ((_, border), end) = (self.shape.part(line, part), self.shape.needs(op, row, line).1);
                match part {
                    Part::Top => self.top[line] >= end.min(border),
                    Part::Bottom => self.bottom[line] >= end,
                }
            };
            self.shape.prefix.ops[op].rule != Rule::Sum
                && row < self.shape.part(op + 1, part).1
                && self.shape.prefix.ops[op].reads.iter().all(is_there)
        };
        let found = (0..self.shape.prefix.ops.len()).rev().find(can_run);
        if let Some(op) = found {
            self.found.has_borders = true;
            let row = next(op);
            self.run(op, Place { window: self.window, row, is_top: part == Part::Top });
        }
        found.is_some()
    }

    /// Takes the next row of what leaves, if it is there.
    fn gather(&mut self) -> bool {
        let wholes = self.shape.wholes();
        let is_there = |&number: &usize| {
            let (line, row) = (wholes[number].0, self.whole[number]);
            let one = &self.shape.lines[line];
            let is_above = row < one.first && self.top[line] > row;
            let is_below = row > one.last && self.bottom[line] > row;
            row < one.rows && (is_above || is_below || (one.first..=one.last).contains(&row))
        };
        let Some(number) = (0..wholes.len()).find(is_there) else { return false };
        let ((line, act), row) = (wholes[number], self.whole[number]);
        let read = Place { window: self.window, row, is_top: false };
        let fresh = self.keep_all_but(&[(line, read)]);
        if let (Act::Run(op), false) = (act, fresh.is_empty()) {
            self.found.touched[line].insert(op);
        }
        self.step(act, read, fresh);
        self.whole[number] += 1;
        self.forget_dead(line);
        true
    }

    fn run(&mut self, op: usize, made: Place) {
        let shape = self.shape;
        let reads = &shape.prefix.ops[op].reads;
        let highest = |line: usize| Place { row: shape.needs(op, made.row, line).1 - 1, ..made };
        let read: Vec<(usize, Place)> = reads.iter().map(|&line| (line, highest(line))).collect();
        let fresh = self.keep_all_but(&read);
        for &line in &fresh {
            self.found.touched[line].insert(op);
        }
        self.step(Act::Run(op), made, fresh);
        if let Some(macs) = self.found.macs.last_mut() {
            *macs += shape.prefix.ops[op].macs;
        }
        self.make(op + 1, made);
        for &line in reads {
            self.forget_dead(line);
        }
    }

    /// A row of a line comes to be.
    fn make(&mut self, line: usize, made: Place) {
        match self.part {
            None => {
                let (phase, row) = self.counted(line, made.window, made.row);
                self.made[line][phase] = row + 1;
            }
            Some(Part::Top) => self.top[line] = made.row + 1,
            Some(Part::Bottom) => self.bottom[line] = made.row + 1,
        }
        if self.form == Form::Tight {
            self.fresh[line] = Some(made);
            self.forget_dead(line);
        } else {
            self.hold(line, made);
        }
    }

    /// Where a row is looked for: in the ring of the border, or in that of a phase; and its number there.
    fn slot(&self, line: usize, row: Place) -> (Option<usize>, i64) {
        let one = &self.shape.lines[line];
        let first = if row.is_top { one.again } else { one.first };
        if (first..=one.last).contains(&row.row) {
            let (phase, row) = self.counted(line, row.window, row.row);
            return (Some(phase), row);
        }
        (None, row.row)
    }

    /// How many rows of its ring live, up to a row that is there.
    fn live(&self, line: usize, row: Place) -> i64 {
        let (phase, row) = self.slot(line, row);
        let low = phase.map_or_else(|| self.low_of_border(line), |phase| self.low(line, phase));
        row + 1 - low.unwrap_or(row + 1)
    }

    /// The lowest interior row that is still needed, as its phase counts.
    fn low(&self, line: usize, phase: usize) -> Option<i64> {
        let count = self.shape.lines[line].phases;
        let now = self.window + (phase as i64 - self.window).rem_euclid(count);
        let is_now = now == self.window && self.part.is_some();
        let counted = |window: i64, row: i64| self.counted(line, window, row).1;
        // Windows to come need the same rows, later.
        let both = |of: &dyn Fn(bool) -> Option<i64>| match of(is_now) {
            Some(row) => Some(counted(now, row)),
            None => of(false).map(|row| counted(now + count, row)),
        };
        let interior = self.shape.readers(line).flat_map(|op| {
            let phases = (0..self.made[op + 1].len()).filter(move |other| other % count as usize == phase);
            phases.map(move |phase| {
                let (window, row) = self.next(op + 1, phase);
                counted(window, self.shape.needs(op, row, line).0)
            })
        });
        let borders = self.shape.readers(line).flat_map(|op| [(op, Part::Top), (op, Part::Bottom)]);
        let borders = borders.filter_map(|(op, part)| {
            both(&|is_begun| {
                let (first, end) = self.shape.part(op + 1, part);
                let made = if part == Part::Top { &self.top } else { &self.bottom };
                let rows = if is_begun { made[op + 1] } else { first }..end;
                rows.into_iter().find_map(|row| Some(self.shape.kept_needs(op, row, line, part)?.0))
            })
        });
        let one = &self.shape.lines[line];
        let wholes = self.shape.wholes().into_iter().enumerate().filter(|&(_, (read, _))| read == line);
        let wholes = wholes.filter_map(|(number, _)| {
            both(&|is_begun| {
                let next = if is_begun { self.whole[number].max(one.first) } else { one.first };
                (next <= one.last).then_some(next)
            })
        });
        interior.chain(borders).chain(wholes).min()
    }

    /// The lowest row of the border that is being made which is still needed.
    fn low_of_border(&self, line: usize) -> Option<i64> {
        let one = &self.shape.lines[line];
        let part = self.part?;
        let (first, end) = self.shape.part(line, part);
        let in_part = |row: i64| (row < end).then_some(row.max(first));
        let readers = self.shape.readers(line).filter_map(|op| {
            let made = if part == Part::Top { &self.top } else { &self.bottom };
            let mut rows = made[op + 1]..self.shape.part(op + 1, part).1;
            rows.find_map(|row| {
                let (a, b) = self.shape.needs(op, row, line);
                (b > first).then(|| in_part(a))?
            })
        });
        let wholes = self.shape.wholes().into_iter().enumerate().filter(|&(_, (read, _))| read == line);
        let wholes = wholes.map(|(number, _)| self.whole[number]);
        let end = if part == Part::Top { one.first } else { one.rows };
        let wholes = wholes.filter(|&row| row < end).map(|row| row.max(first));
        readers.chain(wholes).min()
    }

    fn forget_dead(&mut self, line: usize) {
        if self.fresh[line].is_some_and(|row| self.live(line, row) <= 0) {
            self.fresh[line] = None;
        }
    }

    /// A row needs room in its ring, with those that live.
    fn hold(&mut self, line: usize, row: Place) {
        let live = self.live(line, row).max(1);
        let is_border = self.slot(line, row).0.is_none();
        let held = if is_border { &mut self.found.border } else { &mut self.found.kept };
        held[line] = held[line].max(live);
    }

    /// Moves new rows from the buffers to their rings, but those that are the highest which are read: returns the lines of
    /// these.
    fn keep_all_but(&mut self, reads: &[(usize, Place)]) -> Vec<usize> {
        let mut fresh = Vec::new();
        for line in 0..self.fresh.len() {
            let Some(row) = self.fresh[line] else { continue };
            let is_read = |&(read, highest): &(usize, Place)| {
                read == line && self.slot(line, highest) == self.slot(line, row)
            };
            if reads.iter().any(is_read) {
                fresh.push(line);
                continue;
            }
            self.hold(line, row);
            self.step(Act::Keep(line), row, Vec::new());
            self.fresh[line] = None;
        }
        fresh
    }
}
