//! The part of `model.c` that runs windows which slide: where rows lie, and what happens in a round.
//!
//! Rows have numbers that are the same in each round, so they are written into the steps, and nothing is counted but
//! rounds.

use crate::emitter::Emitter;
use crate::source::{SlideAct, SlideStep, SourceSlide, SourceStream};
use std::fmt::Write;

/// How steps are coded: operators count from 0, lines to keep from `KEEP` on, lines to gather from `GATHER` on.
const KEEP: usize = 128;
const GATHER: usize = 256;
const PUSH: usize = 512;
const FULL: usize = 513;
/// What a step of the upper border has besides.
const TOP: usize = 1024;

/// Where rows lie, and the steps: ahead of the functions of operators.
pub(super) fn places(emitter: &Emitter, stream: &SourceStream, slide: &SourceSlide) -> String {
    let prefix = &emitter.prefix;
    let count = stream.lines.len();
    let words = count.div_ceil(32);
    let mut text = format!(
        "/* The rows of each tensor. Rows `first` to `last` of a window are the same in the next: row r lies in a ring, at r modulo\n \
         * `held`. There is one for each of `phases` windows, after which the window has moved by `shift` rows, and by `advance` in a round.\n \
         * Other rows, and those before `again` while the beginning of a window is made, are made for each window and lie at `border`.\n \
         * New ones may lie at `newest` first. */\n\
         static const struct {prefix}_line {{\n    uint32_t row, kept, held, phases, shift, advance, border, border_held, newest;\n    \
         int32_t first, last, again;\n}} {prefix}_lines[{count}] = {{\n"
    );
    for (line, one) in stream.lines.iter().zip(&slide.lines) {
        let newest = line.newest.map_or_else(|| "UINT32_MAX".to_owned(), |newest| newest.to_string());
        let advance = one.shift * (slide.phases / one.phases.max(1));
        let _ = writeln!(
            text,
            "    {{{}, {}, {}, {}, {}, {advance}, {}, {}, {newest}, {}, {}, {}}},",
            line.row_bytes,
            line.place,
            line.held.max(1),
            one.phases,
            one.shift,
            one.border,
            one.border_held.max(1),
            one.first,
            one.last,
            one.again
        );
    }
    let _ = write!(
        text,
        "}};\n\n/* What happens in a round, again and again. `act`: an operator makes a row; from {KEEP} on, lines whose newest row is kept; from {GATHER} on,\n \
         * lines of which a row leaves; {PUSH} waits for a row, {FULL} ends a window; {TOP} more at the beginning of a window. `fresh`: the lines\n \
         * of which the last row that is read lies at `newest`. */\n\
         static const struct {prefix}_step {{\n    uint16_t act, window, row;\n    uint32_t fresh[{words}];\n}} {prefix}_steps[{}] = {{\n",
        slide.steps.len()
    );
    for step in &slide.steps {
        let masks: Vec<String> = (0..words).map(|word| mask(step, word)).collect();
        let _ = writeln!(
            text,
            "    {{{}, {}, {}, {{{}}}}},",
            code(step),
            step.window,
            step.row,
            masks.join(", ")
        );
    }
    let _ = write!(
        text,
        "}};\n\n/* The step, rounds so far, and windows that end before there are enough rows. */\n\
         static uint16_t {prefix}_at = {start}, {prefix}_early = {early};\nstatic uint32_t {prefix}_round;\n\n\
         static uint8_t *{prefix}_ring(int32_t line, int32_t row)\n{{\n    \
         const struct {prefix}_line *const l = &{prefix}_lines[line];\n    \
         const struct {prefix}_step *const step = &{prefix}_steps[{prefix}_at];\n    \
         if (row > l->last || row < (step->act & {TOP} ? l->again : l->first)) {{\n        \
         return {prefix}_arena + l->border + (uint32_t)row % l->border_held * l->row;\n    }}\n    \
         /* Rows so far, modulo what the ring holds. */\n    \
         const uint32_t moved = {prefix}_round % l->held * (l->advance % l->held) % l->held;\n    \
         const uint32_t place = ((uint32_t)row + step->window / l->phases * l->shift + moved) % l->held;\n    \
         return {prefix}_arena + l->kept + (step->window % l->phases * l->held + place) * l->row;\n}}\n\n\
         static inline int32_t {prefix}_is_fresh(int32_t line)\n{{\n    \
         return {prefix}_steps[{prefix}_at].fresh[line / 32] >> line % 32 & 1;\n}}\n\n\
         static inline uint8_t *{prefix}_row(int32_t line, int32_t row)\n{{\n    \
         return {prefix}_is_fresh(line) ? {prefix}_arena + {prefix}_lines[line].newest : {prefix}_ring(line, row);\n}}\n\n\
         /* Where the row of this step goes. */\nstatic inline uint8_t *{prefix}_next(int32_t line)\n{{\n    \
         const uint32_t newest = {prefix}_lines[line].newest;\n    \
         return newest != UINT32_MAX ? {prefix}_arena + newest : {prefix}_ring(line, {prefix}_steps[{prefix}_at].row);\n}}\n\n",
        start = slide.start,
        early = slide.early,
    );
    text.push_str(&window(stream, prefix));
    text
}

