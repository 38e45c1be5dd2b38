//! The few elements that charts are made of.

use crate::number::coordinate;
use crate::theme::style;
use std::fmt::Write;

/// Where a text lies relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A picture that is being drawn.
pub(crate) struct Svg {
    text: String,
}

impl Svg {
    /// An empty picture of this size; its title is what screen readers say.
    pub(crate) fn new(width: f64, height: f64, title: &str, subtitle: &str) -> Self {
        let (w, h) = (coordinate(width), coordinate(height));
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\">\n\
             <title>{}</title>\n",
            escaped(title)
        );
        if !subtitle.is_empty() {
            let _ = writeln!(text, "<desc>{}</desc>", escaped(subtitle));
        }
        let _ = writeln!(text, "<style>{}</style>", style());
        let (w, h) = (coordinate(width - 1.0), coordinate(height - 1.0));
        let _ = writeln!(
            text,
            "<rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"{w}\" height=\"{h}\" rx=\"8\"/>"
        );
        Self { text }
    }

    /// A rectangle, with what to say if the mouse rests on it.
    pub(crate) fn rect(&mut self, [x, y, width, height]: [f64; 4], class: &str, tip: &str) {
        let [x, y, width, height] = [x, y, width, height].map(coordinate);
        let _ = write!(
            self.text,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"1.5\""
        );
        self.close("rect", tip);
    }

    pub(crate) fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], class: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
        let _ =
            writeln!(self.text, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
    }

    /// A line through many points.
    pub(crate) fn path(&mut self, points: &[(f64, f64)], class: &str, tip: &str) {
        let _ = write!(self.text, "<path class=\"{class}\" d=\"");
        for (index, &(x, y)) in points.iter().enumerate() {
            let command = if index == 0 { "M" } else { "L" };
            let _ = write!(self.text, "{command}{} {}", coordinate(x), coordinate(y));
        }
        self.text.push('"');
        self.close("path", tip);
    }

    pub(crate) fn dot(&mut self, (x, y): (f64, f64), class: &str, tip: &str) {
        let _ = write!(
            self.text,
            "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"3.2\"",
            coordinate(x),
            coordinate(y)
        );
        self.close("circle", tip);
    }

    /// A text; each line of it stands below the one before.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        for (index, line) in text.lines().enumerate() {
            let _ = writeln!(
                self.text,
                "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
                coordinate(x),
                coordinate(y + 14.0 * index as f64),
                anchor.name(),
                escaped(line)
            );
        }
    }

    /// A text that runs upwards from its point.
    pub(crate) fn upright(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let (x, y) = (coordinate(x), coordinate(y));
        let _ = writeln!(
            self.text,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" transform=\"rotate(-90 {x} {y})\">{}</text>",
            escaped(text)
        );
    }

    fn close(&mut self, element: &str, tip: &str) {
        let _ = if tip.is_empty() {
            writeln!(self.text, "/>")
        } else {
            writeln!(self.text, "><title>{}</title></{element}>", escaped(tip))
        };
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// A text without what XML takes for its own, or forbids.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_well_formed;

    #[test]
    fn no_text_leaves_its_place() {
        let nasty = "a<b>&\"c'\u{0}\n]]>";
        let mut svg = Svg::new(10.0, 10.0, nasty, nasty);
        svg.rect([0.0; 4], "s0", nasty);
        svg.text((1.0, 1.0), Anchor::End, "soft", nasty);
        svg.upright((1.0, 1.0), "small", nasty);
        svg.path(&[(0.0, 1.0), (2.0, 3.0)], "line s1", "");
        svg.dot((0.0, 0.0), "s1", nasty);
        let text = svg.finish();
        assert_well_formed(&text);
        assert!(text.contains("a&lt;b&gt;&amp;&quot;c&#39;\u{fffd} ]]&gt;"));
        assert!(text.contains("M0 1L2 3"));
    }
}
