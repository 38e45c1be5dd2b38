//! The same model with its operators in another order.

use crate::error::At;
use crate::write::in_place;
use crate::{Error, Model};
use serenity_ir::OpId;

impl Model {
    /// The file with the operators of each sub-graph in the given order, one order for each.
    ///
    /// # Errors
    /// If an order cannot run, or if the model was read with constants folded.
    pub fn reordered(&self, orders: &[Vec<OpId>]) -> Result<Vec<u8>, Error> {
        let orders = self.checked_orders(orders)?;
        let bytes = in_place::permuted(self, &orders).at(|| "operators".to_owned())?;
        bytes.ok_or_else(|| Error::Edit("its operators do not lie behind the list of operators".to_owned()))
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
