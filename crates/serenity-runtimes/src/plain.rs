//! The memory model of the textbook: every tensor has a buffer of its own, unless the graph says otherwise.

use crate::{Runtime, stated};
use serenity_ir::{Graph, Storage};

pub(crate) struct Plain;

impl Runtime for Plain {
    fn storage(&self, graph: &Graph) -> Storage {
        stated::storage(graph)
    }
}
