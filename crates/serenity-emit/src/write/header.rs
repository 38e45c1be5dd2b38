//! `model.h`: all that a caller needs.

use super::top;
use crate::emitter::Emitter;
use crate::names::in_comment;
use crate::pool::float;
use crate::source::{DataPlace, SourceStream, SourceTensor};
use crate::stream::{Hop, Pushes};
use serenity_ir::ElementType;
use std::fmt::Write;

pub(super) fn text(emitter: &Emitter) -> String {
    let (prefix, upper) = (&emitter.prefix, emitter.prefix.to_uppercase());
    let main = &emitter.source.graphs[0];
    let about = in_comment(&emitter.source.about);
    let stream = emitter.source.stream.as_ref();
    let pushes = stream.and_then(SourceStream::pushes);
    let is_sliding = pushes.is_some_and(|pushes| pushes.hop.is_some());
    let how = if pushes.is_some() {
        format!("Push the rows of the input into {prefix}_push(), read the outputs when it says so.")
    } else {
        format!("Fill the inputs, call {prefix}_invoke(), read the outputs.")
    };
    let mut text = top(&format!("{about}: how it is run. {how}"));
    let _ = write!(
        text,
        "#ifndef {upper}_MODEL_H\n#define {upper}_MODEL_H\n\n#include <stdint.h>\n\n#ifdef __cplusplus\n#define {upper}_ALIGNED alignas(16)\nextern \"C\" {{\n#else\n#define {upper}_ALIGNED _Alignas(16)\n#endif\n\n\
         /* All tensors lie here. It is defined in model.c; with {upper}_ARENA_BY_CALLER it is yours to define,\n * aligned to 16 bytes, and a macro of this name is an address of yours.{} */\n",
        if is_sliding {
            ""
        } else {
            " What it holds is of no use between runs:\n * inputs must be filled before each."
        }
    );
    for (array, (begin, end)) in emitter.arrays().enumerate() {
        let name = emitter.array(array);
        let bytes = format!("{}_BYTES", name.to_uppercase());
        let _ = write!(
            text,
            "#define {bytes} {}\n#ifndef {name}\nextern uint8_t {name}[{bytes}];\n#endif\n",
            (end - begin).max(1)
        );
    }
    text.push('\n');
    if emitter.state.bytes > 0 {
        let _ = write!(
            text,
            "/* State is kept from run to run; this begins anew. */\n#define {upper}_HAS_STATE 1\nvoid {prefix}_reset(void);\n\n"
        );
    }
    match pushes {
        Some(pushes) => pushed(&mut text, prefix, pushes),
        None => {
            let _ = writeln!(text, "void {prefix}_invoke(void);");
        }
    }
    let input = stream.map(|stream| {
        let place = DataPlace::Arena(stream.lines[0].place);
        SourceTensor { place, ..stream.graph.tensors[stream.lines[0].tensor].clone() }
    });
    let inputs: Vec<&SourceTensor> = match &input {
        Some(input) => vec![input],
        None => main.inputs.iter().map(|&tensor| &main.tensors[tensor]).collect(),
    };
    let outputs: Vec<&SourceTensor> = main.outputs.iter().map(|&tensor| &main.tensors[tensor]).collect();
    for (number, tensor) in inputs.iter().enumerate() {
        if pushes.is_none() {
            port(&mut text, emitter, "input", number, tensor);
        } else {
            scale(&mut text, &format!("{upper}_ROW"), tensor);
        }
    }
    for (number, tensor) in outputs.iter().enumerate() {
        port(&mut text, emitter, "output", number, tensor);
    }
    for (what, list) in [("input", &inputs), ("output", &outputs)] {
        if what == "input" && pushes.is_some() {
            continue;
        }
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

/// The functions of a network whose input comes row by row.
fn pushed(text: &mut String, prefix: &str, pushes: Pushes) {
    let upper = prefix.to_uppercase();
    let Pushes { rows, row_bytes, mean_macs, most_macs, rest_macs, hop } = pushes;
    if let Some(hop) = hop {
        slides(text, prefix, pushes, hop);
        return;
    }
    let _ = write!(
        text,
        "/* The input comes row by row, from the top. {prefix}_push() copies a row of {row_bytes} bytes and computes what can be\n \
         * computed with it: {mean_macs} multiplications on average, {most_macs} at most, and after the last row {rest_macs}\n \
         * of the rest of the network. It returns 1 when that was the last row and the outputs are there, until the next push; otherwise 0.\n \
         * {prefix}_begin() drops the rows so far; it need not be called before the first row, or after the last. */\n\
         #define {upper}_ROWS {rows}\n#define {upper}_ROW_BYTES {row_bytes}\n\
         void {prefix}_begin(void);\nint32_t {prefix}_push(const void *row);\n"
    );
}

/// The functions of a network whose windows slide over rows without an end.
fn slides(text: &mut String, prefix: &str, pushes: Pushes, hop: Hop) {
    let upper = prefix.to_uppercase();
    let Pushes { rows, row_bytes, most_macs, rest_macs, .. } = pushes;
    let Hop { rows: frames, macs, window_macs } = hop;
    let _ = write!(
        text,
        "/* The input comes row by row, without an end: {prefix}_push() takes the next row, of {row_bytes} bytes. A window is {rows} rows.\n \
         * It returns 1 when a window is full, first after {rows} rows and then after every {frames}, otherwise 0. The outputs are then those of\n \
         * the whole network for the last {rows} rows, to the last bit; they are there until the next push.\n \
         * What windows have in common is computed once: {macs} multiplications per window instead of {window_macs}, at most {most_macs} of\n \
         * them for a row and {rest_macs} more when a window is full. What is kept lies in the arena: nothing else may write there.\n \
         * {prefix}_begin() drops the rows so far; it need not be called before the first row. */\n\
         #define {upper}_ROWS {rows}\n#define {upper}_HOP {frames}\n#define {upper}_ROW_BYTES {row_bytes}\n\
         void {prefix}_begin(void);\nint32_t {prefix}_push(const void *row);\n"
    );
}

/// One input or output.
fn port(text: &mut String, emitter: &Emitter, what: &str, number: usize, tensor: &SourceTensor) {
    let DataPlace::Arena(offset) = tensor.place else { return };
    let (prefix, address) = (&emitter.prefix, emitter.address(offset));
    let name = format!("{}_{}_{number}", prefix.to_uppercase(), what.to_uppercase());
    let shape: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
    let _ = write!(
        text,
        "\n/* The {what} \"{}\", {} [{}]. */\n#define {prefix}_{what}_{number} (({} *)({address}))\n\
         #define {name}_BYTES {}\n#define {name}_COUNT {}\n",
        in_comment(&tensor.name),
        in_comment(tensor.dtype.name()),
        shape.join(", "),
        c_type(&tensor.dtype),
        tensor.bytes,
        tensor.count()
    );
    scale(text, &name, tensor);
}

/// What the whole numbers of a tensor stand for.
fn scale(text: &mut String, name: &str, tensor: &SourceTensor) {
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
