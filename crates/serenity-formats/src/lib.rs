//! Model files of all formats.
//!
//! [`Format::read`] takes bytes and returns a [`ModelFile`]: its graphs, and what only the file can tell. A rewritten
//! or planned model is written back in its original format, with everything else that the file held. This crate decides
//! nothing.
//!
//! ```
//! use serenity_formats::{Format, ReadOptions};
//! let text = br#"{"tensors": [{"name": "x", "bytes": 4}], "ops": [{"type": "MAKE", "inputs": [], "outputs": [0]}],
//!     "inputs": [], "outputs": [0]}"#;
//! let file = Format::of_path("net.json").unwrap().read(text.to_vec(), &ReadOptions::default()).unwrap();
//! assert_eq!((file.graphs()[0].ops().len(), file.format()), (1, Format::Json));
//! ```

mod channels;
mod error;
mod format;
mod given_shape;
mod graph;
mod onnx;
mod plan_note;
mod quantized_io;
mod tflite;

pub use channels::{BeforeAfter, NarrowedChannels, NarrowedTensor};
pub use error::{FileError, Problem};
pub use format::{Format, ReadOptions};
pub use given_shape::GivenShape;
pub use graph::GraphFile;
pub use plan_note::PlanNote;
pub use quantized_io::{KeptPort, Port, QuantizedIo, QuantizedPort};

use serenity_ir::{Graph, OpId, TensorId};
use serenity_loops::Looped;
use serenity_rewrite::{ErrorBounds, Patch, Rewriting, Settings};
use serenity_runtimes::{Kernels, Offsets, OrtSetup, Tail};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A file with fewer channels, and what that saves.
pub type Narrowed = (Arc<dyn ModelFile>, NarrowedChannels);

const ONLY_TFLITE: &str = "only a `.tflite` model can";
const ONLY_ONNX: &str = "only an `.onnx` model can";

/// A file that was read.
pub trait ModelFile: fmt::Debug + Send + Sync {
    /// The format of the file.
    fn format(&self) -> Format;

    /// The bytes of the file.
    fn bytes(&self) -> Cow<'_, [u8]>;

    /// The main graph, and those that its ops run.
    fn graphs(&self) -> &[Graph];

    /// Leaves those patches of its main graph that hold for what the file says, and that it has room for.
    fn retain_possible(&self, settings: &Settings, patches: &mut Vec<Patch>);

    /// The rewriting with room for partial results of whole numbers, and how far these may be off.
    ///
    /// # Errors
    /// If it cannot be told how much they need: such a patch is not [possible](Self::retain_possible).
    fn widened(&self, rewriting: Rewriting) -> Result<(Rewriting, ErrorBounds), FileError> {
        Ok((rewriting, ErrorBounds::new()))
    }

    /// The file with its main graph rewritten. It was read again, and is the rewritten graph.
    ///
    /// # Errors
    /// If it holds what cannot be carried over.
    fn rewritten(&self, rewriting: &Rewriting) -> Result<Arc<dyn ModelFile>, FileError>;

    /// The file with windows of its main graph in loops. It was read again, and is those graphs.
    ///
    /// # Errors
    /// If it has no room for loops, or holds what cannot be carried over.
    fn looped(&self, _looped: &Looped) -> Result<Arc<dyn ModelFile>, FileError> {
        Err(FileError::of_request("cannot hold loops", ONLY_TFLITE))
    }

    /// The file without the first `count` ops of its main graph, whose inputs are then these tensors, and without
    /// signatures. It was read again.
    ///
    /// # Errors
    /// If it holds what cannot be carried over.
    fn behind(&self, _count: usize, _inputs: &[TensorId]) -> Result<Arc<dyn ModelFile>, FileError> {
        Err(FileError::of_request("cannot be cut in two", ONLY_TFLITE))
    }

