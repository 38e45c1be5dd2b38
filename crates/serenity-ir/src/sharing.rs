//! What a graph says of its kernels: which outputs may take the place of an input, and which are only other names for one.
//!
//! The fields `in_place` and `aliases` of an op in the [JSON format](crate::json), each a list of pairs `[output,
//! input]`. They are kept with the other fields of the source, so that they are written back as they came.

use crate::{Graph, Op, TensorId};
use serde_json::Value;

/// Fields of an op that hold pairs of an output and an input.
pub(crate) const FIELDS: [&str; 2] = ["in_place", "aliases"];

impl Op {
    /// Pairs of an output and an input of the same size: the kernel may write the one over the other, if nobody needs
    /// that any more.
    pub fn in_place(&self) -> impl Iterator<Item = (TensorId, TensorId)> + '_ {
        self.pairs(FIELDS[0])
    }

    /// Pairs of an output and an input: the one is another name for the other or for a part of it, and the op writes
    /// nothing. An output may have several: a view of all of them.
    pub fn aliases(&self) -> impl Iterator<Item = (TensorId, TensorId)> + '_ {
        self.pairs(FIELDS[1])
    }

    fn pairs(&self, field: &str) -> impl Iterator<Item = (TensorId, TensorId)> + '_ {
        let listed = self.extra.get(field).and_then(Value::as_array);
        listed.into_iter().flatten().filter_map(pair)
    }
}

fn pair(value: &Value) -> Option<(TensorId, TensorId)> {
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok()).map(TensorId);
    match value.as_array()?.as_slice() {
        [output, input] => Some((id(output)?, id(input)?)),
        _ => None,
    }
}

impl Graph {
    /// Does any op say what its kernel allows?
    pub fn states_sharing(&self) -> bool {
        self.ops().iter().any(|op| FIELDS.iter().any(|field| op.extra.contains_key(*field)))
    }
}

/// What is wrong with the pairs of an op: the field, the position in it if it is one of them, and what was expected.
pub(crate) fn fault(graph: &Graph, op: &Op) -> Option<(&'static str, Option<usize>, String)> {
    for field in FIELDS {
        let Some(value) = op.extra.get(field) else { continue };
        let Some(pairs) = value.as_array() else {
            return Some((field, None, "an array of pairs [output, input]".to_owned()));
        };
        for (index, value) in pairs.iter().enumerate() {
            let wrong = |expected: &str| Some((field, Some(index), expected.to_owned()));
            let Some((output, input)) = pair(value) else {
                return wrong("a pair [output, input] of ids of tensors");
            };
            if !op.outputs.contains(&output) || !op.inputs.contains(&input) {
                return wrong("an output and an input of this op, in this order");
            }
            if field == FIELDS[0] && graph.tensor(output).bytes != graph.tensor(input).bytes {
                return wrong("an output and an input of the same size");
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::{TensorId, json};

    fn parse(fields: &str) -> Result<crate::Graph, String> {
        let text = format!(
            r#"{{"name": "net", "tensors": [{{"bytes": 8}}, {{"bytes": 8}}, {{"bytes": 4}}],
            "ops": [{{"inputs": [0], "outputs": [1, 2]{fields}}}], "inputs": [0], "outputs": [1, 2]}}"#
        );
        json::parse(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn pairs_are_read_and_written_back() {
        let graph = parse(r#", "in_place": [[1, 0]], "aliases": [[2, 0]]"#).unwrap();
        let op = &graph.ops()[0];
        assert_eq!(op.in_place().collect::<Vec<_>>(), [(TensorId(1), TensorId(0))]);
        assert_eq!(op.aliases().collect::<Vec<_>>(), [(TensorId(2), TensorId(0))]);
        assert!(graph.states_sharing() && !parse("").unwrap().states_sharing());
        assert_eq!(json::parse(&json::write(&graph)).unwrap(), graph);
    }

    #[test]
    fn nonsense_is_refused_by_place() {
        for (fields, place) in [
            (r#", "in_place": 1"#, "`ops[0].in_place`: expected an array"),
            (r#", "in_place": [[1]]"#, "`ops[0].in_place[0]`: expected a pair"),
            (
                r#", "aliases": [[2, 0], [0, 2]]"#,
                "`ops[0].aliases[1]`: expected an output and an input of this op",
            ),
            (
                r#", "in_place": [[2, 0]]"#,
                "`ops[0].in_place[0]`: expected an output and an input of the same size",
            ),
        ] {
            let error = parse(fields).unwrap_err();
            assert!(error.starts_with(place), "{error}");
        }
    }
}
