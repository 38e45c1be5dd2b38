//! What a model carries from one run to the next: an input that is the output of the run before.
//!
//! The field `carried` of a graph: pairs `[input, output]`, by position in its lists. Both lie in the same bytes, and
//! nobody touches them between two runs.

use crate::{Graph, OpId, TensorId};
use serde_json::Value;

/// The field of a graph that lists what it carries.
pub const CARRIED: &str = "carried";

impl Graph {
    /// Pairs of an input and of the output that the next run finds in its place. What is no such pair is left out.
    pub fn carried(&self) -> Vec<(TensorId, TensorId)> {
        let listed = self.extra().get(CARRIED).and_then(Value::as_array);
        let tensor = |list: &[TensorId], position: &Value| list.get(position.as_u64()? as usize).copied();
        let pair = |value: &Value| match value.as_array()?.as_slice() {
            [input, output] => Some((tensor(self.inputs(), input)?, tensor(self.outputs(), output)?)),
            _ => None,
        };
        listed.into_iter().flatten().filter_map(pair).collect()
    }

    /// Pairs of ops, the first to run before the second: what was carried is read before what is carried next is written
    /// over it.
    pub fn hazards_of_carried(&self) -> Vec<(OpId, OpId)> {
        let of_pair = |(input, output): (TensorId, TensorId)| {
            let writer = self.producer(output);
            let readers = self.consumers(input).iter();
            readers.filter_map(move |&reader| Some((reader, writer?))).collect::<Vec<_>>()
        };
        let pairs = self.carried().into_iter().flat_map(of_pair);
        pairs.filter(|(reader, writer)| reader != writer).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{TensorId, json};

    fn carried(field: &str) -> Vec<(TensorId, TensorId)> {
        let text = format!(
            r#"{{"tensors": [{{"bytes": 8}}, {{"bytes": 4}}, {{"bytes": 4}}],
            "ops": [{{"inputs": [0, 1], "outputs": [2]}}], "inputs": [0, 1], "outputs": [2]{field}}}"#
        );
        json::parse(&text).unwrap().carried()
    }

    #[test]
    fn pairs_are_positions_of_inputs_and_outputs() {
        assert_eq!(carried(r#", "carried": [[1, 0]]"#), [(TensorId(1), TensorId(2))]);
        assert_eq!(carried(r#", "carried": [[2, 0], [0], "x", [0, 1]]"#), []);
        assert_eq!(carried(""), []);
    }
}
