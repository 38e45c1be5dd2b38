//! An area with axes that is drawn once and shown twice: on the page, where texts must stay legible on a phone, and as
//! a picture that stands alone.
//!
//! What is drawn has coordinates of its own: time to the right in units of the axis, values downwards from [`HEIGHT`]
//! to 0. On the page it is stretched to whatever room there is and texts stand beside it; in a picture the room is
//! fixed and texts are part of it.

use super::Side;
use super::colours::for_a_picture;
use super::size::Unit;
use crate::number::coordinate;
use crate::svg::escaped;
use std::fmt::Write;

/// The height of the area, in its own units.
pub(crate) const HEIGHT: f64 = 1000.0;

/// Where the area lies in a picture that stands alone.
const LEFT: f64 = 78.0;
const TOP: f64 = 66.0;
const WIDE: f64 = 820.0;
const HIGH: f64 = 330.0;

/// A line across.
pub(crate) struct Level {
    /// `peak`, `bound` or `budget`.
    pub(crate) class: &'static str,
    pub(crate) value: u64,
    pub(crate) text: String,
}

/// What is drawn.
pub(crate) struct Plot {
    /// What it shows.
    pub(crate) title: String,
    /// How to read it.
    pub(crate) subtitle: String,
    /// How long the axis below is.
    pub(crate) length: f64,
    /// The value at the upper edge.
    pub(crate) top: u64,
    pub(crate) value_ticks: Vec<(u64, String)>,
    pub(crate) bottom_ticks: Vec<(f64, String)>,
    pub(crate) bottom_label: String,
    pub(crate) levels: Vec<Level>,
    /// Upright lines.
    pub(crate) marks: Vec<(f64, String)>,
    /// The elements inside.
    pub(crate) body: String,
    /// `memory`, `arena`, …: what the script does with it.
    pub(crate) kind: &'static str,
    /// 0 before, 1 after, if it belongs to one.
    pub(crate) side: Option<usize>,
}

/// The lines of one side: what is reached, the bound that it may meet, and what a budget leaves.
pub(crate) fn levels(
    what: &str,
    reached: u64,
    bound: Option<u64>,
    room: Option<u64>,
    unit: Unit,
) -> Vec<Level> {
    let is_proved = bound == Some(reached);
    let proved = if is_proved { ", the proved bound" } else { "" };
    let text = |value: u64, text: &str| format!("{text} {}", unit.size(value));
    let peak = Level { class: "peak", value: reached, text: text(reached, what) + proved };
    let bound = bound.filter(|&bound| !is_proved && bound > 0);
    let bound = bound.map(|value| Level { class: "bound", value, text: text(value, "bound") });
    let room = room.map(|value| Level { class: "budget", value, text: text(value, "budget leaves") });
    [Some(peak), bound, room].into_iter().flatten().collect()
}

impl Plot {
    /// Where a value lies, from the upper edge.
    pub(crate) fn y(&self, value: u64) -> f64 {
        y(value, self.top)
    }

    /// Does the text of a line stand below it, because another line or the edge is right above?
    fn is_under(&self, level: &Level) -> bool {
        let is_close = |value: u64| value > level.value && value - level.value < self.top / 14;
        self.kind != "device" && (is_close(self.top) || self.levels.iter().any(|other| is_close(other.value)))
    }

    /// For the page.
    pub(crate) fn to_html(&self) -> String {
        let share = |value: u64| coordinate_of(100.0 * value as f64 / self.top.max(1) as f64);
        let mut html = format!("<div class=\"plot {}\"", self.kind);
        if let Some(side) = self.side {
            let _ =
                write!(html, " data-side=\"{side}\" data-kind=\"{}\" data-top=\"{}\"", self.kind, self.top);
        }
        html.push_str("><div class=\"values\" aria-hidden=\"true\">");
        for (value, label) in &self.value_ticks {
            let _ = write!(html, "<span style=\"bottom:{}%\">{}</span>", share(*value), escaped(label));
        }
        html.push_str("</div><div class=\"field\">");
        for (value, _) in &self.value_ticks {
            let _ = write!(html, "<i style=\"bottom:{}%\"></i>", share(*value));
        }
        let focus = if self.side.is_some() { " tabindex=\"0\"" } else { "" };
        let role = if self.side.is_some() { "application" } else { "img" };
        let _ = write!(
            html,
            "<svg viewBox=\"0 0 {} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"{role}\" aria-label=\"{}. {}\"{focus}>{}<rect class=\"cursor\" x=\"0\" y=\"0\" width=\"0\" height=\"{HEIGHT}\"/></svg>",
            coordinate(self.length),
            escaped(&self.title),
            escaped(&self.subtitle),
            self.body
        );
        for level in self.levels.iter().filter(|level| level.value <= self.top) {
            let place = share(level.value);
            let near = if self.is_under(level) { " under" } else { "" };
            let _ = write!(
                html,
                "<div class=\"level {}{near}\" data-v=\"{}\" style=\"bottom:{place}%\"><span>{}</span></div>",
                level.class,
                level.value,
                escaped(&level.text)
            );
        }
        for (at, text) in &self.marks {
            let place = coordinate_of(100.0 * at / self.length.max(1.0));
            let turned = if *at > self.length * 0.6 { " turned" } else { "" };
            let _ = write!(
                html,
                "<div class=\"upright{turned}\" style=\"left:{place}%\"><span>{}</span></div>",
                escaped(text)
            );
        }
        html.push_str("</div><div class=\"below\" aria-hidden=\"true\">");
        for (at, label) in &self.bottom_ticks {
            let place = coordinate_of(100.0 * at / self.length.max(1.0));
            let _ = write!(html, "<span style=\"left:{place}%\">{}</span>", escaped(label));
        }
        let _ = write!(html, "</div><div class=\"axis\">{}</div></div>", escaped(&self.bottom_label));
        html
    }

