//! Memory over time, stacked by tensor.

use super::colours::class;
use super::plot::{Level, Plot, bottom_label, op_ticks, y};
use super::size::{size, ticks};
use super::{Live, Side};
use crate::number::coordinate;
use std::cmp::Reverse;
use std::fmt::Write;

/// More corners than this are not drawn one by one: a page must open on a phone.
const MOST_CELLS: usize = 1_500_000;

/// The picture of one side; `top` is the same for both.
pub(crate) fn memory(side: &Side, number: usize, top: u64) -> Plot {
    let name = ["before", "after"][number];
    let length = side.length();
    Plot {
        title: format!("Memory over time, {name}"),
        subtitle: format!(
            "bytes in use while each op runs, stacked by tensor; coloured: alive at the peak of {}",
            size(side.peak)
        ),
        length: length as f64,
        top,
        value_ticks: ticks(top),
        bottom_ticks: op_ticks(length),
        bottom_label: bottom_label(side),
        levels: levels(side),
        marks: Vec::new(),
        body: body(side, length, top),
        kind: "memory",
        side: Some(number),
    }
}

fn levels(side: &Side) -> Vec<Level> {
    let mut levels = Vec::new();
    let is_proved = side.bound == Some(side.peak);
    let text = if is_proved {
        format!("peak {}, the proved bound", size(side.peak))
    } else {
        format!("peak {}", size(side.peak))
    };
    levels.push(Level { class: "peak", value: side.peak, text });
    if let Some(bound) = side.bound.filter(|&bound| !is_proved && bound > 0) {
        levels.push(Level { class: "bound", value: bound, text: format!("bound {}", size(bound)) });
    }
    if let Some(room) = side.room {
        levels.push(Level { class: "budget", value: room, text: format!("budget leaves {}", size(room)) });
    }
    levels
}

fn body(side: &Side, length: usize, top: u64) -> String {
    let colours = side.colours();
    let mut order: Vec<usize> = (0..side.live.len()).filter(|&at| side.live[at].bytes > 0).collect();
    // What stays longest lies at the bottom: then little moves.
    order.sort_by_key(|&at| (Reverse(side.live[at].to - side.live[at].from), side.live[at].from, at));
    let cells: usize = order.iter().map(|&at| side.live[at].to + 1 - side.live[at].from).sum();
    let mut heights = vec![0_u64; length];
    let mut body = String::new();
    for at in order {
        let live = &side.live[at];
        let steps = live.from..=live.to.min(length - 1);
        if cells > MOST_CELLS {
            steps.for_each(|step| heights[step] += live.bytes);
            continue;
        }
        let first = live.items.first().copied().unwrap_or(0);
        let rank = live.items.first().and_then(|&item| colours[item]);
        let is_alive = live.items.iter().any(|&item| colours[item].is_some());
        let _ = write!(
            body,
            "<path class=\"{} cut{}\" data-l=\"{at}\" d=\"{}\"/>",
            class(rank, first),
            if is_alive { " p" } else { "" },
            outline(live, &heights, top, length)
        );
        steps.for_each(|step| heights[step] += live.bytes);
    }
    if cells > MOST_CELLS {
        let all = Live { bytes: 0, from: 0, to: length - 1, items: Vec::new() };
        let _ = write!(body, "<path class=\"n1\" d=\"{}\"/>", under(&all, &heights, top));
    }
    body
}

/// Around what lies on `heights`: along its upper edge to the right, and back along the lower one.
fn outline(live: &Live, heights: &[u64], top: u64, length: usize) -> String {
    let last = live.to.min(length - 1);
    let place = |height: u64| coordinate(y(height, top));
    let mut path = format!("M{} {}", live.from, place(heights[live.from] + live.bytes));
    for step in live.from..=last {
        if step > live.from && heights[step] != heights[step - 1] {
            let _ = write!(path, "H{step}V{}", place(heights[step] + live.bytes));
        }
    }
    let _ = write!(path, "H{}V{}", last + 1, place(heights[last]));
    for step in (live.from + 1..=last).rev() {
        if heights[step] != heights[step - 1] {
            let _ = write!(path, "H{step}V{}", place(heights[step - 1]));
        }
    }
    let _ = write!(path, "H{}Z", live.from);
    path
}

/// Everything below `heights`.
fn under(live: &Live, heights: &[u64], top: u64) -> String {
    let mut path = format!("M0 {}", coordinate(y(0, top)));
    for (step, &height) in heights.iter().enumerate() {
        let _ = write!(path, "V{}H{}", coordinate(y(height, top)), step + 1);
    }
    let _ = write!(path, "V{}H{}Z", coordinate(y(0, top)), live.from);
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
        assert!(drawn.contains("data-l=\"1\" d=\"M0 750H2V1000H0Z\""), "{drawn}");
        assert!(drawn.contains("class=\"t0 cut p\" data-l=\"0\" d=\"M1 250H2V750H1Z\""), "{drawn}");
    }
}
