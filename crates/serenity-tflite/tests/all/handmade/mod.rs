//! Small models made by hand with the `flatbuffers` crate, so that nothing of ours writes what we read.

mod damage;
mod file;
mod interface;
pub(crate) mod order;
mod patch;
mod reading;
mod reuse;
mod state;
mod sub_graphs;
mod writing;
