//! The arguments of `device`.

use super::{LimitArgs, TalkArgs, values};
use clap::Args;
use serenity_device::NamedMemory;

/// Plan several models in the memories of one device, and write what runs them there.
///
/// The file names memories and models, and how the models run. Each model becomes C without an interpreter, as by `emit
/// c`, or a file for TFLM with a header that tells TFLM where its tensors lie. Models run one after the other, in the
/// order of the file, so their tensors share memory; those named in one set of `together` may run at the same time and
/// share nothing. What a model keeps from run to run is never shared. A model that does not fit the cheapest of its
/// memories is divided between two, so that its cheap bytes are touched most.
#[derive(Args)]
#[command(after_help = "A whole file:\n  \
    together = [[\"kws\", \"vww\"]]     # may run at the same time\n\n  \
    [[memory]]\n  \
    name = \"dtcm\"\n  \
    size = \"16 KiB\"\n  \
    section = \".dtcm\"               # where the linker puts it\n  \
    read = 1                        # the cost of a byte\n  \
    write = 1\n\n  \
    [[memory]]\n  \
    name = \"sram\"\n  \
    size = \"256 KiB\"\n  \
    read = 3\n  \
    write = 3\n\n  \
    [[model]]\n  \
    name = \"kws\"\n  \
    file = \"kws.tflite\"\n\n  \
    [[model]]\n  \
    name = \"vww\"\n  \
    file = \"vww.tflite\"\n  \
    memories = [\"sram\"]             # by default all\n  \
    state = \"sram\"                  # of what it keeps; by default the largest\n  \
    loops = true                    # or a percentage of extra MACs\n  \
    int8_io = true                  # integers as inputs and outputs\n\n  \
    [[model]]\n  \
    name = \"nabu\"\n  \
    file = \"nabu.tflite\"\n  \
    as = \"tflm\"                     # run by TFLM, built with these kernels\n  \
    kernels = \"cmsis-nn\"\n\n  \
    [[model]]\n  \
    name = \"crop\"\n  \
    file = \"crop.tflite\"\n\n  \
    [[model.feed]]                  # its input is an output of a model before it\n  \
    from = \"vww\"\n  \
    output = 0\n  \
    input = 0\n\n\
    Examples:\n  \
    serenity device app.toml\n  \
    serenity device app.toml -o firmware/models/\n  \
    serenity device kws.tflite --memory dtcm=16KiB,sram=256KiB --kernels cmsis-nn -o kws/")]
pub(crate) struct DeviceArgs {
    /// The file that describes the device; or a model, with --memory.
    #[arg(value_name = "FILE.toml")]
    pub(crate) input: String,
    /// The memories for one model, the fast one first: FILE is this model. A byte in the second costs twice as much as
    /// one in the first.
    #[arg(long, value_name = "NAME=SIZE,…", value_delimiter = ',', value_parser = values::named_memory)]
    pub(crate) memory: Vec<NamedMemory>,
    /// With --memory: TFLM runs the model, built with these kernels. By default it becomes C.
    #[arg(long, value_name = "NAME", requires = "memory")]
    pub(crate) kernels: Option<String>,
    /// Write the code and the files of all models to this folder; created if needed.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}
