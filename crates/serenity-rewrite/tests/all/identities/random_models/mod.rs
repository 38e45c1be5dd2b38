//! Small random models, rich in places where identities hold, and in places where they almost hold.

mod author;
mod layers;
mod patterns;
mod rng;

pub(crate) use author::{Recipe, random_model};
pub(crate) use rng::Rng;

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::Model;
    use std::collections::BTreeMap;

    /// How often each kind of op reads what each kind of op writes.
    fn pairs(model: &Model, counts: &mut BTreeMap<(String, String), u32>) {
        let graph = model.graph();
        for op in graph.ops() {
            for writer in op.inputs.iter().filter_map(|&input| graph.producer(input)) {
                let kinds = (graph.op(writer).kind.to_string(), op.kind.to_string());
                *counts.entry(kinds).or_default() += 1;
            }
        }
    }

    #[test]
    fn models_have_what_rewriting_looks_for() {
        for is_int8 in [false, true] {
            let mut counts = BTreeMap::new();
            for seed in 0..1000 {
                let model = random_model(Recipe { seed, is_int8, for_litert: false });
                pairs(&model, &mut counts);
            }
            let seen = |writer: &str, reader: &str| {
                counts.get(&(writer.to_owned(), reader.to_owned())).copied().unwrap_or_default()
            };
            for reader in ["CONV_2D", "DEPTHWISE_CONV_2D", "RELU", "MAX_POOL_2D", "PAD", "MUL", "ADD", "MEAN"]
            {
                assert!(seen("CONCATENATION", reader) > 50, "{reader}: {}", seen("CONCATENATION", reader));
            }
            for (writer, reader) in [("CONCATENATION", "CONCATENATION"), ("PAD", "CONV_2D"), ("ADD", "ADD")] {
                assert!(seen(writer, reader) > 50, "{writer}, {reader}: {}", seen(writer, reader));
            }
        }
    }

    #[test]
    fn a_seed_stands_for_one_model() {
        let model = |seed| random_model(Recipe { seed, is_int8: true, for_litert: false });
        assert_eq!(model(1), model(1));
        assert_ne!(model(1).graph().ops(), model(2).graph().ops());
    }
}
