//! Lines and steps.

use crate::axis::Fitted;
use crate::frame::{self, Area, Key};
use crate::svg::{Anchor, Svg};
use crate::theme::text_width;
use crate::{Axis, Colour};

/// How the points of a line are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Directly, with a dot at each.
    Dots,
    /// By steps: a value holds until the next point.
    Steps,
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it is, for the legend.
    pub name: String,
    /// The colour of the line.
    pub colour: Colour,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// How they are joined.
    pub shape: Shape,
}

/// Something to compare with: a dashed line across or upright, or a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// At this value of the axis on the left.
    Across(f64, String),
    /// At this value of the axis below.
    Upright(f64, String),
    /// At these values of the axis below and of the one on the left.
    Point((f64, f64), String),
}

/// A chart of lines.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// How to read it, in a line; may be empty.
    pub subtitle: String,
    /// The axis below.
    pub bottom_axis: Axis,
    /// The axis on the left.
    pub value_axis: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// What to compare with.
    pub marks: Vec<Mark>,
}

impl LineChart {
    /// The chart as a picture of its own.
    pub fn to_svg(&self) -> String {
        let keys: Vec<Key> = self.lines.iter().map(|line| Key::Series(&line.name, line.colour)).collect();
        let (mut svg, area) = frame::begin(&self.title, &self.subtitle, &keys);
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let upright = self.marks.iter().filter_map(|mark| match mark {
            Mark::Upright(x, _) | Mark::Point((x, _), _) => Some(*x),
            Mark::Across(..) => None,
        });
        let across = self.marks.iter().filter_map(|mark| match mark {
            Mark::Across(y, _) | Mark::Point((_, y), _) => Some(*y),
            Mark::Upright(..) => None,
        });
        let bottom = self.bottom_axis.fitted(points().map(|point| point.0).chain(upright));
        let value = self.value_axis.fitted(points().map(|point| point.1).chain(across));
        frame::value_axis(&mut svg, &area, &self.value_axis, &value);
        frame::bottom_axis(&mut svg, &area, &self.bottom_axis, &bottom);
        self.draw_marks(&mut svg, &area, &bottom, &value);
        let mut taken = Vec::new();
        for line in &self.lines {
            let drawn: Vec<(f64, f64)> = line
                .points
                .iter()
                .filter(|(x, y)| self.bottom_axis.takes(*x) && self.value_axis.takes(*y))
                .map(|(x, y)| (area.x(bottom.position(*x)), area.y(value.position(*y))))
                .collect();
            if drawn.is_empty() {
                continue;
            }
            let (class, has_dots) = (line.colour.class(), line.shape == Shape::Dots);
            let drawn = if has_dots { drawn } else { steps(&drawn) };
            svg.path(&drawn, &format!("line {class}"), &line.name);
            for &point in drawn.iter().filter(|_| has_dots) {
                svg.dot(point, &class, &line.name);
            }
            taken.extend(drawn.windows(2).map(|ends| covered(ends[0], ends[1])));
        }
        // Last, so that no line is drawn over them.
        self.name_marks(&mut svg, &area, &bottom, &value, taken);
        svg.finish()
    }

    fn draw_marks(&self, svg: &mut Svg, area: &Area, bottom: &Fitted, value: &Fitted) {
        for mark in &self.marks {
            match mark {
                Mark::Across(y, _) => {
                    let y = area.y(value.position(*y));
                    svg.line([area.left, y, area.right, y], "mark");
                }
                Mark::Upright(x, _) => {
                    let x = area.x(bottom.position(*x));
                    svg.line([x, area.top, x, area.bottom], "mark");
                }
                Mark::Point(..) => {}
            }
        }
    }

