//! Colours and fonts.
//!
//! The picture brings its own background, so text and page never have the same colour; where the viewer prefers dark pages it
//! is dark. The colours of the series keep apart for the colour-blind and stand out from both backgrounds. Plain properties only:
//! not every program that shows SVG knows CSS variables.

use std::fmt::Write;

/// The colour of a series. What is the same in several pictures should have the same colour in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// For what others are compared with.
    Grey,
    /// Blue.
    Blue,
    /// Green, with some blue in it.
    Green,
    /// Orange.
    Orange,
    /// Purple.
    Purple,
    /// Red.
    Red,
}

const COLOURS: usize = 6;

impl Colour {
    /// The class that has it in the style sheet.
    pub(crate) fn class(self) -> String {
        format!("s{}", self as usize)
    }
}

/// The colours of one background.
struct Palette {
    paper: &'static str,
    ink: &'static str,
    soft: &'static str,
    grid: &'static str,
    series: [&'static str; COLOURS],
}

const LIGHT: Palette = Palette {
    paper: "#ffffff",
    ink: "#1f2328",
    soft: "#59636e",
    grid: "#dde2e7",
    series: ["#9aa3ad", "#2f6fdb", "#1a9e77", "#e0872b", "#a259c9", "#d0455c"],
};

const DARK: Palette = Palette {
    paper: "#0d1117",
    ink: "#e6edf3",
    soft: "#9198a1",
    grid: "#30363d",
    series: ["#7d8590", "#58a1ff", "#2fbf93", "#f0a04b", "#c086e6", "#f2708a"],
};

const SHAPES: &str = "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:12px}\
.title{font-size:16px;font-weight:600}.small{font-size:10.5px;paint-order:stroke;stroke-width:3px;stroke-linejoin:round}\
.mark{stroke-dasharray:4 3}.reference{stroke-width:2.5}.spread{stroke-width:1.2}\
.line{fill:none;stroke-width:2.2;stroke-linejoin:round}";

/// The style sheet of every picture.
pub(crate) fn style() -> String {
    format!("{SHAPES}{}@media(prefers-color-scheme:dark){{{}}}", colours(&LIGHT), colours(&DARK))
}

fn colours(palette: &Palette) -> String {
    let Palette { paper, ink, soft, grid, series } = palette;
    let mut text = format!(
        "text{{fill:{ink}}}.soft,.small{{fill:{soft}}}.small{{stroke:{paper}}}.paper{{fill:{paper};stroke:{grid}}}.grid{{stroke:{grid}}}\
         .axis,.mark{{stroke:{soft}}}.reference,.spread{{stroke:{ink}}}"
    );
    for (index, colour) in series.iter().enumerate() {
        let _ = write!(text, ".s{index}{{fill:{colour}}}.line.s{index}{{fill:none;stroke:{colour}}}");
    }
    text
}

/// About how wide a text of 12 pixels is: there is no font to ask.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.6
}
