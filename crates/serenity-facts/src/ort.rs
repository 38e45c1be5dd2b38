//! The options of an ONNX Runtime session that affect memory.

/// How a session is set up, its graph optimisation off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrtSetup {
    /// In which order nodes run.
    pub order: OrtOrder,
    /// `enable_mem_reuse`: does a tensor take the buffer that another of its shape has left, which is then held in
    /// between? Without it, what is asked for is what is alive: views and what is written over an input share as ever.
    pub reuse: bool,
}

impl OrtSetup {
    /// The order of the file, all else as a session is by default.
    pub const PLAIN: Self = Self { order: OrtOrder::Priority, reuse: true };
    /// The order of the file, and no buffer held for a later tensor.
    pub const LEAN: Self = Self { order: OrtOrder::Priority, reuse: false };
}

impl Default for OrtSetup {
    fn default() -> Self {
        Self::PLAIN
    }
}

/// In which order ONNX Runtime runs the nodes of a file: a choice of whoever makes the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OrtOrder {
    /// `ExecutionOrder.PRIORITY_BASED`: the first in the file of all that can run, but `Shape` and `Size` as soon as they can.
    #[default]
    Priority,
    /// `ExecutionOrder.DEFAULT`: a walk backwards from the outputs, which the order of the file only steers.
    Default,
}

serenity_search::named! { "order": OrtOrder { "priority" => Priority, "default" => Default } }
