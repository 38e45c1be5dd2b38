//! Plans for devices with a second memory.
//!
//! [`least_traffic`] counts and lowers the bytes that move between a small memory on the chip and a large one off it.
//! [`two_memories`] divides the tensors of a plan between two memories that the processor reads directly. Both start
//! from an order that the pipeline found, and both come with a lower bound.

mod error;
mod least_traffic;
pub mod two_memories;

pub use error::Error;
pub use least_traffic::{
    Compared, Moved, Objective, OversizeOp, StatedDetails, StatedOrder, StatedPeaks, StatedSize,
    StatedTraffic, TrafficAt, TrafficOptions, TrafficPlan, least_traffic,
};
