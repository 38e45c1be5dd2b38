//! Bars in groups.

use crate::axis::Fitted;
use crate::frame::{self, Key};
use crate::number::significant;
use crate::svg::Anchor;
use crate::theme::text_width;
use crate::{Axis, Colour};

/// One bar of a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// Its height; nothing is drawn where there is no value.
    pub value: Option<f64>,
    /// The range in which most of the values lie of which this is the median.
    pub spread: Option<(f64, f64)>,
    /// A value to compare with: a thick line across the bar.
    pub reference: Option<f64>,
    /// What stands above the bar.
    pub label: String,
}

impl Bar {
    /// A bar of this height.
    pub fn of(value: f64) -> Self {
        Self { value: Some(value), ..Self::default() }
    }
}

/// The bars of one colour, one a group.
#[derive(Clone, Debug, PartialEq)]
pub struct BarSeries {
    /// What they are, for the legend.
    pub name: String,
    /// The colour of the bars.
    pub colour: Colour,
    /// One bar a group.
    pub bars: Vec<Bar>,
}

impl BarSeries {
    /// A series of bars.
    pub fn new(name: impl Into<String>, colour: Colour, bars: Vec<Bar>) -> Self {
        Self { name: name.into(), colour, bars }
    }
}

/// A chart of bars in groups.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// What it shows.
    pub title: String,
    /// How to read it, in a line; may be empty.
    pub subtitle: String,
    /// The axis on the left.
    pub value_axis: Axis,
    /// The names of the groups; a line break begins a second line.
    pub groups: Vec<String>,
    /// The series, each with its own colour.
    pub series: Vec<BarSeries>,
    /// What the thick lines are, for the legend, if there are any.
    pub reference: Option<String>,
}

impl BarChart {
    /// The chart as a picture of its own.
    pub fn to_svg(&self) -> String {
        let bars = || self.series.iter().flat_map(|series| &series.bars);
        let mut keys: Vec<Key> =
            self.series.iter().map(|series| Key::Series(&series.name, series.colour)).collect();
        keys.extend(self.reference.as_deref().map(Key::Reference));
        if bars().any(|bar| bar.spread.is_some()) {
            keys.push(Key::Spread("5 to 95 %"));
        }
        let (mut svg, area) = frame::begin(&self.title, &self.subtitle, &keys);
        let drawn = bars().flat_map(|bar| {
            [bar.value, bar.reference, bar.spread.map(|s| s.0), bar.spread.map(|s| s.1)].into_iter().flatten()
        });
        let group_width = (area.right - area.left) / self.groups.len().max(1) as f64;
        let bar_width = (group_width * 0.78 / self.series.len().max(1) as f64).min(46.0);
        // All labels stand the same way.
        let is_narrow = bars().any(|bar| text_width(&bar.label) > bar_width);
        let fitted =
            self.with_room_for_labels(self.value_axis.fitted(drawn), area.bottom - area.top, is_narrow);
        frame::value_axis(&mut svg, &area, &self.value_axis, &fitted);
        let y_of = |value: f64| area.y(fitted.position(value));
        for (g, group) in self.groups.iter().enumerate() {
            let centre = area.left + (g as f64 + 0.5) * group_width;
            svg.text((centre, area.bottom + 18.0), Anchor::Middle, "", group);
            let first = centre - bar_width * self.series.len() as f64 / 2.0;
            for (s, series) in self.series.iter().enumerate() {
                let Some(bar) = series.bars.get(g) else { continue };
                let x = first + s as f64 * bar_width;
                let middle = x + bar_width / 2.0;
                let mut top = area.bottom;
                if let Some(value) = bar.value.filter(|&value| self.value_axis.takes(value)) {
                    top = y_of(value);
                    let tip = format!(
                        "{}, {}: {} {}",
                        group.replace('\n', " "),
                        series.name,
                        significant(value, 4),
                        self.value_axis.label
                    );
                    svg.rect(
                        [x + 1.0, top, bar_width - 2.0, area.bottom - top],
                        &series.colour.class(),
                        &tip,
                    );
                }
                if let Some((low, high)) = bar.spread.filter(|s| s.0 < s.1 && self.value_axis.takes(s.0)) {
                    frame::spread(&mut svg, middle, y_of(high), y_of(low));
                    top = top.min(y_of(high));
                }
                if let Some(reference) = bar.reference.filter(|&value| self.value_axis.takes(value)) {
                    let y = y_of(reference);
                    svg.line([x - 0.5, y, x + bar_width + 0.5, y], "reference");
                    let label = if is_narrow { text_width(&bar.label) } else { LABEL_HEIGHT };
                    // The label stays at its bar where it fits below the line.
                    if top - y < label + 2.0 * LABEL_GAP {
                        top = top.min(y);
                    }
                }
                if is_narrow {
                    svg.upright((middle + 4.0, top - 5.0), "small", &bar.label);
                } else {
                    svg.text((middle, top - 5.0), Anchor::Middle, "small", &bar.label);
                }
            }
        }
        frame::base_line(&mut svg, &area);
        svg.finish()
    }

