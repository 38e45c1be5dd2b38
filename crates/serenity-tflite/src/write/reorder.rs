//! Writes a model with its operators in another order.

use crate::write::OperatorSource;
use crate::{Error, Model};
use serenity_ir::OpId;

impl Model {
    /// The file with the operators of each sub-graph in the given order, one order for each.
    ///
    /// Where the layout allows it only the vectors that list the operators change. Metadata that would be wrong for another
    /// order is removed. The own order gives the same file.
    ///
    /// # Errors
    /// If an order cannot run, or if the model was read with constants folded.
    pub fn reordered(&self, orders: &[Vec<OpId>]) -> Result<Vec<u8>, Error> {
        let orders = self.checked_orders(orders)?;
        let mut edit = self.edit();
        let mut is_own_order = true;
        for (sub_graph, order) in orders.iter().enumerate() {
            if !order.iter().copied().eq(0..order.len()) {
                is_own_order = false;
                edit.set_operators(sub_graph, order.iter().copied().map(OperatorSource::Kept).collect())?;
            }
        }
        if is_own_order {
            return Ok(self.bytes.clone());
        }
        Ok(edit.finish_in_place_if_possible(&orders)?.bytes)
    }

    /// The orders as operator numbers, if they can run.
    fn checked_orders(&self, orders: &[Vec<OpId>]) -> Result<Vec<Vec<usize>>, Error> {
        if self.options.fold_constants {
            return Err(Error::Edit("it was read with constants folded; read it without".to_owned()));
        }
        if orders.len() != self.graphs.len() {
            let (given, wanted) = (orders.len(), self.graphs.len());
            return Err(Error::Edit(format!("{given} orders were given for {wanted} sub-graphs")));
        }
        for (sub_graph, (graph, order)) in self.graphs.iter().zip(orders).enumerate() {
            graph.check_order(order).map_err(|source| Error::Order { sub_graph, source })?;
        }
        Ok(orders.iter().map(|order| order.iter().map(|op| op.index()).collect()).collect())
    }
}