    /// Writes what the marks are, clear of what is `taken`: left, top, right and bottom of each.
    fn name_marks(
        &self,
        svg: &mut Svg,
        area: &Area,
        bottom: &Fitted,
        value: &Fitted,
        mut taken: Vec<[f64; 4]>,
    ) {
        for mark in &self.marks {
            if let Mark::Across(y, _) = mark {
                let y = area.y(value.position(*y));
                taken.push([area.left, y, area.right, y]);
            }
        }
        // Of texts at the top: where each ends, and in which row it stands.
        let mut upright: Vec<(f64, usize)> = Vec::new();
        for mark in &self.marks {
            match mark {
                Mark::Across(y, text) => {
                    let (y, width) = (area.y(value.position(*y)), text_width(text) * SMALL);
                    let room = area.right - area.left - 12.0 - width;
                    // The first that is free, from the right to the left: above the line or below it.
                    let places: Vec<[f64; 2]> = (0..=50)
                        .map(|at| area.left + 6.0 + room * (1.0 - f64::from(at) / 50.0))
                        .flat_map(|x| [[x, y - 5.0], [x, y + 13.0]])
                        .collect();
                    let covers = |&[x, base]: &[f64; 2]| [x, base - 9.0, x + width, base + 2.0];
                    let is_free = |place: &&[f64; 2]| {
                        let [x1, y1, x2, y2] = covers(place);
                        !taken.iter().any(|o| o[0] < x2 && o[2] > x1 && o[1] < y2 && o[3] > y1)
                    };
                    let place = places.iter().find(is_free).unwrap_or(&places[0]);
                    svg.text((place[0], place[1]), Anchor::Start, "small", text);
                    taken.push(covers(place));
                }
                Mark::Upright(x, text) => {
                    let x = area.x(bottom.position(*x));
                    let width = text_width(text);
                    // To the left of the line where there is no room to the right of it.
                    let (from, anchor, at) = if x + 5.0 + width > area.right {
                        (x - 5.0 - width, Anchor::End, x - 5.0)
                    } else {
                        (x + 5.0, Anchor::Start, x + 5.0)
                    };
                    let is_free =
                        |row: &usize| !upright.iter().any(|&(end, taken)| taken == *row && end > from);
                    let row = (0..=self.marks.len()).find(is_free).unwrap_or(0);
                    svg.text((at, area.top + 10.0 + 14.0 * row as f64), anchor, "small", text);
                    upright.push((from + width, row));
                }
                Mark::Point((x, y), text) => {
                    let (x, y) = (area.x(bottom.position(*x)), area.y(value.position(*y)));
                    for [dx, dy] in [[1.0, 1.0], [1.0, -1.0]] {
                        svg.line([x - 4.5 * dx, y - 4.5 * dy, x + 4.5 * dx, y + 4.5 * dy], "reference");
                    }
                    svg.text((x - 9.0, y - 7.0), Anchor::End, "small", text);
                }
            }
        }
    }
}

/// Of the usual size of letters, how large small ones are.
const SMALL: f64 = 10.5 / 12.0;

/// The left, top, right and bottom of a line between two points.
fn covered((x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> [f64; 4] {
    [x1.min(x2), y1.min(y2), x1.max(x2), y1.max(y2)]
}

/// Every value held until the next point.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::with_capacity(2 * points.len());
    for &(x, y) in points {
        if let Some(&(_, before)) = corners.last() {
            corners.push((x, before));
        }
        corners.push((x, y));
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_well_formed;

    fn chart(shape: Shape) -> LineChart {
        LineChart {
            title: "Memory over time".to_owned(),
            subtitle: String::new(),
            bottom_axis: Axis::linear("step"),
            value_axis: Axis::linear("KB"),
            lines: vec![
                Line {
                    name: "a&b".to_owned(),
                    colour: Colour::Grey,
                    points: vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)],
                    shape,
                },
                Line { name: "none".to_owned(), colour: Colour::Blue, points: vec![], shape },
            ],
            marks: vec![
                Mark::Across(2.5, "250 KB".to_owned()),
                Mark::Upright(1.5, "here".to_owned()),
                Mark::Point((1.0, 2.0), "theirs".to_owned()),
            ],
        }
    }

    #[test]
    fn charts_are_well_formed_whatever_they_show() {
        for shape in [Shape::Dots, Shape::Steps] {
            assert_well_formed(&chart(shape).to_svg());
            let logarithmic = LineChart { bottom_axis: Axis::logarithmic("KiB"), ..chart(shape) };
            assert_well_formed(&logarithmic.to_svg());
            assert_well_formed(&LineChart { lines: vec![], marks: vec![], ..chart(shape) }.to_svg());
        }
    }

    #[test]
    fn a_value_holds_until_the_next() {
        assert_eq!(steps(&[(0.0, 1.0), (1.0, 2.0)]), [(0.0, 1.0), (1.0, 1.0), (1.0, 2.0)]);
    }
}
