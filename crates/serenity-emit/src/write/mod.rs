//! Writes the files.

mod header;
mod kernels;
mod model;
mod slide;
mod stream;

use crate::Emitted;
use crate::emitter::Emitter;
use crate::source::SourceStream;

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
    let stream = emitter.source.stream.as_ref();
    let state = emitter.state.bytes + u64::from(emitter.state.bytes > 0) * 4;
    let state = state + stream.map_or(0, SourceStream::state);
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
        steps: emitter.calls.len() + emitter.row_calls.len(),
        pushes: stream.and_then(SourceStream::pushes),
        prefix: emitter.prefix,
        instructions: None,
        library: emitter.source.library,
    }
}
