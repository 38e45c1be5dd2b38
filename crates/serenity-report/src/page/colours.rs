//! The colours of a page and of its pictures, for light and dark.
//!
//! Eight colours for the tensors at the peak, after Okabe and Ito: the colour-blind tell them apart. All other tensors are grey, so that the
//! picture says at once who makes the peak. Memory is told by brightness alone, from little to much.

use std::fmt::Write;

/// So many tensors have a colour of their own.
pub(crate) const OWN_COLOURS: usize = 8;
/// So many shades tell how much memory is in use.
pub(crate) const SHADES: usize = 6;

struct Palette {
    variables: &'static [(&'static str, &'static str)],
}

const LIGHT: Palette = Palette {
    variables: &[
        ("paper", "#ffffff"),
        ("raised", "#f6f8fa"),
        ("ink", "#1b2026"),
        ("soft", "#57606a"),
        ("line", "#d8dee4"),
        ("accent", "#0b5cad"),
        ("good", "#1a7f4b"),
        ("bad", "#c2410c"),
        ("t0", "#0072b2"),
        ("t1", "#e69f00"),
        ("t2", "#009e73"),
        ("t3", "#cc79a7"),
        ("t4", "#56b4e9"),
        ("t5", "#d55e00"),
        ("t6", "#8a7a00"),
        ("t7", "#6f4fa0"),
        ("n0", "#ccd3db"),
        ("n1", "#b9c2cc"),
        ("m0", "#f2f6fa"),
        ("m1", "#d3e3f2"),
        ("m2", "#a6c9e6"),
        ("m3", "#6ba3d2"),
        ("m4", "#2f74b0"),
        ("m5", "#0b4a80"),
        ("over", "#1b2026"),
    ],
};

const DARK: Palette = Palette {
    variables: &[
        ("paper", "#0f1318"),
        ("raised", "#171c23"),
        ("ink", "#e8edf2"),
        ("soft", "#9aa5b1"),
        ("line", "#2d353f"),
        ("accent", "#6cb0ff"),
        ("good", "#4cc38a"),
        ("bad", "#ff9b6a"),
        ("t0", "#3a9be0"),
        ("t1", "#f0b429"),
        ("t2", "#22b58c"),
        ("t3", "#e08fbd"),
        ("t4", "#8fd0fa"),
        ("t5", "#f07a33"),
        ("t6", "#c9b93a"),
        ("t7", "#a48bd8"),
        ("n0", "#39434f"),
        ("n1", "#485361"),
        ("m0", "#1c232b"),
        ("m1", "#1d3550"),
        ("m2", "#1f4d78"),
        ("m3", "#2f74b0"),
        ("m4", "#5fa5dd"),
        ("m5", "#a9d6fa"),
        ("over", "#e8edf2"),
    ],
};

/// The variables of the page's style sheet. Who says nothing gets what the system prefers.
pub(crate) fn variables() -> String {
    let list = |palette: &Palette| {
        palette.variables.iter().fold(String::new(), |mut text, (name, colour)| {
            let _ = write!(text, "--{name}:{colour};");
            text
        })
    };
    let (light, dark) = (list(&LIGHT), list(&DARK));
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
    let rules = |palette: &Palette| {
        let mut text = String::new();
        for (name, colour) in palette.variables {
            let _ = match *name {
                "paper" => write!(text, ".paper{{fill:{colour}}}.cut{{stroke:{colour}}}"),
                "ink" => write!(text, "text{{fill:{colour}}}.edge,.atpeak{{stroke:{colour}}}"),
                "soft" => write!(text, ".soft{{fill:{colour}}}.bound,.mark{{stroke:{colour}}}"),
                "line" => write!(text, ".grid{{stroke:{colour}}}"),
                "bad" => write!(text, ".peak{{stroke:{colour}}}"),
                "accent" => write!(text, ".budget{{stroke:{colour}}}"),
                "m5" => {
                    write!(text, ".m4 text,.m5 text{{fill:{}}}.m5{{fill:{colour}}}", palette.variables[0].1)
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
        rules(&LIGHT),
        rules(&DARK)
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
    fn light_and_dark_have_the_same_colours_and_enough() {
        let names = |palette: &Palette| palette.variables.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(&LIGHT), names(&DARK));
        let has = |name: String| names(&LIGHT).contains(&name.as_str());
        assert!((0..OWN_COLOURS).all(|i| has(format!("t{i}"))) && (0..SHADES).all(|i| has(format!("m{i}"))));
        assert_eq!((shade(0, 10), shade(10, 10), shade(0, 0)), ("m0".into(), "m5".into(), "m0".into()));
    }
}
