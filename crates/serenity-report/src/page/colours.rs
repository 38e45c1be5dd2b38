//! The colours of a page and of its pictures, for light and dark.
//!
//! Eight colours for the tensors at the peak, after Okabe and Ito: the colour-blind tell them apart. All other tensors
//! are grey, so that the picture says at once who makes the peak. Memory is told by brightness alone, from little to
//! much.

use std::fmt::Write;

/// So many tensors have a colour of their own.
pub(crate) const OWN_COLOURS: usize = 8;
/// So many shades tell how much memory is in use.
pub(crate) const SHADES: usize = 6;

/// The name of each colour, and what it is on light paper and on dark.
const COLOURS: [(&str, [&str; 2]); 25] = [
    ("paper", ["#ffffff", "#0f1318"]),
    ("raised", ["#f6f8fa", "#171c23"]),
    ("ink", ["#1b2026", "#e8edf2"]),
    ("soft", ["#57606a", "#9aa5b1"]),
    ("line", ["#d8dee4", "#2d353f"]),
    ("accent", ["#0b5cad", "#6cb0ff"]),
    ("good", ["#1a7f4b", "#4cc38a"]),
    ("bad", ["#c2410c", "#ff9b6a"]),
    ("t0", ["#0072b2", "#3a9be0"]),
    ("t1", ["#e69f00", "#f0b429"]),
    ("t2", ["#009e73", "#22b58c"]),
    ("t3", ["#cc79a7", "#e08fbd"]),
    ("t4", ["#56b4e9", "#8fd0fa"]),
    ("t5", ["#d55e00", "#f07a33"]),
    ("t6", ["#8a7a00", "#c9b93a"]),
    ("t7", ["#6f4fa0", "#a48bd8"]),
    ("n0", ["#ccd3db", "#39434f"]),
    ("n1", ["#b9c2cc", "#485361"]),
    ("m0", ["#f2f6fa", "#1c232b"]),
    ("m1", ["#d3e3f2", "#1d3550"]),
    ("m2", ["#a6c9e6", "#1f4d78"]),
    ("m3", ["#6ba3d2", "#2f74b0"]),
    ("m4", ["#2f74b0", "#5fa5dd"]),
    ("m5", ["#0b4a80", "#a9d6fa"]),
    ("over", ["#1b2026", "#e8edf2"]),
];

const LIGHT: usize = 0;
const DARK: usize = 1;

/// The variables of the page's style sheet. Who says nothing gets what the system prefers.
pub(crate) fn variables() -> String {
    let list = |on: usize| COLOURS.map(|(name, colours)| format!("--{name}:{};", colours[on])).concat();
    let (light, dark) = (list(LIGHT), list(DARK));
    // Paper is light, whatever the screen prefers.
    format!(
        ":root{{color-scheme:light;{light}}}\
         @media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\
         @media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )
}

/// The colours for a picture that stands alone. Plain properties only: not every program that shows SVG knows
/// variables.
pub(crate) fn for_a_picture() -> String {
    let rules = |on: usize| {
        let mut text = String::new();
        for (name, colours) in COLOURS {
            let colour = colours[on];
            let _ = match name {
                "paper" => write!(text, ".paper{{fill:{colour}}}.cut{{stroke:{colour}}}"),
                "ink" => write!(text, "text{{fill:{colour}}}.edge,.atpeak{{stroke:{colour}}}"),
                "soft" => write!(text, ".soft{{fill:{colour}}}.bound,.mark{{stroke:{colour}}}"),
                "line" => write!(text, ".grid{{stroke:{colour}}}"),
                "bad" => write!(text, ".peak{{stroke:{colour}}}"),
                "accent" => write!(text, ".budget{{stroke:{colour}}}"),
                "m5" => {
                    write!(text, ".m4 text,.m5 text{{fill:{}}}.m5{{fill:{colour}}}", COLOURS[0].1[on])
                }
                name => write!(text, ".{name}{{fill:{colour}}}"),
            };
        }
        text
    };
    format!(
        "text{{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:12px}}\
         .title{{font-size:16px;font-weight:600}}.small{{font-size:10px}}.level{{stroke-width:1.5}}.budget,.mark{{stroke-dasharray:6 4}}\
         .bound{{stroke-dasharray:2 3}}.edge{{fill:none;stroke-opacity:.35}}.cut{{stroke-width:.6}}.cut *{{vector-effect:non-scaling-stroke}}\
         .atpeak{{stroke-width:2.5}}text{{stroke:none}}{}@media(prefers-color-scheme:dark){{{}}}",
        rules(LIGHT),
        rules(DARK)
    )
}

/// The class of an item: a colour of its own if it is among the largest at the peak.
pub(crate) fn class(rank: Option<usize>, item: usize) -> String {
    match rank {
        Some(rank) if rank < OWN_COLOURS => format!("t{rank}"),
        _ => format!("n{}", item % 2),
    }
}

/// The class of an op at which so much of the most is in use.
pub(crate) fn shade(bytes: u64, most: u64) -> String {
    let share = bytes as f64 / most.max(1) as f64;
    format!("m{}", ((share * SHADES as f64) as usize).min(SHADES - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_enough_colours() {
        let has = |name: String| COLOURS.iter().any(|(known, _)| *known == name);
        assert!((0..OWN_COLOURS).all(|i| has(format!("t{i}"))) && (0..SHADES).all(|i| has(format!("m{i}"))));
        assert_eq!((shade(0, 10), shade(10, 10), shade(0, 0)), ("m0".into(), "m5".into(), "m0".into()));
    }
}
