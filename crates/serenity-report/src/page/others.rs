//! Pictures of the whole: the device, traffic, random orders.

use super::plot::{HEIGHT, Level, Plot, y};
use super::size::Unit;
use super::{Device, Orders, Sections, Traffic};
use crate::number::coordinate;
use std::fmt::Write;

/// Head, tail and margin before and after, and the RAM of boards across.
pub(crate) fn device(device: &Device, unit: Unit) -> Plot {
    let most = device.before.sum().max(device.after.sum()).max(1);
    let reached = device.boards.iter().filter(|board| board.ram <= most.saturating_mul(2));
    let top = reached.clone().map(|board| board.ram).max().unwrap_or(0).max(most);
    let top = top.saturating_add(top / 9);
    let mut body = String::new();
    for (at, Sections { head, tail, margin }) in [device.before, device.after].into_iter().enumerate() {
        let mut low = 0;
        for (class, bytes) in [("t0", head), ("t1", tail), ("n1", margin)] {
            let (lower, upper) = (y(low, top), y(low + bytes, top));
            let _ = write!(
                body,
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"0.8\" height=\"{}\"/>",
                coordinate(at as f64 + 0.1),
                coordinate(upper),
                coordinate(lower - upper)
            );
            low += bytes;
        }
    }
    let mut levels: Vec<Level> = Vec::new();
    for board in reached {
        match levels.last_mut() {
            // Of boards with as much, one line tells; and what is too close to the last would hide it.
            Some(level) if level.value == board.ram => level.text = format!("{}, {}", level.text, board.name),
            Some(level) if board.ram - level.value < top / 18 => {}
            _ => levels.push(Level {
                class: "bound",
                value: board.ram,
                text: format!("{}: {}", unit.size(board.ram), board.name),
            }),
        }
    }
    Plot {
        title: "The whole arena on a 32-bit device".to_owned(),
        subtitle: "from below: head (activations), tail (what persists), margin; across: the RAM of boards"
            .to_owned(),
        // Room for the names of boards beside the bars.
        length: 4.0,
        top,
        value_ticks: unit.ticks(top),
        bottom_ticks: vec![
            (0.5, format!("before: {}", unit.size(device.before.sum()))),
            (1.5, format!("after: {}", unit.size(device.after.sum()))),
        ],
        bottom_label: String::new(),
        levels,
        marks: Vec::new(),
        body,
        kind: "device",
        side: None,
    }
}

/// Two bars per on-chip size.
pub(crate) fn traffic(traffic: &Traffic, unit: Unit) -> Plot {
    let most = traffic.sizes.iter().map(|at| at.before.max(at.after.unwrap_or(0))).max().unwrap_or(0).max(1);
    let top = most.saturating_add(most / 9);
    let is_same = traffic.sizes.iter().all(|at| at.after == Some(at.before));
    let mut body = String::new();
    for (at, size) in traffic.sizes.iter().enumerate() {
        for (class, shift, bytes) in
            [("n1", 0.14, Some(size.before).filter(|_| !is_same)), ("t0", 0.5, size.after)]
        {
            let Some(bytes) = bytes else { continue };
            let shift = if is_same { 0.32 } else { shift };
            let upper = y(bytes, top);
            let x = coordinate_fine(at as f64 + shift);
            let _ = write!(
                body,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"0.36\" height=\"{}\"/>",
                coordinate(upper),
                coordinate(HEIGHT - upper)
            );
        }
    }
    Plot {
        title: "Off-chip traffic".to_owned(),
        subtitle: "bytes moved in and out in one run beyond what must move; grey: before, blue: after"
            .to_owned(),
        length: traffic.sizes.len() as f64,
        top,
        value_ticks: unit.ticks(top),
        bottom_ticks: traffic
            .sizes
            .iter()
            .enumerate()
            .map(|(at, size)| (at as f64 + 0.5, binary(size.on_chip)))
            .collect(),
        bottom_label: "on-chip memory; upwards: bytes moved".to_owned(),
        levels: Vec::new(),
        marks: Vec::new(),
        body,
        kind: "traffic",
        side: None,
    }
}

/// So many bars show a distribution.
const BARS: usize = 40;

/// How many random orders peak where.
pub(crate) fn orders(orders: &Orders, unit: Unit) -> Plot {
    let low = orders.peaks.first().map_or(0, |peak| peak.0).min(orders.best).min(orders.own);
    let high = orders.peaks.last().map_or(1, |peak| peak.0).max(orders.own).max(low + 1);
    let place = |bytes: u64| BARS as f64 * (bytes - low) as f64 / (high - low) as f64;
    let mut bars = [0_u64; BARS];
    for &(peak, count) in &orders.peaks {
        bars[(place(peak) as usize).min(BARS - 1)] += count;
    }
    let most = bars.iter().copied().max().unwrap_or(1).max(1);
    let top = most.saturating_add(most / 9);
    let body = bars.iter().enumerate().filter(|(_, count)| **count > 0).fold(
        String::new(),
        |mut body, (at, &count)| {
            let upper = y(count, top);
            let _ = write!(
                body,
                "<rect class=\"m3\" x=\"{}\" y=\"{}\" width=\"0.8\" height=\"{}\"/>",
                coordinate(at as f64 + 0.1),
                coordinate(upper),
                coordinate((HEIGHT - upper).max(4.0))
            );
            body
        },
    );
    let tick = |share: u64| low + (high - low) / 4 * share;
    let marks = if orders.own == orders.best {
        vec![(place(orders.best), "the model's own order, the best found".to_owned())]
    } else {
        vec![(place(orders.best), "best".to_owned()), (place(orders.own), "the model's own".to_owned())]
    };
    let share = |value: u64| match 100.0 * value as f64 / orders.count.max(1) as f64 {
        0.0 => "0 %".to_owned(),
        percent => format!("{} %", crate::significant(percent, 2)),
    };
    Plot {
        title: format!("The peaks of {} random orders", crate::grouped(u128::from(orders.count))),
        subtitle: "share of orders by their peak; left is better".to_owned(),
        length: BARS as f64,
        top,
        value_ticks: [0, most / 2, most].map(|value| (value, share(value))).to_vec(),
        bottom_ticks: [0, 1, 2, 3, 4].map(|at| (BARS as f64 / 4.0 * at as f64, unit.size(tick(at)))).to_vec(),
        bottom_label: "peak of an order; upwards: share of all orders".to_owned(),
        levels: Vec::new(),
        marks,
        body,
        kind: "orders",
        side: None,
    }
}

/// On-chip memories are sold by powers of two.
pub(crate) fn binary(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b.is_multiple_of(1 << 20) => format!("{} MiB", b >> 20),
        b if b.is_multiple_of(1 << 10) => format!("{} KiB", b >> 10),
        b => Unit::Decimal.size(b),
    }
}

fn coordinate_fine(value: f64) -> String {
    format!("{value:.2}")
}
