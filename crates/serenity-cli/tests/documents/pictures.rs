//! The pictures of the documents: each is what the command draws, or is drawn here from what the command says.

use crate::path;
use crate::session::collection;
use std::fmt::Write;
use std::path::PathBuf;

/// Writes the picture with `SERENITY_BLESS=1`; fails if it is not what is shown.
fn compare(shown: &str, ours: &str, how: &str) {
    if std::env::var_os("SERENITY_BLESS").is_some_and(|value| !value.is_empty()) {
        std::fs::write(path(shown), ours).unwrap();
    }
    let is_same = std::fs::read_to_string(path(shown)).is_ok_and(|found| found == ours);
    assert!(is_same, "{shown} is not what {how}");
}

fn serenity(arguments: &[&str]) -> Vec<u8> {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_serenity")).args(arguments).output().unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    run.stdout
}

fn mobilenet() -> Option<PathBuf> {
    let model = collection().join("mobilenet_v2_035_96_int8.tflite");
    if !model.exists() {
        let why = "the pictures of the documents show a model of it";
        serenity_judges::skip(serenity_judges::Need::Collection, why);
        return None;
    }
    Some(model)
}

/// The drawings of the paper's figures 1 and 3a are those that the command draws.
#[test]
fn the_drawings_of_the_paper_are_true() {
    let drawn = tempfile::tempdir().unwrap();
    let folder = drawn.path().to_str().unwrap();
    for (figure, network) in [
        ("1a", "zoo:randwire-cifar10?stage=1"),
        ("1b", "zoo:swiftnet?wiring=fitted"),
        ("3a", "zoo:swiftnet-a?wiring=fitted"),
    ] {
        serenity(&["optimize", network, "--no-rewrite", "--quiet", "--svg", folder]);
        let ours = std::fs::read_to_string(drawn.path().join("network-before.svg")).unwrap();
        let how = format!("`serenity optimize --svg` draws of {network}");
        compare(&format!("docs/paper/figure-{figure}.svg"), &ours, &how);
    }
}

/// MobileNet v2 before and after: memory over time and the arena as the command draws them, and the first picture of the
/// README, its RAM in TFLM as it came, in TFLM with loops, and as C.
#[test]
fn the_pictures_are_true() {
    let Some(model) = mobilenet() else { return };
    let model = model.to_str().unwrap();
    let written = tempfile::tempdir().unwrap();
    let (drawn, code) = (written.path().join("drawn"), written.path().join("code"));
    let json =
        |arguments: &[&str]| serde_json::from_slice::<serde_json::Value>(&serenity(arguments)).unwrap();
    let planned = json(&["optimize", model, "--loops", "--json", "--svg", drawn.to_str().unwrap()]);
    let emitted = json(&["emit", "c", model, "--loops", "--json", "-o", code.to_str().unwrap()]);
    for (drawing, picture) in [("memory", "mobilenet"), ("arena", "mobilenet-arena")] {
        for side in ["before", "after"] {
            let ours = std::fs::read_to_string(drawn.join(format!("{drawing}-{side}.svg"))).unwrap();
            let shown = format!("docs/pictures/{picture}-{side}.svg");
            compare(&shown, &ours, "`serenity optimize --loops --svg` draws");
        }
    }
    let bytes = |value: &serde_json::Value| value.as_u64().unwrap();
    let arena = |when: &str| {
        let (head, whole) = (bytes(&planned[when]["arena"]), bytes(&planned[when]["total"]["arm32"]));
        (head, whole - head)
    };
    let (before, after) = (arena("before"), arena("after"));
    let bars = [
        Bar { title: "TFLM, the model as it came", what: "whole arena", bytes: before },
        Bar {
            title: "TFLM, with Serenity's plan and loops",
            what: "whole arena after serenity optimize --loops",
            bytes: after,
        },
        Bar {
            title: "C without an interpreter, with loops",
            what: "all static RAM after serenity emit c --loops",
            bytes: (bytes(&emitted["ram"]), 0),
        },
    ];
    compare("docs/pictures/mobilenet-ram.svg", &bar_chart(&bars), "the figures of the command make");
}

/// One way to run the model.
struct Bar {
    title: &'static str,
    /// What its length stands for.
    what: &'static str,
    /// Activations with scratch, and what TFLM keeps for itself.
    bytes: (u64, u64),
}

const WIDTH: u64 = 880;
const MARGIN: u64 = 24;
/// Of the longest bar; the rest of the width is for its figure.
const LONGEST: u64 = 740;
const HEAD: u64 = 88;
const ROW: u64 = 66;
const THICK: u64 = 30;

/// The pages that show it may be light or dark, and so may the picture: it brings its own background.
const STYLE: &str = "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:13px;fill:#1f2328}\
.title{font-size:17px;font-weight:600}.figure{font-size:15px;font-weight:600}.soft{fill:#59636e}\
.paper{fill:#ffffff;stroke:#dde2e7}.activations{fill:#2f6fdb}.kept{fill:#9aa3ad}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}.paper{fill:#0d1117;stroke:#30363d}\
.activations{fill:#58a1ff}.kept{fill:#7d8590}}";

/// Horizontal bars on one scale.
fn bar_chart(bars: &[Bar]) -> String {
    let height = HEAD + ROW * bars.len() as u64 + 8;
    let most = bars.iter().map(|bar| bar.bytes.0 + bar.bytes.1).max().unwrap();
    let length = |bytes: u64| (bytes * LONGEST + most / 2) / most;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>RAM of MobileNet v2 0.35, 96x96, int8, in bytes</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"32\">Bytes of RAM for the same MobileNet v2 (0.35, 96x96, int8), every output bit equal</text>\n",
        WIDTH - 1,
        height - 1
    );
    let mut x = MARGIN;
    for (class, text) in
        [("activations", "activations and scratch"), ("kept", "what TFLM keeps for itself (32-bit device)")]
    {
        writeln!(svg, "<rect class=\"{class}\" x=\"{x}\" y=\"48\" width=\"14\" height=\"14\"/>").unwrap();
        writeln!(svg, "<text class=\"soft\" x=\"{}\" y=\"60\">{text}</text>", x + 20).unwrap();
        x += 200;
    }
    for (row, Bar { title, what, bytes: (activations, kept) }) in bars.iter().enumerate() {
        let y = HEAD + ROW * row as u64;
        let (blue, whole) = (length(*activations), length(activations + kept));
        writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{}\">{title}<tspan class=\"soft\" dx=\"10\">{what}</tspan></text>",
            y + 14
        )
        .unwrap();
        let top = y + 22;
        writeln!(
            svg,
            "<rect class=\"activations\" x=\"{MARGIN}\" y=\"{top}\" width=\"{blue}\" height=\"{THICK}\"/>"
        )
        .unwrap();
        if whole > blue {
            writeln!(
                svg,
                "<rect class=\"kept\" x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{THICK}\"/>",
                MARGIN + blue,
                whole - blue
            )
            .unwrap();
        }
        let bytes = activations + kept;
        let mut figure = crate::tables::thousands(bytes);
        if bytes < most {
            write!(
                figure,
                "<tspan class=\"soft\" dx=\"10\">{:.1} x less</tspan>",
                most as f64 / bytes as f64
            )
            .unwrap();
        }
        writeln!(
            svg,
            "<text class=\"figure\" x=\"{}\" y=\"{}\">{figure}</text>",
            MARGIN + whole + 10,
            top + 21
        )
        .unwrap();
    }
    svg + "</svg>\n"
}