/// The rows of a window of an operator, if any has one.
fn window(stream: &SourceStream, prefix: &str) -> String {
    use crate::source::StreamRule::Window;
    if !stream.rules.contains(&Window) {
        return String::new();
    }
    let heights: Vec<String> = stream.lines.iter().map(|line| line.rows.to_string()).collect();
    format!(
        "/* The rows under an operator's window; 0 for those outside. */\n\
         static void {prefix}_window(const int8_t **rows, int32_t line, int32_t row, int32_t taps, int32_t dilation)\n{{\n    \
         static const uint16_t heights[{}] = {{{}}};\n    const int8_t **last = 0;\n    \
         for (; taps > 0; --taps, row += dilation, ++rows) {{\n        const int32_t is_inside = row >= 0 && row < heights[line];\n        \
         *rows = is_inside ? (const int8_t *){prefix}_ring(line, row) : 0;\n        last = is_inside ? rows : last;\n    }}\n    \
         if (last && {prefix}_is_fresh(line)) {{\n        *last = (const int8_t *){prefix}_arena + {prefix}_lines[line].newest;\n    }}\n}}\n\n",
        heights.len(),
        heights.join(", ")
    )
}

fn mask(step: &SlideStep, word: usize) -> String {
    let lines = step.fresh.iter().filter(|&&line| line / 32 == word);
    lines.fold(0_u32, |mask, line| mask | 1 << (line % 32)).to_string()
}

fn code(step: &SlideStep) -> usize {
    let act = match step.act {
        SlideAct::Push => PUSH,
        SlideAct::Run(op) => op,
        SlideAct::Gather(line) => GATHER + line,
        SlideAct::Keep(line) => KEEP + line,
        SlideAct::Full => FULL,
    };
    act + if step.is_top { TOP } else { 0 }
}

/// The functions that take the steps.
pub(super) fn run(emitter: &Emitter, stream: &SourceStream, slide: &SourceSlide) -> String {
    let prefix = &emitter.prefix;
    let mut text = format!("static void {prefix}_take(uint32_t act, int32_t i)\n{{\n    switch (act) {{\n");
    for (number, call) in emitter.row_calls.iter().enumerate() {
        let _ = writeln!(text, "    case {number}:\n        {call}\n        break;");
    }
    let gathers = slide.steps.iter().any(|step| matches!(step.act, SlideAct::Gather(_)));
    for (line, place) in slide.leaves.iter().filter(|_| gathers) {
        let bytes = stream.lines[*line].row_bytes;
        let _ = writeln!(
            text,
            "    case {}:\n        memcpy({prefix}_arena + {place} + i * {bytes}, {prefix}_row({line}, i), {bytes});\n        break;",
            GATHER + line
        );
    }
    if slide.steps.iter().any(|step| matches!(step.act, SlideAct::Keep(_))) {
        let line = format!("act - {KEEP}");
        let _ = write!(
            text,
            "    default:\n        memcpy({prefix}_ring((int32_t)({line}), i), {prefix}_arena + {prefix}_lines[{line}].newest, {prefix}_lines[{line}].row);\n"
        );
    }
    let _ = write!(
        text,
        "    }}\n    (void)i;\n}}\n\n\
         void {prefix}_begin(void)\n{{\n    {prefix}_at = {start};\n    {prefix}_early = {early};\n    {prefix}_round = 0;\n}}\n\n\
         int32_t {prefix}_push(const void *row)\n{{\n    int32_t is_full = 0;\n    uint32_t act = {PUSH};\n    \
         memcpy({prefix}_next(0), row, {prefix}_lines[0].row);\n    do {{\n        \
         if (++{prefix}_at == {count}) {{\n            {prefix}_at = 0;\n            {prefix}_round = ({prefix}_round + 1) % {rounds}u;\n        }}\n        \
         act = {prefix}_steps[{prefix}_at].act % {TOP};\n        \
         if (act < {PUSH}) {{\n            {prefix}_take(act, {prefix}_steps[{prefix}_at].row);\n        \
         }} else if (act == {FULL} && {prefix}_early > 0) {{\n            --{prefix}_early;\n        \
         }} else if (act == {FULL}) {{\n            {prefix}_rest();\n            is_full = 1;\n        }}\n    \
         }} while (act != {PUSH});\n    return is_full;\n}}\n",
        start = slide.start,
        early = slide.early,
        count = slide.steps.len(),
        rounds = slide.rounds,
    );
    text
}