    /// A picture that stands alone.
    pub(crate) fn to_svg(&self) -> String {
        let y = |value: u64| TOP + HIGH * self.y(value) / HEIGHT;
        let x = |at: f64| LEFT + WIDE * at / self.length.max(1.0);
        let mut svg = picture(LEFT + WIDE + 22.0, TOP + HIGH + 54.0, &self.title, &self.subtitle);
        for (value, label) in &self.value_ticks {
            let y = coordinate(y(*value));
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\"/>",
                LEFT + WIDE
            );
            let _ = writeln!(
                svg,
                "<text class=\"soft\" x=\"{}\" y=\"{y}\" dy=\"4\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                escaped(label)
            );
        }
        let _ = writeln!(
            svg,
            "<svg x=\"{LEFT}\" y=\"{TOP}\" width=\"{WIDE}\" height=\"{HIGH}\" viewBox=\"0 0 {} {HEIGHT}\" preserveAspectRatio=\"none\">{}</svg>",
            coordinate(self.length),
            self.body
        );
        for (number, level) in self.levels.iter().filter(|level| level.value <= self.top).enumerate() {
            let at = coordinate(y(level.value));
            let _ = writeln!(
                svg,
                "<line class=\"level {}\" x1=\"{LEFT}\" y1=\"{at}\" x2=\"{}\" y2=\"{at}\"/>",
                level.class,
                LEFT + WIDE
            );
            // Lines may be close to each other: their texts stand side by side.
            let shift = if self.kind == "device" { 0.0 } else { 270.0 * (number % 3) as f64 };
            let down = if self.is_under(level) { 14 } else { -4 };
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{at}\" dy=\"{down}\" text-anchor=\"end\">{}</text>",
                coordinate(LEFT + WIDE - 4.0 - shift),
                escaped(&level.text)
            );
        }
        for (at, text) in &self.marks {
            let (at, anchor, shift) =
                if *at > self.length * 0.6 { (x(*at), "end", -5) } else { (x(*at), "start", 5) };
            let at = coordinate(at);
            let _ = writeln!(
                svg,
                "<line class=\"mark\" x1=\"{at}\" y1=\"{TOP}\" x2=\"{at}\" y2=\"{}\"/>",
                TOP + HIGH
            );
            let _ = writeln!(
                svg,
                "<text x=\"{at}\" y=\"{}\" dx=\"{shift}\" text-anchor=\"{anchor}\">{}</text>",
                TOP + 12.0,
                escaped(text)
            );
        }
        for (at, label) in &self.bottom_ticks {
            let _ = writeln!(
                svg,
                "<text class=\"soft\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                coordinate(x(*at)),
                TOP + HIGH + 18.0,
                escaped(label)
            );
        }
        let _ = writeln!(
            svg,
            "<text class=\"soft\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            LEFT + WIDE / 2.0,
            TOP + HIGH + 40.0,
            escaped(&self.bottom_label)
        );
        svg.push_str("</svg>\n");
        svg
    }
}

/// Where a value lies below the upper edge, which stands for `top`.
pub(crate) fn y(value: u64, top: u64) -> f64 {
    HEIGHT - HEIGHT * (value as f64 / top.max(1) as f64).min(1.0)
}

/// The beginning of a picture that stands alone.
pub(crate) fn picture(width: f64, height: f64, title: &str, subtitle: &str) -> String {
    let (w, h) = (coordinate(width), coordinate(height));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\">\n<title>{0}</title>\n<style>{1}</style>\n\
         <rect class=\"paper\" x=\"0\" y=\"0\" width=\"{w}\" height=\"{h}\"/>\n<text class=\"title\" x=\"20\" y=\"28\">{0}</text>\n<text class=\"soft\" x=\"20\" y=\"47\">{2}</text>\n",
        escaped(title),
        for_a_picture(),
        escaped(subtitle)
    )
}

/// A share of the area: hundredths of a per cent are enough.
fn coordinate_of(percent: f64) -> String {
    format!("{:.2}", percent.clamp(0.0, 100.0))
}

/// About eight numbers of ops along the axis below, each in the middle of its unit.
pub(crate) fn op_ticks(length: usize) -> Vec<(f64, String)> {
    let step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]
        .into_iter()
        .find(|step| length / step <= 8);
    let step = step.unwrap_or(length.max(1));
    let numbers = (1..=length).filter(|number| *number == 1 || number % step == 0);
    numbers.map(|number| (number as f64 - 0.5, number.to_string())).collect()
}

/// What the units of the time axis are.
pub(crate) fn bottom_label(side: &Side) -> String {
    if side.length() == side.ops.len() {
        "ops in the order in which they run".to_owned()
    } else {
        "steps of the run; an op that runs a loop takes several".to_owned()
    }
}
