//! placeholder
use crate::{Graph, OpId};
/// k
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kernels {
    /// a
    #[default]
    Any,
    /// r
    Reference,
    /// c
    CmsisNn,
}
/// s
pub fn scratch(_graph: &Graph, _op: OpId, _kernels: Kernels) -> Vec<u64> {
    Vec::new()
}
