//! The network: ops in layers, numbered in the order in which they run, the darker the more memory is in use.

use super::colours::shade;
use super::layout::{HIGH, Layout, WIDE, layout};
use super::plot::picture;
use super::size::Unit;
use super::{Drawn, Side};
use crate::number::coordinate;
use crate::svg::escaped;
use std::fmt::Write;

/// Where the text of an op begins in its rectangle.
const TEXT_X: f64 = 10.0;
const TEXT_Y: f64 = 18.0;

/// The elements of one side, and how large they are.
pub(crate) struct Network {
    pub(crate) width: f64,
    pub(crate) height: f64,
    body: String,
}

impl Network {
    /// Draws one side; the same shade stands for the same share of `most` bytes on both.
    pub(crate) fn new(side: &Side, names: &Drawn, most: u64, unit: Unit) -> Self {
        let edges = edges(side);
        let pairs: Vec<(usize, usize)> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
        let Layout { ops, ways, width, height } = layout(side.ops.len(), &pairs);
        let largest = side.items.iter().map(|item| item.bytes).max().unwrap_or(1);
        // Large networks have thousands of both: what all have in common stands once.
        let mut body = String::from("<g class=\"edges edge\">");
        for ((_, _, item), way) in edges.iter().zip(&ways) {
            let bytes = side.items[*item].bytes;
            let wide = 1.0 + 5.0 * (bytes as f64 / largest.max(1) as f64).sqrt();
            let _ = write!(
                body,
                "<path data-i=\"{item}\" stroke-width=\"{}\" d=\"{}\"/>",
                coordinate(wide),
                curve(way)
            );
        }
        let _ = write!(
            body,
            "</g><defs><rect id=\"op\" x=\"-{TEXT_X}\" y=\"-{TEXT_Y}\" width=\"{WIDE}\" height=\"{HIGH}\" rx=\"7\"/></defs><g class=\"nodes\">"
        );
        for (at, (op, &(x, y))) in side.ops.iter().zip(&ops).enumerate() {
            let mark = if op.during == side.peak { " atpeak" } else { "" };
            let left = (x - WIDE / 2.0).round() + TEXT_X;
            let upper = (y - HIGH / 2.0).round() + TEXT_Y;
            let class = shade(op.during, most);
            let kind = if op.kind.is_empty() { "op" } else { op.kind.as_str() };
            let kind: String = kind.chars().take(18).collect();
            let _ = write!(
                body,
                "<g class=\"{class}{mark}\" data-o=\"{at}\" transform=\"translate({left} {upper})\"><use href=\"#op\"/>\
                 <text>{}</text><text class=\"small\" y=\"16\">{} {} · {}</text></g>",
                escaped(&names.ops[at]),
                at + 1,
                escaped(&kind),
                unit.size(op.during)
            );
        }
        body.push_str("</g>");
        Self { width, height, body }
    }

    /// For the page.
    pub(crate) fn to_html(&self, number: usize) -> String {
        format!(
            "<div class=\"net\" data-side=\"{number}\"><svg viewBox=\"0 0 {} {}\" tabindex=\"0\" role=\"application\" aria-label=\"The network, {}: drag to move, plus and minus to zoom, arrow keys to move\">{}</svg></div>",
            coordinate(self.width),
            coordinate(self.height),
            ["before", "after"][number],
            self.body
        )
    }

    /// A picture that stands alone.
    pub(crate) fn to_svg(&self, number: usize) -> String {
        let name = ["before", "after"][number];
        let subtitle = "numbers: the order in which ops run; the darker, the more memory is in use; thick frame: the peak";
        let mut svg = picture(
            self.width.max(640.0) + 20.0,
            self.height + 80.0,
            &format!("The network, {name}"),
            subtitle,
        );
        let _ = writeln!(svg, "<g transform=\"translate(10 56)\">{}</g>\n</svg>", self.body);
        svg
    }
}

/// Who hands what to whom: writer, reader, tensor.
fn edges(side: &Side) -> Vec<(usize, usize, usize)> {
    let mut edges = Vec::new();
    for (to, op) in side.ops.iter().enumerate() {
        for &item in &op.reads {
            if let Some(from) = side.items[item].producer.filter(|&from| from < to) {
                edges.push((from, to, item));
            }
        }
    }
    edges.sort_unstable();
    edges.dedup_by_key(|edge| (edge.0, edge.1));
    edges
}

/// Downwards through all points, upright at each. Relative and in whole units, which takes the least text.
fn curve(way: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let points: Vec<(i64, i64)> = way.iter().map(|&(x, y)| (x.round() as i64, y.round() as i64)).collect();
    let mut last: Option<(i64, i64)> = None;
    for (at, &(x, y)) in points.iter().enumerate() {
        // Straight on is one piece.
        if last.is_some_and(|last| last.0 == x) && points.get(at + 1).is_some_and(|next| next.0 == x) {
            continue;
        }
        let _ = match last.replace((x, y)) {
            None => write!(path, "M{x} {y}"),
            Some((last_x, last_y)) if last_x == x => write!(path, "v{}", y - last_y),
            Some((last_x, last_y)) => {
                let (right, down) = (x - last_x, y - last_y);
                write!(path, "c0 {0} {right} {0} {right} {down}", down / 2)
            }
        };
    }
    path
}
