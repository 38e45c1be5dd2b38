//! `model.c`: constants, one function per step, and the run.

use super::top;
use crate::emitter::Emitter;
use crate::fragments::Fragment;
use crate::names::in_comment;
use crate::pool::WORDS;
use crate::source::Library;
use std::fmt::Write;

pub(super) fn text(emitter: &Emitter) -> String {
    let (prefix, upper) = (&emitter.prefix, emitter.prefix.to_uppercase());
    let mut text = top(&format!("{}: what it computes.", in_comment(&emitter.source.about)));
    let _ = write!(
        text,
        "#include \"model.h\"\n\n#include \"kernels.h\"\n{}\n#include <float.h>\n#include <math.h>\n#include <string.h>\n\n\
         #ifndef {upper}_ARENA_BY_CALLER\n",
        library(emitter.source.library)
    );
    for array in 0..emitter.arrays().count() {
        let name = emitter.array(array);
        let bytes = format!("{}_BYTES", name.to_uppercase());
        let _ = write!(text, "#ifndef {name}\n{upper}_ALIGNED uint8_t {name}[{bytes}];\n#endif\n");
    }
    text.push_str("#endif\n\n");
    if emitter.state.bytes > 0 {
        let _ = write!(
            text,
            "/* Kept from one run to the next. {upper}_STATE_IN may name a section for it. */\n#ifndef {upper}_STATE_IN\n#define {upper}_STATE_IN\n#endif\n\
             {upper}_ALIGNED static uint8_t {prefix}_state[{}] {upper}_STATE_IN;\nstatic int32_t {prefix}_is_ready {upper}_STATE_IN;\n\n",
            emitter.state.bytes
        );
    }
    if emitter.fragments.contains(&Fragment::PackedS8) {
        text.push_str(WORDS);
    }
    text.push_str(&emitter.pool.zeros_text());
    text.push_str(&emitter.pool.text);
    text.push_str(&super::stream::places(emitter));
    text.push_str(&emitter.functions);
    if emitter.state.bytes > 0 {
        let _ = writeln!(text, "void {prefix}_reset(void)\n{{");
        for (place, bytes, begins_with) in emitter.state.places.values() {
            let _ = writeln!(text, "    memset({prefix}_state + {place}, {begins_with}, {bytes});");
        }
        for call in &emitter.state.once {
            let _ = writeln!(text, "    {call}");
        }
        let _ = writeln!(text, "    {prefix}_is_ready = 1;\n}}\n");
    }
    let is_streamed = emitter.source.stream.is_some();
    let run =
        if is_streamed { format!("static void {prefix}_rest") } else { format!("void {prefix}_invoke") };
    let _ = writeln!(text, "{run}(void)\n{{");
    if emitter.state.bytes > 0 {
        let _ = writeln!(text, "    if (!{prefix}_is_ready) {{\n        {prefix}_reset();\n    }}");
    }
    for call in &emitter.calls {
        let _ = writeln!(text, "    {call}");
    }
    text.push_str("}\n");
    if is_streamed {
        text.push('\n');
        text.push_str(&super::stream::run(emitter));
    }
    text
}

/// What the code takes from a library, and where it would be wrong.
fn library(library: Library) -> String {
    let (is_wrong, remedy) = match library {
        Library::None | Library::Helium => return String::new(),
        Library::CmsisNn => (
            "defined(ARM_MATH_MVEI)",
            "scratch was planned for cores without vectors: write this again with --kernels cmsis-nn-mve",
        ),
        Library::CmsisNnMve => (
            "!defined(ARM_MATH_MVEI)",
            "scratch was planned for cores with vectors: write this again with --kernels cmsis-nn",
        ),
    };
    let by_others = if library == Library::CmsisNn {
        "#if defined(__ARMCC_VERSION)\n#error \"built by Arm Compiler, CMSIS-NN asks for scratch that was not planned: use GCC or clang\"\n#endif\n"
    } else {
        ""
    };
    format!(
        "\n#include \"arm_nnfunctions.h\"\n\n#if {is_wrong}\n#error \"{remedy}\"\n#endif\n\
         #if defined(CMSIS_NN_USE_SINGLE_ROUNDING)\n#error \"results would differ: CMSIS-NN must round twice, as the runtime does\"\n#endif\n{by_others}\
         \n#include <assert.h>\n"
    )
}
