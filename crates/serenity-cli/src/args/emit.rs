//! The arguments of `emit`.

use super::{ChangeArgs, ReadArgs, RuntimeArg, SearchArgs, TalkArgs};
use crate::size::GivenSize;
use clap::{Args, Subcommand};

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
/// The code is C11 that a C++ compiler takes as well, without heap, interpreter or global constructors: one static arena in which every tensor has its place, weights and all that an interpreter would
/// prepare as constants, loops as loops. What it computes is what TensorFlow Lite for Microcontrollers computes, integers bit for bit; `serenity verify MODEL DIR` runs both.
///
/// The model is ordered, rewritten and placed first, as `optimize` does it with --kernels emitted; one that was optimised for these kernels is taken as it is. Add --loops to compute the widest parts a few
/// rows at a time. What is not covered is refused by name, before anything is written. The code is yours.
///
/// --kernels cmsis-nn, or cmsis-nn-mve for cores with vectors, writes calls into your CMSIS-NN where it has functions, with its scratch in the arena.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity emit c model.tflite -o firmware/model\n  \
    serenity emit c model.tflite -o firmware/model --loops --name kws\n  \
    serenity emit c model.tflite -o firmware/model --loops --budget 64KB || echo 'does not fit'\n  \
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
    /// The folder to write to; it is made if there is none.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: String,
    /// What all names in the code begin with [default: the name of the file].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Exit with 1, and say how many bytes are missing, if the static memory (arena and state) is larger than this.
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
