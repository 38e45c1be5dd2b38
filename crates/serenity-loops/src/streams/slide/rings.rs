//! Where the rings lie: beside the arena of the rest of the network, which runs between hops.

use super::super::places::{ALIGNMENT, Times, WORK};
use super::super::{Form, Prefix};
use super::follow::{Followed, follow};
use super::shape::{Shape, lcm};
use super::{Above, Act, Slide};
use serenity_arena::{Buffer, Limits, Options, Planner, Problem, place};

/// A buffer of a line.
#[derive(Clone, Copy)]
enum Of {
    Kept(usize),
    Border(usize),
    Newest(usize),
    /// What leaves, or the arena of the rest.
    Fixed,
}

impl Prefix {
    /// Multiplications from one window to the next, on average, if windows move by `hop` rows, and a lower bound on the
    /// bytes of the arena: the rows that are kept. `None` if there are none.
    pub fn least_of_hop(&self, hop: u64, above: Above) -> Option<(u64, u64)> {
        let shape = Shape::of(self, self.hop(hop)?, above)?;
        let Followed { macs, kept, .. } = follow(&shape, Form::Tight)?;
        let lines = shape.lines.iter().zip(kept);
        let bytes = lines.map(|(line, kept)| kept as u64 * line.row_bytes * line.phases as u64).sum();
        Some((macs.iter().sum::<u64>() / shape.phases as u64, bytes))
    }

    pub(super) fn hop(&self, hop: u64) -> Option<i64> {
        i64::try_from(hop).ok().filter(|hop| (1..=self.shapes[0].rows).contains(hop))
    }

    /// The prefix in windows that slide by `hop` rows, whose leaving tensors begin at `leaves`, beside the rest of the
    /// network, which takes the first `rest` bytes of the arena when a window is full.
    ///
    /// `None` if there are no rows to keep, or no places.
    pub fn slide(&self, hop: u64, above: Above, form: Form, leaves: &[u64], rest: u64) -> Option<Slide> {
        let hop = self.hop(hop)?;
        let shape = Shape::of(self, hop, above)?;
        let followed = follow(&shape, form)?;
        let (what, buffers): (Vec<Of>, Vec<Buffer>) =
            buffers(&shape, &followed, form, leaves, rest).into_iter().unzip();
        let problem = Problem::new(buffers, ALIGNMENT).ok()?;
        let limits = Limits::default().working(WORK);
        let placed = place(&problem, &Options { limits, ..Options::new(Planner::Exact) });
        let Shape { mut lines, phases, .. } = shape;
        for (line, (&kept, &border)) in lines.iter_mut().zip(followed.kept.iter().zip(&followed.border)) {
            (line.kept.held, line.border.held) = (kept as u64, border as u64);
        }
        for (of, &offset) in what.iter().zip(&placed.offsets) {
            match *of {
                Of::Kept(line) => lines[line].kept.place = offset,
                Of::Border(line) => lines[line].border.place = offset,
                Of::Newest(line) => lines[line].newest = Some(offset),
                Of::Fixed => {}
            }
        }
        if self.is_sum() {
            lines[self.ops.len()].border.held = 1;
        }
        let rounds = lines.iter().filter(|line| line.kept.held > 0).try_fold(1_i64, |rounds, line| {
            let held = line.kept.held as i64;
            let turns = lcm(held, line.advance(phases) % held + held) / (line.advance(phases) % held + held);
            Some(lcm(rounds, turns)).filter(|&rounds| rounds <= i64::from(u32::MAX))
        })?;
        let frames = lines[0].rows;
        let early = (frames - 1) / hop;
        let Followed { steps, macs, .. } = followed;
        // The first frame is the first of the last hop of a window, or comes later in it.
        let (window, skipped) = ((-early).rem_euclid(phases), hop - (frames - early * hop));
        let mut pushes = (0..steps.len()).filter(|&step| steps[step].act == Act::Push);
        Some(Slide {
            ops: self.ops.clone(),
            lines,
            hop,
            phases,
            rounds: rounds as u64,
            start: pushes.nth((window * hop + skipped) as usize)?,
            early: early as u64,
            steps,
            form,
            leaves: self.leaving.iter().copied().zip(leaves.iter().copied()).collect(),
            macs,
            bytes: placed.height,
        })
    }
}

/// What lies in the arena. Interior rows are made first, then borders and what leaves, then the rest runs: only the rings
/// of interior rows outlive that.
fn buffers(shape: &Shape, followed: &Followed, form: Form, leaves: &[u64], rest: u64) -> Vec<(Of, Buffer)> {
    let (prefix, last) = (shape.prefix, shape.prefix.ops.len());
    let end = shape.lines.len() as i64;
    // Without borders nothing but the rows that leave is in use when these do.
    let full = if followed.has_borders { 0..end + 1 } else { end..end + 1 };
    let mut all = vec![(Of::Fixed, Buffer::new(rest, end + 1..end + 2).at(0))];
    for (&line, &offset) in prefix.leaving.iter().zip(leaves) {
        let is_sum = line == last && prefix.is_sum();
        let one = &shape.lines[line];
        let bytes = if is_sum { prefix.last_bytes } else { one.row_bytes * one.rows as u64 };
        all.push((Of::Fixed, Buffer::new(bytes, full.clone()).at(offset)));
    }
    for (line, one) in shape.lines.iter().enumerate() {
        let (kept, border) = (followed.kept[line] as u64, followed.border[line] as u64);
        let border = if line == last && prefix.is_sum() { 1 } else { border };
        if kept > 0 {
            let bytes = kept * one.row_bytes * one.phases as u64;
            all.push((Of::Kept(line), Buffer::new(bytes, 0..end + 2)));
        }
        if border > 0 {
            all.push((Of::Border(line), Buffer::new(border * one.row_bytes, full.clone())));
        }
    }
    if form == Form::Tight {
        let times = Times::best(prefix, &followed.touched);
        for line in 0..=last - usize::from(prefix.is_sum()) {
            let (first, until) = times.of(line);
            let leaves = shape.wholes().iter().any(|&(whole, _)| whole == line);
            let until = if leaves { end } else { until as i64 };
            let steps = first as i64..until + 1;
            all.push((Of::Newest(line), Buffer::new(shape.lines[line].row_bytes, steps)));
        }
    }
    all
}
