//! `model.c`: constants, a function a step, and the run.

use super::top;
use crate::emitter::Emitter;
use crate::names::in_comment;
use std::fmt::Write;

pub(super) fn text(emitter: &Emitter) -> String {
    let (prefix, upper) = (&emitter.prefix, emitter.prefix.to_uppercase());
    let mut text = top(&format!("{}: what it computes.", in_comment(&emitter.source.about)));
    let _ = write!(
        text,
        "#include \"model.h\"\n\n#include \"kernels.h\"\n\n#include <float.h>\n#include <math.h>\n#include <string.h>\n\n\
         #ifndef {upper}_ARENA_BY_CALLER\n{upper}_ALIGNED uint8_t {prefix}_arena[{upper}_ARENA_BYTES];\n#endif\n\n"
    );
    if emitter.state.bytes > 0 {
        let _ = write!(
            text,
            "/* Kept from one run to the next. */\n{upper}_ALIGNED static uint8_t {prefix}_state[{}];\nstatic int32_t {prefix}_is_ready;\n\n",
            emitter.state.bytes
        );
    }
    text.push_str(&emitter.pool.text);
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
    let _ = writeln!(text, "void {prefix}_invoke(void)\n{{");
    if emitter.state.bytes > 0 {
        let _ = writeln!(text, "    if (!{prefix}_is_ready) {{\n        {prefix}_reset();\n    }}");
    }
    for call in &emitter.calls {
        let _ = writeln!(text, "    {call}");
    }
    text.push_str("}\n");
    text
}
