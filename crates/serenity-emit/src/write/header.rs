//! `model.h`: all that a caller needs.

use super::top;
use crate::emitter::Emitter;
use crate::names::in_comment;
use crate::pool::float;
use crate::source::{DataPlace, SourceTensor};
use serenity_ir::ElementType;
use std::fmt::Write;

pub(super) fn text(emitter: &Emitter) -> String {
    let (prefix, upper) = (&emitter.prefix, emitter.prefix.to_uppercase());
    let main = &emitter.source.graphs[0];
    let about = in_comment(&emitter.source.about);
    let mut text =
        top(&format!("{about}: how it is run. Fill the inputs, call {prefix}_invoke(), read the outputs."));
    let _ = write!(
        text,
        "#ifndef {upper}_MODEL_H\n#define {upper}_MODEL_H\n\n#include <stdint.h>\n\n#ifdef __cplusplus\n#define {upper}_ALIGNED alignas(16)\nextern \"C\" {{\n#else\n#define {upper}_ALIGNED _Alignas(16)\n#endif\n\n\
         /* All tensors lie here. It is defined in model.c; with {upper}_ARENA_BY_CALLER it is yours to define,\n * aligned to 16 bytes. What it holds is of no use between runs: inputs must be filled before each. */\n\
         #define {upper}_ARENA_BYTES {}\nextern uint8_t {prefix}_arena[{upper}_ARENA_BYTES];\n\n",
        emitter.arena.max(1)
    );
    if emitter.state.bytes > 0 {
        let _ = write!(
            text,
            "/* State is kept from run to run; this begins anew. */\n#define {upper}_HAS_STATE 1\nvoid {prefix}_reset(void);\n\n"
        );
    }
    let _ = writeln!(text, "void {prefix}_invoke(void);");
    for (what, list) in [("input", &main.inputs), ("output", &main.outputs)] {
        for (number, &tensor) in list.iter().enumerate() {
            port(&mut text, prefix, what, number, &main.tensors[tensor]);
        }
    }
    for (what, list) in [("input", &main.inputs), ("output", &main.outputs)] {
        let _ = write!(
            text,
            "\n/* All {what}s: DO(address, bytes) for each. */\n#define {upper}_EACH_{}(DO)",
            what.to_uppercase()
        );
        for number in 0..list.len() {
            let _ =
                write!(text, " DO({prefix}_{what}_{number}, {upper}_{}_{number}_BYTES)", what.to_uppercase());
        }
        text.push('\n');
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

/// One input or output.
fn port(text: &mut String, prefix: &str, what: &str, number: usize, tensor: &SourceTensor) {
    let DataPlace::Arena(offset) = tensor.place else { return };
    let name = format!("{}_{}_{number}", prefix.to_uppercase(), what.to_uppercase());
    let shape: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
    let _ = write!(
        text,
        "\n/* The {what} \"{}\", {} [{}]. */\n#define {prefix}_{what}_{number} (({} *)({prefix}_arena + {offset}))\n\
         #define {name}_BYTES {}\n#define {name}_COUNT {}\n",
        in_comment(&tensor.name),
        in_comment(tensor.dtype.name()),
        shape.join(", "),
        c_type(&tensor.dtype),
        tensor.bytes,
        tensor.count()
    );
    if let Some(quantization) =
        tensor.quantization.as_ref().filter(|q| q.scales.len() == 1 && q.scales[0].is_finite())
    {
        let _ = write!(
            text,
            "/* real = scale * (stored - zero point) */\n#define {name}_SCALE {}\n#define {name}_ZERO_POINT {}\n",
            float(quantization.scales[0]),
            quantization.zero_points.first().copied().unwrap_or(0)
        );
    }
}

fn c_type(dtype: &ElementType) -> &'static str {
    match dtype {
        ElementType::Int8 => "int8_t",
        ElementType::Int16 => "int16_t",
        ElementType::Int32 => "int32_t",
        ElementType::Int64 => "int64_t",
        ElementType::UInt32 => "uint32_t",
        ElementType::UInt64 => "uint64_t",
        ElementType::Float32 => "float",
        _ => "uint8_t",
    }
}
