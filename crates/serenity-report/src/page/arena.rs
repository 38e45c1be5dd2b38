//! The arena: lifetimes to the right, addresses upwards, a rectangle each.

use super::colours::class;
use super::plot::{HEIGHT, Plot, bottom_label, levels, op_ticks, y};
use super::size::Unit;
use super::{ItemPlace, Side};
use crate::number::coordinate;
use std::fmt::Write;

/// Overlaps beyond this many are not drawn: they would hide each other.
const MOST_OVERLAPS: usize = 4000;

/// The picture of one side; `None` if nobody knows who lies where. `top` is the same for both sides.
pub(crate) fn arena(side: &Side, number: usize, top: u64, unit: Unit) -> Option<Plot> {
    if side.places.is_empty() {
        return None;
    }
    let name = ["before", "after"][number];
    let length = side.length();
    let height = height(side);
    Some(Plot {
        title: format!("The arena, {name}: {}", unit.size(height)),
        subtitle: "who lies where, from when to when; shaded: bytes that two tensors share".to_owned(),
        length: length as f64,
        top,
        value_ticks: unit.ticks(top),
        bottom_ticks: op_ticks(length),
        bottom_label: bottom_label(side),
        levels: levels("arena", height, side.arena_bound, side.room, unit),
        marks: Vec::new(),
        body: body(side, top),
        kind: "arena",
        side: Some(number),
    })
}

/// How high the rectangles reach, or the arena where that is more.
pub(crate) fn height(side: &Side) -> u64 {
    let used = side.places.iter().map(|place| place.offset.saturating_add(place.bytes)).max().unwrap_or(0);
    side.arena.unwrap_or(0).max(used)
}

fn body(side: &Side, top: u64) -> String {
    let colours = side.colours();
    let (from, to) = side.peak_span();
    let mut body = String::from("<g class=\"cut\">");
    for (at, place) in side.places.iter().enumerate() {
        let rectangle = rectangle([place.from, place.to], [place.offset, place.offset + place.bytes], top);
        let is_alive = place.from <= to && place.to >= from;
        let mark = if is_alive { " p" } else { "" };
        let rank = colours[place.item].filter(|_| is_alive);
        let _ =
            write!(body, "<rect class=\"{}{mark}\" data-a=\"{at}\" {rectangle}/>", class(rank, place.item));
    }
    // As one, so that many over each other are no darker than two.
    body.push_str("</g><g opacity=\".3\">");
    for (a, b) in overlaps(&side.places) {
        let (one, other) = (&side.places[a], &side.places[b]);
        let low = one.offset.max(other.offset);
        let high = (one.offset + one.bytes).min(other.offset + other.bytes);
        let rectangle = rectangle([one.from.max(other.from), one.to.min(other.to)], [low, high], top);
        let is_alive = one.from.max(other.from) <= to && one.to.min(other.to) >= from;
        let mark = if is_alive { " p" } else { "" };
        let _ = write!(body, "<rect class=\"over{mark}\" data-a=\"{a}\" data-b=\"{b}\" {rectangle}/>");
    }
    body.push_str("</g>");
    body
}

fn rectangle([from, to]: [usize; 2], [low, high]: [u64; 2], top: u64) -> String {
    let upper = y(high, top);
    let tall = (y(low, top) - upper).max(HEIGHT / 2000.0);
    format!(
        "x=\"{from}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        coordinate(upper),
        to + 1 - from,
        coordinate(tall)
    )
}

/// Pairs that have bytes in common at some time: what is written in place, and what is a part of something else.
pub(crate) fn overlaps(places: &[ItemPlace]) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&at| (places[at].from, at));
    let mut open: Vec<usize> = Vec::new();
    let mut pairs = Vec::new();
    for at in order {
        let place = &places[at];
        open.retain(|&other| places[other].to >= place.from);
        for &other in &open {
            let one = &places[other];
            if one.offset < place.offset + place.bytes && place.offset < one.offset + one.bytes {
                pairs.push((other, at));
            }
        }
        if pairs.len() > MOST_OVERLAPS {
            break;
        }
        open.push(at);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_bytes_at_the_same_time_overlaps_and_nothing_else() {
        let place = |offset, bytes, from, to| ItemPlace { item: 0, offset, bytes, from, to };
        let places = [place(0, 10, 0, 1), place(10, 10, 0, 2), place(0, 10, 2, 3), place(5, 10, 2, 2)];
        assert_eq!(overlaps(&places), [(1, 3), (2, 3)]);
    }
}
