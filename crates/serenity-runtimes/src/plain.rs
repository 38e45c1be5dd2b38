//! The count of the textbook: every tensor has a buffer of its own.

use crate::Runtime;
use serenity_ir::{Graph, Storage};

pub(crate) struct Plain;

impl Runtime for Plain {
    fn storage(&self, graph: &Graph) -> Storage {
        Storage::one_buffer_a_tensor(graph)
    }
}
