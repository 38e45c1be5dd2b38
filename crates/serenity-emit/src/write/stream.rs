//! The part of `model.c` that runs a stream: where rows lie, and what happens in which order.

use crate::emitter::Emitter;
use crate::source::{SourceStream, StreamStep};
use std::fmt::Write;

/// How steps are coded: operators count from 0, lines to keep from here on.
const KEEP: usize = 128;
const WAIT: u8 = 255;
const END: u8 = 254;

/// Where rows lie: ahead of the functions of operators.
pub(super) fn places(emitter: &Emitter) -> String {
    let Some(stream) = &emitter.source.stream else { return String::new() };
    if let Some(slide) = &stream.slide {
        return super::slide::places(emitter, stream, slide);
    }
    let prefix = &emitter.prefix;
    let count = stream.lines.len();
    let is_tight = stream.is_tight();
    let mut text = format!(
        "/* The rows of each tensor of the stream: row r lies in a ring, at r modulo `held`{}. */\n\
         static const struct {{\n    uint32_t place, newest, row, held;\n}} {prefix}_lines[{count}] = {{\n",
        if is_tight { "; a new one at `newest` until it is kept" } else { "" }
    );
    for line in &stream.lines {
        let newest = line.newest.map_or_else(|| "UINT32_MAX".to_owned(), |newest| newest.to_string());
        let _ = writeln!(text, "    {{{}, {newest}, {}, {}}},", line.place, line.row_bytes, line.held.max(1));
    }
    let (flag, newest) = if is_tight {
        let flag = format!("static uint8_t {prefix}_is_new[{count}];\n");
        (
            flag,
            format!(
                "{prefix}_is_new[line] && row + 1 == {prefix}_made[line] ? {prefix}_lines[line].newest : "
            ),
        )
    } else {
        (String::new(), String::new())
    };
    let ring = |row: &str| {
        format!(
            "{prefix}_lines[line].place + (uint32_t){row} % {prefix}_lines[line].held * {prefix}_lines[line].row"
        )
    };
    let _ = write!(
        text,
        "}};\n\n/* Rows so far. */\nstatic uint16_t {prefix}_made[{count}];\n{flag}\n\
         static inline uint8_t *{prefix}_row(int32_t line, int32_t row)\n{{\n    return {prefix}_arena + ({newest}{});\n}}\n\n\
         /* Where the next row goes. */\nstatic inline uint8_t *{prefix}_next(int32_t line)\n{{\n    \
         return {prefix}_arena + ({prefix}_lines[line].newest != UINT32_MAX ? {prefix}_lines[line].newest : {});\n}}\n\n",
        ring("row"),
        ring(&format!("{prefix}_made[line]"))
    );
    text.push_str(&window(stream, prefix));
    text
}

/// The rows of a window, if any operator has one.
fn window(stream: &SourceStream, prefix: &str) -> String {
    use crate::source::StreamRule::Window;
    if !stream.rules.contains(&Window) {
        return String::new();
    }
    let heights: Vec<String> = stream.lines.iter().map(|line| line.rows.to_string()).collect();
    format!(
        "/* The rows of a window; 0 for those outside. */\n\
         static void {prefix}_window(const int8_t **rows, int32_t line, int32_t row, int32_t taps, int32_t dilation)\n{{\n    \
         static const uint16_t heights[{}] = {{{}}};\n    \
         for (; taps > 0; --taps, row += dilation) {{\n        \
         *rows++ = row >= 0 && row < heights[line] ? (const int8_t *){prefix}_row(line, row) : 0;\n    }}\n}}\n\n",
        heights.len(),
        heights.join(", ")
    )
}

