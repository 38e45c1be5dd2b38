//! What an operator's options and constant operands say, as attributes.
//!
//! The names are those of the generated networks: `kernel`, `stride` and `dilation` are height and width, `padding` is
//! `same` or `valid`, axes count from the front. `constants` and `variables` describe operands that are no activations,
//! by position; `absent` lists the positions of operands that are left out; `bodies` lists the sub-graphs that the
//! operator runs.

mod constants;
pub(crate) mod operands;
pub(crate) mod options;

use crate::budget::Budget;
use crate::error::At;
use crate::tensor::Storage;
use crate::{Error, Model};
use serde_json::json;
use serenity_ir::Attributes;

/// The attributes of one operator. `storage`: where the value of each tensor of the sub-graph comes from.
pub(crate) fn describe(
    model: &Model,
    sub_graph: usize,
    number: usize,
    storage: &[Storage],
    budget: &mut Budget,
) -> Result<Attributes, Error> {
    let place = || format!("sub-graph {sub_graph}, operator {number}, options");
    let operator = &model.sub_graphs[sub_graph].operators[number];
    let mut attributes = Attributes::new();
    let options = operator.options(&model.bytes).at(place)?;
    options::describe(options, &mut attributes, budget, &place)?;
    operands::describe(model, sub_graph, operator, storage, &mut attributes);
    if !operator.bodies.is_empty() {
        attributes.insert("bodies".to_owned(), json!(operator.bodies));
    }
    constants::describe(model, sub_graph, number, storage, &mut attributes, budget)?;
    Ok(attributes)
}
