//! Writes a planned network as C that runs without an interpreter.
//!
//! Takes a [`Source`]: graphs whose tensors have offsets in one arena, with their constants, whatever the file format.
//! [`c_code`] returns four files of C11 that a C++ compiler accepts as well: `model.h`, `model.c`, `kernels.h`,
//! `kernels.c`. No heap, no interpreter, no global constructors; constants are `const`, loops are loops, and every
//! tensor lies where the plan says.
//!
//! Guarantees: the code computes what `TensorFlow` Lite for Microcontrollers computes, integers bit for bit; sums
//! that go beyond 32 bits wrap around as they do there; operators that are not covered are
//! [refused](Refused) by name before anything is written; names of the model reach the code only as letters, digits and
//! underscores, and comments only as plain characters.

mod activation;
mod checked;
mod curves;
mod emitter;
mod fixed_point;
mod fragments;
mod lower;
mod names;
mod number;
mod packing;
mod pool;
mod refused;
mod room;
mod rounding;
mod source;
mod stream;
mod write;

pub use names::prefix_of;
pub use refused::Refused;
pub use source::{
    DataPlace, Library, Scratch, SlideAct, SlideLine, SlideStep, Source, SourceGraph, SourceOp, SourceSlide,
    SourceStream, SourceTensor, StreamLine, StreamRule, StreamStep,
};
pub use stream::{Hop, Pushes};

/// The files of a network, and what they take.
#[derive(Clone, Debug)]
pub struct Emitted {
    /// Name and content of each file.
    pub files: Vec<(&'static str, String)>,
    /// What all names begin with.
    pub prefix: String,
    /// Bytes of the arena.
    pub arena: u64,
    /// Bytes of what is kept from one run to the next.
    pub state: u64,
    /// Bytes of constants.
    pub constants: u64,
    /// Steps of the main graph that do something.
    pub steps: usize,
    /// Whose functions it calls, and whether it is for cores with vectors.
    pub library: Library,
    /// The instructions of a run, if who planned the network can estimate them.
    pub instructions: Option<u64>,
    /// What the caller pushes, if the input comes row by row.
    pub pushes: Option<Pushes>,
}

impl Emitted {
    /// Static memory: arena and state.
    pub fn ram(&self) -> u64 {
        self.arena + self.state
    }
}

/// The first operator that no plan makes C of, because it is not covered, or not with these types, shapes and
/// constants. What depends on places, and operators that only move elements, which rewrites may remove, are left to
/// [`c_code`].
pub fn not_covered(source: &Source) -> Option<Refused> {
    emitter::Emitter::new(source, "net").not_covered()
}

/// The C of a planned network. All names begin with `prefix`, of which [`prefix_of`] makes a good one.
///
/// ```
/// use serenity_emit::{DataPlace, Library, Source, SourceGraph, SourceOp, SourceTensor, c_code};
/// use serenity_ir::{Attributes, ElementType};
/// let tensor = |name: &str, offset| SourceTensor {
///     name: name.into(), shape: vec![1, 4], dtype: ElementType::Int8, quantization: None, bytes: 4, place: DataPlace::Arena(offset),
/// };
/// let mut attributes = Attributes::new();
/// attributes.insert("new_shape".into(), serde_json::json!([1, 4]));
/// let reshape = SourceOp { kind: "RESHAPE".into(), inputs: vec![Some(0)], outputs: vec![Some(1)], attributes, bodies: vec![], scratch: None };
/// let graph = SourceGraph { tensors: vec![tensor("x", 0), tensor("y", 16)], ops: vec![reshape], inputs: vec![0], outputs: vec![1] };
/// let emitted = c_code(&Source { graphs: vec![graph], about: "tiny".into(), library: Library::None, stream: None }, "tiny").unwrap();
/// assert_eq!(emitted.arena, 20);
/// assert!(emitted.files[1].1.contains("memmove(tiny_arena + 16, tiny_arena + 0, 4);"));
/// ```
///
/// # Errors
/// If an operator is not covered, or something cannot be proved of it. See [`Refused`].
pub fn c_code(source: &Source, prefix: &str) -> Result<Emitted, Refused> {
    c_code_in_arrays(source, prefix, Vec::new())
}

/// Like [`c_code`], with the arena cut into several arrays, which may lie in different memories: from each of `cuts` on,
/// offsets count in a further one. No tensor may lie across a cut.
///
/// # Errors
/// If an operator is not covered, or something cannot be proved of it. See [`Refused`].
pub fn c_code_in_arrays(source: &Source, prefix: &str, cuts: Vec<u64>) -> Result<Emitted, Refused> {
    let rows = source.stream.as_ref().map(stream::row_graph);
    let mut emitter = emitter::Emitter::new(source, &names::identifier(prefix));
    emitter.cuts = cuts;
    emitter.run()?;
    if let Some(rows) = &rows {
        stream::lower(&mut emitter, rows)?;
    }
    Ok(write::files(emitter))
}