/// The steps, and the functions that take them.
pub(super) fn run(emitter: &Emitter) -> String {
    let Some(stream) = &emitter.source.stream else { return String::new() };
    if let Some(slide) = &stream.slide {
        return super::slide::run(emitter, stream, slide);
    }
    let prefix = &emitter.prefix;
    let is_tight = stream.is_tight();
    let codes = codes(stream);
    let mut text = format!(
        "/* Operators in the order in which they make rows; from {KEEP} on, lines whose new row is kept; {WAIT} waits for a row, {END} ends. */\n\
         static const uint8_t {prefix}_steps[{}] = {{\n",
        codes.len()
    );
    for line in codes.chunks(32) {
        let words: Vec<String> = line.iter().map(u8::to_string).collect();
        let _ = writeln!(text, "    {},", words.join(", "));
    }
    let _ = write!(
        text,
        "}};\n\nstatic void {prefix}_make_row(int32_t op)\n{{\n    const int32_t i = {prefix}_made[op + 1];\n    switch (op) {{\n"
    );
    for (number, call) in emitter.row_calls.iter().enumerate() {
        let _ = writeln!(text, "    case {number}:\n        {call}\n        break;");
    }
    let mark = |line: &str| {
        let mark = format!("{prefix}_is_new[{line}] = {prefix}_lines[{line}].newest != UINT32_MAX;");
        if is_tight { mark } else { String::new() }
    };
    let _ =
        write!(text, "    }}\n    (void)i;\n    {}\n    ++{prefix}_made[op + 1];\n}}\n\n", mark("op + 1"));
    if is_tight {
        let _ = write!(
            text,
            "static void {prefix}_keep_row(int32_t line)\n{{\n    {prefix}_is_new[line] = 0;\n    \
             memcpy({prefix}_row(line, {prefix}_made[line] - 1), {prefix}_arena + {prefix}_lines[line].newest, {prefix}_lines[line].row);\n}}\n\n"
        );
    }
    let keep = if is_tight { format!("{prefix}_keep_row(code - {KEEP})") } else { "(void)0".to_owned() };
    let reset = if is_tight {
        format!("    memset({prefix}_is_new, 0, sizeof {prefix}_is_new);\n")
    } else {
        String::new()
    };
    let reset = format!("    memset({prefix}_made, 0, sizeof {prefix}_made);\n{reset}");
    let take = format!(
        "        if (code < {KEEP}) {{\n            {prefix}_make_row(code);\n        }} else {{\n            {keep};\n        }}\n"
    );
    if stream.is_pushed {
        let _ = write!(
            text,
            "static uint32_t {prefix}_at;\n\nvoid {prefix}_begin(void)\n{{\n{reset}    {prefix}_at = 0;\n}}\n\n\
             int32_t {prefix}_push(const void *row)\n{{\n    uint8_t code;\n    \
             memcpy({prefix}_next(0), row, {prefix}_lines[0].row);\n    {}\n    ++{prefix}_made[0];\n    \
             while ((code = {prefix}_steps[{prefix}_at++]) < {END}) {{\n{take}    }}\n    \
             if (code == {WAIT}) {{\n        return 0;\n    }}\n    {prefix}_rest();\n    {prefix}_begin();\n    return 1;\n}}\n",
            mark("0")
        );
    } else {
        let _ = write!(
            text,
            "void {prefix}_invoke(void)\n{{\n    uint8_t code;\n{reset}    {prefix}_made[0] = {};\n    \
             for (uint32_t at = 0; (code = {prefix}_steps[at]) < {END}; ++at) {{\n{take}    }}\n    {prefix}_rest();\n}}\n",
            stream.lines[0].rows
        );
    }
    text
}

fn codes(stream: &SourceStream) -> Vec<u8> {
    let first = usize::from(stream.steps.first() == Some(&StreamStep::Push));
    let code = |step: &StreamStep| match *step {
        StreamStep::Push => WAIT,
        StreamStep::Run(op) => op as u8,
        StreamStep::Keep(line) => (KEEP + line) as u8,
    };
    stream.steps[first..].iter().map(code).chain([END]).collect()
}