    /// An axis that goes so far up that no label stands above its last line.
    fn with_room_for_labels(&self, fitted: Fitted, height: f64, is_upright: bool) -> Fitted {
        let mut fitted = fitted;
        // A longer axis makes all bars shorter, so one more round may be needed, and then no more.
        for _ in 0..MOST_ROUNDS {
            let room = |bar: &Bar| {
                let label = if is_upright { text_width(&bar.label) } else { LABEL_HEIGHT };
                let room = if bar.label.is_empty() { 0.0 } else { (label + LABEL_GAP) / height };
                let top = [bar.value, bar.reference, bar.spread.map(|spread| spread.1)];
                let top = top.into_iter().flatten().filter(|&value| self.value_axis.takes(value));
                top.map(|value| fitted.position(value)).fold(0.0, f64::max) + room
            };
            let most = self.series.iter().flat_map(|series| &series.bars).map(room).fold(0.0, f64::max);
            if most <= 1.0 || self.value_axis.to.is_some() {
                break;
            }
            fitted = self.value_axis.fitted([fitted.at(0.0), fitted.at(most)].into_iter());
        }
        fitted
    }
}

/// Between a bar and its label, and how high letters are.
const LABEL_GAP: f64 = 8.0;
const LABEL_HEIGHT: f64 = 12.0;
const MOST_ROUNDS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_well_formed;

    fn chart(value_axis: Axis) -> BarChart {
        let bar = Bar {
            value: Some(551.9),
            spread: Some((500.0, 600.0)),
            reference: Some(552.0),
            label: "2.2 <×>".to_owned(),
        };
        BarChart {
            title: "Peaks & <more>".to_owned(),
            subtitle: "lower is better".to_owned(),
            value_axis,
            groups: vec!["SwiftNet\nA".to_owned(), "B".to_owned()],
            series: vec![
                BarSeries::new("one", Colour::Grey, vec![bar, Bar::of(f64::NAN)]),
                BarSeries::new("two", Colour::Blue, vec![Bar::default()]),
                BarSeries::new("three", Colour::Red, vec![Bar::of(-1.0), Bar::of(0.0)]),
            ],
            reference: Some("the paper".to_owned()),
        }
    }

    #[test]
    fn charts_are_well_formed_whatever_they_show() {
        for axis in [Axis::linear("KB"), Axis::logarithmic("s")] {
            assert_well_formed(&chart(axis.clone()).to_svg());
            let empty = BarChart { groups: vec![], series: vec![], ..chart(axis) };
            assert_well_formed(&empty.to_svg());
        }
    }

    #[test]
    fn no_label_stands_above_the_last_line() {
        for axis in [Axis::linear("KB"), Axis::logarithmic("s")] {
            let svg = chart(axis).to_svg();
            let heights = |class: &str| -> Vec<f64> {
                let lines = svg.lines().filter(|line| line.contains(class));
                let y = |line: &str| line.split(" y=\"").nth(1)?.split('"').next()?.parse().ok();
                let y1 = |line: &str| line.split(" y1=\"").nth(1)?.split('"').next()?.parse().ok();
                lines.filter_map(|line| y(line).or_else(|| y1(line))).collect()
            };
            let top = heights("\"grid\"").into_iter().fold(f64::INFINITY, f64::min);
            let label = heights("\"small\"").into_iter().fold(f64::INFINITY, f64::min);
            assert!(top.is_finite() && label > top, "{label} above {top}");
        }
    }

    #[test]
    fn every_bar_and_every_name_is_there() {
        let svg = chart(Axis::linear("KB")).to_svg();
        for text in
            ["Peaks &amp; &lt;more&gt;", ">one<", ">the paper<", ">5 to 95 %<", "SwiftNet A, one: 551.9 KB"]
        {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(svg, chart(Axis::linear("KB")).to_svg());
    }
}
