//! A file without the transpositions that undo each other says of axes and pads what the rewritten graph says.

use serenity_formats::{Format, ReadOptions};
use serenity_ir::Operator;
use serenity_judges::shared_files;
use serenity_rewrite::{Settings, apply, cancelled_transposes};

#[test]
fn files_say_what_their_graphs_say() {
    let mut removed = 0;
    let files = shared_files("more-models", "tflite");
    let exported = files.iter().filter(|path| path.to_string_lossy().contains("yolox"));
    for path in exported {
        let file = Format::TfLite.read(std::fs::read(path).unwrap(), &ReadOptions::default()).unwrap();
        let graph = &file.graphs()[0];
        let mut patches = cancelled_transposes(graph);
        file.retain_possible(&Settings::default(), &mut patches);
        let rewriting = apply(graph, &patches, &Settings::default()).unwrap();
        let written = file.rewritten(&rewriting).unwrap();
        let [new, wanted] = [&written.graphs()[0], &rewriting.graph];
        assert_eq!(new.ops().len(), wanted.ops().len());
        for (op, wanted_op) in new.ops().iter().zip(wanted.ops()) {
            for name in ["axis", "paddings", "permutation", "activation"] {
                assert_eq!(
                    op.attributes.get(name),
                    wanted_op.attributes.get(name),
                    "{} of {}",
                    name,
                    op.name
                );
            }
            let shape = |graph: &serenity_ir::Graph, op: &serenity_ir::Op| {
                op.outputs.iter().map(|&output| graph.tensor(output).shape.clone()).collect::<Vec<_>>()
            };
            assert_eq!(shape(new, op), shape(wanted, wanted_op), "{}", op.name);
        }
        let count = |graph: &serenity_ir::Graph| {
            graph.ops().iter().filter(|op| op.kind.operator() == Operator::TRANSPOSE).count()
        };
        removed += count(graph) - count(new);
    }
    println!("{removed} transpositions removed from {} files", files.len());
    assert!(files.is_empty() || removed >= 200, "{removed}");
}
