//! Searched networks: one cell, repeated.
//!
//! `DARTS`, `NASNet`, `AmoebaNet` and `PNASNet` share one construction. A network is a stem, a stack of cells, and a
//! classifier. A cell reads the outputs of the two cells before it (states 0 and 1, each first brought to the cell's
//! size and width by a 1x1 convolution), adds nodes, each the sum of two operations on earlier states, and
//! concatenates some of the states. A reduction cell is the same with stride 2 on whatever reads states 0 and 1, and
//! doubles the number of filters. So a family is a table ([`Genotype`]) and a list of cells ([`stack::Plan`]); the
//! rest is shared.

pub(crate) mod amoebanet;
mod cell;
pub(crate) mod darts;
pub(crate) mod darts_cell;
pub(crate) mod nasnet;
mod operation;
pub(crate) mod pnasnet;
mod stack;

use operation::Operation;

/// The two kinds of cell of a family.
struct Genotype {
    normal: CellTable,
    reduction: CellTable,
}

/// The wiring of a cell. State 0 is the output of the cell before the previous one, state 1 that of the previous one,
/// and node `i` makes state `i + 2`.
struct CellTable {
    /// A node is the sum of two operations, each on an earlier state.
    nodes: &'static [[(Operation, usize); 2]],
    /// The states that are concatenated.
    concat: &'static [usize],
}
