//! Single options of built-in operators, for who knows the schema.

use crate::Model;
use crate::flat::Table;
use crate::operator::Options;

impl Model {
    /// An option that is true or false, by its field number in the operator's table of options; false if it is not there.
    pub fn option_flag(&self, sub_graph: usize, operator: usize, field: usize) -> bool {
        self.options(sub_graph, operator).and_then(|table| table.number(field, false).ok()).unwrap_or(false)
    }

    /// An option that is a text, by its field number in the operator's table of options; empty if it is not there.
    pub fn option_text(&self, sub_graph: usize, operator: usize, field: usize) -> &[u8] {
        self.options(sub_graph, operator).and_then(|table| table.text(field).ok()).unwrap_or_default()
    }

    fn options(&self, sub_graph: usize, operator: usize) -> Option<Table<'_>> {
        let operator = self.sub_graphs.get(sub_graph)?.operators.get(operator)?;
        match operator.options(&self.bytes) {
            Ok(Options::First(_, table) | Options::Second(_, table)) => Some(table),
            Ok(Options::None) | Err(_) => None,
        }
    }
}
