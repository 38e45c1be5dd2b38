//! The arguments of `emit`.

use super::values::named;
use super::{ChangeArgs, ReadArgs, RuntimeArg, SearchArgs, TalkArgs};
use crate::size::GivenSize;
use clap::{Args, Subcommand, ValueEnum};
use serenity::layout::Layout;

/// Write a model as code that needs no interpreter.
#[derive(Args)]
pub(crate) struct EmitArgs {
    #[command(subcommand)]
    pub(crate) command: EmitCommand,
}

#[derive(Subcommand)]
pub(crate) enum EmitCommand {
    C(EmitCArgs),
}

/// Write a .tflite model as C: model.h, model.c, kernels.h and kernels.c.
///
/// The code is C11 that also compiles as C++, without heap, interpreter or global constructors. All tensors lie in one
/// static arena; weights, and everything that an interpreter would prepare at start-up, are constants. Integer outputs
/// equal those of TensorFlow Lite for Microcontrollers bit for bit; `serenity verify MODEL DIR` runs both.
///
/// The model is first rewritten, ordered and placed, as by `optimize --kernels emitted`. Add --loops to compute the
/// widest parts a few rows at a time. Operators that are not supported are named before anything is written. The code
/// is yours.
///
/// --kernels cmsis-nn, or cmsis-nn-mve for cores with vectors, calls your CMSIS-NN where it has a function, with its
/// scratch in the arena.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity emit c model.tflite -o firmware/model\n  \
    serenity emit c model.tflite -o firmware/model --loops --name kws\n  \
    serenity emit c model.tflite -o firmware/model --loops --stream rows\n  \
    serenity emit c model.tflite -o firmware/model --stream time --hop 2\n  \
    serenity emit c model.tflite -o firmware/model --loops --budget 64KB || echo 'does not fit'\n  \
    serenity emit c model.tflite -o components/kws --layout esp-idf\n  \
    serenity verify model.tflite firmware/model\n\n\
    To run it:\n  \
    #include \"model.h\"\n  \
    memcpy(kws_input_0, samples, KWS_INPUT_0_BYTES);\n  \
    kws_invoke();\n  \
    use(kws_output_0);")]
pub(crate) struct EmitCArgs {
    /// The model, a .tflite file.
    #[arg(value_name = "MODEL")]
    pub(crate) input: String,
    /// The folder to write to; created if needed.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: String,
    /// The prefix of all names in the code [default: the name of the file].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Take the input row by row: the application hands rows over as they come, to a function `push`, and the whole input
    /// is never in memory.
    #[arg(long, value_name = "WHAT")]
    pub(crate) stream: Option<Streaming>,
    /// With --stream time: rows from one window to the next [default: 1].
    #[arg(long, value_name = "ROWS")]
    pub(crate) hop: Option<u64>,
    /// The build that the code is for: what it expects is written beside the code.
    ///
    /// plain: the code alone. cmake: a library for `add_subdirectory`. esp-idf: a component. zephyr: a module. arduino,
    /// platformio: a library.
    #[arg(long, value_name = "BUILD", default_value_t, value_parser = named::<Layout>(Layout::all().map(|(name, _)| name)))]
    pub(crate) layout: Layout,
    /// Exit with 1 if the static memory (arena and state) is larger than this.
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: Option<GivenSize>,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

/// How the input comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Streaming {
    /// Row by row, from the top.
    Rows,
    /// Row by row without an end, as a microphone delivers them: the network runs on the last rows, again after every
    /// --hop of them. What windows have in common is computed once and kept.
    Time,
}
