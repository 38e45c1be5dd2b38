//! Exported networks are read back as what was written.

use serenity::zoo::Precision;
use serenity::{Format, export};
use serenity_ir::Operand;
use serenity_tflite::Model;

#[test]
fn a_tflite_export_is_read_back_as_it_was_written() {
    for spec in ["swiftnet-a", "darts-cell", "randwire-cifar10?nodes=8&channels=8", "mobilenet?resolution=32"]
    {
        for precision in [Precision::Float32, Precision::Int8] {
            let exported = export(spec, Format::TfLite, precision).unwrap();
            let (written, file) = (exported.model, Model::parse(exported.bytes).unwrap());
            let [graph] = file.graphs() else { panic!("{spec} has one graph") };
            assert_eq!(graph.name(), written.graph().name());
            assert_eq!(graph.tensors(), written.graph().tensors(), "{spec}");
            assert_eq!(graph.inputs(), written.graph().inputs());
            assert_eq!(graph.outputs(), written.graph().outputs());
            for (index, (read, op)) in graph.ops().iter().zip(written.graph().ops()).enumerate() {
                assert_eq!(
                    (&read.kind, &read.inputs, &read.outputs),
                    (&op.kind, &op.inputs, &op.outputs),
                    "{spec}"
                );
                for (name, value) in &op.attributes {
                    // The file has no room for whether a bias is learned, and has the rest of these as constants.
                    if !["bias", "axis", "paddings", "begin", "end", "strides"].contains(&name.as_str()) {
                        assert_eq!(read.attributes.get(name), Some(value), "{spec} {} {name}", op.name);
                    }
                }
                let file_op = &file.sub_graphs()[0].operators()[index];
                for (position, operand) in written.operands()[index].iter().enumerate() {
                    if let Operand::Constant(constant) = *operand {
                        let tensor = file_op.inputs[position].unwrap();
                        let data = &written.constants()[constant].data;
                        assert_eq!(file.constant(0, tensor), Some(data.as_slice()), "{spec} {}", op.name);
                    }
                }
            }
        }
    }
}
