//! What cannot be counted.

use serenity_ir::OrderError;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrafficError {
    /// The order cannot run.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// All reads and writes together would not fit in 62 bits.
    #[error("the network moves more than 2^62 bytes; tensor sizes so large are a mistake in the model")]
    TooLarge,
}