    /// The file with whole numbers for inputs and outputs that it would only convert: a float input that goes into
    /// `QUANTIZE`, a float output that comes out of `DEQUANTIZE`. It was read again, and is that graph. Another
    /// contract for whoever runs it, so it must be told; if nothing can be done, the file is as it was.
    ///
    /// # Errors
    /// If it cannot be changed in that way, or holds what cannot be carried over.
    fn with_quantized_io(&self) -> Result<(Arc<dyn ModelFile>, QuantizedIo), FileError> {
        Err(FileError::of_request(
            "cannot get other inputs and outputs",
            "only those of a `.tflite` model can be changed",
        ))
    }

    /// The file without channels that are the same number everywhere, or that nobody reads, and what that saves; `None`
    /// if there are none, or if `stop` said so before that was known. It was read again. Its ops and its tensors have
    /// the same numbers as before.
    ///
    /// # Errors
    /// If it holds what cannot be carried over.
    fn without_constant_channels(&self, _stop: &dyn Fn() -> bool) -> Result<Option<Narrowed>, FileError> {
        Ok(None)
    }

    /// The bytes of the file with the ops of each graph in another order and, if given, with these places of its
    /// tensors and what is to be noted about them.
    ///
    /// # Errors
    /// If these are no orders of its ops, or it holds what cannot be kept.
    fn planned(
        &self,
        orders: &[&[OpId]],
        places: Option<&Offsets>,
        note: Option<&PlanNote>,
    ) -> Result<Vec<u8>, FileError>;

    /// The session of ONNX Runtime that it was made for, if it says so.
    fn session(&self) -> Option<OrtSetup> {
        None
    }

    /// The file with the ops of its main graph in another order, for this session of ONNX Runtime and, as text, by
    /// whom: what the runtime must know of shapes is written down. It was read again.
    ///
    /// # Errors
    /// If it is no `.onnx` model, or holds what cannot be kept.
    fn for_session(
        &self,
        _order: &[OpId],
        _setup: OrtSetup,
        _made_by: &str,
    ) -> Result<Arc<dyn ModelFile>, FileError> {
        Err(FileError::of_request("cannot be made for a session of ONNX Runtime", ONLY_ONNX))
    }

    /// The shapes that were given for what it leaves open, by name.
    fn given_shapes(&self) -> BTreeMap<String, Vec<u64>> {
        BTreeMap::new()
    }

    /// What ONNX Runtime made of this file, read as this one was.
    ///
    /// # Errors
    /// If this is no `.onnx` model, or those bytes are none.
    fn optimized(&self, _bytes: Vec<u8>) -> Result<Arc<dyn ModelFile>, FileError> {
        Err(FileError::of_request("cannot be optimised by ONNX Runtime", ONLY_ONNX))
    }

    /// The places of tensors that it came with, by graph, by tensor.
    fn places(&self) -> Option<Offsets> {
        None
    }

    /// Why TFLM cannot follow the places that it came with, for people; `None` if it can, or if there are none.
    fn refused_plan(&self) -> Option<String> {
        None
    }

    /// What is noted about them.
    fn note(&self) -> Option<PlanNote> {
        None
    }

    /// What C is written from: the graphs at the places that the file came with, with all constants.
    ///
    /// # Errors
    /// If it has no places, or is of a format that C is not written from.
    fn source(
        &self,
        _scratch: &dyn Fn(usize, OpId) -> Option<serenity_emit::Scratch>,
    ) -> Result<serenity_emit::Source, FileError> {
        Err(FileError::of_request("cannot be written as C", ONLY_TFLITE))
    }

    /// What TFLM keeps for it besides the head of its arena, if TFLM can run it.
    fn tail(&self, _kernels: Kernels) -> Option<Tail> {
        None
    }

    /// Files that it keeps its constants in, as it names them.
    fn side_files(&self) -> &[String] {
        &[]
    }

    /// Was nothing left out when it was read, so that it can be written back?
    fn is_whole(&self) -> bool {
        true
    }
}
