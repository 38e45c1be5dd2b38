//! Writes the files.

mod header;
mod kernels;
mod model;

use crate::Emitted;
use crate::emitter::Emitter;

/// What goes on top of every file.
fn top(about: &str) -> String {
    format!(
        "/* {about}\n * Written by serenity; do not edit, write it again. This code is yours: use it under whatever licence you like.\n */\n"
    )
}

pub(crate) fn files(emitter: Emitter) -> Emitted {
    let header = header::text(&emitter);
    let [kernels_h, kernels_c] = kernels::texts(&emitter);
    let model = model::text(&emitter);
    let state = emitter.state.bytes + u64::from(emitter.state.bytes > 0) * 4;
    Emitted {
        files: vec![
            ("model.h", header),
            ("model.c", model),
            ("kernels.h", kernels_h),
            ("kernels.c", kernels_c),
        ],
        arena: emitter.arena,
        state,
        constants: emitter.pool.bytes(),
        steps: emitter.calls.len(),
        prefix: emitter.prefix,
        instructions: None,
    }
}
