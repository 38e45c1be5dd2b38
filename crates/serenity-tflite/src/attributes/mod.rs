//! What an operator's options and constant operands say, as attributes.

mod constants;

use crate::budget::Budget;
use crate::tensor::Storage;
use crate::{Error, Model};
use serde_json::json;
use serenity_ir::Attributes;

/// The attributes of one operator. `storage`: where the value of each tensor of the sub-graph comes from.
pub(crate) fn describe(
    model: &Model,
    sub_graph: usize,
    operator: usize,
    storage: &[Storage],
    budget: &mut Budget,
) -> Result<Attributes, Error> {
    let mut attributes = Attributes::new();
    let file_operator = &model.sub_graphs[sub_graph].operators[operator];
    if !file_operator.bodies.is_empty() {
        attributes.insert("bodies".to_owned(), json!(file_operator.bodies));
    }
    constants::describe(model, sub_graph, operator, storage, &mut attributes, budget)?;
    Ok(attributes)
}
