//! What all charts have in common: title, legend, axes.

use crate::Axis;
use crate::axis::Fitted;
use crate::svg::{Anchor, Svg};
use crate::theme::{Colour, text_width};

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 24.0;
const BOTTOM: f64 = 62.0;

/// The area in which values are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Area {
    pub(crate) fn x(&self, position: f64) -> f64 {
        self.left + position * (self.right - self.left)
    }

    pub(crate) fn y(&self, position: f64) -> f64 {
        self.bottom - position * (self.bottom - self.top)
    }
}

/// What the legend explains.
pub(crate) enum Key<'a> {
    /// The series of this colour.
    Series(&'a str, Colour),
    /// The thick line of a value to compare with.
    Reference(&'a str),
    /// The thin line from low to high.
    Spread(&'a str),
}

/// A picture with its title and legend, and the area below.
pub(crate) fn begin(title: &str, subtitle: &str, keys: &[Key]) -> (Svg, Area) {
    let mut svg = Svg::new(WIDTH, HEIGHT, title, subtitle);
    svg.text((20.0, 28.0), Anchor::Start, "title", title);
    let mut y = 28.0;
    if !subtitle.is_empty() {
        y += 19.0;
        svg.text((20.0, y), Anchor::Start, "soft", subtitle);
    }
    y += 22.0;
    let mut x = 20.0;
    for key in keys {
        let (Key::Series(name, _) | Key::Reference(name) | Key::Spread(name)) = key;
        let width = 18.0 + text_width(name) + 18.0;
        if x + width > WIDTH - RIGHT && x > 20.0 {
            (x, y) = (20.0, y + 18.0);
        }
        match key {
            Key::Series(_, colour) => svg.rect([x, y - 9.5, 11.0, 11.0], &colour.class(), ""),
            Key::Reference(_) => svg.line([x - 1.0, y - 4.0, x + 13.0, y - 4.0], "reference"),
            Key::Spread(_) => spread(&mut svg, x + 6.0, y - 10.0, y + 2.0),
        }
        svg.text((x + 18.0, y), Anchor::Start, "", name);
        x += width;
    }
    let area = Area { left: LEFT, right: WIDTH - RIGHT, top: y + 44.0, bottom: HEIGHT - BOTTOM };
    (svg, area)
}

/// A thin line from one height to another with a bar at each end.
pub(crate) fn spread(svg: &mut Svg, x: f64, top: f64, bottom: f64) {
    svg.line([x, top, x, bottom], "spread");
    for y in [top, bottom] {
        svg.line([x - 2.5, y, x + 2.5, y], "spread");
    }
}

/// Lines across at the ticks of the axis on the left.
pub(crate) fn value_axis(svg: &mut Svg, area: &Area, axis: &Axis, fitted: &Fitted) {
    for (value, label) in &fitted.ticks {
        let y = area.y(fitted.position(*value));
        svg.line([area.left, y, area.right, y], "grid");
        svg.text((area.left - 8.0, y + 4.0), Anchor::End, "soft", label);
    }
    svg.text((20.0, area.top - 14.0), Anchor::Start, "soft", &axis.label);
}

/// Ticks along the bottom.
pub(crate) fn bottom_axis(svg: &mut Svg, area: &Area, axis: &Axis, fitted: &Fitted) {
    base_line(svg, area);
    for (value, label) in &fitted.ticks {
        let x = area.x(fitted.position(*value));
        svg.line([x, area.bottom, x, area.bottom + 5.0], "axis");
        svg.text((x, area.bottom + 19.0), Anchor::Middle, "soft", label);
    }
    svg.text((area.x(0.5), area.bottom + 42.0), Anchor::Middle, "soft", &axis.label);
}

pub(crate) fn base_line(svg: &mut Svg, area: &Area) {
    svg.line([area.left, area.bottom, area.right, area.bottom], "axis");
}
