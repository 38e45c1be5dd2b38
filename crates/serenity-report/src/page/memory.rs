//! Memory over time, stacked by tensor.

use super::colours::class;
use super::plot::{Plot, bottom_label, levels, op_ticks, y};
use super::size::Unit;
use super::{Live, Side};
use crate::number::coordinate;
use std::cmp::Reverse;
use std::fmt::Write;

/// More text than this is not drawn tensor by tensor: a page must open on a phone.
const LONGEST: usize = 400_000;

/// The picture of one side; `top` is the same for both.
pub(crate) fn memory(side: &Side, number: usize, top: u64, unit: Unit) -> Plot {
    let name = ["before", "after"][number];
    let length = side.length();
    Plot {
        title: format!("Memory over time, {name}"),
        subtitle: format!(
            "bytes in use while each op runs, stacked by tensor; coloured: alive at the peak of {}",
            unit.size(side.peak)
        ),
        length: length as f64,
        top,
        value_ticks: unit.ticks(top),
        bottom_ticks: op_ticks(length),
        bottom_label: bottom_label(side),
        levels: levels("peak", side.peak, side.bound, side.room, unit),
        marks: Vec::new(),
        body: body(side, length, top),
        kind: "memory",
        side: Some(number),
    }
}

fn body(side: &Side, length: usize, top: u64) -> String {
    let colours = side.colours();
    let is_alive = |live: &Live| live.items.iter().any(|&item| colours[item].is_some());
    let (body, heights) = stacked(side, &colours, length, top, |_| true);
    if body.len() <= LONGEST {
        return body;
    }
    // All others as one area behind those that are alive at the peak.
    let (body, _) = stacked(side, &colours, length, top, is_alive);
    format!("<path class=\"n1\" d=\"{}\"/>{body}", under(&heights, top))
}

/// These areas on top of each other, and how high they reach at each step.
fn stacked(
    side: &Side,
    colours: &[Option<usize>],
    length: usize,
    top: u64,
    is_wanted: impl Fn(&Live) -> bool,
) -> (String, Vec<u64>) {
    let wanted = |&at: &usize| side.live[at].bytes > 0 && is_wanted(&side.live[at]);
    let mut order: Vec<usize> = (0..side.live.len()).filter(wanted).collect();
    // What stays longest lies at the bottom: then little moves.
    order.sort_by_key(|&at| (Reverse(side.live[at].to - side.live[at].from), side.live[at].from, at));
    let mut heights = vec![0_u64; length];
    let mut body = String::from("<g class=\"cut\">");
    for at in order {
        let live = &side.live[at];
        let first = live.items.first().copied().unwrap_or(0);
        let rank = live.items.first().and_then(|&item| colours[item]);
        let is_alive = live.items.iter().any(|&item| colours[item].is_some());
        let _ = write!(
            body,
            "<path class=\"{}{}\" data-l=\"{at}\" d=\"{}\"/>",
            class(rank, first),
            if is_alive { " p" } else { "" },
            outline(live, &heights, top, length)
        );
        (live.from..=live.to.min(length - 1)).for_each(|step| heights[step] += live.bytes);
    }
    body.push_str("</g>");
    (body, heights)
}

/// Around what lies on `heights`: along its upper edge to the right, and back along the lower one. Relative, in whole
/// units, and without corners that nobody sees: a large network has hundreds of thousands.
fn outline(live: &Live, heights: &[u64], top: u64, length: usize) -> String {
    let last = live.to.min(length - 1);
    let place = |height: u64| y(height, top).round() as i64;
    let (mut x, mut at) = (live.from as i64, place(heights[live.from] + live.bytes));
    let mut path = format!("M{x} {at}");
    let mut go = |to: usize, height: u64| {
        let (right, down) = (to as i64 - x, place(height) - at);
        if down != 0 {
            let _ = write!(path, "h{right}v{down}");
            (x, at) = (x + right, at + down);
        }
    };
    (live.from + 1..=last).for_each(|step| go(step, heights[step] + live.bytes));
    go(last + 1, heights[last]);
    (live.from + 1..=last).rev().for_each(|step| go(step, heights[step - 1]));
    let _ = write!(path, "H{}Z", live.from);
    path
}

/// Everything below `heights`.
fn under(heights: &[u64], top: u64) -> String {
    let mut path = format!("M0 {}", coordinate(y(0, top)));
    for (step, &height) in heights.iter().enumerate() {
        let _ = write!(path, "V{}H{}", coordinate(y(height, top)), step + 1);
    }
    let _ = write!(path, "V{}Z", coordinate(y(0, top)));
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Step;

    #[test]
    fn areas_are_stacked_and_what_stays_lies_below() {
        let op = |at: usize, during| Step { from: at, to: at, during, ..Step::default() };
        let side = Side {
            items: vec![super::super::Item::default(); 2],
            ops: vec![op(0, 10), op(1, 30)],
            live: vec![
                Live { items: vec![1], bytes: 20, from: 1, to: 1 },
                Live { items: vec![0], bytes: 10, from: 0, to: 1 },
            ],
            peak: 30,
            peak_op: 1,
            ..Side::default()
        };
        let drawn = body(&side, 2, 40);
        assert!(drawn.contains("data-l=\"1\" d=\"M0 750h2v250H0Z\""), "{drawn}");
        assert!(drawn.contains("class=\"t0 p\" data-l=\"0\" d=\"M1 250h1v500H1Z\""), "{drawn}");
    }

    #[test]
    fn thousands_of_tensors_that_move_each_other_stay_short() {
        let op = |at: usize| Step { from: at, to: at, ..Step::default() };
        let live =
            |at: usize| Live { items: vec![at], bytes: 1000, from: at, to: (at + at * 7 % 400).min(999) };
        let side = Side {
            items: vec![super::super::Item::default(); 1000],
            ops: (0..1000).map(op).collect(),
            live: (0..1000).map(live).collect(),
            peak_op: 990,
            ..Side::default()
        };
        let drawn = body(&side, 1000, 300_000);
        assert!(drawn.len() < LONGEST && drawn.contains(" p\""), "{}", drawn.len());
    }
}
