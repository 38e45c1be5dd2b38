//! Colours and fonts.
//!
//! The picture brings its own background, so text and page never have the same colour; where the viewer prefers dark pages it
//! is dark. The colours of the series keep apart for the colour-blind and stand out from both backgrounds.

/// How many series have a colour of their own; more begin again.
pub(crate) const COLOURS: usize = 6;

/// The style sheet of every picture. Series `n` is drawn in the class `s<n>`.
pub(crate) const STYLE: &str = "\
svg{--paper:#fff;--ink:#1f2328;--soft:#59636e;--grid:#d9dee3;--s0:#8c959f;--s1:#2f6fdb;--s2:#1a9e77;--s3:#e0872b;--s4:#a259c9;--s5:#d0455c}\
@media(prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#e6edf3;--soft:#9198a1;--grid:#30363d;--s0:#848d97;--s1:#58a1ff;--s2:#2fbf93;--s3:#f0a04b;--s4:#c086e6;--s5:#f2708a}}\
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:12px;fill:var(--ink)}\
.paper{fill:var(--paper);stroke:var(--grid)}\
.title{font-size:16px;font-weight:600}\
.soft{fill:var(--soft)}\
.small{font-size:10.5px;fill:var(--soft)}\
.grid{stroke:var(--grid);stroke-width:1}\
.axis{stroke:var(--soft);stroke-width:1}\
.mark{stroke:var(--soft);stroke-width:1;stroke-dasharray:4 3}\
.reference{stroke:var(--ink);stroke-width:2.5}\
.spread{stroke:var(--ink);stroke-width:1.2}\
.line{fill:none;stroke-width:2.2;stroke-linejoin:round}\
.s0{fill:var(--s0)}.s1{fill:var(--s1)}.s2{fill:var(--s2)}.s3{fill:var(--s3)}.s4{fill:var(--s4)}.s5{fill:var(--s5)}\
.line.s0{fill:none;stroke:var(--s0)}.line.s1{fill:none;stroke:var(--s1)}.line.s2{fill:none;stroke:var(--s2)}\
.line.s3{fill:none;stroke:var(--s3)}.line.s4{fill:none;stroke:var(--s4)}.line.s5{fill:none;stroke:var(--s5)}";

/// About how wide a text of 12 pixels is: there is no font to ask.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.6
}
